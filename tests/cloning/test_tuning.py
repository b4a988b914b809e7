"""A voice is brought to the pitch and the colour of its person."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from svc.cloning.colour import BANDS, PLAIN, Colour
from svc.cloning.ear import Embedding
from svc.cloning.parameters import PITCH_SCALES, VoiceParameters
from svc.cloning.tuning import in_tune
from tests.cloning.voices import made_up


@dataclass(frozen=True)
class Heard:
    pitch: float
    parameters: VoiceParameters
    embedding: Embedding
    colour: Colour


def tuned(person: float, voice: float, scale: float = 1.0) -> float:
    """The scale for a person of that pitch, when a voice with this scale was heard at another."""
    known = made_up()
    heard = Heard(person, replace(known.parameters, pitch_scale=scale), known.parameters.timbre, PLAIN)
    return in_tune(heard, replace(heard, pitch=voice)).pitch_scale


def test_as_far_as_it_was_off() -> None:
    assert tuned(110, 100) == pytest.approx(1.1)
    assert tuned(190, 200, scale=1.2) == pytest.approx(1.14)


def test_an_octave_is_not_believed() -> None:
    assert tuned(100, 200) == pytest.approx(1 / 1.5)
    assert tuned(200, 100) == pytest.approx(1.5)


def test_within_what_a_voice_may_have() -> None:
    assert tuned(200, 140, scale=2.2) == PITCH_SCALES[1]


def test_as_dark_as_the_person() -> None:
    known, dark = made_up().parameters, np.linspace(6, -6, BANDS, dtype=np.float32)
    person = Heard(100, known, known.timbre, dark)
    assert np.allclose(in_tune(person, person).colour, 0, atol=1e-5)
    change = in_tune(person, replace(person, colour=PLAIN)).colour
    assert np.allclose(np.diff(change[:10]), np.diff(dark[:10]) / 2, atol=1e-5)
