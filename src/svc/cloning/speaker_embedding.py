"""What hears a person in a recording: the voice encoder, or in tests something that does as if."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from svc.audio.equalizer import SpectralEnvelope
from svc.engine.protocol import Samples
from svc.voices.parameters import VoiceParameters

Embedding = npt.NDArray[np.float32]


class SpeakerEmbedding(Protocol):
    @property
    def parameters(self) -> VoiceParameters:
        """With which the engine speaks like that person."""

    @property
    def embedding(self) -> Embedding:
        """Who it is, whatever they say."""

    @property
    def spectral_envelope(self) -> SpectralEnvelope:
        """How much of the sound is in each band."""


class SpeakerEncoder(Protocol):
    """Called from one thread at a time."""

    def encode(self, samples: Samples, rate: int) -> SpeakerEmbedding: ...

    def spectral_envelope(self, samples: Samples, rate: int) -> SpectralEnvelope:
        """That alone, which is little work."""

    def similarity(self, one: Embedding, other: Embedding) -> float:
        """1 for the same person, about 0 for strangers."""
