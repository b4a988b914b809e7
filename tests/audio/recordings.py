"""Test recordings in any container, codec, sample rate and number of channels."""

import io
from fractions import Fraction

import av
import numpy as np
import soxr
from av.audio.stream import AudioStream

from svc.audio.samples import Samples

RATE = 24_000

# Container, codec and sample rate.
KINDS = {
    "wav 8 kHz": ("wav", "pcm_s16le", 8_000),
    "wav 44.1 kHz": ("wav", "pcm_s16le", 44_100),
    "wav 96 kHz, 24 bits": ("wav", "pcm_s24le", 96_000),
    "wav, floats": ("wav", "pcm_f32le", 48_000),
    "wav, µ-law": ("wav", "pcm_mulaw", 8_000),
    "mp3": ("mp3", "mp3", 44_100),
    "m4a": ("ipod", "aac", 44_100),
    "aac": ("adts", "aac", 48_000),
    "ogg opus": ("ogg", "libopus", 48_000),
    "flac": ("flac", "flac", 96_000),
    "webm": ("webm", "libopus", 48_000),
    "aiff": ("aiff", "pcm_s16be", 22_050),
}


def encode_recording(samples: Samples, kind: str, channels: int = 1, bit_rate: int | None = None) -> bytes:
    """The samples, at 24 kHz, as a file of that kind."""
    container, codec, rate = KINDS[kind]
    resampled = soxr.resample(samples, RATE, rate).astype(np.float32)
    out = io.BytesIO()
    layout = "mono" if channels == 1 else "stereo"
    with av.open(out, "w", format=container) as file:
        stream = file.add_stream(codec, rate=rate, layout=layout)
        assert isinstance(stream, AudioStream)
        if bit_rate is not None:
            stream.bit_rate = bit_rate
        frame = av.AudioFrame.from_ndarray(np.stack([resampled] * channels), format="fltp", layout=layout)
        frame.sample_rate = rate
        frame.time_base = Fraction(1, rate)
        frame.pts = 0
        resampler = av.AudioResampler(stream.format.name, layout, rate, frame_size=stream.frame_size or 1024)
        for each in (*resampler.resample(frame), *resampler.resample(None), None):
            file.mux(stream.encode(each))
    return out.getvalue()


def noise(seconds: float, level: float = 0.05, seed: int = 1) -> Samples:
    return (level * np.random.default_rng(seed).standard_normal(int(seconds * RATE))).astype(np.float32)


def music(seconds: float) -> Samples:
    """Chords and notes that change every half second, over a beat."""
    time = np.arange(int(seconds * RATE)) / RATE
    roots = np.array([110.0, 146.8, 164.8, 130.8])[(time // 2).astype(int) % 4]
    notes = np.array([1, 1.25, 1.5, 2.0])[(time * 2).astype(int) % 4]
    chord = sum(np.sin(2 * np.pi * np.cumsum(roots * ratio) / RATE) / ratio for ratio in (1, 1.25, 1.5, 3))
    melody = np.sin(2 * np.pi * np.cumsum(2 * roots * notes) / RATE)
    beat = np.exp(-12 * (time % 0.5)) * np.sin(2 * np.pi * 60 * time)
    return np.asarray(0.08 * (chord + melody + 2 * beat), dtype=np.float32)
