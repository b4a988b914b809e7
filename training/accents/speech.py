"""Synthesises batches of texts for the listeners, with a gradient to timbre and prosody."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torchaudio
from torch import Tensor

from accents.voices import Voices
from acoustic.synthesis import Networks
from head.model import FRAME

RATE, LISTENERS_RATE = 24_000, 16_000
FRAME_SAMPLES = 2 * FRAME * LISTENERS_RATE // RATE
"""Samples at the listeners' rate of a frame of 25 ms."""
ONSET_LEAD, LEADING_SILENCE = 3, 2
"""In frames of 25 ms, as the service cuts the silence before the first phoneme."""


@dataclass
class Clips:
    """A batch of texts, spoken at the listeners' rate."""

    wave: Tensor  # [B, samples]
    start: list[int]
    """The first sample of each that is heard."""
    end: list[int]

    def cut(self, index: int) -> Tensor:
        return self.wave[index, self.start[index] : self.end[index]]


class Synthesis(Networks):
    def predict_pitch(self, ids: Tensor, mask: Tensor, style: Tensor) -> Tensor:
        """The mean of the logarithm of the pitch. [B]"""
        encoded = self.prosody.encode(ids, self.prosody.make_film(style), mask)
        return self.prosody.predict_summary(encoded, self.predict_durations(encoded, mask))[:, 1]

    def predict_seconds(self, ids: Tensor, mask: Tensor, style: Tensor) -> Tensor:
        encoded = self.prosody.encode(ids, self.prosody.make_film(style), mask)
        return (self.prosody.predict_durations(encoded) * mask).sum(dim=1) / 40

    def __call__(
        self, texts: Sequence[Sequence[int]], style: Tensor, timbre: Tensor, voices: Voices, voice: Tensor
    ) -> Clips:
        """texts as phoneme ids; style [B, 128], timbre [B, 11, 128]; the rest is that of the voices [B]"""
        speech = self.synthesize(
            *pad_texts(texts, self.device),
            style,
            timbre,
            voices.pitch_scale[voice],
            voices.vocoder_embedding[voice],
            voices.mask_offset[voice],
        )
        wave = torchaudio.functional.resample(speech.wave.float(), RATE, LISTENERS_RATE)
        wave = equalize(wave, voices.equalizer[voice])
        start = (speech.durations[:, 0] - ONSET_LEAD - LEADING_SILENCE).clamp(min=0) * FRAME_SAMPLES
        return Clips(wave, start.tolist(), (speech.frames * FRAME_SAMPLES).tolist())


def equalize(wave: Tensor, taps: Tensor) -> Tensor:
    """[B, samples], filtered by [B, taps]."""
    size = wave.shape[1] + taps.shape[1]
    size += -size % 1024
    spectrum = torch.fft.rfft(wave, size) * torch.fft.rfft(taps, size)
    return torch.fft.irfft(spectrum, size)[:, : wave.shape[1]]


def pad_texts(texts: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids with the padding token at both ends, and where they are. [B, N] twice"""
    length = max(map(len, texts)) + 2
    ids = torch.zeros(len(texts), length, dtype=torch.int64)
    for row, text in zip(ids, texts, strict=True):
        row[1 : len(text) + 1] = torch.tensor(text)
    lengths = torch.tensor([len(text) + 2 for text in texts])
    return ids.to(device), (torch.arange(length)[None] < lengths[:, None]).to(device)
