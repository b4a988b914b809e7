"""Speakers that the mapper learns from, real, disguised and made up, with what the speaker networks say about them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from cloning.axes import Axes, Voice, plain
from cloning.colour import colour
from cloning.disguise import stretched, with_formants
from cloning.ear import EMBEDDING
from cloning.judges import Judges
from cloning.mapper import AXES, LAYERS, STYLE
from cloning.sound import RATE, level, pitch
from cloning.speakers import Clip
from cloning.speech import Speech

DISGUISES = [(pace, formants) for pace in (0.87, 0.93, 1, 1.07, 1.15) for formants in (0.91, 1, 1.1)]
"""How much faster, and the formants' factor: each makes another speaker of a recording."""
LONGEST = 10 * RATE


@dataclass
class People:
    """What the voices of people are like: of those whom the mapper is to speak like."""

    embedding: Tensor  # [people, 384]: ERes2Net's and CAM++'s, side by side
    dvector: Tensor  # [people, 256]
    colour: Tensor  # [people, 20]
    log_pitch: Tensor  # [people]

    def __getitem__(self, index: Tensor) -> "People":
        return People(*(value[index] for value in vars(self).values()))

    def crossed(self, part: Tensor, other: Tensor) -> "People":
        """With the people `other`; they keep that part of their own. [people, 1], [people]"""
        theirs = self[other]
        embedding, dvector, colour = (
            part * getattr(self, name) + (1 - part) * getattr(theirs, name)
            for name in ("embedding", "dvector", "colour")
        )
        log_pitch = part[:, 0] * self.log_pitch + (1 - part[:, 0]) * theirs.log_pitch
        return People(unit_halves(embedding), F.normalize(dvector, dim=1), colour, log_pitch)


@dataclass
class Shelf:
    """One row a clip; `speaker` numbers the people."""

    embedding: Tensor  # [clips, 384]
    dvector: Tensor  # [clips, 256]
    colour: Tensor  # [clips, 20]
    pitch: Tensor  # [clips, 3]
    speaker: Tensor  # [clips]
    axes: Tensor  # [clips, 53]; NaN where the clip is a recording

    @property
    def recorded(self) -> Tensor:
        return self.axes[:, 0].isnan()

    def speakers(self) -> People:
        """The mean of each one's clips."""
        embedding, dvector, colour = map(self._means, (self.embedding, self.dvector, self.colour))
        log_pitch = self._means(self.pitch[:, :1])[:, 0]
        return People(unit_halves(embedding), F.normalize(dvector, dim=1), colour, log_pitch)

    def _means(self, values: Tensor) -> Tensor:
        """[clips, n] → [speakers, n]"""
        count = int(self.speaker.max()) + 1
        sums = torch.zeros(count, values.shape[1], device=values.device).index_add_(0, self.speaker, values)
        return sums / torch.bincount(self.speaker, minlength=count)[:, None].clamp(min=1)


def unit_halves(embedding: Tensor) -> Tensor:
    """ERes2Net's and CAM++'s embeddings side by side, each of length one."""
    return F.normalize(embedding.unflatten(1, (2, EMBEDDING)), dim=2).flatten(1)


@dataclass
class Filling:
    """A shelf while clips are put on it."""

    judges: Judges
    parts: dict[str, list[Tensor]] = field(default_factory=dict)
    speakers: int = 0

    @torch.no_grad()
    def put(self, wave: Tensor, speaker: Tensor, axes: Tensor) -> None:
        """Clips of one length, [B, samples]."""
        wave = level(wave)
        with torch.autocast(wave.device.type, torch.bfloat16, enabled=wave.device.type == "cuda"):
            heard = self.judges.hear(wave)
        said = {"embedding": heard.embedding, "dvector": heard.dvector}
        made = said | {"colour": colour(wave), "pitch": pitch(wave), "speaker": speaker, "axes": axes}
        self.speakers = max(self.speakers, int(speaker.max()) + 1)
        for name, value in made.items():
            self.parts.setdefault(name, []).append(value)

    def recordings(self, clips: list[Clip], device: torch.device, batch: int = 64) -> None:
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
                self.put(played, base + i * len(number) + who, unknown)

    def voices(self, wave: Tensor, axes: Tensor) -> None:
        """Random voices: each is a speaker of one clip."""
        self.put(wave, self.speakers + torch.arange(len(wave), device=wave.device), axes)

    def done(self) -> Shelf:
        return Shelf(**{name: torch.cat(values) for name, values in self.parts.items()})


@torch.no_grad()
def random_voices(speech: Speech, texts: list[list[int]], batch: int) -> Iterator[tuple[Tensor, Voice]]:
    """Each text spoken by other voices."""
    for ids in texts:
        voice = random_voice(speech.axes, batch, straying=0.7)
        yield speech(ids, voice, random.randrange(batch)).wave, voice


def random_voice(axes: Axes, count: int, straying: float = 0.0) -> Voice:
    """Voices around the built-in ones, a third at another pitch.

    That share of them has layers that are on the way to somebody else, each as far as it likes.
    """
    timbres, melodies = axes.offsets.split(STYLE, dim=1)
    voice = plain(_around(timbres, axes.timbre, count), _around(melodies, axes.melody, count))
    device = voice.timbre.device
    way = 0.8 * torch.rand(count, LAYERS, 1, device=device) * (torch.rand(count, 1, 1, device=device) < straying)
    voice.layers = way * (_around(timbres, axes.timbre, count) - voice.timbre)[:, None]
    scale = torch.exp((torch.rand(count, device=device) - 0.5) * 0.6)
    voice.pitch_scale = torch.where(torch.rand(count, device=device) < 0.35, scale, 1.0)
    return voice


def _around(known: Tensor, axes: Tensor, count: int) -> Tensor:
    """Half of them mixtures of known styles, often stretched, half a cloud. [count, 128]"""
    device = known.device
    order = torch.rand(count, len(known), device=device).argsort(dim=1)[:, : random.choice((2, 3, 4))]
    weight = torch.rand(order.shape, device=device).clamp(min=1e-6).log().neg()
    mixed = (weight / weight.sum(dim=1, keepdim=True))[..., None].mul(known[order]).sum(dim=1)
    cloud = (torch.randn(count, AXES, device=device) * random.uniform(0.7, 1.3)) @ axes
    return torch.where(torch.rand(count, 1, device=device) < 0.5, mixed * random.uniform(1.0, 1.7), cloud)
