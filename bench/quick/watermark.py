"""Which treatments does the watermark survive, and is it ever found in recordings without one?"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from bench.options import Output
from bench.report import Report
from svc.audio import decode, encoders, formats
from svc.audio.resample import Resampler
from svc.audio.samples import Samples
from svc.audio.watermark import RATE, detect_watermark, embed_watermark
from svc.errors import SvcError

_SUFFIXES = {".flac", ".wav", ".mp3", ".ogg", ".opus", ".m4a"}


def _encode(samples: Samples, output_format: str) -> Samples:
    with encoders.create(formats.find(output_format), RATE) as encoder:
        return decode.decode_clip(encoder.encode(samples) + encoder.flush()).samples


def _resample(samples: Samples, rate: int) -> Samples:
    there = Resampler(RATE, rate).feed(samples, last=True)
    return Resampler(rate, RATE).feed(there, last=True)


def _add_noise(samples: Samples, snr: float) -> Samples:
    noise = np.random.default_rng(1).standard_normal(len(samples), dtype=np.float32)
    return samples + noise * np.float32(samples.std() * 10 ** (-snr / 20))


TREATMENTS: dict[str, Callable[[Samples], Samples]] = {
    "none": lambda samples: samples,
    "a tenth as loud": lambda samples: np.float32(0.1) * samples,
    "MP3 64 kbit/s": lambda samples: _encode(samples, "mp3_44100_64"),
    "MP3 32 kbit/s, 22 kHz": lambda samples: _encode(samples, "mp3_22050_32"),
    "Opus 32 kbit/s": lambda samples: _encode(samples, "opus_48000_32"),
    "16 kHz": lambda samples: _resample(samples, 16_000),
    "8 kHz": lambda samples: _resample(samples, 8_000),
    "noise at 30 dB": lambda samples: _add_noise(samples, 30),
    "5 s out of the middle": lambda samples: samples[RATE : RATE * 6],
    "3 s out of the middle": lambda samples: samples[RATE : RATE * 4],
}


def main(
    folder: Annotated[Path, typer.Argument(help="Recordings; those of 8 s and more are used.")],
    limit: Annotated[int, typer.Option(help="Number of recordings.")] = 30,
    output: Output = None,
) -> None:
    """Recordings of people are marked, treated and checked, with and without the mark."""
    recordings = _read_recordings(folder, limit)
    marked = [embed_watermark(samples, 0) for samples in recordings]
    distance = np.mean([_snr(*pair) for pair in zip(recordings, marked, strict=True)])
    report = Report("watermark", "The watermark", ["treatment", "found", "least sure", "found where it is not"])
    report.notes = [f"{len(marked)} recordings; the mark lies {distance:.0f} dB below them."]
    for name, treatment in TREATMENTS.items():
        marked_results, unmarked_results = (
            [detect_watermark(treatment(each)) for each in group] for group in (marked, recordings)
        )
        found, wrong = sum(each.found for each in marked_results), sum(each.found for each in unmarked_results)
        least = max(each.p_value for each in marked_results)
        report.rows.append(
            [name, f"{found} of {len(marked_results)}", f"{least:.0e}", f"{wrong} of {len(unmarked_results)}"]
        )
        report.figures[name] = {
            "doubts": [each.p_value for each in marked_results],
            "unmarked": [each.p_value for each in unmarked_results],
        }
    report.show()
    report.save(output)


def _read_recordings(folder: Path, limit: int) -> list[Samples]:
    """One from each subfolder: a folder per person."""
    found: dict[Path, Samples] = {}
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() in _SUFFIXES and file.parent not in found and len(found) < limit:
            try:
                samples = decode.decode_clip(file.read_bytes()).samples
            except SvcError:
                continue
            if len(samples) >= 8 * RATE:
                found[file.parent] = samples
    return list(found.values())


def _snr(samples: Samples, marked: Samples) -> float:
    return float(10 * np.log10(np.square(samples).sum() / np.square(marked - samples).sum()))


if __name__ == "__main__":
    typer.run(main)
