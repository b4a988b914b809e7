"""Differentiable synthesis: svc-turbo 2's decoder and head, with a gradient to the voice parameters.

All clones speak a language with one melody, so everything before the decoder is computed once for a text (`Lines`).
Every text lasts three seconds, with silence at its end: a batch may hold any texts, and the networks see one shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torchaudio
from torch import Tensor, nn

from acoustic import model as acoustic
from acoustic.model import SYMBOLS, Decoder, Head, Prosody, decode_curves, expand_tokens, summarise
from head.model import accumulate_phase
from speaker_encoder.features import RATE
from speaker_encoder.frozen_losses import mixed_precision
from speaker_encoder.mapper import STYLE
from speaker_encoder.voice_pca import LETTERS, Voice, VoicePca
from teacher.kokoro import SAMPLE_RATE

FRAMES = 120
"""Of 25 ms, of a text."""
LEAST_FRAMES = 100
PHONEME_FRAME = RATE // 40
"""Samples of 25 ms."""
TIMBRE_PHONEMES = 60
"""Shorter texts have the timbre of this many phonemes, as in the product."""
_MEAN_PITCH = SYMBOLS + 1
_BATCH = 64


@dataclass
class Lines:
    """Texts before they have a timbre, a row for each."""

    language: Tensor  # [N]: numbers of `LETTERS`
    row: Tensor  # [N], of the style table
    text: Tensor  # [N, T, 384]
    place: Tensor  # [N, T]
    duration: Tensor  # [N, T]
    f0: Tensor  # [N, 2 T]
    energy: Tensor  # [N, 2 T]
    summary: Tensor  # [N, 184]
    phonemes: Tensor  # [N, T]
    token: Tensor  # [N, T]

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, index: Tensor) -> "Lines":
        return Lines(*(value[index] for value in vars(self).values()))

    @classmethod
    def concatenate(cls, parts: Sequence["Lines"]) -> "Lines":
        return cls(*(torch.cat([getattr(part, name) for part in parts]) for name in vars(parts[0])))


@dataclass
class Speech:
    wave: Tensor  # [B, samples], 16 kHz
    phonemes: Tensor  # [B, samples / 400]: the phoneme of every 25 ms


class Synthesis(nn.Module):
    def __init__(self, prosody: Prosody, decoder: Decoder, head: Head, pca: VoicePca) -> None:
        super().__init__()
        self.prosody, self.decoder, self.head, self.pca = prosody, decoder, head, pca
        self.requires_grad_(False)

    @torch.no_grad()
    def make_lines(self, texts: Sequence[tuple[str, Sequence[int]]]) -> Lines:
        """Of (letter of the language, phoneme ids); those that are not about three seconds long are left out."""
        ordered = sorted(texts, key=lambda text: len(text[1]))
        batches = [ordered[i : i + _BATCH] for i in range(0, len(ordered), _BATCH)]
        return Lines.concatenate([self._make_lines(batch) for batch in batches])

    def _make_lines(self, texts: Sequence[tuple[str, Sequence[int]]]) -> Lines:
        device, longest = self.pca.centre.device, max(len(ids) for _, ids in texts) + 2
        language = torch.tensor([LETTERS.index(letter) for letter, _ in texts], device=device)
        count = torch.tensor([len(ids) for _, ids in texts], device=device)
        padded = [[0, *ids, *[0] * (longest - len(ids) - 1)] for _, ids in texts]
        ids, present = torch.tensor(padded, device=device), torch.arange(longest, device=device) < count[:, None] + 2
        style = self.pca.centre[count - 1, STYLE:] + self.pca.native[language, STYLE:]
        film = self.prosody.make_film(style)
        encoded = self.prosody.encode(ids, film, present)
        durations = torch.round(self.prosody.predict_durations(encoded)).clamp(min=1).long() * present
        rest = FRAMES - durations.sum(dim=1)
        fits = (rest >= 0) & (rest <= FRAMES - LEAST_FRAMES)
        summary = summarise(ids, durations, self.prosody.predict_summary(encoded, durations))
        durations.scatter_add_(1, count[:, None] + 1, rest.clamp(min=0)[:, None])
        token, place = expand_tokens(durations, FRAMES)
        duration = durations.gather(1, token)
        f0, energy = decode_curves(self.prosody.predict_curves(encoded, token, place, duration, film, None))
        text = self.decoder.text(ids, present)
        text = text.gather(1, token[:, :, None].expand(-1, -1, text.shape[2]))
        row = count.clamp(min=TIMBRE_PHONEMES) - 1
        lines = Lines(language, row, text, place, duration, f0, energy, summary, ids.gather(1, token), token)
        return lines[fits.nonzero().squeeze(1)]

    def forward(self, lines: Lines, voice: Voice) -> Speech:
        """One text in each of the voices."""
        timbre = (self.pca.centre[lines.row, :STYLE] + voice.timbre)[:, None] + voice.layer_offsets
        f0 = lines.f0 * voice.pitch_scale[:, None]
        summary = lines.summary.clone()
        summary[:, _MEAN_PITCH] += voice.pitch_scale.log()
        with mixed_precision(timbre):
            film, statistics = self.decoder.make_film(timbre, summary)
            features = self.decoder(lines.text, lines.place, lines.duration, f0, lines.energy, film, None)
            head_film = self.head.make_film(timbre[:, -1], statistics, voice.vocoder_embedding)
            position = torch.zeros(len(f0), dtype=torch.long, device=f0.device)
            wave = self.head(features, f0, accumulate_phase(f0), head_film, position, voice.mask_offset)
        return Speech(torchaudio.functional.resample(wave.float(), SAMPLE_RATE, RATE), lines.phonemes)


def load(run: Path, pca: VoicePca) -> Synthesis:
    """From the folder of a training of the acoustic networks."""
    return Synthesis(*(acoustic.load(name, run) for name in ("prosody", "decoder", "head")), pca)
