"""Custom voices with random parameters."""

import time

import numpy as np

from svc.engine.protocol import NO_MASK_OFFSET
from svc.text.language.languages import Language
from svc.voices.built_in import STYLE
from svc.voices.catalogue import Voice
from svc.voices.custom_voice import CustomVoice, ReferenceMeasurements, Report, StoredReference, new_id
from svc.voices.parameters import LAYERS, VoiceParameters


def named(voice_id: str, custom: CustomVoice | None = None) -> Voice:
    """A voice of which only the id matters, and whose it is."""
    nothing = np.zeros((1, 1), np.float32)
    return Voice(voice_id, "", "", Language.ENGLISH_US, "", "", neutral=nothing, custom=custom)


def make_voice(name: str = "Anna", reference: bytes | None = b"reference", key_id: str = "command-line") -> CustomVoice:
    random = np.random.default_rng()
    timbre, melody = 0.1 * random.standard_normal((2, STYLE), dtype=np.float32)
    mask = 0.1 * random.standard_normal(NO_MASK_OFFSET.shape, dtype=np.float32)
    return CustomVoice(
        voice_id=new_id(),
        name=name,
        language=Language.FRENCH,
        description="Jeune.",
        labels={"accent": "breton"},
        parameters=VoiceParameters(timbre, melody, np.zeros((LAYERS, STYLE), np.float32), 0.9, mask_offset=mask),
        report=Report(ReferenceMeasurements(12, 11, 10, -23, -60, 37, 0), 0.6, "Siwis", 0.3, ("It is noisy.",)),
        created_at=int(time.time()),
        changed_at=time.time(),
        key_id=key_id,
        consent=True,
        reference=StoredReference.of(reference) if reference is not None else None,
    )
