"""Every character once, in order, with times that never go back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.audio import formats
from svc.engine.fake import FakeEngine
from svc.synthesis.alignment import Alignment
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import Clip, SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue

PIPELINE = Pipeline(FakeEngine(), Phonemizer())
VOICE = VoiceCatalogue(load_built_in_voices()).default


def _align(text: str) -> tuple[Alignment, Alignment, float]:
    clip = Clip()
    for _ in PIPELINE.render(SynthesisRequest(text, VOICE), formats.find("pcm_24000"), clip, timestamps=True):
        pass
    return clip.alignment, clip.normalized, clip.length / 2 / 24_000


def _assert_valid(alignment: Alignment, seconds: float) -> None:
    times = [time for pair in zip(alignment.starts, alignment.ends, strict=True) for time in pair]
    assert times == sorted(times)
    assert not times or (times[0] >= 0 and times[-1] <= seconds + 1e-6)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("I paid $5 for it.", "I paid five dollars for it."),
        ("Dr. Fox <break time='1s'/> left, at 3:30 pm.", "Doctor Fox  left, at three thirty p.m."),
        ("  spaced   out \n\n paragraphs 😀 ", "spaced   out \n\n paragraphs "),
        ("你好，世界。", "你好，世界。"),
    ],
)
def test_original_and_normalized(text: str, read: str) -> None:
    original, normalized, seconds = _align(text)
    assert "".join(original.characters) == text
    assert "".join(normalized.characters) == read
    _assert_valid(original, seconds)
    _assert_valid(normalized, seconds)


def test_times_never_run_backwards_between_chunks() -> None:
    """Two chunks whose times differ by a rounding error."""
    _, normalized, seconds = _align("0" * 41)
    _assert_valid(normalized, seconds)


def test_an_expression_is_heard_from_its_first_to_its_last_word() -> None:
    original, normalized, _ = _align("It costs $5 now.")
    read = "".join(normalized.characters)
    assert original.starts[9] == pytest.approx(normalized.starts[read.index("five")])
    assert original.ends[10] == pytest.approx(normalized.ends[read.index("dollars") + len("dollars") - 1])


@pytest.mark.slow
@given(st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text(text: str) -> None:
    original, normalized, seconds = _align(text)
    assert "".join(original.characters) == text
    _assert_valid(original, seconds)
    _assert_valid(normalized, seconds)


_ELEMENTS = [
    ('<lang xml:lang="fr">', "</lang>"),
    ('<lang xml:lang="de">', "</lang>"),
    ('<voice name="am_adam">', "</voice>"),
    ('<prosody rate="fast">', "</prosody>"),
    ('<sub alias="other">', "</sub>"),
    ('<phoneme ph="ə">', "</phoneme>"),
    ("<emphasis>", "</emphasis>"),
    ('<break time="1s"/>', ""),
    ("[whispers] ", ""),
    ("<b>", "</b>"),
    ("", ""),
]


@given(
    st.lists(
        st.tuples(st.sampled_from(_ELEMENTS), st.sampled_from(["to", "Herr Müller", "today.", "Yes!"])), min_size=1
    )
)
@settings(max_examples=100, deadline=None)
def test_markup_never_joins_two_words(parts: list[tuple[tuple[str, str], str]]) -> None:
    """A transcript that is built of what was read has its words."""
    _, normalized, _ = _align("I said " + " ".join(f"{begin}{words}{end}" for (begin, end), words in parts))
    read = " ".join("other" if begin.startswith("<sub") else words for (begin, _), words in parts)
    assert "".join(normalized.characters).split() == f"I said {read}".split()
