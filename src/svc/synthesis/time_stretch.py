"""Faster and slower speech at the same pitch: WSOLA, which repeats or leaves out pieces of a few pitch periods."""

from collections.abc import Iterable, Iterator

import numpy as np

from svc.audio.samples import Samples
from svc.engine.protocol import Chunk, Timing

_FRAME_SECONDS = 0.03
_SEARCH_SECONDS = 0.01  # a period of the lowest voices


def stretch(chunks: Iterable[Chunk], tempo: float, sample_rate: int) -> Iterator[Chunk]:
    """The same speech, `tempo` times as fast."""
    if tempo == 1.0:
        yield from chunks
        return
    start = stretched_start = 0.0
    for chunk in chunks:
        samples = stretch_samples(chunk.samples, tempo, sample_rate)
        scale = len(samples) / len(chunk.samples) if len(chunk.samples) else 1.0
        timings = tuple(
            Timing(
                each.phoneme,
                stretched_start + (each.start - start) * scale,
                stretched_start + (each.end - start) * scale,
            )
            for each in chunk.timings
        )
        start += len(chunk.samples) / sample_rate
        stretched_start += len(samples) / sample_rate
        yield Chunk(samples, timings)


def stretch_samples(samples: Samples, tempo: float, sample_rate: int) -> Samples:
    """Begins and ends with the very samples that it is given, so that pieces of speech can be joined."""
    hop = round(_FRAME_SECONDS / 2 * sample_rate)
    frame = 2 * hop
    if len(samples) <= frame:
        return samples
    last = max(1, round((len(samples) / tempo - frame) / hop))  # number of the last frame
    positions = np.rint(np.linspace(0, len(samples) - frame, last + 1)).astype(int)
    fade_in = (0.5 - 0.5 * np.cos(np.pi * (np.arange(hop) + 0.5) / hop)).astype(np.float32)
    out = np.zeros(last * hop + frame, dtype=np.float32)
    out[:frame] = samples[:frame]
    position = 0
    for number in range(1, last + 1):
        continuation = samples[position + hop : position + frame]
        position = int(positions[number])
        if number < last:  # the last one ends where the samples end
            position = _find_match(samples, continuation, position, round(_SEARCH_SECONDS * sample_rate), frame)
        start = number * hop
        out[start : start + hop] = continuation * (1 - fade_in) + samples[position : position + hop] * fade_in
        out[start + hop : start + frame] = samples[position + hop : position + frame]
    return out


def _find_match(samples: Samples, wanted: Samples, position: int, reach: int, frame: int) -> int:
    """The position near `position` from which the samples are most like the wanted ones."""
    low, high = max(0, position - reach), min(len(samples) - frame, position + reach)
    region = samples[low : high + len(wanted)]
    energy = np.concatenate([[0.0], np.cumsum(np.square(region, dtype=np.float64))])
    norms = np.sqrt(energy[len(wanted) :] - energy[: -len(wanted)] + 1e-9)
    return low + int(np.argmax(np.correlate(region, wanted, "valid") / norms))
