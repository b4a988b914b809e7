"""What an engine is: it turns phonemes into sound, chunk by chunk."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]
StyleTable = npt.NDArray[np.float32]
"""One 256-wide style a row; the row is the number of phonemes. The first half is timbre, the second melody."""


NO_LAYER_OFFSETS = np.zeros((11, 128), dtype=np.float32)
"""No layer strays: so speaks every voice that was not cloned."""
NO_VOCODER_EMBEDDING = np.zeros(256, dtype=np.float32)
"""Nor has it any grain."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """How an utterance is spoken. The defaults leave the voice as it is."""

    speed: float = 1.0
    pitch_range: float = 1.0
    """How far the melody swings around its middle: below 1 is calmer, above 1 livelier."""
    seed: int | None = None
    """Another take of the same words: a small, repeatable change of melody."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One stretch of speech. `before` and `after` shape its melody and are not heard."""

    phonemes: str
    style: StyleTable
    delivery: Delivery = Delivery()
    before: str = ""
    after: str = ""
    layer_offsets: Samples = field(default_factory=lambda: NO_LAYER_OFFSETS)
    """[11, 128]: how far the timbre of each of the decoder's ten norms, and of the vocoder, strays from the style's."""
    pitch_scale: float = 1.0
    """By which the melody's pitch is multiplied."""
    vocoder_embedding: Samples = field(default_factory=lambda: NO_VOCODER_EMBEDDING)
    """[256]: what a voice has of its own in svc-turbo's vocoder, besides its timbre. Kokoro's knows nothing like it."""


@dataclass(frozen=True, slots=True)
class Timing:
    """When one phoneme of the utterance sounds, in seconds from the start of the utterance."""

    phoneme: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Chunk:
    """Sound, with the times of the phonemes that it holds."""

    samples: Samples
    timings: tuple[Timing, ...] = ()


class Engine(Protocol):
    """One verb, between `load` and the end of the process. Called from one thread at a time."""

    name: str
    sample_rate: int
    max_phonemes: int

    def load(self) -> None:
        """Gets ready to speak; raises `EngineUnavailable` with the reason when it cannot."""

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        """Speaks the utterance. Each step of the iterator is one bounded piece of work."""


def warm_up(engine: Engine) -> None:
    """A first utterance, so that the first caller does not pay for what is done once."""
    neutral = np.zeros((engine.max_phonemes, 256), dtype=np.float32)
    for _ in engine.synthesize(Utterance("həlˈO wˈɜɹld.", neutral)):
        pass
