"""The ear: hears who speaks.

mel ─▶ maps of 80, 40, 20, 10 bands ─▶ three groups of layers at 50 Hz, each weighed by what goes on around it
    ─▶ mean, deviation ─▶ what CAM++ would say (192)
    ├▶ all maps' means and deviations ─▶ what ERes2Net would say (192)
    └▶ those and the mel's own ─▶ what VoiceFilter's d-vector would be (256)

A few hundred speakers are too few to learn from nothing what a voice is. So the ear has the shape of CAM++'s body,
starts from its weights (`inherit`), and learns from there to hear through noise, rooms and codecs, and what the other
two would say. ERes2Net and CAM++ tell people apart and are deaf to the colour of their voices; the d-vector is not.
"""

from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cloning.sound import BANDS

EMBEDDING = 192
"""Of ERes2Net and of CAM++ alike."""
DVECTOR = 256
PLACES = ("maps", "group 1", "group 2", "out")
"""Where the ear is compared with CAM++."""
MAPS, FIRST, GROWTH, INNER = 32, 128, 32, 128
GROUPS = ((12, 1), (24, 2), (16, 2))
"""Layers, and how far apart the frames are that they look at."""
AROUND = 100
"""Frames (2 s) that are summed up for a layer's weighing, besides the whole clip."""


@dataclass
class Heard:
    eres2net: Tensor  # [B, 192], unit length
    campplus: Tensor  # [B, 192]
    dvector: Tensor  # [B, 256]

    def float(self) -> "Heard":
        return Heard(*(getattr(self, f.name).float() for f in fields(self)))

    @classmethod
    def all(cls, several: list["Heard"]) -> "Heard":
        """In one batch."""
        return cls(*(torch.cat([getattr(each, f.name) for each in several]) for f in fields(cls)))

    def likeness(self, other: "Heard") -> "Heard":
        """Of each opinion to the other's, the mean of the batch."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Heard(*((one * another).sum(dim=1).mean() for one, another in pairs))

    @property
    def embedding(self) -> Tensor:
        """Who it is, as the product keeps it. [B, 384]"""
        return torch.cat([self.eres2net, self.campplus], dim=1)


def statistics(x: Tensor) -> Tensor:
    """Mean and deviation over time, in fp32. [B, C, T] → [B, 2 C]"""
    x = x.float()
    mean = x.mean(dim=2)
    variance = (x - mean[..., None]).square().sum(dim=2) / (x.shape[2] - 1)
    return torch.cat([mean, variance.clamp(min=1e-8).sqrt()], dim=1)


class Block(nn.Module):
    """A residual step on maps [B, 32, bands, T]; a stride halves the bands."""

    def __init__(self, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(MAPS, MAPS, 3, (stride, 1), 1, bias=False)
        self.first_norm = nn.BatchNorm2d(MAPS)
        self.second = nn.Conv2d(MAPS, MAPS, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(MAPS)
        self.skip = nn.Identity()
        if stride > 1:
            self.skip = nn.Sequential(nn.Conv2d(MAPS, MAPS, 1, (stride, 1), bias=False), nn.BatchNorm2d(MAPS))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.first_norm(self.first(x)))
        return F.relu(self.second_norm(self.second(y)) + self.skip(x))


def around(x: Tensor, part: Tensor) -> Tensor:
    """At every frame the mean of the clip and that of the two seconds it lies in. [B, C, T], [T] → [B, C, T]"""
    return x.mean(dim=2, keepdim=True) + F.avg_pool1d(x, AROUND, AROUND, ceil_mode=True)[..., part]


class Layer(nn.Module):
    """Adds 32 channels to those that came before it. [B, C, T] → [B, C + 32, T]"""

    def __init__(self, inputs: int, dilation: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(inputs)
        self.narrow = nn.Conv1d(inputs, INNER, 1, bias=False)
        self.inner_norm = nn.BatchNorm1d(INNER)
        self.look = nn.Conv1d(INNER, GROWTH, 3, padding=dilation, dilation=dilation, bias=False)
        self.sum_up = nn.Conv1d(INNER, INNER // 2, 1)
        self.weigh = nn.Conv1d(INNER // 2, GROWTH, 1)

    def forward(self, x: Tensor, part: Tensor) -> Tensor:
        y = F.relu(self.inner_norm(self.narrow(F.relu(self.norm(x)))))
        weight = torch.sigmoid(self.weigh(F.relu(self.sum_up(around(y, part)))))
        return torch.cat([x, self.look(y) * weight], dim=1)


class Group(nn.Module):
    """Layers, each of which sees all before it; half of the channels go on."""

    def __init__(self, inputs: int, layers: int, dilation: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(inputs + i * GROWTH, dilation) for i in range(layers))
        channels = inputs + layers * GROWTH
        self.norm = nn.BatchNorm1d(channels)
        self.halve = nn.Conv1d(channels, channels // 2, 1, bias=False)

    def forward(self, x: Tensor, part: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, part)
        return self.halve(F.relu(self.norm(x)))


class Body(nn.Module):
    """All that is inherited. Its parts are in the order in which CAM++ has them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.stem_norm = nn.Conv2d(1, MAPS, 3, 1, 1, bias=False), nn.BatchNorm2d(MAPS)
        self.blocks = nn.Sequential(Block(2), Block(1), Block(2), Block(1))
        self.last, self.last_norm = nn.Conv2d(MAPS, MAPS, 3, (2, 1), 1, bias=False), nn.BatchNorm2d(MAPS)
        self.entry = nn.Conv1d(MAPS * BANDS // 8, FIRST, 5, 2, 2, bias=False)
        self.entry_norm = nn.BatchNorm1d(FIRST)
        self.groups, channels = nn.ModuleList(), FIRST
        self.mapped = [MAPS * BANDS // 8]  # channels at all `PLACES`
        for layers, dilation in GROUPS:
            self.groups.append(Group(channels, layers, dilation))
            channels = (channels + layers * GROWTH) // 2
            self.mapped.append(channels)
        self.out_norm = nn.BatchNorm1d(channels)
        self.campplus = nn.Conv1d(2 * channels, EMBEDDING, 1, bias=False)
        self.campplus_norm = nn.BatchNorm1d(EMBEDDING, affine=False)
        self.channels = channels

    def forward(self, mel: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        """What CAM++ says [B, 192], the statistics that it says it from, and the maps at all `PLACES`."""
        x = F.relu(self.stem_norm(self.stem((mel - mel.mean(dim=1, keepdim=True)).transpose(1, 2)[:, None])))
        x = F.relu(self.last_norm(self.last(self.blocks(x)))).flatten(1, 2)
        maps = [x]
        x = F.relu(self.entry_norm(self.entry(x)))
        part = torch.arange(x.shape[2], device=x.device) // AROUND
        for group in self.groups:
            x = group(x, part)
            maps.append(x)
        maps[-1] = F.relu(self.out_norm(x))
        found = statistics(maps[-1])
        return self.campplus_norm(self.campplus(found[..., None]).squeeze(2)), found, maps


class Reading(nn.Module):
    """What another network would say, read off everything that CAM++'s body hears."""

    WIDTH = 512

    def __init__(self, last: int, everything: int, outputs: int) -> None:
        super().__init__()
        self.direct = nn.Linear(last, outputs)
        self.norm = nn.LayerNorm(everything)
        self.narrow = nn.Linear(everything, self.WIDTH)
        self.more = nn.Linear(self.WIDTH, outputs)
        nn.init.zeros_(self.more.weight)
        nn.init.zeros_(self.more.bias)

    def forward(self, last: Tensor, everything: Tensor) -> Tensor:
        return F.normalize(self.direct(last) + self.more(F.gelu(self.narrow(self.norm(everything)))), dim=1)


class Ear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = Body()
        last, everything = EMBEDDING + 2 * self.body.channels, 2 * sum(self.body.mapped)
        self.eres2net = Reading(last, everything, EMBEDDING)
        self.dvector = Reading(last + 2 * BANDS, everything + 2 * BANDS, DVECTOR)

    def inherit(self, campplus: nn.Module) -> None:
        """Starts from CAM++."""
        own, given = self.body.state_dict(), list(campplus.state_dict().values())
        assert [value.shape for value in own.values()] == [value.shape for value in given]
        self.body.load_state_dict(dict(zip(own, given, strict=True)))

    def forward(self, mel: Tensor) -> Heard:
        return self.listen(mel)[0]

    def listen(self, mel: Tensor) -> tuple[Heard, dict[str, Tensor]]:
        """`mel` [B, T, 80] of a clip at the usual level. Also the maps at all `PLACES`."""
        campplus, found, maps = self.body(mel)
        last = torch.cat([campplus, found], dim=1)
        everything = torch.cat([*(statistics(each) for each in maps[:-1]), found], dim=1)
        spectrum = statistics(mel.transpose(1, 2) / 4 + 2)  # about as large as the others
        heard = Heard(
            self.eres2net(last, everything),
            F.normalize(campplus, dim=1),
            self.dvector(torch.cat([last, spectrum], dim=1), torch.cat([everything, spectrum], dim=1)),
        )
        return heard, dict(zip(PLACES, maps, strict=True))
