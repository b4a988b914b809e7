"""Lessons for the mapper: people as the ear would hear them, and what is wanted of the speech."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from cloning.damage import damaged
from cloning.ear import EMBEDDING, Ear, Heard
from cloning.judges import Networks
from cloning.mapper import inputs
from cloning.shelf import People, Shelf, unit_halves
from cloning.sound import RATE, level, log_mel, pitch
from cloning.speakers import Clip

BOTH = 2 * EMBEDDING


@dataclass
class Lesson:
    """Who is to be spoken like."""

    inputs: Tensor  # [B, 387], as the mapper takes them
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
    return torch.cat([unit_halves(x[:, :BOTH]) * math.sqrt(EMBEDDING), x[:, BOTH:]], dim=1)


def told(embedding: Tensor, measured: Tensor) -> Tensor:
    """The mapper's inputs as the networks themselves would give them."""
    eres2net, campplus = embedding.chunk(2, dim=1)
    return inputs(Heard(eres2net, campplus), measured)


class Errors:
    """How the ear mishears people it never learned from, a quarter of them in spoilt recordings, drawn at random.

    On the speakers that it did learn from it is far better, so a mapper that met it there would trust it too much.
    """

    ROUNDS = 4
    SAMPLES = 6 * RATE

    @torch.no_grad()
    def __init__(self, clips: list[Clip], networks: Networks, device: torch.device) -> None:
        waves = [clip.wave.repeat(-(-self.SAMPLES // len(clip.wave)))[: self.SAMPLES] for clip in clips]
        self.wave = level(torch.stack(waves).to(device))
        embedding = torch.cat([networks.embedding(part) for part in self.wave.split(32)])
        self.truth = told(embedding, pitch(self.wave))
        self.share, self.residual = torch.ones(()), torch.zeros_like(self.truth[:1])

    @torch.no_grad()
    def measure(self, ear: Ear) -> float:
        """Of a new ear. Returns its likeness to ERes2Net on these clips."""
        heard = []
        for i in range(self.ROUNDS):
            for part in self.wave.split(32):
                wave = level(damaged(part, part.roll(1, dims=0))) if i == 0 else part
                heard.append(inputs(ear(log_mel(wave)), pitch(wave)))
        found, truth = torch.cat(heard), self.truth.repeat(self.ROUNDS, 1)
        likeness = (found * truth)[:, :BOTH].unflatten(1, (2, EMBEDDING)).mean(dim=(0, 2))
        share = torch.ones(found.shape[1], device=found.device)
        share[:EMBEDDING], share[EMBEDDING:BOTH] = likeness[0], likeness[1]
        self.share, self.residual = share, found - share * truth
        return float(likeness[0])

    def added(self, truth: Tensor) -> Tensor:
        drawn = self.residual[torch.randint(len(self.residual), (len(truth),), device=truth.device)]
        return unit(self.share * truth + drawn)


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
        return told(self.shelf.embedding[clip], self.shelf.pitch[clip])

    def draw(self, clip: Tensor, errors: Errors) -> Lesson:
        return Lesson(errors.added(self.truth(clip)), self.people[self.shelf.speaker[clip]])
