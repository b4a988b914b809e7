"""The voices, as clients of the imitated API see them."""

import io
from pathlib import Path

import av
import pytest
from fastapi.testclient import TestClient

from svc.api.voices.schemas import VoiceList, VoicePage
from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.errors import VoiceNotFound
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.voices.store import VoiceStore
from tests.cloning.fakes import load_fake_encoder
from tests.conftest import serve_ready
from tests.voices.examples import make_voice

HEART = "svcAfHeart0000000000"


def test_list(client: TestClient) -> None:
    voices = client.get("/v1/voices").json()["voices"]
    assert len(voices) == 54
    for voice in voices:
        assert voice["category"] == "premade"
        assert voice["settings"]["stability"] == 0.5
        assert all(isinstance(value, str) for value in voice["labels"].values())
        assert {"accent", "gender", "language", "age", "description", "use_case"} <= set(voice["labels"])
        assert voice["verified_languages"][0]["model_id"] == "svc-turbo"
    assert "Sarah" in {voice["name"] for voice in voices}


def test_one(client: TestClient) -> None:
    voice = client.get(f"/v1/voices/{HEART}").json()
    assert (voice["voice_id"], voice["name"]) == (HEART, "Heart")
    assert voice["labels"]["accent"] == "american"
    assert voice["labels"]["language"] == "en"
    assert client.get("/v1/voices/af_heart").json() == voice
    assert client.get(f"/v1/voices/{HEART}?with_settings=false").json()["settings"] is None


def test_unknown_ids(client: TestClient, phonemizer: Phonemizer) -> None:
    assert client.get("/v1/voices/nobody").json()["voice_id"] == HEART
    with serve_ready(
        Settings(strict_voices=True, default_voice="bm_george"), Pipeline(FakeEngine(), phonemizer)
    ) as strict:
        for path in ("/v1/voices/nobody", "/v1/voices/nobody/settings"):
            response = strict.get(path)
            assert (response.status_code, response.json()["detail"]["status"]) == (404, "voice_not_found")


def test_search_pages_and_counts(client: TestClient) -> None:
    def ask(**parameters: str | int | list[str]) -> dict[str, object]:
        response = client.get("/v2/voices", params=parameters)
        assert response.status_code == 200
        body: dict[str, object] = response.json()
        return body

    seen: list[str] = []
    token = ""
    while True:
        page = ask(page_size=20, next_page_token=token, sort="name", sort_direction="desc")
        assert page["total_count"] == 54
        seen += [voice["name"] for voice in page["voices"]]  # type: ignore[attr-defined]
        if not page["has_more"]:
            assert page["next_page_token"] is None
            break
        token = str(page["next_page_token"])
    assert len(seen) == 54
    assert [name.lower() for name in seen] == sorted((name.lower() for name in seen), reverse=True)
    assert ask(search="british male")["total_count"] == 4
    assert ask(language=["fr", "it"])["total_count"] == 3
    assert ask(category="cloned")["total_count"] == 0
    assert ask(voice_ids=[HEART])["total_count"] == 1
    assert ask(gender="female", accent="japanese")["total_count"] == 4
    assert ask(page_size=100000, next_page_token="", collection_id="", fine_tuning_state="")["has_more"] is False
    assert ask(collection_id="x")["total_count"] == ask(fine_tuning_state="fine_tuned")["total_count"] == 0


@pytest.mark.parametrize(
    ("given", "usual"),
    [
        ({"gender": "Female"}, {"gender": "female"}),
        ({"gender": " MALE "}, {"gender": "male"}),
        ({"language": "EN"}, {"language": "en"}),
        ({"language": "English"}, {"language": "en"}),
        ({"language": "en-US"}, {"accent": "american"}),
        ({"language": "en_gb"}, {"accent": "british"}),
        ({"language": "es-MX"}, {"language": "es"}),
        ({"language": ["IT", "fr-FR"]}, {"language": ["it", "fr"]}),
        ({"accent": "British", "age": "Middle_Aged"}, {"accent": "british"}),
        ({"use_cases": "Conversational"}, {}),
        ({"category": "Premade"}, {}),
        ({"voice_type": "Default"}, {}),
        ({"voice_type": "PERSONAL"}, {"category": "cloned"}),
        ({"sort": "Name", "sort_direction": "DESC"}, {"sort": "name", "sort_direction": "desc"}),
        ({"gender": "", "language": "", "category": "", "age": " "}, {}),
        ({"language": "xx-YY"}, {"language": "de"}),
    ],
)
def test_filters_find_what_they_name_in_whatever_case(
    client: TestClient, given: dict[str, str | list[str]], usual: dict[str, str | list[str]]
) -> None:
    found, expected = (
        [voice["voice_id"] for voice in client.get("/v2/voices", params={"page_size": 100, **each}).json()["voices"]]
        for each in (given, usual)
    )
    assert found == expected
    assert bool(found) != ("xx-YY" in given.values() or "PERSONAL" in given.values())


def test_the_case_of_formats_and_languages_does_not_matter(client: TestClient) -> None:
    def speak(output_format: str, language: str) -> tuple[bytes, str]:
        response = client.post(
            f"/v1/text-to-speech/af_heart?output_format={output_format}",
            json={"text": "Guten Tag.", "language_code": language},
        )
        assert response.status_code == 200
        return response.content, response.headers["x-svc-language"]

    assert speak("PCM_16000", "DE") == speak("pcm_16000", "de") == speak("Pcm_16000", "German")


@pytest.mark.parametrize("token", ["nonsense", "YXQgLTE=", "YXQgMA==", "YXQgMjA", "IGF0IDIw", "é", "99", "YXQgMjA= "])
def test_unknown_page_tokens(client: TestClient, token: str) -> None:
    response = client.get("/v2/voices", params={"next_page_token": token})
    assert (response.status_code, response.json()["detail"]["status"]) == (400, "invalid_page_token")


def test_legacy_names_are_listed_on_request(client: TestClient, phonemizer: Phonemizer) -> None:
    listed = client.get("/v1/voices?show_legacy=true").json()["voices"]
    legacy = {voice["name"]: voice["voice_id"] for voice in listed if voice["is_legacy"]}
    assert set(legacy) == {"Rachel", "Domi", "Bella", "Antoni", "Elli", "Josh", "Arnold", "Adam", "Sam"}
    assert legacy["Rachel"] == "21m00Tcm4TlvDq8ikWAM"
    for voice_id in legacy.values():
        speech = client.post(f"/v1/text-to-speech/{voice_id}", json={"text": "Hello."})
        assert speech.headers["x-svc-voice"] == client.get(f"/v1/voices/{voice_id}").json()["voice_id"]
    assert len(client.get("/v1/voices?show_legacy=false").json()["voices"]) == 54
    with serve_ready(Settings(strict_voices=True), Pipeline(FakeEngine(), phonemizer)) as strict:
        assert len(strict.get("/v1/voices?show_legacy=true").json()["voices"]) == 54, "their ids are unknown there"


def test_clones_are_listed_under_their_ids_too_and_those_of_others_last(phonemizer: Phonemizer, tmp_path: Path) -> None:
    own, other = (make_voice("Rachel", key_id=key_id, reference=None) for key_id in ("static-1", "static-2"))
    for voice in (own, other):
        VoiceStore(tmp_path / "voices").add(voice, None)
    settings = Settings.model_validate({"api_keys": "first, second, third", "data_dir": tmp_path})
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer), load_fake_encoder) as service:

        def list_ids(key: str, name: str) -> list[str]:
            answer = service.get("/v1/voices?show_legacy=true", headers={"xi-api-key": key}).json()
            return [voice["voice_id"] for voice in answer["voices"] if voice["name"] == name]

        legacy = "21m00Tcm4TlvDq8ikWAM"
        assert list_ids("first", "Rachel") == [own.voice_id, legacy, other.voice_id]
        assert list_ids("second", "Rachel") == [other.voice_id, legacy, own.voice_id]
        assert list_ids("third", "Rachel")[0] == legacy
        for voice in (own, other):
            assert list_ids("third", voice.voice_id) == [voice.voice_id]
        assert len(service.get("/v1/voices", headers={"xi-api-key": "first"}).json()["voices"]) == 56

        speech = service.post(
            "/v1/text-to-speech/Rachel?output_format=pcm_8000", json={"text": "Hi."}, headers={"xi-api-key": "third"}
        )
        assert speech.headers["x-svc-voice"] == HEART


def test_voices_are_searched_by_every_id_that_names_one(client: TestClient, phonemizer: Phonemizer) -> None:
    ids = ["21m00Tcm4TlvDq8ikWAM", "bm_george", "Sarah", "EXAVITQu4vr4xnSDxMaL", "add", HEART, "nobody"]
    found = client.get("/v2/voices", params={"voice_ids": ids}).json()
    assert [voice["name"] for voice in found["voices"]] == ["Heart", "George", "Sarah"]
    for voice_id in ids:
        if voice_id != "add":
            (one,) = client.get("/v2/voices", params={"voice_ids": voice_id}).json()["voices"]
            assert one == client.get(f"/v1/voices/{voice_id}").json()
    with serve_ready(Settings(strict_voices=True), Pipeline(FakeEngine(), phonemizer)) as strict:
        found = strict.get("/v2/voices", params={"voice_ids": ids}).json()
        assert [voice["name"] for voice in found["voices"]] == ["George", "Sarah", "Heart"]


def test_the_lists_are_rendered_as_their_schema_says(client: TestClient) -> None:
    for path in ("/v1/voices", "/v2/voices?page_size=3", "/v2/voices?search=nobody"):
        response = client.get(path)
        assert response.headers["content-type"] == "application/json"
        model = VoiceList if "v1" in path else VoicePage
        assert model.model_validate(response.json()).model_dump(mode="json") == response.json()


def test_default_settings(client: TestClient) -> None:
    assert client.get("/v1/voices/settings/default").json() == {
        "stability": 0.5,
        "similarity_boost": 0.75,
        "style": 0.0,
        "use_speaker_boost": True,
        "speed": 1.0,
    }


def test_edited_settings_are_kept_and_spoken_with(phonemizer: Phonemizer, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    speak = f"/v1/text-to-speech/{HEART}?output_format=pcm_24000"
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        before = client.post(speak, json={"text": "Hello."}).content
        edited = client.post(f"/v1/voices/{HEART}/settings/edit", json={"speed": 9, "stability": None})
        assert (edited.status_code, edited.json()) == (200, {"status": "ok"})
        unknown = client.post("/v1/voices/nobody/settings/edit", json={"speed": 1})
        assert unknown.status_code == 404
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        kept = client.get(f"/v1/voices/{HEART}/settings").json()
        assert (kept["speed"], kept["stability"]) == (2.0, 0.5)
        assert len(client.post(speak, json={"text": "Hello."}).content) < 0.6 * len(before)
        asked = client.post(speak, json={"text": "Hello.", "voice_settings": {"speed": 1.0}}).content
        assert len(asked) == len(before)


def test_previews_play(client: TestClient) -> None:
    for voice in client.get("/v1/voices").json()["voices"][::9]:
        response = client.get(voice["preview_url"])
        assert response.headers["content-type"] == "audio/mpeg"
        with av.open(io.BytesIO(response.content), "r") as container:
            assert sum(int(frame.samples) for frame in container.decode(container.streams.audio[0])) > 44_100
    assert client.get("/previews/nobody.mp3").status_code == 404
    assert client.get("/previews/..%2f..%2fetc%2fpasswd.mp3").status_code == 404


@pytest.mark.parametrize(
    ("headers", "status", "length", "part"),
    [
        ({"range": "bytes=0-1"}, 206, 2, "bytes 0-1/{}"),
        ({"range": "bytes=5-"}, 206, -5, "bytes 5-{last}/{}"),
        ({"range": "bytes=-7"}, 206, 7, "bytes {first}-{last}/{}"),
        ({"range": "bytes=0-99999999"}, 206, 0, "bytes 0-{last}/{}"),
        ({"range": "bytes=99999999-"}, 416, None, "bytes */{}"),
        ({"range": "bytes=-0"}, 416, None, "bytes */{}"),
        ({"range": "bytes=3-1"}, 200, 0, None),
        ({"range": "bytes=0-1,4-5"}, 200, 0, None),
        ({"range": "items=0-1"}, 200, 0, None),
        ({"range": "bytes=0-1", "if-range": '"other"'}, 200, 0, None),
        ({"range": "bytes=0-1", "if-range": "{etag}"}, 206, 2, "bytes 0-1/{}"),
        ({"if-none-match": '"other"'}, 200, 0, None),
        ({"if-none-match": '"other", W/{etag}'}, 304, None, None),
        ({"if-none-match": "*", "range": "bytes=0-1"}, 304, None, None),
    ],
)
def test_players_ask_for_parts_of_previews(
    client: TestClient, headers: dict[str, str], status: int, length: int | None, part: str | None
) -> None:
    whole = client.get("/previews/bm_george.mp3")
    etag, size = whole.headers["etag"], len(whole.content)
    assert whole.headers["accept-ranges"] == "bytes"
    sent = {name: value.replace("{etag}", etag) for name, value in headers.items()}
    response = client.get("/previews/bm_george.mp3", headers=sent)
    assert response.status_code == status
    expected = part and part.format(size, first=size - 7, last=size - 1)
    assert response.headers.get("content-range") == expected
    if length is None:
        return
    assert len(response.content) == (length if length > 0 else size + length)
    assert response.headers["content-length"] == str(len(response.content))
    start = int(expected.split()[1].split("-")[0]) if expected else 0
    assert whole.content[start:].startswith(response.content)


def start(voice: str, phonemizer: Phonemizer, folder: Path, **others: object) -> TestClient:
    settings = Settings.model_validate({"default_voice": voice, "data_dir": folder, **others})
    return TestClient(create_app(settings, Pipeline(FakeEngine(), phonemizer)))


@pytest.mark.parametrize("voice", ["nobody", "custom-nope", "svcNobody00000000000"])
def test_a_wrong_default_voice_stops_the_server(voice: str, phonemizer: Phonemizer, tmp_path: Path) -> None:
    with pytest.raises(VoiceNotFound, match="SVC_DEFAULT_VOICE"):
        start(voice, phonemizer, tmp_path)


def test_a_default_voice_may_still_come_from_the_mirror(
    phonemizer: Phonemizer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mirror = f"file://{tmp_path}/mirror"
    start("custom-nope", phonemizer, tmp_path, voice_mirror=mirror)
    assert "SVC_DEFAULT_VOICE=custom-nope" in caplog.text
    with pytest.raises(VoiceNotFound, match="SVC_DEFAULT_VOICE"):
        start("bm_gorge", phonemizer, tmp_path, voice_mirror=mirror)


def test_a_clone_may_be_the_default_voice(
    phonemizer: Phonemizer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    VoiceStore(tmp_path / "voices").add(voice := make_voice("Anna", reference=None), None)
    for given in (voice.voice_id, voice.voice_id.removeprefix("custom-"), "Anna"):
        service = start(given, phonemizer, tmp_path)
        assert service.get("/v1/voices/nobody").json()["voice_id"] == voice.voice_id
    assert "SVC_DEFAULT_VOICE" not in caplog.text
