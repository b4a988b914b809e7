"""Every character is heard where its time says, in every part: random texts that are read longer than written."""

import base64
import json
import random
from collections.abc import Sequence

import pytest

from svc.api.realtime.server_messages import SpeechMessages
from svc.audio import formats
from svc.engine.fake import FakeEngine
from svc.synthesis.alignment import Alignment
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import AudioPart, Clip, SynthesisRequest
from svc.synthesis.streaming import StreamingSynthesis
from svc.text.g2p import Phonemizer
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import Voice, VoiceCatalogue

PIPELINE = Pipeline(FakeEngine(), Phonemizer())
VOICE = VoiceCatalogue(load_built_in_voices()).default
SCHEDULE = (25, 100, 160)
FRAGMENTS = (
    "It costs $1,234,567.89 or more. ", "I use C++ daily, ", "call +1 (555) 123-4567 now; ", "½ ", "100% ", "e.g. ",
    "on 2024-05-01 at 3:30 p.m. ", "https://www.example.com/a_b?c=d ", "12345678901234567890 ", "Dr. Fox said: ",
    "yes. ", "No! ", "& ", "5 km ", "\n\n", '<break time="300ms"/> ', "[laughs] ", "[pause] ", "😀 ", "“It’s fine,” ",
    '<say-as interpret-as="characters">SSML</say-as> ', '<sub alias="World Wide Web Consortium">W3C</sub> ',
    '<prosody rate="fast">quickly now</prosody> ', "你好，世界。", "Pneumonoultramicroscopicsilicovolcanoconiosis ",
)  # fmt: skip
OUTPUTS = ("pcm_24000", "pcm_16000", "ulaw_8000", "mp3_44100_128")


def _make_texts(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(FRAGMENTS, k=rng.randint(1, 8))) for _ in range(count)]


def _assert_monotonic(alignment: Alignment, seconds: float) -> None:
    times = [time for pair in zip(alignment.starts, alignment.ends, strict=True) for time in pair]
    assert times == sorted(times)
    assert not times or (times[0] >= 0 and times[-1] <= seconds + 1e-6)


def _render(pipeline: Pipeline, voice: Voice, text: str) -> tuple[Clip, float]:
    clip = Clip()
    seconds = sum(
        part.seconds
        for part in pipeline.render(SynthesisRequest(text, voice), formats.find("pcm_24000"), clip, timestamps=True)
    )
    return clip, seconds


def _assert_clip(pipeline: Pipeline, voice: Voice, text: str) -> None:
    clip, seconds = _render(pipeline, voice, text)
    assert "".join(clip.alignment.characters) == text
    _assert_monotonic(clip.alignment, seconds)
    _assert_monotonic(clip.normalized, seconds)


def _assert_stream(pipeline: Pipeline, voice: Voice, text: str, output: str) -> None:
    """No time lies after the audio so far, and the characters are all there."""
    parts = list(pipeline.stream(SynthesisRequest(text, voice), formats.find(output), timestamps=True))
    bit_rate = formats.find(output).constant_bit_rate
    assert bit_rate is not None
    sent = 0
    for part in parts[:-1]:
        sent += len(part.audio)
        for alignment in (part.alignment, part.normalized):
            assert not alignment.ends or alignment.ends[-1] <= 8 * sent / bit_rate + 1e-6
    whole = AudioPart.join(parts)
    assert "".join(whole.alignment.characters) == text
    _assert_monotonic(whole.alignment, whole.seconds)
    _assert_monotonic(whole.normalized, whole.seconds)


def _assert_frames(pipeline: Pipeline, voice: Voice, pieces: Sequence[str], output: str) -> None:
    """The times of each frame lie within its own audio."""
    output_format = formats.find(output)
    synthesis, request = StreamingSynthesis(pipeline, output_format, SCHEDULE), SynthesisRequest("", voice)
    parts = [part for piece in pieces for part in synthesis.feed(request, piece)]
    parts += [*synthesis.feed(request, "", flush=True), *synthesis.finish()]
    frames = [json.loads(message) for part in parts for message in SpeechMessages().audio(part)]
    assert output_format.constant_bit_rate is not None
    for frame in frames:
        milliseconds = 8000 * len(base64.b64decode(frame["audio"])) / output_format.constant_bit_rate
        for alignment in (frame["alignment"], frame["normalizedAlignment"]):
            if alignment:
                starts, durations = alignment["charStartTimesMs"], alignment["charDurationsMs"]
                ends = [start + duration for start, duration in zip(starts, durations, strict=True)]
                assert starts == sorted(starts)
                assert min(durations) >= 0
                assert ends[-1] <= milliseconds + 1
    text = "".join(pieces)
    aligned = "".join(character for frame in frames for character in (frame["alignment"] or {"chars": []})["chars"])
    assert text.startswith(aligned)
    assert text[len(aligned) :].strip(" \n😀") == "" or not frames


def _cut(text: str, rng: random.Random) -> list[str]:
    pieces = []
    while text:
        size = rng.randint(1, 30)
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def test_clips() -> None:
    for text in _make_texts(60, seed=1):
        _assert_clip(PIPELINE, VOICE, text)


@pytest.mark.parametrize("output", OUTPUTS)
def test_streams(output: str) -> None:
    for text in _make_texts(25, seed=2):
        _assert_stream(PIPELINE, VOICE, text, output)


@pytest.mark.parametrize("output", OUTPUTS[:3])
def test_frames_of_a_socket(output: str) -> None:
    rng = random.Random(3)
    for text in _make_texts(25, seed=3):
        _assert_frames(PIPELINE, VOICE, _cut(text, rng), output)


EXPANSIONS = [
    ("It costs $1,234,567.89 or more.", "$1,234,567.89", "one million", "cents"),
    ("I use C++ and more.", "C++", "C", "plus"),
    ("Call (555) 123-4567 today.", "(555) 123-4567", "five", "seven"),
    ("He has 12345678901234567890 of them.", "12345678901234567890", "twelve", "ninety"),
    ('The <sub alias="World Wide Web Consortium">W3C</sub> met.', "W3C", "World", "Consortium"),
]


def _assert_covers(pipeline: Pipeline, voice: Voice, text: str, written: str, first: str, last: str) -> None:
    """What is written lasts from the first to the last word that is read for it, also in a stream."""
    request = SynthesisRequest(text, voice)
    for whole in (
        AudioPart.join(list(pipeline.stream(request, formats.find("pcm_24000"), timestamps=True))),
        _render(pipeline, voice, text)[0],
    ):
        original, normalized = whole.alignment, whole.normalized
        read = "".join(normalized.characters)
        start, end = text.index(written), text.index(written) + len(written) - 1
        begin, finish = read.index(first), read.rindex(last) + len(last) - 1
        assert original.starts[start] == pytest.approx(normalized.starts[begin], abs=0.03)
        assert original.ends[end] == pytest.approx(normalized.ends[finish], abs=0.03)


@pytest.mark.parametrize(("text", "written", "first", "last"), EXPANSIONS)
def test_an_expression_lasts_as_long_as_its_words(text: str, written: str, first: str, last: str) -> None:
    _assert_covers(PIPELINE, VOICE, text, written, first, last)


def test_every_part_ends_with_its_audio() -> None:
    """Clients that add up what the frames claim get the length of the speech."""
    parts = list(
        PIPELINE.stream(
            SynthesisRequest("It costs $1,234,567.89 or more.", VOICE), formats.find("pcm_24000"), timestamps=True
        )
    )
    for part in parts[:-1]:
        assert part.alignment.ends[-1] == pytest.approx(part.end)


@pytest.mark.slow
def test_the_engine_keeps_the_times(pipeline: Pipeline) -> None:
    for case in EXPANSIONS:
        _assert_covers(pipeline, VOICE, *case)
    rng = random.Random(4)
    for text in _make_texts(3, seed=4):
        _assert_clip(pipeline, VOICE, text)
        _assert_stream(pipeline, VOICE, text, "pcm_16000")
        _assert_frames(pipeline, VOICE, _cut(text, rng), "pcm_24000")


@pytest.mark.parametrize("output", OUTPUTS)
def test_without_timestamps_the_audio_is_the_same(output: str) -> None:
    request, audio = SynthesisRequest("Dr. Fox paid $5. Then he left.", VOICE), formats.find(output)
    plain = AudioPart.join(list(PIPELINE.stream(request, audio)))
    timed = AudioPart.join(list(PIPELINE.stream(request, audio, timestamps=True)))
    assert (plain.audio, plain.seconds, plain.end) == (timed.audio, timed.seconds, timed.end)
    assert "".join(timed.alignment.characters) == request.text
    assert plain.alignment == plain.normalized == Alignment()
