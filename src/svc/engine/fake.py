"""A deterministic engine for fast tests and load tests: every phoneme is a short tone."""

import time
from collections.abc import Iterator
from zlib import crc32

import numpy as np

from svc.engine.protocol import Chunk, Timing, Utterance

_SECONDS_PER_PHONEME = 0.06
_PHONEMES_PER_CHUNK = 40


class FakeEngine:
    """Its audio lasts about as long as speech would; it sleeps `work` seconds for each chunk, and to load."""

    name = "fake"
    sample_rate = 24_000
    max_phonemes = 510
    fingerprint = ""

    def __init__(self, work: float = 0.0) -> None:
        self._work = work

    def load(self) -> None:
        time.sleep(self._work)

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        seconds = _SECONDS_PER_PHONEME / utterance.delivery.speed
        length = round(seconds * self.sample_rate)
        time_axis = np.arange(length, dtype=np.float32) / self.sample_rate
        pitch = 120.0 + crc32(utterance.style.tobytes()) % 120
        symbols = list(enumerate(utterance.phonemes))
        for first in range(0, len(symbols), _PHONEMES_PER_CHUNK):
            numbered = symbols[first : first + _PHONEMES_PER_CHUNK]
            time.sleep(self._work)
            tones = [
                0.2 * np.sin(2 * np.pi * (pitch + crc32(symbol.encode()) % 200) * time_axis)
                if not symbol.isspace()
                else np.zeros(length)
                for _, symbol in numbered
            ]
            timings = tuple(Timing(index, index * seconds, (index + 1) * seconds) for index, _ in numbered)
            yield Chunk(np.concatenate(tones).astype(np.float32), timings)
