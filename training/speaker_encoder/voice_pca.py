"""The principal axes of the built-in voices, and the voice that predicted parameters describe.

The axes belong to a mapper's weights and are saved with them: recomputed on another machine, some may have the opposite
sign.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from speaker_encoder.mapper import AXES, LAYERS, MASKS, STYLE, VOCODER_EMBEDDING, PredictedVoice
from teacher import voices
from teacher.styles import StyleSampler

TYPICAL_ROWS = slice(60, 120)
"""Rows of the style tables, by number of phonemes, whose mean is a voice's offset."""
LANGUAGES = {
    "a": (11, 9),
    "b": (4, 4),
    "e": (1, 2),
    "f": (1, 0),
    "h": (2, 2),
    "i": (1, 1),
    "j": (4, 1),
    "p": (1, 2),
    "z": (4, 4),
}
"""Kokoro's letters of the languages, and the number of their female and male voices, in the order of the tables."""
LETTERS = "".join(LANGUAGES)
ENGLISH = "ab"
MELODY_PITCH = (171, 171, 148, 208, 164, 151, 234, 151, 215)
"""Pitch in Hz of the melody that clones have in each language: as in the product."""
ACCENTS = {"e": "es", "f": "fr", "h": "hi", "i": "it", "j": "ja", "p": "pt-br", "z": "zh"}
"""Languages with an accent, by Kokoro's letters and as the product calls them."""


@dataclass
class Voice:
    """What the engine reads: offsets from the mean voice, a batch of them."""

    timbre: Tensor  # [B, 128]
    layer_offsets: Tensor  # [B, 11, 128]
    pitch_scale: Tensor  # [B]
    vocoder_embedding: Tensor  # [B, 256]
    mask_offset: Tensor  # [B, 2408]

    def __getitem__(self, index: Tensor) -> "Voice":
        return Voice(*(value[index] for value in vars(self).values()))


class VoicePca(nn.Module):
    """Empty until `from_tables`, or filled from a saved mapper."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("timbre", torch.zeros(AXES, STYLE))
        # The others are made of the tables: they need not be saved.
        self.register_buffer("centre", torch.zeros(voices.ROWS, 2 * STYLE), persistent=False)
        self.register_buffer("offsets", torch.zeros(voices.COUNT, 2 * STYLE), persistent=False)
        self.register_buffer("gender_axis", torch.zeros(STYLE), persistent=False)
        self.register_buffer("native", torch.zeros(len(LETTERS), 2 * STYLE), persistent=False)
        self.register_buffer("accent_offset", torch.zeros(len(LETTERS), LAYERS, STYLE), persistent=False)
        self.register_buffer("accent_shares", torch.zeros(len(LETTERS), 2, LAYERS), persistent=False)
        self.register_buffer("clone_gain", torch.ones(len(LETTERS)), persistent=False)
        self.register_buffer("melody_pitch", torch.tensor(MELODY_PITCH).log(), persistent=False)

    @classmethod
    def from_tables(cls, tables: Tensor, accents: Path) -> "VoicePca":
        """`accents`: what a language adds to all voices (accents.npz)."""
        styles, pca = StyleSampler(tables), cls()
        pca.centre.copy_(styles.centre)
        pca.timbre.copy_(styles.axes[0] * styles.spreads[0][:, None])
        pca.offsets.copy_((tables[:, TYPICAL_ROWS] - styles.centre[TYPICAL_ROWS]).mean(dim=1))
        timbres = pca.offsets[:, :STYLE].split([count for both in LANGUAGES.values() for count in both])
        female, male = (torch.cat(timbres[gender::2]).mean(dim=0) for gender in (0, 1))
        pca.gender_axis.copy_(F.normalize(male - female, dim=0))
        with np.load(accents) as stored:
            for letter, name in ACCENTS.items():
                number = LETTERS.index(letter)
                pca.native[number] = pca.native_offsets(letter).mean(dim=0)
                pca.accent_offset[number] = torch.tensor(stored[f"{name} offset"]).float()
                pca.accent_shares[number] = torch.tensor(stored[f"{name} shares"]).float()
                pca.clone_gain[number] = float(stored.get(f"{name} clone_gain", 1.0))
        return pca

    def to_timbre(self, predicted: PredictedVoice) -> Tensor:
        return predicted.coordinates @ self.timbre + predicted.residual

    def to_voice(self, predicted: PredictedVoice, log_pitch: Tensor, language: Tensor) -> Voice:
        """A voice at that pitch [B], in languages of these numbers [B]."""
        scale = torch.exp((log_pitch - self.melody_pitch[language]).clamp(-0.9, 0.9))
        english = (language < len(ENGLISH))[:, None, None]
        offsets = torch.where(english, pad_layers(predicted.layer_offsets), pad_layers(predicted.foreign_layer_offsets))
        timbre = self.to_timbre(predicted)
        offsets = self.articulate(timbre, offsets, language)
        return Voice(timbre, offsets, scale, predicted.vocoder_embedding, predicted.mask_offset)

    def articulate(self, timbre: Tensor, offsets: Tensor, language: Tensor) -> Tensor:
        """The layer offsets of voices with these of their own in the languages [B]; the same in English. [B, 11, 128]

        The native timbre keeps the speaker's own coordinate on the gender axis.
        """
        to_native = self.native[language, :STYLE] - timbre
        to_native = to_native - (to_native @ self.gender_axis)[:, None] * self.gender_axis
        native, gain = self.accent_shares[language].unsqueeze(-1).unbind(1)
        accent = self.accent_offset[language] + native * to_native[:, None] + gain * timbre[:, None]
        return self.clone_gain[language][:, None, None] * offsets + accent

    def native_offsets(self, letter: str) -> Tensor:
        """Offsets of the built-in voices of a language. [voices, 256]"""
        counts = [female + male for female, male in LANGUAGES.values()]
        return self.offsets.split(counts)[LETTERS.index(letter)]

    def project(self, timbre: Tensor) -> Tensor:
        """Coordinates of timbres on the axes. [B, 128] → [B, 53]"""
        return timbre @ self.timbre.T / self.timbre.square().sum(dim=1)

    def built_in_voices(self, letter: str) -> Voice:
        return plain_voice(self.native_offsets(letter)[:, :STYLE])


def mean_square_offset(predicted: PredictedVoice) -> Tensor:
    """Squared norm of the layer offsets, the mean over the layers that have one. [B]"""
    both = torch.cat([predicted.layer_offsets, predicted.foreign_layer_offsets], dim=1)
    return both.square().sum(dim=(1, 2)) / both.shape[1]


def pad_layers(offsets: Tensor) -> Tensor:
    """[B, last layers, 128] → [B, 11, 128]: the first layers get zero offsets."""
    return F.pad(offsets, (0, 0, LAYERS - offsets.shape[1], 0))


def plain_voice(timbre: Tensor) -> Voice:
    """Zero offsets, at the voice's own pitch."""
    count = len(timbre)
    return Voice(
        timbre,
        timbre.new_zeros(count, LAYERS, STYLE),
        timbre.new_ones(count),
        timbre.new_zeros(count, VOCODER_EMBEDDING),
        timbre.new_zeros(count, MASKS),
    )
