"""Clips on the card, real and spoken by random voices, with what the speaker networks say about them."""

import random
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
import torchaudio
from torch import Tensor

from cloning.encoder import EMBEDDING, LAYERS, STYLE, Guess, balance
from cloning.judges import Judges
from cloning.sound import HOP, WINDOW, level, log_mel, pitch
from cloning.speakers import Clip
from cloning.speech import Speech

STRETCHES = (87, 92, 100, 105, 110, 117)
"""Per cent by which a recording is played faster: each makes another speaker of it."""
CELL = 8 * HOP
"""Samples (80 ms) for one vector of frame-wise targets."""


@dataclass
class Shelf:
    """Clips laid end to end, in cells of 80 ms; `speaker` rows are those of `wanted`."""

    wave: Tensor  # [cells, 1280], fp16
    frames: Tensor  # [cells, 384], fp16
    first: Tensor  # [clips]: the first cell
    cells: Tensor  # [clips]
    embedding: Tensor  # [clips, 384]
    pitch: Tensor  # [clips, 3]
    colour: Tensor  # [clips, 80]
    balance: Tensor  # [clips, 80], as the encoder takes it
    speaker: Tensor  # [clips]
    axes: Tensor  # [clips, 106]; NaN where the clip is a recording
    log_pitch_scale: Tensor  # [clips]

    @property
    def recorded(self) -> Tensor:
        return self.axes[:, 0].isnan()

    def crop(self, clip: Tensor, cells: int) -> tuple[Tensor, Tensor]:
        """Stretches of clips, short clips repeated: [B, samples] and the frame-wise targets [B, cells, 384]."""
        length = self.cells[clip]
        room = (length - cells).clamp(min=0)
        start = (torch.rand(len(clip), device=clip.device) * (room + 1)).long()
        place = (start[:, None] + torch.arange(cells + 1, device=clip.device)) % length[:, None] + self.first[
            clip, None
        ]
        wave = self.wave[place].float().flatten(1)[:, : cells * CELL + WINDOW - HOP]
        return wave, self.frames[place[:, :-1]].float()

    def speakers(self) -> tuple[Tensor, Tensor]:
        """Mean embeddings and mean log pitch of each speaker."""
        count = int(self.speaker.max()) + 1
        sums = torch.zeros(count, self.embedding.shape[1] + 1, device=self.wave.device)
        sums.index_add_(0, self.speaker, torch.cat([self.embedding, self.pitch[:, :1]], dim=1))
        mean = sums / torch.bincount(self.speaker, minlength=count)[:, None].clamp(min=1)
        return unit_halves(mean[:, :-1]), mean[:, -1]


def unit_halves(embedding: Tensor) -> Tensor:
    """ERes2Net's and CAM++'s embeddings side by side, each of length one."""
    return F.normalize(embedding.unflatten(1, (2, EMBEDDING)), dim=2).flatten(1)


def colour(mel: Tensor) -> Tensor:
    """The mean spectrum of the louder half of the frames, whatever the level. [B, T, 80] → [B, 80]"""
    loudness = mel.mean(dim=2)
    louder = (loudness >= loudness.median(dim=1, keepdim=True).values).float()[..., None]
    mean = (mel * louder).sum(dim=1) / louder.sum(dim=1)
    return mean - mean.mean(dim=1, keepdim=True)


@dataclass
class Filling:
    """A shelf while clips are put on it."""

    judges: Judges
    parts: dict[str, list[Tensor]] = field(default_factory=dict)
    cells: int = 0
    speakers: int = 0

    @torch.no_grad()
    def put(self, wave: Tensor, speaker: Tensor, axes: Tensor, log_pitch_scale: Tensor) -> None:
        """Clips of one length, [B, samples]."""
        count = (wave.shape[1] - WINDOW + HOP) // CELL
        wave = level(wave)[:, : count * CELL + WINDOW - HOP]
        eres2net, frames_e = self.judges.eres2net.with_frames(wave)
        campplus, frames_c = self.judges.campplus.with_frames(wave)
        frames_c = F.adaptive_avg_pool1d(frames_c.transpose(1, 2), count).transpose(1, 2)
        batch, mel = len(wave), log_mel(wave)
        made = {
            "wave": wave[:, : count * CELL].half().view(-1, CELL),
            "frames": torch.cat([frames_e[:, :count], frames_c], dim=2).half().flatten(0, 1),
            "first": self.cells + count * torch.arange(batch, device=wave.device),
            "cells": torch.full((batch,), count, device=wave.device),
            "embedding": torch.cat([eres2net, campplus], dim=1),
            "pitch": pitch(wave),
            "colour": colour(mel),
            "balance": balance(mel),
            "speaker": speaker,
            "axes": axes,
            "log_pitch_scale": log_pitch_scale,
        }
        self.cells += count * batch
        self.speakers = max(self.speakers, int(speaker.max()) + 1)
        for name, value in made.items():
            self.parts.setdefault(name, []).append(value)

    def recordings(self, clips: list[Clip], device: torch.device, batch: int = 32) -> None:
        """Every clip at every stretch; clips of about one length together, cut to the shortest."""
        number = {name: i for i, name in enumerate(sorted({clip.speaker for clip in clips}))}
        base = self.speakers
        ordered = sorted(clips, key=lambda clip: len(clip.wave))
        for begin in range(0, len(ordered), batch):
            some = ordered[begin : begin + batch]
            length = len(some[0].wave)
            wave = torch.stack([clip.wave[:length] for clip in some]).to(device)
            who = torch.tensor([number[clip.speaker] for clip in some], device=device)
            unknown = torch.full((len(some), 106), torch.nan, device=device)
            for i, stretch in enumerate(STRETCHES):
                played = wave if stretch == 100 else torchaudio.functional.resample(wave, stretch, 100)
                self.put(played, base + i * len(number) + who, unknown, unknown[:, 0])

    @torch.no_grad()
    def random_voices(self, speech: Speech, texts: list[list[int]], batch: int = 48) -> None:
        for ids in texts:
            guess = random_guess(speech, batch)
            wave, _ = speech(ids, speech.axes.voice(guess))
            who = self.speakers + torch.arange(batch, device=wave.device)
            self.put(wave, who, guess.axes, guess.log_pitch_scale)

    def done(self) -> Shelf:
        return Shelf(**{name: torch.cat(values) for name, values in self.parts.items()})


def random_guess(speech: Speech, count: int) -> Guess:
    """Voices around the built-in ones: mixtures, often stretched, and a cloud; a third at another pitch."""
    offsets = speech.axes.offsets
    device = offsets.device
    halves = []
    for half in offsets.split(STYLE, dim=1):
        order = torch.rand(count, len(offsets), device=device).argsort(dim=1)[:, : random.choice((2, 3, 4))]
        weight = torch.rand(order.shape, device=device).clamp(min=1e-6).log().neg()
        halves.append((weight / weight.sum(dim=1, keepdim=True))[..., None].mul(half[order]).sum(dim=1))
    mixed = speech.axes.coordinates(torch.cat(halves, dim=1)) * random.uniform(1.0, 1.7)
    cloud = torch.randn(count, 106, device=device) * random.uniform(0.7, 1.3)
    axes = torch.where(torch.rand(count, 1, device=device) < 0.5, mixed, cloud)
    scale = (torch.rand(count, device=device) - 0.5) * 0.6
    scale = torch.where(torch.rand(count, device=device) < 0.35, scale, 0.0)
    nothing = torch.zeros(count, STYLE, device=device)
    return Guess(axes, nothing, nothing, torch.zeros(count, LAYERS, STYLE, device=device), scale)
