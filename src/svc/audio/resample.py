"""From the engine's sample rate to the caller's, without a seam between chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import soxr

if TYPE_CHECKING:
    from svc.audio.pcm import Float32

# 20 bits of precision, more than 16-bit samples can show; the next step up doubles the latency below 24 kHz.
QUALITY = "HQ"


class Resampler:
    """Converts chunk after chunk; equal rates pass through untouched."""

    def __init__(self, source_rate: int, target_rate: int) -> None:
        equal = source_rate == target_rate
        self._stream = None if equal else soxr.ResampleStream(source_rate, target_rate, 1, quality=QUALITY)

    def feed(self, samples: Float32, *, last: bool = False) -> Float32:
        """What is ready after these samples; with `last`, also what the filter still held."""
        if self._stream is None:
            return samples
        return np.asarray(self._stream.resample_chunk(samples, last=last), dtype=np.float32)
