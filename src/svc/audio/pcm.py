"""Plain 16-bit samples, bare or in a WAV file."""

import struct
from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from svc.audio.formats import OutputFormat

Float32: TypeAlias = NDArray[np.float32]
Int16: TypeAlias = NDArray[np.int16]


class Writer(ABC):
    """Turns int16 mono samples, already at the right rate, into the bytes of one kind of file."""

    def header(self) -> bytes:
        """What stands before the first sample when nobody knows yet how long the file will be."""
        return b""

    @abstractmethod
    def write(self, samples: Int16) -> bytes:
        """All bytes that these samples complete."""

    def finish(self) -> bytes:
        """What is still held back; nothing is written afterwards."""
        return b""

    def seal(self, clip: bytes) -> bytes:
        """The joined bytes as a finished file, whose header knows the true length."""
        return clip


FULL_SCALE = 32_768
BYTES_PER_SAMPLE = 2
WAV_HEADER = struct.Struct("<4sI 4s 4sIHHIIHH 4sI")
UNKNOWN_LENGTH = 0xFFFFFFFF  # what players take for "until the end of the stream"
LARGEST_LENGTH = UNKNOWN_LENGTH - WAV_HEADER.size


def to_int16(samples: Float32) -> Int16:
    """Rounds to the nearest step, and clips what is louder than full scale instead of letting it wrap.

    No dither: its noise would be louder than the rounding error, which speech at this depth hides anyway.
    """
    steps: Float32 = np.rint(samples * np.float32(FULL_SCALE))
    return np.clip(steps, -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


class PcmWriter(Writer):
    """Signed 16-bit little-endian samples and nothing else."""

    def __init__(self, output_format: OutputFormat) -> None:
        self._sample_rate = output_format.sample_rate

    def write(self, samples: Int16) -> bytes:
        return samples.astype("<i2").tobytes()


class WavWriter(PcmWriter):
    """The same samples behind a RIFF header, which leaves the length open until the file is sealed."""

    def header(self) -> bytes:
        return self._header(UNKNOWN_LENGTH)

    def seal(self, clip: bytes) -> bytes:
        length = len(clip) - WAV_HEADER.size
        return self._header(length if length < LARGEST_LENGTH else UNKNOWN_LENGTH) + clip[WAV_HEADER.size :]

    def _header(self, length: int) -> bytes:
        riff_length = length if length == UNKNOWN_LENGTH else length + WAV_HEADER.size - 8
        integer_pcm, channels = 1, 1
        return WAV_HEADER.pack(
            *(b"RIFF", riff_length, b"WAVE"),
            *(b"fmt ", 16, integer_pcm, channels, self._sample_rate),
            *(self._sample_rate * BYTES_PER_SAMPLE, BYTES_PER_SAMPLE, 8 * BYTES_PER_SAMPLE),
            *(b"data", length),
        )
