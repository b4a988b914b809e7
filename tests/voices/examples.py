"""Voices made up for the tests of keeping them."""

import time

import numpy as np

from svc.cloning.reference import Measured
from svc.text.language import Language
from svc.voices.custom_voice import CustomVoice, Report, StoredReference, new_id
from svc.voices.parameters import LAYERS, STYLE, VoiceParameters


def made_up(name: str = "Anna", reference: bytes | None = b"reference") -> CustomVoice:
    chance = np.random.default_rng()
    timbre, melody = 0.1 * chance.standard_normal((2, STYLE), dtype=np.float32)
    return CustomVoice(
        voice_id=new_id(),
        name=name,
        language=Language.FRENCH,
        description="Jeune.",
        labels={"accent": "breton"},
        parameters=VoiceParameters(timbre, melody, np.zeros((LAYERS, STYLE), np.float32), 0.9),
        report=Report(Measured(12, 11, 10, -23, -60, 37, 0), 0.6, "Siwis", 0.3, ("It is noisy.",)),
        created_at=int(time.time()),
        changed_at=time.time(),
        key_id="a-key",
        consent=True,
        reference=StoredReference.of(reference) if reference is not None else None,
    )
