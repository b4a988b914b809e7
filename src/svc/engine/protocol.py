"""The engine interface: phonemes in, chunks of audio out."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from svc.audio.samples import Samples

Array = npt.NDArray[np.float32]
StyleTable = npt.NDArray[np.float32]
"""[lengths, 256]: one style vector for each number of phonemes. The first 128 values are timbre, the rest prosody."""

TIMBRE_PHONEMES = 60
"""svc-turbo 2 gives shorter texts the timbre of this many phonemes, which sounds more natural."""

NO_LAYER_OFFSETS = np.zeros((11, 128), dtype=np.float32)
"""Zero offsets: the voice as built in."""
NO_VOCODER_EMBEDDING = np.zeros(256, dtype=np.float32)
"""Zero embedding: the voice as built in."""
NO_MASK_OFFSET = np.zeros(2408, dtype=np.float32)
"""Zero offset: the voice as built in."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """How an utterance is spoken. The defaults leave the voice as it is."""

    speed: float = 1.0
    pitch_range: float = 1.0
    """Factor on the distance of the pitch from its median, in octaves: below 1 is calmer, above 1 livelier."""
    seed: int | None = None
    """Selects a small, repeatable variation of the prosody; None is the voice's own."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """Phonemes to speak. `before` and `after` are context: they influence the prosody and are not spoken."""

    phonemes: str
    style: StyleTable
    delivery: Delivery = Delivery()
    before: str = ""
    after: str = ""
    layer_offsets: Array = field(default_factory=lambda: NO_LAYER_OFFSETS)
    """[11, 128]: added to the timbre of each of the decoder's ten norms and, in the last row, of the vocoder."""
    pitch_scale: float = 1.0
    """Factor on the pitch."""
    vocoder_embedding: Array = field(default_factory=lambda: NO_VOCODER_EMBEDDING)
    """[256]: a further speaker embedding of svc-turbo's vocoder. Kokoro's vocoder has no such input."""
    mask_offset: Array = field(default_factory=lambda: NO_MASK_OFFSET)
    """[2408]: added to the spectral masks of svc-turbo 2's vocoder, a fixed filter. Others have no such input."""

    def choose_style(self, least_phonemes: int = 1) -> Array:
        """[1, 256]: the style for this number of phonemes, with those of the context, or for `least_phonemes`."""
        count = max(self._count_phonemes(), least_phonemes)
        style: Array = self.style[min(count, len(self.style)) - 1].reshape(1, 256)
        return style

    def trim_style(self) -> "Utterance":
        """The same utterance without the rows of the table, which is large, that no engine reads."""
        if self._count_phonemes() >= TIMBRE_PHONEMES:
            return replace(self, style=self.choose_style())
        return replace(self, style=self.style[:TIMBRE_PHONEMES])

    def _count_phonemes(self) -> int:
        return len(self.before) + len(self.phonemes) + len(self.after)


class Timing(NamedTuple):
    """When a phoneme of the utterance is spoken, in seconds from the start of the utterance.

    A tuple, because a chunk has a dozen, and engines elsewhere send them.
    """

    phoneme: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Chunk:
    """Audio, and the timings of the phonemes in it."""

    samples: Samples
    timings: tuple[Timing, ...] = ()


class Engine(Protocol):
    """A text-to-speech engine. `load` is called first; then utterances may be spoken in several threads at once."""

    name: str
    sample_rate: int
    max_phonemes: int
    fingerprint: str
    """Differs between weights; known once they are loaded."""

    def load(self) -> None:
        """Loads the models; raises `EngineUnavailable` with the reason if that fails."""

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        """Speaks the utterance. Each step of the iterator takes a bounded time, so that requests can take turns."""


def warm_up(engine: Engine) -> None:
    """Synthesizes once, so that the first request does not pay for one-time initialisation."""
    neutral = np.zeros((engine.max_phonemes, 256), dtype=np.float32)
    for _ in engine.synthesize(Utterance("həlˈO wˈɜɹld.", neutral)):
        pass
