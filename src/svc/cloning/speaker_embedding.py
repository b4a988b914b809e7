"""What hears a person in a recording: the voice encoder, or in tests something that does as if."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from svc.audio.equalizer import Colour
from svc.engine.protocol import Samples
from svc.voices.parameters import VoiceParameters

Embedding = npt.NDArray[np.float32]


class Heard(Protocol):
    @property
    def parameters(self) -> VoiceParameters:
        """With which the engine speaks like that person."""

    @property
    def embedding(self) -> Embedding:
        """Who it is, whatever they say."""

    @property
    def colour(self) -> Colour:
        """How much of the sound is in each band."""


class Ear(Protocol):
    """Called from one thread at a time."""

    def hear(self, samples: Samples, rate: int) -> Heard: ...

    def colour(self, samples: Samples, rate: int) -> Colour:
        """That alone, which is little work."""

    def similarity(self, one: Embedding, other: Embedding) -> float:
        """1 for the same person, about 0 for strangers."""
