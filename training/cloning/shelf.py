"""Speakers that the mapper learns from, real, disguised and made up, with what the speaker networks say about them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from cloning.disguise import stretched, with_formants
from cloning.ear import EMBEDDING, balance
from cloning.judges import Networks
from cloning.mapper import AXES, LAYERS, STYLE, Guess
from cloning.sound import RATE, level, log_mel, pitch
from cloning.speakers import Clip
from cloning.speech import Speech

DISGUISES = ((1, 1), (0.88, 1), (0.94, 1), (1.06, 1), (1.12, 1), (1, 0.9), (1, 1.1), (0.92, 1.08), (1.08, 0.92))
"""How much faster, and the formants' factor: each makes another speaker of a recording."""
LONGEST = 10 * RATE


@dataclass
class Shelf:
    """One row a clip; `speaker` numbers the people."""

    embedding: Tensor  # [clips, 384]
    pitch: Tensor  # [clips, 3]
    colour: Tensor  # [clips, 80]
    balance: Tensor  # [clips, 80], as the mapper takes it
    speaker: Tensor  # [clips]
    axes: Tensor  # [clips, 106]; NaN where the clip is a recording
    log_pitch_scale: Tensor  # [clips]

    @property
    def recorded(self) -> Tensor:
        return self.axes[:, 0].isnan()

    def speakers(self) -> tuple[Tensor, Tensor]:
        """Mean embeddings and mean log pitch of each speaker."""
        count = int(self.speaker.max()) + 1
        sums = torch.zeros(count, self.embedding.shape[1] + 1, device=self.embedding.device)
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

    networks: Networks
    parts: dict[str, list[Tensor]] = field(default_factory=dict)
    speakers: int = 0

    @torch.no_grad()
    def put(self, wave: Tensor, speaker: Tensor, axes: Tensor, log_pitch_scale: Tensor) -> None:
        """Clips of one length, [B, samples]."""
        wave = level(wave)
        with torch.autocast(wave.device.type, torch.bfloat16, enabled=wave.device.type == "cuda"):
            embedding = self.networks.embedding(wave)
        mel = log_mel(wave)
        made = {
            "embedding": embedding,
            "pitch": pitch(wave),
            "colour": colour(mel),
            "balance": balance(mel),
            "speaker": speaker,
            "axes": axes,
            "log_pitch_scale": log_pitch_scale,
        }
        self.speakers = max(self.speakers, int(speaker.max()) + 1)
        for name, value in made.items():
            self.parts.setdefault(name, []).append(value)

    def recordings(self, clips: list[Clip], device: torch.device, batch: int = 32) -> None:
        """Each in all disguises."""
        number = {name: i for i, name in enumerate(sorted({clip.speaker for clip in clips}))}
        base, ordered = self.speakers, sorted(clips, key=lambda clip: len(clip.wave))
        for begin in range(0, len(ordered), batch):
            some = ordered[begin : begin + batch]
            length = min(LONGEST, len(some[0].wave))
            wave = torch.stack([clip.wave[:length] for clip in some]).to(device)
            who = torch.tensor([number[clip.speaker] for clip in some], device=device)
            unknown = torch.full((len(some), AXES), torch.nan, device=device)
            for i, (pace, formants) in enumerate(DISGUISES):
                played = wave if pace == 1 else stretched(wave, round(length / pace))
                if formants != 1:
                    played = with_formants(played, torch.full((len(some),), formants, device=device))
                self.put(played, base + i * len(number) + who, unknown, unknown[:, 0])

    def voices(self, wave: Tensor, guess: Guess) -> None:
        """Random voices: each is a speaker of one clip."""
        who = self.speakers + torch.arange(len(wave), device=wave.device)
        self.put(wave, who, guess.axes, guess.log_pitch_scale)

    def done(self) -> Shelf:
        return Shelf(**{name: torch.cat(values) for name, values in self.parts.items()})


@torch.no_grad()
def random_voices(speech: Speech, texts: list[list[int]], batch: int) -> Iterator[tuple[Tensor, Guess]]:
    """Each text spoken by other voices."""
    for ids in texts:
        guess = random_guess(speech, batch)
        yield speech(ids, speech.axes.voice(guess), random.randrange(batch)).wave, guess


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
    cloud = torch.randn(count, AXES, device=device) * random.uniform(0.7, 1.3)
    axes = torch.where(torch.rand(count, 1, device=device) < 0.5, mixed, cloud)
    scale = (torch.rand(count, device=device) - 0.5) * 0.6
    scale = torch.where(torch.rand(count, device=device) < 0.35, scale, 0.0)
    nothing = torch.zeros(count, STYLE, device=device)
    return Guess(axes, nothing, nothing, torch.zeros(count, LAYERS, STYLE, device=device), scale)
