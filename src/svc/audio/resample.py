"""Streaming conversion from the engine's sample rate to the client's, without seams between chunks."""

import numpy as np
import soxr

from svc.audio.samples import Samples

# 20 bits of precision, more than 16-bit samples can show; the next step up doubles the latency below 24 kHz.
QUALITY = "HQ"


class Resampler:
    """Converts chunk after chunk; equal rates pass through unchanged."""

    def __init__(self, source_rate: int, target_rate: int) -> None:
        equal = source_rate == target_rate
        self._stream = None if equal else soxr.ResampleStream(source_rate, target_rate, 1, quality=QUALITY)

    def feed(self, samples: Samples, *, last: bool = False) -> Samples:
        """The output that is ready after these samples; with `last`, also what the filter still holds."""
        if self._stream is None:
            return samples
        return np.asarray(self._stream.resample_chunk(samples, last=last), dtype=np.float32)
