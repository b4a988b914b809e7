"""The SDKs' text-to-dialogue, over HTTP and on both sockets: what is heard, by whom, and when."""

import base64
import json
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from svc.audio.samples import Samples
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder
from svc.synthesis.pipeline import Pipeline
from tests.clients.reply import Reply, Words, words_of
from tests.clients.sockets import Witnessed, witness

RATE = 24_000
TURNS = [
    ("af_heart", "Good morning, and welcome to the museum of natural history."),
    ("bm_george", "Thank you. We would like to see the dinosaurs on the second floor."),
    ("bm_george", "And after that we want to have lunch together."),
    ("af_heart", "The restaurant opens at noon, and there is a garden behind it."),
]
SCRIPT = json.dumps([{"voice_id": voice, "text": f"{text} "} for voice, text in TURNS])
CLIENTS = {
    "python": ("dialogue_python_2.py", "elevenlabs-2"),
    "javascript": ("dialogue_javascript_2.cjs", "js/node_modules"),
}


def _plain(text: str) -> str:
    return text.lower().replace(".", "").replace(",", "")


def _pcm(audio: bytes) -> Samples:
    return (np.frombuffer(audio, "<i2") / 32_768).astype(np.float32)


@pytest.fixture(scope="module")
def driven(pipeline: Pipeline) -> Callable[[str], Witnessed]:
    @cache
    def driven(client: str) -> Witnessed:
        return witness(pipeline, *CLIENTS[client], SCRIPT)

    return driven


@pytest.fixture(params=CLIENTS)
def witnessed(request: pytest.FixtureRequest, driven: Callable[[str], Witnessed]) -> Witnessed:
    return driven(request.param)


def _snake(value: Any) -> Any:
    """The JavaScript SDK's own names as they are on the wire."""
    if isinstance(value, list):
        return [_snake(each) for each in value]
    if not isinstance(value, dict):
        return value
    renamed = {"audioBase64": "audio_base64", "audio_base_64": "audio_base64"}
    return {
        renamed.get(name, "".join(f"_{c.lower()}" if c.isupper() else c for c in name)): _snake(field)
        for name, field in value.items()
    }


def _join(lines: Sequence[dict[str, Any]], name: str) -> list[Any]:
    return [item for line in lines if line.get("alignment") for item in line["alignment"][name]]


def test_who_says_what_and_when(
    witnessed: Witnessed,
    transcribe: Callable[..., str],
    transcribe_words: Callable[[Samples], Words],
    encoder: OnnxSpeakerEncoder,
    say: Callable[..., Samples],
) -> None:
    clip = _snake(witnessed.report.get_result("timestamps"))
    audio, segments = base64.b64decode(clip["audio_base64"]), clip["voice_segments"]
    assert [segment["voice_id"] for segment in segments] == [voice for voice, _ in TURNS]
    assert [segment["dialogue_input_index"] for segment in segments] == list(range(len(TURNS)))
    assert "".join(clip["alignment"]["characters"]) == "".join(f"{text} " for _, text in TURNS)
    known = {
        voice: encoder.encode(say("This sentence is spoken so that somebody can be recognised by it.", voice), RATE)
        for voice in dict.fromkeys(voice for voice, _ in TURNS)
    }
    for segment, (voice, text) in zip(segments, TURNS, strict=True):
        bounds = (round(segment[f"{side}_time_seconds"] * RATE) for side in ("start", "end"))
        part = _pcm(audio)[slice(*bounds)]
        assert transcribe(part) == _plain(text)
        spoken = encoder.encode(part, RATE)
        likeness = {each: encoder.similarity(spoken.embedding, known[each].embedding) for each in known}
        assert max(likeness, key=lambda each: likeness[each]) == voice, likeness
        first, last = segment["character_start_index"], segment["character_end_index"]
        assert "".join(clip["alignment"]["characters"][first:last]) == f"{text} "
    characters, starts = clip["alignment"]["characters"], clip["alignment"]["character_start_times_seconds"]
    words = [
        start
        for before, character, start in zip([" ", *characters], characters, starts, strict=False)
        if before == " " != character
    ]
    names = "".join(characters).split()
    Reply(audio, [(_plain(name), start) for name, start in zip(names, words, strict=True)]).check_hearing(
        transcribe_words
    )


def test_turns_are_parted_by_natural_pauses(witnessed: Witnessed) -> None:
    clip = _snake(witnessed.report.get_result("timestamps"))
    loud = np.abs(_pcm(base64.b64decode(clip["audio_base64"]))) > 0.02
    for before, after in pairwise(clip["voice_segments"]):
        # A sound may be heard a little before the time of its letter.
        around = loud[
            round(RATE * (after["start_time_seconds"] - 1.2)) : round(RATE * (after["start_time_seconds"] + 0.2))
        ]
        silence = np.diff(np.flatnonzero(around)).max() / RATE
        assert 0.2 < silence < 1.2, (before["voice_id"], after["voice_id"], silence)


def test_streams_bring_the_same(witnessed: Witnessed) -> None:
    clip = _snake(witnessed.report.get_result("timestamps"))
    lines = _snake(witnessed.report.get_result("stream_timestamps"))
    audio = b"".join(base64.b64decode(line["audio_base64"]) for line in lines)
    assert audio == base64.b64decode(clip["audio_base64"]) == base64.b64decode(witnessed.report.get_result("clip"))
    assert len(base64.b64decode(witnessed.report.get_result("stream"))) > len(audio) / 2
    for name, times in clip["alignment"].items():
        # In a stream, a character that the codec cuts ends with the audio that was sent.
        assert _join(lines, name) == (times if name == "characters" else pytest.approx(times, abs=0.2))
    segments = [segment for line in lines for segment in line["voice_segments"]]
    assert [segments[0]["start_time_seconds"], segments[-1]["end_time_seconds"]] == [
        clip["voice_segments"][0]["start_time_seconds"],
        clip["voice_segments"][-1]["end_time_seconds"],
    ]
    assert all(
        each["character_end_index"] == next_one["character_start_index"] for each, next_one in pairwise(segments)
    )


def _listen(messages: list[dict[str, Any]]) -> Reply:
    """The audio, and the words with the times that a client adds up from messages that count from 0 each."""
    audio = [message for message in messages if message.get("audio")]
    alignments = [
        {
            "chars": message["alignment"]["chars"],
            "charStartTimesMs": message["alignment"]["char_start_times_ms"],
            "charDurationsMs": message["alignment"]["char_durations_ms"],
        }
        for message in audio
        if message.get("alignment")
    ]
    words = [(_plain(word), start) for word, start in words_of(alignments)]
    return Reply(b"".join(base64.b64decode(message["audio"]) for message in audio), words)


def test_sockets(witnessed: Witnessed, transcribe_words: Callable[[Samples], Words]) -> None:
    one = witnessed.report.get_result("one_dialogue")
    several = witnessed.report.get_result("several_dialogues")
    reply = _listen(one)
    reply.check_order()
    reply.check_hearing(transcribe_words)
    for context in ("one", "two"):
        own = [message for message in several if message["context_id"] == context]
        assert _listen(own) == reply
        assert own[-1].get("is_final") is True
    assert sum(bool(message.get("is_final_audio_for_turn")) for message in one) == 3, "two inputs are one turn"
    assert one[-1].get("is_final") is True
    assert witnessed.endings == [1000, 1000]


def test_no_inputs(witnessed: Witnessed) -> None:
    error = witnessed.report.get_error("no_inputs")
    assert (error["status_code"], error["body"]["detail"][0]["loc"]) == (422, ["body", "inputs"])
