"""Text that is still being written: the audio does not depend on how it is cut into pieces."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from svc.audio import formats
from svc.engine.fake import FakeEngine
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import AudioPart, SynthesisRequest
from svc.synthesis.streaming import StreamingSynthesis
from svc.text.g2p import Phonemizer
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue

PIPELINE = Pipeline(FakeEngine(), Phonemizer())
VOICE = VoiceCatalogue(load_built_in_voices()).default
SCHEDULE = (25, 100, 160)
STORY = (
    "Well, the man who came, as it were, from e.g. Springfield said: it costs $1,000.50 at 3:30 p.m., which is not "
    'much. "Really?" she asked, because nobody had aligned her. Dr. Smith<break time="1s"/>laughed… 3.5 times!\n\nThen '
    '<phoneme alphabet="ipa" ph="təˈmeɪtoʊ">tomato</phoneme> soup — what else? — was served, on www.example.com. '
    "And and and and and and and and and and and and and and and and and and and and and and and and and and and and "
    "你好，世界。这是一个很长的句子，因为我们想知道它会在哪里被切开，然后继续下去，直到最后。好 😀 <3"
)


TURN = SynthesisRequest("", VOICE)


def _start(output_format: str = "pcm_24000", schedule: Sequence[int] = SCHEDULE) -> StreamingSynthesis:
    return StreamingSynthesis(PIPELINE, formats.find(output_format), schedule)


def _synthesize(pieces: Sequence[str], output_format: str = "pcm_24000") -> AudioPart:
    synthesis = _start(output_format)
    parts = [part for piece in pieces for part in synthesis.feed(TURN, piece)]
    return AudioPart.join([*parts, *synthesis.feed(TURN, "", flush=True), *synthesis.finish()])


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_audio_does_not_depend_on_the_size_of_pieces(size: int) -> None:
    pieces = [STORY[at : at + size] for at in range(0, len(STORY), size)]
    assert _synthesize(pieces) == _synthesize([STORY])


_FRAGMENTS = st.sampled_from([
    "Hello", " ", ". ", ", ", "Dr.", "3.5", "1,000", "word", "because ", "<break time='1s'/>", "<b>", "</b>", "<p>",
    "\n", "\n\n", "- ", "— ", "“", "”", "(so)", "你好", "。", "，", "e.g.", "www.x.com", "<", "&amp;", "😀", "?!", "—",
])  # fmt: skip


@given(st.lists(_FRAGMENTS, max_size=40).map("".join), st.lists(st.integers(1, 30), max_size=30))
@example("Hello<break time='1s'/><p><break time='1s'/>Hello", [24])
@settings(max_examples=150, deadline=None)
def test_audio_does_not_depend_on_where_the_text_is_cut(text: str, sizes: list[int]) -> None:
    pieces, position = [], 0
    for size in sizes:
        pieces.append(text[position : position + size])
        position += size
    assert _synthesize([*pieces, text[position:]]) == _synthesize([text])


def test_every_character_is_aligned_once() -> None:
    aligned = "".join(_synthesize(list(STORY)).alignment.characters)
    assert aligned == STORY[: len(aligned)]
    assert STORY[len(aligned) :].strip(" 😀<3") == ""


def test_speech_begins_with_the_first_phrase() -> None:
    synthesis = _start()
    text = "As soon as there is a first phrase, speech begins"
    assert list(synthesis.feed(TURN, text[: text.index(",") + 2])) == []
    (first, *_) = synthesis.feed(TURN, "s")
    assert "".join(first.alignment.characters) == text[: text.index(",") + 2][: len(first.alignment.characters)]


def test_a_long_sentence_is_spoken_before_it_ends() -> None:
    synthesis = _start()
    spoken = [list(synthesis.feed(TURN, f"word{index} ")) for index in range(60)]
    assert any(spoken[:30])


def test_flush_speaks_everything() -> None:
    synthesis = _start()
    parts = [*synthesis.feed(TURN, "One two", flush=True), *synthesis.feed(TURN, " three four", flush=True)]
    assert "".join(character for part in parts for character in part.alignment.characters) == "One two three four"


@pytest.mark.parametrize("output_format", ["mp3_44100_128", "opus_48000_32", "ulaw_8000", "pcm_16000"])
def test_every_part_has_audio(output_format: str) -> None:
    synthesis = _start(output_format)
    parts = [*synthesis.feed(TURN, STORY, flush=True), *synthesis.finish()]
    assert all(part.audio for part in parts)
    aligned = "".join(character for part in parts for character in part.alignment.characters)
    assert aligned.rstrip() == STORY[: len(aligned)].rstrip()


def test_times_continue_over_flushes() -> None:
    synthesis = _start()
    parts = [*synthesis.feed(TURN, "One two.", flush=True), *synthesis.feed(TURN, "Three.", flush=True)]
    times = [time for part in parts for time in part.alignment.starts]
    assert times == sorted(times)
    assert parts[-1].alignment.ends[-1] == pytest.approx(sum(len(part.audio) for part in parts) / 2 / 24_000)


@pytest.mark.parametrize("text", ["", " ", "😀", "\n\n"])
def test_text_without_words_has_no_audio(text: str) -> None:
    synthesis = _start()
    assert not any(part.audio for part in [*synthesis.feed(TURN, text, flush=True), *synthesis.finish()])
