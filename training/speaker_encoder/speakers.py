"""Recordings of real speakers in one file, split into training, held-out and validation speakers.

    python -m speaker_encoder.speakers SPEAKERS_FOLDER speakers.pt

SPEAKERS_FOLDER has an index.tsv (file, speaker, seconds, …) and the clips, which are cut at 20 s and resampled to
16 kHz. validation.txt beside this module names the speakers that are never trained on.
"""

import argparse
import csv
import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from speaker_encoder.features import RATE

VALIDATION = 44
"""Number of validation speakers; each has at least two clips, one of them of 4 s or more."""
LONGEST = 20
SHORTEST_REFERENCE = 4.0


@dataclass(frozen=True)
class Clip:
    speaker: str
    wave: Tensor  # [samples], 16 kHz


def choose_validation(index: Path) -> set[str]:
    """By the hash of the name, so that the choice stays the same when speakers are added."""
    clips: dict[str, list[float]] = {}
    for row in csv.DictReader(index.open(), delimiter="\t"):
        clips.setdefault(row["speaker"], []).append(float(row["seconds"]))
    suitable = [name for name, each in clips.items() if len(each) > 1 and max(each) >= SHORTEST_REFERENCE]
    return set(sorted(suitable, key=lambda name: hashlib.sha256(name.encode()).digest())[:VALIDATION])


def pack(folder: Path, output: Path) -> None:
    import soundfile
    import soxr

    validation = choose_validation(folder / "index.tsv")
    names, waves = [], []
    for row in csv.DictReader((folder / "index.tsv").open(), delimiter="\t"):
        wave, rate = soundfile.read(folder / row["file"], dtype="float32", always_2d=True)
        wave = wave[: LONGEST * rate, 0]
        if rate != RATE:
            wave = soxr.resample(wave, rate, RATE)
        names.append(row["speaker"])
        waves.append(torch.from_numpy(wave).half())
    torch.save({"speakers": names, "waves": waves, "validation": sorted(validation)}, output)
    print(f"{len(waves)} clips, {len(validation)} speakers for validation")


def load(path: Path) -> tuple[list[Clip], list[Clip]]:
    """Clips of the training and of the validation speakers."""
    stored = torch.load(path)
    validation = set(stored["validation"])
    parts: tuple[list[Clip], list[Clip]] = ([], [])
    for speaker, wave in zip(stored["speakers"], stored["waves"], strict=True):
        parts[speaker in validation].append(Clip(speaker, wave.float()))
    return parts


def split_held_out(clips: list[Clip]) -> tuple[list[Clip], list[Clip]]:
    """A fifth of the training speakers, by the hash of the name, and the rest.

    The encoder is not trained on the first, so that its errors on new speakers can be measured without those of
    validation.
    """
    parts: tuple[list[Clip], list[Clip]] = ([], [])
    for clip in clips:
        parts[hashlib.sha256(f"apart {clip.speaker}".encode()).digest()[0] >= 51].append(clip)
    return parts


def sampling_weights(clips: list[Clip]) -> list[float]:
    """Long clips are sampled more often; each clip of a speaker with many clips less often."""
    count = Counter(clip.speaker for clip in clips)
    return [min(10.0, len(clip.wave) / RATE) ** 0.5 / count[clip.speaker] ** 0.5 for clip in clips]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    pack(args.folder, args.output)


if __name__ == "__main__":
    main()
