"""The parameters of accents: what all voices have in common in a language that is not their own.

A row is an accent of a language. What it does to a voice is what `svc.voices.parameters` does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from accents.speech import Synthesis, pad_texts
from accents.voices import LAYERS, STYLE, Voices

NATIVE = " native"
"""Ends the name of a row for the voices whose own language it is."""


@dataclass
class Start:
    """Where a row starts: the layers and the prosody of the languages with voices of their own, or nothing."""

    row: str
    """A language code, with NATIVE at the end or not."""
    articulation: str | None = None
    prosody: str | None = None
    prosody_share: float = 0.0
    clone_gain: float = 1.0
    """The gain of a clone's own layer offsets. It is not trained."""

    @property
    def language(self) -> str:
        return self.row.removesuffix(NATIVE)

    @property
    def for_natives(self) -> bool:
        return self.row.endswith(NATIVE)


class Accents(nn.Module):
    def __init__(self, starts: Sequence[Start], voices: Voices, pitch_axis: Tensor) -> None:
        """pitch_axis [128]: how the logarithm of the pitch depends on the prosody half of a style."""
        super().__init__()
        self.starts = list(starts)
        self.voices, self.pitch_axis = voices, pitch_axis / pitch_axis.norm()
        count, device = len(self.starts), pitch_axis.device
        native = torch.zeros(count, STYLE, device=device)
        offset = torch.zeros(count, LAYERS, STYLE, device=device)
        shares = torch.zeros(count, 2, LAYERS, device=device)
        prosody = torch.zeros(count, STYLE, device=device)
        for i, start in enumerate(self.starts):
            if start.articulation:
                index = voices.natives.index(start.articulation)
                native[i] = voices.native[index, :STYLE]
                offset[i] = voices.native_accents[index, :LAYERS]
                shares[i] = voices.native_accents[index, LAYERS:, :LAYERS]
            if start.prosody:
                prosody[i] = start.prosody_share * voices.native[voices.natives.index(start.prosody), STYLE:]
        self.register_buffer("native", native)
        self.register_buffer("prosody_share", torch.tensor([s.prosody_share for s in self.starts], device=device))
        self.register_buffer("clone_gain", torch.tensor([s.clone_gain for s in self.starts], device=device))
        self.offset, self.shares, self.prosody = nn.Parameter(offset), nn.Parameter(shares), nn.Parameter(prosody)

    def forward(self, row: Tensor, voice: Tensor, phonemes: Tensor) -> tuple[Tensor, Tensor]:
        """Prosody [B, 128] and timbre [B, 11, 128] of voices that speak texts of so many phonemes. All [B]"""
        voices = self.voices
        timbre, prosody = voices.rows(voice, phonemes)
        own = voices.timbre[voice]
        to_native = self.native[row] - own
        to_native = to_native - (to_native @ voices.gender_axis)[:, None] * voices.gender_axis
        native_share, gain = self.shares[row].unbind(1)
        layers = self.clone_gain[row][:, None, None] * voices.layer_offsets[voice] + self.offset[row]
        layers = layers + native_share[..., None] * to_native[:, None] + gain[..., None] * own[:, None]
        return prosody + self.shift_prosody(row, voice), timbre[:, None] + layers

    def shift_prosody(self, row: Tensor, voice: Tensor) -> Tensor:
        """Towards the language's prosody, at the voice's own pitch."""
        shift = self.prosody[row] - self.prosody_share[row][:, None] * self.voices.prosody[voice]
        return shift - (shift @ self.pitch_axis)[:, None] * self.pitch_axis


def load_shipped(
    path: Path, articulation: Mapping[str, str], voices: Voices, pitch_axis: Tensor, clone_gain: float | None = None
) -> Accents:
    """The accents of svc's file for these languages. articulation: as in data/languages.toml

    Where no prosody was learned, clones have that of the language's own voices. `clone_gain`: another than theirs.
    """
    with np.load(path) as stored:
        learned = {name: torch.from_numpy(stored[name].astype(np.float32)) for name in stored}
    starts = [
        Start(
            code,
            native,
            native,
            float(learned.get(f"{code} prosody_share", 1.0)),
            float(learned.get(f"{code} clone_gain", 1.0)) if clone_gain is None else clone_gain,
        )
        for code, native in articulation.items()
    ]
    accents = Accents(starts, voices, pitch_axis)
    with torch.no_grad():
        for name, each in accents.named_parameters():
            for row, start in enumerate(starts):
                if f"{start.row} {name}" in learned:
                    each[row] = learned[f"{start.row} {name}"]
    return accents


def speak_english(voices: Voices, voice: Tensor, phonemes: Tensor) -> tuple[Tensor, Tensor]:
    """Prosody and timbre of voices that speak English, without an accent."""
    timbre, prosody = voices.rows(voice, phonemes)
    return prosody, timbre[:, None] + voices.english_layer_offsets[voice]


@torch.no_grad()
def fit_pitch_axis(synthesis: Synthesis, voices: Voices, texts: Sequence[Sequence[int]]) -> tuple[Tensor, float]:
    """How the logarithm of the pitch depends on the prosody half of a style, and how much of it that explains.

    Least squares on mixtures of built-in voices that speak these texts.
    """
    generator = torch.Generator().manual_seed(0)
    own = voices.prosody[: len(voices.tables)]
    ids, mask = pad_texts(texts, synthesis.device)
    styles, pitches = [], []
    for _ in range(48):
        weights = torch.zeros(len(texts), len(own))
        chosen = torch.randint(len(own), (len(texts), 3), generator=generator)
        weights.scatter_(1, chosen, torch.rand(len(texts), 3, generator=generator) + 0.05)
        mixed = (weights / weights.sum(dim=1, keepdim=True)).to(own) @ own
        style = mixed + voices.mean_table[60:120, STYLE:].mean(dim=0)
        pitch = synthesis.predict_pitch(ids, mask, style)
        styles.append(mixed)
        pitches.append(pitch)
    x = torch.stack(styles)
    y = torch.stack(pitches)
    # The pitch of a text differs from that of another: only differences within a text count.
    x, y = ((each - each.mean(dim=0)).flatten(0, 1).double() for each in (x, y))
    axis = torch.linalg.solve(x.T @ x + 0.02 * len(x) * x.var() * torch.eye(STYLE, device=x.device), x.T @ y)
    explained = 1 - (y - x @ axis).var() / y.var()
    return axis.float(), float(explained)
