"""What markup and audio tags do to the speech."""

from collections.abc import Callable

import numpy as np
import pytest

from svc.audio.samples import Samples
from svc.engine.fake import FakeEngine
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.voices.catalogue import VoiceCatalogue

SECRET = "I have a secret that nobody in this house may ever know."


@pytest.fixture(scope="module")
def fake(phonemizer: Phonemizer, voices: VoiceCatalogue) -> Callable[[str], Samples]:
    pipeline = Pipeline(FakeEngine(), phonemizer)
    pipeline.find_voice = voices.find_common

    def say(text: str) -> Samples:
        request = SynthesisRequest(text, voices.find("af_heart"))
        return np.concatenate([chunk.samples for chunk in pipeline.synthesize(request)])

    return say


def _measure_power(samples: Samples) -> float:
    return float(np.sqrt(np.mean(samples**2)))


def test_rate(fake: Callable[[str], Samples]) -> None:
    assert len(fake(f'<prosody rate="50%">{SECRET}</prosody>')) == pytest.approx(2 * len(fake(SECRET)), rel=0.01)
    assert len(fake(f"[rushed] {SECRET}")) < len(fake(SECRET)) < len(fake(f"[slowly] {SECRET}"))


def test_volume(fake: Callable[[str], Samples]) -> None:
    plain, quiet, loud = (fake(text) for text in (SECRET, f"[whispers] {SECRET}", f"[shouts] {SECRET}"))
    assert _measure_power(quiet) < 0.6 * _measure_power(plain)
    assert _measure_power(loud) > 1.5 * _measure_power(plain)
    assert not fake(f'<prosody volume="silent">{SECRET}</prosody>').any()


def test_another_voice_speaks(fake: Callable[[str], Samples], voices: VoiceCatalogue) -> None:
    assert not np.array_equal(fake(f'<voice name="am_adam">{SECRET}</voice>'), fake(SECRET))
    assert np.array_equal(fake(f'<voice name="nobody">{SECRET}</voice>'), fake(SECRET))


def test_a_tag_leaves_no_trace(fake: Callable[[str], Samples]) -> None:
    assert np.array_equal(fake("[laughs] Well, yes."), fake("Well, yes."))


def test_a_pause_is_silent(fake: Callable[[str], Samples]) -> None:
    assert len(fake("Wait [long pause] here.")) - len(fake("Wait, here.")) >= 1.1 * 24_000


@pytest.mark.slow
def test_tags_are_not_heard(say: Callable[..., Samples], transcribe: Callable[..., str]) -> None:
    text = (
        "[excited] We won the game! [laughs] Nobody believed it. [whispers] Do not tell <emphasis>anybody</emphasis> "
        '[long pause] about the <sub alias="golden key">GK</sub>. <prosody rate="slow">Good night.</prosody>'
    )
    heard = set(transcribe(say(text)).split())
    assert heard.isdisjoint({"excited", "laughs", "whispers", "long", "pause", "gk", "g", "k"})
    assert {"won", "game", "nobody", "believed", "tell", "golden", "key", "good", "night"} <= heard


@pytest.mark.slow
@pytest.mark.parametrize("text", [f'<prosody volume="+9dB">{SECRET}</prosody>', f"[shouts] {SECRET}"])
def test_loud_speech_does_not_clip(say: Callable[..., Samples], text: str) -> None:
    assert np.abs(say(text, voice="am_adam")).max() < 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "attributes", ['rate="50%"', 'rate="200%"', 'pitch="-12st"', 'pitch="+12st"', 'pitch="150Hz"', 'range="x-high"']
)
def test_extremes_are_understood(say: Callable[..., Samples], transcribe: Callable[..., str], attributes: str) -> None:
    heard = transcribe(say(f"<prosody {attributes}>{SECRET}</prosody>"))
    assert len(set(heard.split()) & set(SECRET.lower().rstrip(".").split())) >= 9
