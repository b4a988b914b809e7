"""Recordings of real speakers to clone from, and degradations that recordings may have."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.worker import ROOT
from svc.audio import decode, encoders, formats
from svc.audio.flac import encode_flac
from svc.audio.samples import Samples
from svc.cloning import reference as quality
from svc.errors import ClipTooShort

_VALIDATION = ROOT / "training/speaker_encoder/validation.txt"  # speakers that are never trained on
_MOST_OTHERS = 2


@dataclass(frozen=True, slots=True)
class Speaker:
    name: str
    reference: Path
    """The longest recording: the voice is cloned from it."""
    others: list[Path]
    """The clone is compared with these."""


def read_validation_speakers(folder: Path) -> list[Speaker]:
    """`folder` has an index.tsv with file, speaker and seconds."""
    clips: dict[str, list[tuple[float, Path]]] = {name: [] for name in _VALIDATION.read_text().split()}
    for row in csv.DictReader((folder / "index.tsv").open(encoding="utf-8"), delimiter="\t"):
        if row["speaker"] in clips:
            clips[row["speaker"]].append((float(row["seconds"]), folder / row["file"]))
    speakers = []
    for name, found in clips.items():
        *others, longest = [path for _, path in sorted(found)]
        speakers.append(Speaker(name, longest, others[-_MOST_OTHERS:]))
    return speakers


def is_clonable(speaker: Speaker, degradation: "Degradation | None" = None) -> bool:
    """Whether the server accepts the recording: it needs 1.5 seconds of speech."""
    try:
        prepare(speaker.reference, degradation)
    except ClipTooShort:
        return False
    return True


def prepare(path: Path, degradation: "Degradation | None" = None) -> Samples:
    """The speech in a recording, as the server selects and trims it."""
    recording = decode.decode_clip(path.read_bytes())
    if degradation:
        recording = decode.decode_clip(encode_flac(degradation(recording.samples), decode.RATE))
    return quality.examine([recording]).samples


Degradation = Callable[[Samples], Samples]


def add_noise(samples: Samples) -> Samples:
    """Noise that falls by 3 dB an octave, 10 dB below the speech."""
    rng = np.random.default_rng(0)
    spectrum = np.fft.rfft(rng.standard_normal(len(samples)))
    noise = np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 20)), len(samples))
    scale = np.sqrt(np.mean(np.square(samples)) / np.mean(np.square(noise)) / 10)
    mixed: Samples = (samples + scale * noise).astype(np.float32)
    return mixed


def limit_to_telephone_band(samples: Samples) -> Samples:
    """300 to 3400 Hz."""
    spectrum = np.fft.rfft(samples)
    hertz = np.fft.rfftfreq(len(samples), 1 / decode.RATE)
    spectrum[(hertz < 300) | (hertz > 3400)] = 0
    return np.fft.irfft(spectrum, len(samples)).astype(np.float32)


def compress_to_mp3(samples: Samples) -> Samples:
    """To MP3 with 32 kbit/s and back."""
    with encoders.create(formats.find("mp3_22050_32"), decode.RATE) as encoder:
        content = encoder.encode(samples) + encoder.flush()
    return decode.decode_clip(content).samples


DEGRADATIONS: dict[str, Degradation] = {
    "10 dB noise": add_noise,
    "phone band": limit_to_telephone_band,
    "MP3 32 kbit/s": compress_to_mp3,
}
