"""Where a refined voice may go: along what sets the built-in voices apart, and never out of bounds."""

import numpy as np
import pytest

from svc.cloning.directions import COUNT, Directions
from svc.voices.parameters import PITCH_SCALES, VoiceParameters
from tests.voices.examples import made_up

VOICE: VoiceParameters = made_up().parameters


@pytest.fixture(scope="module")
def directions() -> Directions:
    return Directions()


def test_no_offset_is_the_voice_itself(directions: Directions) -> None:
    there = directions.moved(VOICE, np.zeros(COUNT, dtype=np.float32))
    assert np.array_equal(there.timbre, VOICE.timbre)
    assert np.array_equal(there.melody, VOICE.melody)
    assert np.array_equal(there.layer_offsets, VOICE.layer_offsets)
    assert there.pitch_scale == pytest.approx(VOICE.pitch_scale)


def test_every_direction_changes_something_else(directions: Directions) -> None:
    moves = []
    for axis in np.eye(COUNT, dtype=np.float32):
        there = directions.moved(VOICE, axis)
        parts = (
            there.timbre - VOICE.timbre,
            there.melody - VOICE.melody,
            (there.layer_offsets - VOICE.layer_offsets).ravel(),
        )
        moves.append(np.concatenate([*parts, [there.pitch_scale - VOICE.pitch_scale]]))
    assert np.linalg.matrix_rank(np.stack(moves), tol=1e-4) == COUNT


@pytest.mark.parametrize("far", [-1000.0, 1000.0])
def test_far_out_the_voice_stays_one_that_can_speak(directions: Directions, far: float) -> None:
    there = directions.moved(VOICE, np.full(COUNT, far, dtype=np.float32))
    assert there.pitch_scale == PITCH_SCALES[far > 0]
