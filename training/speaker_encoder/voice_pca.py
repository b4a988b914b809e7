"""The principal axes of the built-in voices, and the voice that predicted parameters describe.

The axes belong to a mapper's weights and are saved with them: recomputed on another machine, some may have the opposite
sign.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from speaker_encoder.mapper import (
    ACCENT_LANGUAGES,
    AXES,
    FOREIGN_LAYERS,
    LAYERS,
    OWN_LAYERS,
    STYLE,
    VOCODER_EMBEDDING,
    PredictedVoice,
)
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
ENGLISH = "ab"
MELODY_PITCH = {"a": 171, "b": 171, "e": 148, "f": 208, "h": 164, "i": 151, "j": 234, "p": 151, "z": 215}
"""Pitch in Hz of the melody that clones have in a language: as in the product."""
NATIVE_LAYERS, NATIVE_LAYERS_BY_LANGUAGE = (7, 7), {"e": (6, 7), "f": (7, 8)}
"""In other languages than English, so many layers, the first ones, have the timbre of the language's own voices; from
the second number on the speaker's timbre has a gain."""
TIMBRE_GAIN = 0.5
"""How much is added to it."""


@dataclass
class Voice:
    """What the engines read: offsets from the mean voice, a batch of them. The melody may be one row for all."""

    timbre: Tensor  # [B, 128]
    melody: Tensor  # [B or 1, 128]
    layer_offsets: Tensor  # [B, 11, 128]
    pitch_scale: Tensor  # [B]
    vocoder_embedding: Tensor  # [B, 256]


@dataclass
class Accent:
    """What a language adds to all voices, layer by layer."""

    offset: Tensor  # [..., 11, 128]
    shares: Tensor  # [..., 2, 11]: of native timbre instead of the speaker's, and of the speaker's in addition


def default_accent(language: str, device: torch.device) -> Accent:
    """The accent of languages without a trained one, and the start of training."""
    native, gained = NATIVE_LAYERS_BY_LANGUAGE.get(language, NATIVE_LAYERS)
    layer = torch.arange(LAYERS, device=device)
    shares = torch.stack([(layer < native).float(), TIMBRE_GAIN * (layer >= gained)])
    return Accent(torch.zeros(LAYERS, STYLE, device=device), shares)


class VoicePca(nn.Module):
    """Empty until `from_tables`, or filled from a saved mapper."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("timbre", torch.zeros(AXES, STYLE))
        # The others serve random voices, where signs do not matter: they need not be saved.
        self.register_buffer("melody", torch.zeros(AXES, STYLE), persistent=False)
        self.register_buffer("centre", torch.zeros(voices.ROWS, 2 * STYLE), persistent=False)
        self.register_buffer("offsets", torch.zeros(voices.COUNT, 2 * STYLE), persistent=False)
        self.register_buffer("gender_axis", torch.zeros(STYLE), persistent=False)

    @classmethod
    def from_tables(cls, tables: Tensor) -> "VoicePca":
        styles, pca = StyleSampler(tables), cls()
        pca.centre.copy_(styles.centre)
        for name, axes, spread in zip(("timbre", "melody"), styles.axes, styles.spreads, strict=True):
            getattr(pca, name).copy_(axes * spread[:, None])
        pca.offsets.copy_((tables[:, TYPICAL_ROWS] - styles.centre[TYPICAL_ROWS]).mean(dim=1))
        timbres = pca.offsets[:, :STYLE].split([count for both in LANGUAGES.values() for count in both])
        female, male = (torch.cat(timbres[gender::2]).mean(dim=0) for gender in (0, 1))
        pca.gender_axis.copy_(F.normalize(male - female, dim=0))
        return pca

    def to_timbre(self, predicted: PredictedVoice) -> Tensor:
        return predicted.coordinates @ self.timbre + predicted.residual

    def to_voice(self, predicted: PredictedVoice, log_pitch: Tensor, language: str = "a") -> Voice:
        """A voice at that pitch [B], with the melody of the mean voice or, in other languages, of their own voices."""
        scale = torch.exp((log_pitch - math.log(MELODY_PITCH[language])).clamp(-0.9, 0.9))
        melody = torch.zeros_like(predicted.residual[:1])
        offsets = predicted.layer_offsets if language in ENGLISH else predicted.foreign_layer_offsets
        voice = Voice(self.to_timbre(predicted), melody, pad_layers(offsets), scale, predicted.vocoder_embedding)
        return self.apply_accent(voice, language, predicted_accent(predicted, language))

    def apply_accent(self, voice: Voice, language: str, accent: Accent) -> Voice:
        """In other languages than English: the melody of their voices, and their timbre by the accent's shares.

        The native timbre keeps the speaker's own coordinate on the gender axis.
        """
        if language in ENGLISH:
            return voice
        timbre, melody = self.native_offsets(language).mean(dim=0).split(STYLE)
        to_native, axis = timbre - voice.timbre, self.gender_axis
        to_native = to_native - (to_native @ axis)[:, None] * axis
        native, gain = accent.shares.unsqueeze(-1).unbind(-3)
        added = accent.offset + native * to_native[:, None] + gain * voice.timbre[:, None]
        return Voice(
            voice.timbre, melody[None], voice.layer_offsets + added, voice.pitch_scale, voice.vocoder_embedding
        )

    def native_offsets(self, language: str) -> Tensor:
        """Offsets of the built-in voices of a language. [voices, 256]"""
        counts = [female + male for female, male in LANGUAGES.values()]
        return self.offsets.split(counts)[list(LANGUAGES).index(language)]

    def project(self, timbre: Tensor) -> Tensor:
        """Coordinates of timbres on the axes. [B, 128] → [B, 53]"""
        return timbre @ self.timbre.T / self.timbre.square().sum(dim=1)

    def built_in_voices(self, language: str) -> Voice:
        return plain_voice(*self.native_offsets(language).split(STYLE, dim=1))


def predicted_accent(predicted: PredictedVoice, language: str) -> Accent:
    accent = default_accent(language, predicted.accent_shares.device)
    if language not in ACCENT_LANGUAGES:
        return accent
    number = ACCENT_LANGUAGES.index(language)
    native, gain = (accent.shares + predicted.accent_shares[:, number]).unbind(dim=1)
    return Accent(predicted.accent_offsets[:, number], torch.stack([native.clamp(0, 1), gain], dim=1))


def mean_square_offset(predicted: PredictedVoice, language: str) -> Tensor:
    """Squared norm of the layer offsets in a language, the mean over the layers that have one. [B]"""
    if language in ENGLISH:
        return predicted.layer_offsets.square().sum(dim=(1, 2)) / OWN_LAYERS
    offsets = pad_layers(predicted.foreign_layer_offsets) + predicted_accent(predicted, language).offset
    return offsets.square().sum(dim=(1, 2)) / FOREIGN_LAYERS


def pad_layers(offsets: Tensor) -> Tensor:
    """[B, last layers, 128] → [B, 11, 128]: the first layers get zero offsets."""
    return F.pad(offsets, (0, 0, LAYERS - offsets.shape[1], 0))


def plain_voice(timbre: Tensor, melody: Tensor) -> Voice:
    """Zero offsets in all layers, at the voice's own pitch."""
    count = len(timbre)
    offsets, embedding = timbre.new_zeros(count, LAYERS, STYLE), timbre.new_zeros(count, VOCODER_EMBEDDING)
    return Voice(timbre, melody, offsets, timbre.new_ones(count), embedding)
