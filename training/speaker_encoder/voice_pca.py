"""The principal axes of the built-in voices, on which timbres are guessed.

They belong to an encoder's weights and are saved with them: computed anew on another machine, some may point the other
way.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import bank as banks
import voices
from cloning.mapper import ACCENTED, AXES, GRAIN, LAYERS, STRAYING, STRAYING_ABROAD, STYLE, Guess

STEREOTYPE_ROWS = slice(60, 120)
"""Rows of the style tables, by number of phonemes, that a voice's offset is read from."""
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
"""Kokoro's letters for them, and how many women's and men's voices each has, in the tables' order."""
ENGLISH = "ab"
MELODY_PITCH = {"a": 171, "b": 171, "e": 148, "f": 208, "h": 164, "i": 151, "j": 234, "p": 151, "z": 215}
"""At which the melody that clones have in a language is heard, in Hz: as in the product."""
USUALLY, ELSEWHERE = (7, 7), {"e": (6, 7), "f": (7, 8)}
"""Where it is not English, so many layers, the first ones, have the timbre of those who speak the language; from the
other number on they have more of the person's."""
BOLDER = 0.5
"""How much more."""


@dataclass
class Voice:
    """What the engines read: offsets from the mean voice, a batch of them. The melody may be one row for all."""

    timbre: Tensor  # [B, 128]
    melody: Tensor  # [B or 1, 128]
    layers: Tensor  # [B, 11, 128]
    pitch_scale: Tensor  # [B]
    grain: Tensor  # [B, 256]


@dataclass
class Accent:
    """How everybody's layers change in a language: by an offset, and on the way to natives and to the person."""

    offset: Tensor  # [..., 11, 128]
    shares: Tensor  # [..., 2, 11]: of natives' timbre instead of the person's, and of the person's besides


def rule(language: str, device: torch.device) -> Accent:
    """Where nothing is learned, and where learning begins."""
    native, bold = ELSEWHERE.get(language, USUALLY)
    layer = torch.arange(LAYERS, device=device)
    shares = torch.stack([(layer < native).float(), BOLDER * (layer >= bold)])
    return Accent(torch.zeros(LAYERS, STYLE, device=device), shares)


class Axes(nn.Module):
    """Empty until `measured`, or filled from a saved encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("timbre", torch.zeros(AXES, STYLE))
        # What follows is needed for random voices only, where no sign matters: no need to save it.
        self.register_buffer("melody", torch.zeros(AXES, STYLE), persistent=False)
        self.register_buffer("centre", torch.zeros(voices.ROWS, 2 * STYLE), persistent=False)
        self.register_buffer("offsets", torch.zeros(voices.COUNT, 2 * STYLE), persistent=False)
        self.register_buffer("women_to_men", torch.zeros(STYLE), persistent=False)

    @classmethod
    def measured(cls, tables: Tensor) -> "Axes":
        styles, found = banks.Styles(tables), cls()
        found.centre.copy_(styles.centre)
        for name, axes, spread in zip(("timbre", "melody"), styles.axes, styles.spreads, strict=True):
            getattr(found, name).copy_(axes * spread[:, None])
        found.offsets.copy_((tables[:, STEREOTYPE_ROWS] - styles.centre[STEREOTYPE_ROWS]).mean(dim=1))
        people = found.offsets[:, :STYLE].split([count for both in LANGUAGES.values() for count in both])
        women, men = (torch.cat(people[sex::2]).mean(dim=0) for sex in (0, 1))
        found.women_to_men.copy_(F.normalize(men - women, dim=0))
        return found

    def timbre_of(self, guess: Guess) -> Tensor:
        return guess.axes @ self.timbre + guess.free

    def voice(self, guess: Guess, log_pitch: Tensor, language: str = "a") -> Voice:
        """Speaks at that pitch [B], with the melody of the mean voice, or of those who speak another language."""
        scale = torch.exp((log_pitch - math.log(MELODY_PITCH[language])).clamp(-0.9, 0.9))
        melody = torch.zeros_like(guess.free[:1])
        layers = all_layers(guess.layers if language in ENGLISH else guess.abroad)
        voice = Voice(self.timbre_of(guess), melody, layers, scale, guess.grain)
        return self.accented(voice, language, accent(guess, language))

    def accented(self, voice: Voice, language: str, accent: Accent) -> Voice:
        """Abroad: with the melody of those who speak the language, and their timbre where the accent has it."""
        if language in ENGLISH:
            return voice
        timbre, melody = self.natives(language).mean(dim=0).split(STYLE)
        to_native, way = timbre - voice.timbre, self.women_to_men
        to_native = to_native - (to_native @ way)[:, None] * way
        native, bolder = accent.shares.unsqueeze(-1).unbind(-3)
        there = accent.offset + native * to_native[:, None] + bolder * voice.timbre[:, None]
        return Voice(voice.timbre, melody[None], voice.layers + there, voice.pitch_scale, voice.grain)

    def natives(self, language: str) -> Tensor:
        """Offsets of the built-in voices of a language. [voices, 256]"""
        return self.offsets.split([women + men for women, men in LANGUAGES.values()])[list(LANGUAGES).index(language)]

    def coordinates(self, timbre: Tensor) -> Tensor:
        """[B, 128] → [B, 53]"""
        return timbre @ self.timbre.T / self.timbre.square().sum(dim=1)

    def built_in(self, language: str) -> Voice:
        return plain(*self.natives(language).split(STYLE, dim=1))


def accent(guess: Guess, language: str) -> Accent:
    found = rule(language, guess.shares.device)
    if language not in ACCENTED:
        return found
    number = ACCENTED.index(language)
    native, bolder = (found.shares + guess.shares[:, number]).unbind(dim=1)
    return Accent(guess.accents[:, number], torch.stack([native.clamp(0, 1), bolder], dim=1))


def straying(guess: Guess, language: str) -> Tensor:
    """How far the layers stray in a language, squared: the mean over those that people have of their own. [B]"""
    if language in ENGLISH:
        return guess.layers.square().sum(dim=(1, 2)) / STRAYING
    layers = all_layers(guess.abroad) + accent(guess, language).offset
    return layers.square().sum(dim=(1, 2)) / STRAYING_ABROAD


def all_layers(straying: Tensor) -> Tensor:
    """[B, last layers, 128] → [B, 11, 128]: the first ones do not stray."""
    return F.pad(straying, (0, 0, LAYERS - straying.shape[1], 0))


def plain(timbre: Tensor, melody: Tensor) -> Voice:
    """All layers with the voice's own timbre, at its own pitch."""
    count = len(timbre)
    layers, grain = timbre.new_zeros(count, LAYERS, STYLE), timbre.new_zeros(count, GRAIN)
    return Voice(timbre, melody, layers, timbre.new_ones(count), grain)
