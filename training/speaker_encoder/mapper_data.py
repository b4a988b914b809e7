"""Lessons for the mapper: people as the ear would hear them, and what is wanted of the speech."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from cloning.damage import as_recorded, damaged, telephone
from cloning.ear import DVECTOR, EMBEDDING, Ear, Heard
from cloning.judges import Networks
from cloning.mapper import PITCH, inputs
from cloning.shelf import People, Shelf
from cloning.sound import RATE, level, log_mel, pitch
from cloning.speakers import Clip

PARTS = (EMBEDDING, EMBEDDING, PITCH, DVECTOR)
"""Of the mapper's inputs: ERes2Net's, CAM++'s, the pitch, the d-vector."""


@dataclass
class Lesson:
    """Who is to be spoken like."""

    inputs: Tensor  # [B, 643], as the mapper takes them
    people: People

    def mixed(self, share: float) -> "Lesson":
        """Some of the speakers crossed with others: there are many more people than recordings of them."""
        count, device = len(self.inputs), self.inputs.device
        other = torch.randperm(count, device=device)
        part = 0.5 + 0.5 * torch.rand(count, 1, device=device)
        part = torch.where(torch.rand(count, 1, device=device) < share, part, 1.0)

        inputs = part * self.inputs + (1 - part) * self.inputs[other]
        return Lesson(unit(inputs), self.people.crossed(part, other))


def unit(x: Tensor) -> Tensor:
    """The mapper's inputs with embeddings of the right length."""
    eres2net, campplus, measured, dvector = x.split(PARTS, dim=1)
    heard = Heard(*(F.normalize(each, dim=1) * math.sqrt(each.shape[1]) for each in (eres2net, campplus, dvector)))
    return torch.cat([heard.eres2net, heard.campplus, measured, heard.dvector], dim=1)


def spoilt(wave: Tensor) -> Tensor:
    return damaged(wave, wave.roll(1, dims=0))


class Errors:
    """How the ear mishears people it never learned from, drawn at random.

    On the speakers that it did learn from it is far better, so a mapper that met it there would trust it too much.
    """

    ROUNDS = (as_recorded, as_recorded, spoilt, telephone)
    """What happens to their recordings."""
    SAMPLES = 6 * RATE

    @torch.no_grad()
    def __init__(self, clips: list[Clip], networks: Networks, device: torch.device) -> None:
        waves = [clip.wave.repeat(-(-self.SAMPLES // len(clip.wave)))[: self.SAMPLES] for clip in clips]
        self.wave = level(torch.stack(waves).to(device))
        heard = Heard.all([networks.hear(part) for part in self.wave.split(32)])
        self.truth = inputs(heard, pitch(self.wave))
        # Of the truth so much is heard, and this besides; a row for each clip in each round.
        self.share, self.residual = torch.ones_like(self.truth[:1]), torch.zeros_like(self.truth[:1])

    @torch.no_grad()
    def measure(self, ear: Ear) -> str:
        """Of a new ear. Returns its likeness to each network on these clips, in all rounds."""
        shares, residuals, said = [], [], []
        for change in self.ROUNDS:
            waves = [level(change(part)) for part in self.wave.split(32)]
            found = torch.cat([inputs(ear(log_mel(wave)), pitch(wave)) for wave in waves])
            eres2net, campplus, _, dvector = (part.mean() for part in (found * self.truth).split(PARTS, dim=1))
            likeness = torch.stack([eres2net, campplus, torch.ones_like(dvector), dvector])
            share = likeness.repeat_interleave(torch.tensor(PARTS, device=found.device))
            shares.append(share.expand_as(found))
            residuals.append(found - share * self.truth)
            said.append(", ".join(f"{float(each):.3f}" for each in (eres2net, campplus, dvector)))
        self.share, self.residual = torch.cat(shares), torch.cat(residuals)
        return "; ".join(said)

    def added(self, truth: Tensor) -> Tensor:
        drawn = torch.randint(len(self.residual), (len(truth),), device=truth.device)
        return unit(self.share[drawn] * truth + self.residual[drawn])


class Lessons:
    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.people = shelf.speakers()
        self.recorded = shelf.recorded.nonzero().squeeze(1)
        self.spoken = (~shelf.recorded).nonzero().squeeze(1)
        clips = torch.bincount(shelf.speaker)[shelf.speaker[self.recorded]]
        self.chance = clips.float().rsqrt()

    def pick(self, count: int, recorded: float) -> Tensor:
        """Clips, that share of them recordings; of whom there are many, each is taken less often."""
        first = round(count * recorded)
        real = self.recorded[torch.multinomial(self.chance, count, replacement=True)[:first]]
        made = self.spoken[torch.randint(len(self.spoken), (count - first,), device=real.device)]
        return torch.cat([real, made])

    def truth(self, clip: Tensor) -> Tensor:
        """The mapper's inputs without errors."""
        eres2net, campplus = self.shelf.embedding[clip].chunk(2, dim=1)
        return inputs(Heard(eres2net, campplus, self.shelf.dvector[clip]), self.shelf.pitch[clip])

    def draw(self, clip: Tensor, errors: Errors) -> Lesson:
        return Lesson(errors.added(self.truth(clip)), self.people[self.shelf.speaker[clip]])
