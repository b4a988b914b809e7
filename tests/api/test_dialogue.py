"""`POST /v1/text-to-dialogue` and its three companions, on the fake engine."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from svc.api.speech.dialogue_schemas import DialogueSettings
from svc.api.speech.dialogue_voices import DialogueVoices
from svc.auth.keys import ANYONE, Quota
from svc.dictionaries.catalogue import Dictionaries
from svc.dictionaries.store import DictionaryStore
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import TURN_PAUSE_SECONDS, Dialogue, SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.settings import VoiceSettings, VoiceSettingsStore
from tests.conftest import serve_ready

PATH = "/v1/text-to-dialogue"
PATHS = [PATH, f"{PATH}/stream", f"{PATH}/with-timestamps", f"{PATH}/stream/with-timestamps"]
INPUTS = [
    {"text": "Hello there, it costs $5. ", "voice_id": "af_heart"},
    {"text": "Who is it? 🙂", "voice_id": "bm_george"},
    {"text": "It is <break time='0.5s'/> me.", "voice_id": "bm_george"},
    {"text": "[?]", "voice_id": "nobody"},
    {"text": "The end.", "voice_id": "af_heart"},
]
TEXT = "".join(each["text"] for each in INPUTS)


def _post(client: TestClient, path: str = PATH, query: str = "output_format=pcm_24000", **body: object) -> Any:
    return client.post(f"{path}?{query}", json={"inputs": INPUTS, **body})


def _check(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Times are in order and end with the audio; segments say whose they are. Returns the segments."""
    audio = b"".join(base64.b64decode(each["audio_base64"]) for each in objects)
    seconds = len(audio) / 2 / 24_000
    for name in ("alignment", "normalized_alignment"):
        found = [each[name] for each in objects if each[name]]
        starts = [time for each in found for time in each["character_start_times_seconds"]]
        ends = [time for each in found for time in each["character_end_times_seconds"]]
        times = [time for pair in zip(starts, ends, strict=True) for time in pair]
        assert times == sorted(times)
        assert 0 <= times[0] <= times[-1] <= seconds + 0.001
        if name == "alignment":
            assert "".join(character for each in found for character in each["characters"]) == TEXT
            segments = [segment for each in objects for segment in each["voice_segments"]]
            for segment in segments:
                first, last = segment["character_start_index"], segment["character_end_index"]
                assert starts[first] == segment["start_time_seconds"]
                assert ends[last - 1] == segment["end_time_seconds"]
    return segments


def test_whole_clip_has_a_segment_for_each_turn(client: TestClient) -> None:
    response = _post(client, f"{PATH}/with-timestamps")
    assert response.status_code == 200
    segments = _check([response.json()])
    assert [segment["dialogue_input_index"] for segment in segments] == [0, 1, 2, 3, 4]
    assert [segment["voice_id"] for segment in segments] == [each["voice_id"] for each in INPUTS]
    texts = [TEXT[segment["character_start_index"] : segment["character_end_index"]] for segment in segments]
    assert texts == [each["text"] for each in INPUTS]


def test_pauses_only_between_different_voices(client: TestClient) -> None:
    segments = _post(client, f"{PATH}/with-timestamps").json()["voice_segments"]
    heart, george, george_again, *_ = segments
    assert george["start_time_seconds"] - heart["end_time_seconds"] == pytest.approx(TURN_PAUSE_SECONDS, abs=0.002)
    assert george_again["start_time_seconds"] == pytest.approx(george["end_time_seconds"], abs=0.002)


def test_streamed_lines_have_the_parts_of_segments_that_they_hold(client: TestClient) -> None:
    response = _post(client, f"{PATH}/stream/with-timestamps")
    assert response.text.endswith("\n")
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert len(lines) > len(INPUTS)
    segments = _check(lines)
    position = 0
    for line in lines:
        count = len((line["alignment"] or {"characters": []})["characters"])
        held = line["voice_segments"]
        assert sum(each["character_end_index"] - each["character_start_index"] for each in held) == count
        for each in held:
            assert each["character_start_index"] == position
            position = each["character_end_index"]
    assert list(dict.fromkeys(segment["dialogue_input_index"] for segment in segments)) == [0, 1, 2, 3, 4]


def test_all_paths_bring_the_same_audio(client: TestClient) -> None:
    plain, streamed, timed, lines = (_post(client, path) for path in PATHS)
    joined = b"".join(base64.b64decode(json.loads(line)["audio_base64"]) for line in lines.text.splitlines())
    assert plain.content == streamed.content == base64.b64decode(timed.json()["audio_base64"]) == joined


@pytest.mark.parametrize("output_format", ["mp3_44100_128", "opus_48000_64", "wav_24000", "ulaw_8000"])
def test_formats(client: TestClient, output_format: str) -> None:
    response = _post(client, query=f"output_format={output_format}")
    assert response.headers["content-type"].startswith("audio/")
    assert response.content


@pytest.mark.parametrize("path", PATHS)
def test_headers(client: TestClient, path: str) -> None:
    headers = _post(client, path, model_id="eleven_v3").headers
    assert headers["x-svc-voice"] == "svcAfHeart0000000000, svcBmGeorge000000000"
    assert headers["x-svc-model"] == "eleven_v3"
    assert headers["character-cost"] == str(len(TEXT))
    assert int(headers["current-concurrent-requests"]) <= int(headers["maximum-concurrent-requests"])


def test_everything_that_clients_send_is_accepted(client: TestClient) -> None:
    response = _post(
        client,
        settings={"stability": 0.2, "similarity": 1, "clone_strength": None},
        language_code="en",
        seed=7,
        apply_text_normalization="auto",
        previous_text="Before.",
        future_text="After.",
        pronunciation_dictionary_locators=[{"pronunciation_dictionary_id": "x", "version_id": None}],
        previous_request_ids=["unknown"],
        next_request_ids=["unknown"],
        use_pvc_as_ivc=True,
        audio_effects={},
    )
    assert response.status_code == 200


def test_settings_are_applied_to_all_voices(voices: VoiceCatalogue, tmp_path: Path) -> None:
    store = VoiceSettingsStore(tmp_path)
    store.edit(voices.find("bm_george"), ANYONE, lambda _: VoiceSettings(stability=0.9, speed=0.8))
    given = DialogueSettings.model_validate({"stability": None, "similarity": 1})
    dialogue_voices = DialogueVoices(voices, store, Dictionaries(DictionaryStore(tmp_path), Quota(1, 1)))
    requests = dialogue_voices.resolve(["af_heart", "bm_george"], ANYONE, given, "en", 7, [])
    heart, george = requests.values()
    assert heart.settings == VoiceSettings(similarity_boost=1)
    assert george.settings == VoiceSettings(stability=0.9, similarity_boost=1, speed=0.8)
    assert (heart.language, george.language) == (Language.ENGLISH_US, Language.ENGLISH_GB)
    assert heart.seed == george.seed == 7


@pytest.mark.parametrize(
    ("inputs", "where"),
    [
        ([], ["body", "inputs"]),
        (None, ["body", "inputs"]),
        ("Hello.", ["body", "inputs"]),
        ([{"text": "Hi.", "voice_id": "a"}, {"text": " \n", "voice_id": "a"}], ["body", "inputs", 1, "text"]),
        ([{"text": "Hi."}], ["body", "inputs", 0, "voice_id"]),
        ([{"voice_id": "a"}], ["body", "inputs", 0, "text"]),
        ([{"text": "Hi.", "voice_id": str(index)} for index in range(11)], ["body", "inputs"]),
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_invalid_bodies(client: TestClient, path: str, inputs: object, where: list[object]) -> None:
    response = client.post(path, json={"inputs": inputs})
    assert response.status_code == 422
    assert response.json()["detail"][0]["loc"] == where


def test_ten_voices_may_speak(client: TestClient) -> None:
    inputs = [{"text": "Hi.", "voice_id": str(index % 10)} for index in range(30)]
    assert client.post(PATH, json={"inputs": inputs}).status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_errors_as_for_speech(phonemizer: Phonemizer, path: str) -> None:
    settings = Settings(max_characters=40, max_audio_seconds=15, strict_voices=True)
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer, max_seconds=15)) as client:

        def post(*texts: str, voice_id: str = "af_heart", query: str = "") -> tuple[int, str]:
            inputs = [{"text": text, "voice_id": voice_id} for text in texts]
            response = client.post(f"{path}{query}", json={"inputs": inputs})
            return response.status_code, response.json()["detail"]["status"]

        assert post("Hi.", query="?output_format=x") == (400, "invalid_output_format")
        assert post("Hi.", voice_id="nobody") == (404, "voice_not_found")
        assert post("a" * 20, "b" * 21) == (400, "max_character_limit_exceeded")
        assert post("<break time='9s'/>", "<break time='9s'/>") == (400, "max_audio_seconds_exceeded")


def test_audio_that_becomes_too_long_over_all_turns(phonemizer: Phonemizer) -> None:
    with serve_ready(Settings(), Pipeline(FakeEngine(), phonemizer, max_seconds=5)) as client:
        inputs = [{"text": "One two three four five.", "voice_id": "af_heart"}] * 9
        response = client.post(PATH, json={"inputs": inputs})
        assert (response.status_code, response.json()["detail"]["status"]) == (400, "max_audio_seconds_exceeded")
        assert client.post(PATH, json={"inputs": inputs[:1]}).status_code == 200


def test_neighbouring_texts_of_the_same_voice_are_context(voices: VoiceCatalogue) -> None:
    heart, george = voices.find("af_heart"), voices.find("bm_george")
    turns = [SynthesisRequest(text, voice) for text, voice in (("a", heart), ("b", heart), ("c", george))]
    first, second, third = Dialogue(turns).in_context("before", "after").turns
    assert (first.previous_text, first.next_text) == ("before", "b")
    assert (second.previous_text, second.next_text) == ("a", "")
    assert (third.previous_text, third.next_text) == ("", "after")
