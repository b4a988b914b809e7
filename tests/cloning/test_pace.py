"""The pace of a speaker is found in a recording, and a clone has it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from svc.audio.decode import Clip
from svc.audio.samples import Samples
from svc.cloning.cloner import VoiceCloner
from svc.cloning.pace import FASTEST, MIN_SECONDS, SLOWEST, count_syllables, find_pace
from svc.cloning.reference import examine
from svc.cloning.speech_detection import analyze_frames
from svc.engine.fake import FakeEngine
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.parameters import PACES
from svc.voices.settings import VoiceSettings
from tests.audio.recordings import RATE
from tests.conftest import STORY
from tests.voices.test_parameters import make_parameters


def bursts(per_second: float, seconds: float = 10.0) -> Samples:
    """Voiced syllables at a rate."""
    time = np.arange(int(seconds * RATE)) / RATE
    buzz = sum(np.sin(2 * np.pi * 120 * harmonic * time) / harmonic for harmonic in range(1, 20))
    return (0.05 * buzz * np.sin(np.pi * per_second * time) ** 2).astype(np.float32)


@pytest.mark.parametrize("rate", [2.0, 4.0, 5.5])
def test_syllables_are_counted(rate: float) -> None:
    features = analyze_frames(bursts(rate))
    assert count_syllables(features, np.ones(len(features.level), np.bool_)) == pytest.approx(10 * rate, abs=2)


def test_the_pace_is_relative_to_that_of_others_and_bounded() -> None:
    paces = [find_pace(round(rate * 10), 10.0) for rate in (1.0, 3.6, 4.0, 4.4, 9.0)]
    assert paces == sorted(paces)
    assert (paces[0], paces[2], paces[-1]) == (SLOWEST, 1.0, FASTEST)
    assert PACES[0] < SLOWEST < FASTEST < PACES[1]
    assert find_pace(90, MIN_SECONDS - 0.1) == 1.0, "too little speech to tell"


def test_faster_speech_has_a_faster_pace(say: Callable[..., Samples]) -> None:
    def measure(speed: float) -> float:
        spoken = say(STORY, voice="am_michael", settings=VoiceSettings(speed=speed))
        return examine([Clip(spoken), Clip(spoken)]).pace

    slow, fast = measure(0.8), measure(1.3)
    assert slow + 0.04 < fast


def test_a_voice_speaks_at_its_pace(phonemizer: Phonemizer, voices: VoiceCatalogue) -> None:
    def measure(pace: float) -> int:
        voice = voices.build(replace(make_parameters(), pace=pace), Language.ENGLISH_US)
        request = SynthesisRequest("Hello there, how are you?", voice, language=Language.ENGLISH_US)
        return sum(len(chunk.samples) for chunk in Pipeline(FakeEngine(), phonemizer).synthesize(request))

    for pace in (0.9, 1.1):
        assert measure(pace) == pytest.approx(measure(1.0) / pace, rel=0.05)


@pytest.mark.parametrize(("language", "expected"), [(Language.ENGLISH_GB, 1.1), (Language.FRENCH, 1.0)])
def test_a_clone_takes_its_pace_from_english_alone(language: Language, expected: float) -> None:
    """Languages differ in how many syllables they have."""
    paces = []

    async def make_voice(speaker: object, pace: float, language: Language) -> tuple[object, object]:
        paces.append(pace)
        return None, None

    async def run_in_thread(work: object, *_: object) -> None:
        return None

    trial: Any = SimpleNamespace(make_voice=make_voice, run_in_thread=run_in_thread)
    analyzed: Any = SimpleNamespace(reference=SimpleNamespace(pace=1.1), speaker=None, flac=None)
    nothing: Any = None
    cloner = VoiceCloner(
        trial,
        nothing,
        nothing,
        nothing,
        nothing,
        quota=nothing,
        keep_references=False,
        require_consent=False,
        refine=False,
    )
    asyncio.run(cloner._make_voice_fields(analyzed, language))
    assert paces == [expected]
