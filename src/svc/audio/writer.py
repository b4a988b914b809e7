"""What every container and codec has in common."""

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

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
