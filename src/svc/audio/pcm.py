"""16-bit samples, raw or in a WAV file, and the interface of all writers."""

import struct
from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from svc.audio.formats import OutputFormat
from svc.audio.samples import Samples

Int16: TypeAlias = NDArray[np.int16]

FULL_SCALE = 32_768
BYTES_PER_SAMPLE = 2
WAV_HEADER = struct.Struct("<4sI 4s 4sIHHIIHH 4sI")
UNKNOWN_LENGTH = 0xFFFFFFFF  # players read such a file to the end of the stream
MAX_LENGTH = UNKNOWN_LENGTH - WAV_HEADER.size


def to_int16(samples: Samples) -> Int16:
    """Rounds to the nearest step and clips at full scale.

    Without dither: its noise would be louder than the rounding error, which speech masks.
    """
    steps: Samples = samples * np.float32(FULL_SCALE)
    np.rint(steps, out=steps)
    return np.clip(steps, -FULL_SCALE, FULL_SCALE - 1, out=steps).astype(np.int16)


class Writer(ABC):
    """Turns int16 mono samples at the output's sample rate into the bytes of a file."""

    def header(self) -> bytes:
        """The bytes before the first sample, for a file of unknown length."""
        return b""

    @abstractmethod
    def write(self, samples: Int16) -> bytes:
        """The bytes that these samples complete."""

    def finish(self) -> bytes:
        """The bytes still held back. Nothing can be written afterwards."""
        return b""

    def seal(self, beginning: bytes, length: int) -> bytes:
        """The beginning of a finished file of so many bytes, with the exact length in its header."""
        return beginning


class PcmWriter(Writer):
    """Signed 16-bit little-endian samples without a header."""

    def __init__(self, output_format: OutputFormat) -> None:
        self._sample_rate = output_format.sample_rate

    def write(self, samples: Int16) -> bytes:
        return samples.astype("<i2", copy=False).tobytes()


class WavWriter(PcmWriter):
    """The same samples after a RIFF header, whose length is unknown until the file is sealed."""

    def header(self) -> bytes:
        return self._header(UNKNOWN_LENGTH)

    def seal(self, beginning: bytes, length: int) -> bytes:
        length -= WAV_HEADER.size
        return self._header(length if length < MAX_LENGTH else UNKNOWN_LENGTH) + beginning[WAV_HEADER.size :]

    def _header(self, length: int) -> bytes:
        riff_length = length if length == UNKNOWN_LENGTH else length + WAV_HEADER.size - 8
        integer_pcm, channels = 1, 1
        return WAV_HEADER.pack(
            *(b"RIFF", riff_length, b"WAVE"),
            *(b"fmt ", 16, integer_pcm, channels, self._sample_rate),
            *(self._sample_rate * BYTES_PER_SAMPLE, BYTES_PER_SAMPLE, 8 * BYTES_PER_SAMPLE),
            *(b"data", length),
        )
