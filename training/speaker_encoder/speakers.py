"""Real speakers: who is trained on, who is kept for validation, and their clips in one small file.

    python -m cloning.speakers SPEAKERS_FOLDER speakers.pt

validation.txt beside this file names those who are never trained on. SPEAKERS_FOLDER has an index.tsv (file,
speaker, …) and the clips. They are cut at 20 s, brought to 16 kHz and kept as Opus, so that all of them travel in
30 MB.
"""

import argparse
import csv
import hashlib
import io
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from cloning.sound import RATE

VALIDATION = 44
"""Speakers with at least two clips, one of them of 4 s or more, that training never hears."""
LONGEST = 20
SHORTEST_REFERENCE = 4.0


@dataclass(frozen=True)
class Clip:
    speaker: str
    wave: Tensor  # [samples], 16 kHz


def validation_names(index: Path) -> set[str]:
    """Chosen by the hash of the name, so that the choice stays when speakers are added."""
    clips: dict[str, list[float]] = {}
    for row in csv.DictReader(index.open(), delimiter="\t"):
        clips.setdefault(row["speaker"], []).append(float(row["seconds"]))
    fit = [name for name, found in clips.items() if len(found) > 1 and max(found) >= SHORTEST_REFERENCE]
    return set(sorted(fit, key=lambda name: hashlib.sha256(name.encode()).digest())[:VALIDATION])


def pack(folder: Path, output: Path) -> None:
    import soundfile
    import soxr

    kept_back = validation_names(folder / "index.tsv")
    clips = []
    for row in csv.DictReader((folder / "index.tsv").open(), delimiter="\t"):
        wave, rate = soundfile.read(folder / row["file"], dtype="float32", always_2d=True)
        wave = wave[: LONGEST * rate, 0]
        if rate != RATE:
            wave = soxr.resample(wave, rate, RATE)
        stored = io.BytesIO()
        wave = np.clip(wave, -0.99, 0.99)
        soundfile.write(stored, wave, RATE, format="OGG", subtype="OPUS", compression_level=0.87)
        clips.append((row["speaker"], row["file"], stored.getvalue()))
    content = torch.frombuffer(bytearray(b"".join(clip[2] for clip in clips)), dtype=torch.uint8)
    stored = {"content": content, "sizes": [len(clip[2]) for clip in clips], "validation": sorted(kept_back)}
    torch.save(stored | {"speakers": [clip[0] for clip in clips], "files": [clip[1] for clip in clips]}, output)
    print(f"{len(clips)} clips, {len(content) / 1e6:.1f} MB, {len(kept_back)} speakers for validation")


def load(path: Path) -> tuple[list[Clip], list[Clip]]:
    """Clips to train on, and clips to validate with."""
    import soundfile

    stored = torch.load(path)
    kept_back = set(stored["validation"])
    parts: tuple[list[Clip], list[Clip]] = ([], [])

    def decode(piece: Tensor) -> Tensor:
        return torch.from_numpy(soundfile.read(io.BytesIO(piece.numpy().tobytes()), dtype="float32")[0])

    with ThreadPoolExecutor() as pool:
        waves = pool.map(decode, stored["content"].split(stored["sizes"]))
        for speaker, wave in zip(stored["speakers"], waves, strict=True):
            parts[speaker in kept_back].append(Clip(speaker, wave))
    return parts


def apart(clips: list[Clip]) -> tuple[list[Clip], list[Clip]]:
    """A fifth of the speakers, by the hash of the name, and the rest.

    The ear never hears the first, so that its errors on new people can be measured on them without validation's.
    """
    parts: tuple[list[Clip], list[Clip]] = ([], [])
    for clip in clips:
        parts[hashlib.sha256(f"apart {clip.speaker}".encode()).digest()[0] >= 51].append(clip)
    return parts


def chances(clips: list[Clip]) -> list[float]:
    """How often to take each: of whom there are many clips, each less often; long ones more often."""
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
