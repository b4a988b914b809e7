"""A text that is still being written: however it arrives, the same is heard."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.audio import formats
from svc.engine.fake import FakeEngine
from svc.synthesis.pipeline import AudioPart, Pipeline, StreamingSynthesis, SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.voices.catalogue import VoiceCatalogue, built_in

SPEECH = Pipeline(FakeEngine(), Phonemizer())
VOICE = VoiceCatalogue(built_in()).default
SCHEDULE = (25, 100, 160)
STORY = (
    "Well, the man who came, as it were, from e.g. Springfield said: it costs $1,000.50 at 3:30 p.m., which is not "
    'much. "Really?" she asked, because nobody had told her. Dr. Smith<break time="1s"/>laughed… 3.5 times!\n\nThen '
    '<phoneme alphabet="ipa" ph="təˈmeɪtoʊ">tomato</phoneme> soup — what else? — was served, on www.example.com. '
    "And and and and and and and and and and and and and and and and and and and and and and and and and and and and "
    "你好，世界。这是一个很长的句子，因为我们想知道它会在哪里被切开，然后继续下去，直到最后。好 😀 <3"
)


def _dictation(output_format: str = "pcm_24000", schedule: Sequence[int] = SCHEDULE) -> StreamingSynthesis:
    return SPEECH.start_streaming(SynthesisRequest("", VOICE), formats.find(output_format), schedule)


def _heard(pieces: Sequence[str], output_format: str = "pcm_24000") -> AudioPart:
    start_streaming = _dictation(output_format)
    parts = [part for piece in pieces for part in start_streaming.say(piece)]
    return AudioPart.joined([*parts, *start_streaming.say("", flush=True), *start_streaming.end()])


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_the_size_of_the_pieces_does_not_matter(size: int) -> None:
    pieces = [STORY[at : at + size] for at in range(0, len(STORY), size)]
    assert _heard(pieces) == _heard([STORY])


_FRAGMENTS = st.sampled_from([
    "Hello", " ", ". ", ", ", "Dr.", "3.5", "1,000", "word", "because ", "<break time='1s'/>", "<b>", "</b>", "<p>",
    "\n", "\n\n", "- ", "— ", "“", "”", "(so)", "你好", "。", "，", "e.g.", "www.x.com", "<", "&amp;", "😀", "?!", "—",
])  # fmt: skip


@given(st.lists(_FRAGMENTS, max_size=40).map("".join), st.lists(st.integers(1, 30), max_size=30))
@settings(max_examples=150, deadline=None)
def test_nor_does_where_it_is_cut(text: str, sizes: list[int]) -> None:
    pieces, position = [], 0
    for size in sizes:
        pieces.append(text[position : position + size])
        position += size
    assert _heard([*pieces, text[position:]]) == _heard([text])


def test_every_character_is_told_once() -> None:
    told = "".join(_heard(list(STORY)).alignment.characters)
    assert told == STORY[: len(told)]
    assert STORY[len(told) :].strip(" 😀<3") == ""


def test_speech_begins_with_the_first_phrase() -> None:
    start_streaming = _dictation()
    text = "As soon as there is a first phrase, speech begins"
    assert list(start_streaming.say(text[: text.index(",") + 2])) == []
    (first, *_) = start_streaming.say("s")
    assert "".join(first.alignment.characters) == text[: text.index(",") + 2][: len(first.alignment.characters)]


def test_a_long_sentence_without_a_comma_is_not_waited_for() -> None:
    start_streaming = _dictation()
    spoken = [list(start_streaming.say(f"word{index} ")) for index in range(60)]
    assert any(spoken[:30])


def test_a_flush_leaves_nothing_unsaid() -> None:
    start_streaming = _dictation()
    parts = [*start_streaming.say("One two", flush=True), *start_streaming.say(" three four", flush=True)]
    assert "".join(character for part in parts for character in part.alignment.characters) == "One two three four"


@pytest.mark.parametrize("output_format", ["mp3_44100_128", "opus_48000_32", "ulaw_8000", "pcm_16000"])
def test_no_part_is_without_sound(output_format: str) -> None:
    start_streaming = _dictation(output_format)
    parts = [*start_streaming.say(STORY, flush=True), *start_streaming.end()]
    assert all(part.audio for part in parts)
    told = "".join(character for part in parts for character in part.alignment.characters)
    assert told.rstrip() == STORY[: len(told)].rstrip()


def test_the_times_go_on_over_flushes() -> None:
    start_streaming = _dictation()
    parts = [*start_streaming.say("One two.", flush=True), *start_streaming.say("Three.", flush=True)]
    times = [time for part in parts for time in part.alignment.starts]
    assert times == sorted(times)
    assert parts[-1].alignment.ends[-1] == pytest.approx(sum(len(part.audio) for part in parts) / 2 / 24_000)


@pytest.mark.parametrize("text", ["", " ", "😀", "\n\n"])
def test_nothing_to_say(text: str) -> None:
    start_streaming = _dictation()
    assert [*start_streaming.say(text, flush=True), *start_streaming.end()] == []
