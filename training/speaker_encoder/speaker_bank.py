"""The speaker bank: embeddings and pitch of the speakers that the mapper is trained on, real, augmented and random."""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

import torch
import torch.nn.functional as F
from torch import Tensor

from speaker_encoder.augmentation import change_speed, shift_formants
from speaker_encoder.clip_buffer import LENGTH_STEP
from speaker_encoder.encoder import EMBEDDING
from speaker_encoder.equalizer import equalize, measure_envelope
from speaker_encoder.features import RATE, normalize_level, pitch
from speaker_encoder.frozen_losses import SpeakerNetworks
from speaker_encoder.mapper import AXES, LAYERS, STYLE, PredictedVoice
from speaker_encoder.speakers import Clip
from speaker_encoder.synthesis import Synthesis
from speaker_encoder.texts import Texts
from speaker_encoder.voice_pca import Voice, VoicePca, plain_voice

PIECE = 5 * RATE
"""Recordings are cut into pieces of this length; a shorter one is repeated."""
PIECES = 4
"""Of a speaker in the bank, at most."""
GROUPS = 8
"""Speakers of a round are made faster or slower in as many groups, each by its own factor."""
EMBEDDED_AT_ONCE = 256
"""Pieces."""


@dataclass
class SpeakerTraits:
    """What the speech of a clone is compared with, a row per speaker."""

    embedding: Tensor  # [speakers, 384]: ERes2Net's and CAM++'s, side by side
    dvector: Tensor  # [speakers, 256]
    envelope: Tensor  # [speakers, 20]
    log_pitch: Tensor  # [speakers]

    def __getitem__(self, index: Tensor) -> "SpeakerTraits":
        return SpeakerTraits(*(value[index] for value in vars(self).values()))

    def blend(self, own: Tensor, other: Tensor) -> "SpeakerTraits":
        """With the speakers of index `other` [speakers]; `own` [speakers, 1] is the share that each keeps."""
        theirs = self[other]
        embedding, dvector, envelope = (
            own * getattr(self, name) + (1 - own) * getattr(theirs, name)
            for name in ("embedding", "dvector", "envelope")
        )
        log_pitch = own[:, 0] * self.log_pitch + (1 - own[:, 0]) * theirs.log_pitch
        return SpeakerTraits(normalize_halves(embedding), F.normalize(dvector, dim=1), envelope, log_pitch)


@dataclass
class SpeakerBank:
    """A row per clip; `speaker` numbers the speakers."""

    embedding: Tensor  # [clips, 384]
    dvector: Tensor  # [clips, 256]
    envelope: Tensor  # [clips, 20]
    pitch: Tensor  # [clips, 3]
    speaker: Tensor  # [clips]
    coordinates: Tensor  # [clips, 53]: of the timbre; NaN where the clip is a recording
    real: int
    """How many of the speakers, the first ones, are real and as they were recorded."""

    @property
    def recorded(self) -> Tensor:
        return self.coordinates[:, 0].isnan()

    def speaker_traits(self) -> SpeakerTraits:
        """The mean of each speaker's clips."""
        embedding, dvector, envelope = map(self._average, (self.embedding, self.dvector, self.envelope))
        log_pitch = self._average(self.pitch[:, :1])[:, 0]
        return SpeakerTraits(normalize_halves(embedding), F.normalize(dvector, dim=1), envelope, log_pitch)

    def _average(self, values: Tensor) -> Tensor:
        """[clips, n] → [speakers, n]"""
        return _average_rows(values, self.speaker, int(self.speaker.max()) + 1)


def normalize_halves(embedding: Tensor) -> Tensor:
    """ERes2Net's and CAM++'s embeddings side by side, each scaled to length one."""
    return F.normalize(embedding.unflatten(1, (2, EMBEDDING)), dim=2).flatten(1)


def _average_rows(values: Tensor, owner: Tensor, count: int) -> Tensor:
    """[rows, n] → [count, n]: the mean of the rows of each owner."""
    sums = torch.zeros(count, values.shape[1], device=values.device).index_add_(0, owner, values)
    return sums / torch.bincount(owner, minlength=count)[:, None].clamp(min=1)


def cut_pieces(clips: list[Clip], names: list[str]) -> tuple[Tensor, Tensor]:
    """Pieces of one length, from all clips of a speaker in turn, and whose they are. [pieces, samples], [pieces]"""
    waves, owners = [], []
    for number, name in enumerate(names):
        own = [list(_cut(clip.wave)) for clip in clips if clip.speaker == name]
        turns = [piece for turn in zip_longest(*own) for piece in turn if piece is not None]
        waves += turns[:PIECES]
        owners += [number] * len(turns[:PIECES])
    return torch.stack(waves), torch.tensor(owners)


def _cut(wave: Tensor) -> Iterator[Tensor]:
    if len(wave) < PIECE:
        yield wave.repeat(-(-PIECE // len(wave)))[:PIECE]
    else:
        yield from wave[: len(wave) // PIECE * PIECE].split(PIECE)


@dataclass
class VirtualSpeakers:
    """Other speakers made of real ones: all recordings of a speaker are changed alike."""

    speed: float
    formants: Tensor  # [speakers]
    bend: Tensor  # [speakers]
    envelope: Tensor  # [speakers, 20]: part of the way from the own mean spectrum to somebody else's

    @classmethod
    def sample(cls, envelope: Tensor) -> "VirtualSpeakers":
        """One of each real speaker; `envelope` [speakers, 20] is theirs."""
        count, device = len(envelope), envelope.device
        other = envelope[torch.randint(count, (count,), device=device)]
        share = torch.rand(count, 1, device=device)
        return cls(
            math.exp(random.uniform(-0.22, 0.22)),
            torch.exp((torch.rand(count, device=device) - 0.5) * 0.36),
            (torch.rand(count, device=device) - 0.5) * 0.16,
            torch.lerp(envelope, other, share),
        )

    def apply(self, wave: Tensor, owner: Tensor) -> Tensor:
        """[pieces, samples], [pieces] → [pieces, other samples]"""
        samples = round(wave.shape[1] / self.speed / LENGTH_STEP) * LENGTH_STEP
        changed = shift_formants(change_speed(wave, samples), self.formants[owner], self.bend[owner])
        return equalize(normalize_level(changed), self.envelope[owner])


@dataclass
class SpeakerBankBuilder:
    networks: SpeakerNetworks
    parts: dict[str, list[Tensor]] = field(default_factory=dict)
    speakers: int = 0
    real: int = 0

    @torch.no_grad()
    def _add(self, wave: Tensor, speaker: Tensor, coordinates: Tensor) -> None:
        """Clips of one length, [B, samples]."""
        wave = normalize_level(wave)
        with torch.autocast(wave.device.type, torch.bfloat16, enabled=wave.device.type == "cuda"):
            embeddings = self.networks.embed(wave)
        rows = {
            "embedding": embeddings.joint,
            "dvector": embeddings.dvector,
            "envelope": measure_envelope(wave),
            "pitch": pitch(wave),
            "speaker": speaker,
            "coordinates": coordinates,
        }
        self.speakers = max(self.speakers, int(speaker.max()) + 1)
        for name, value in rows.items():
            self.parts.setdefault(name, []).append(value)

    def add_recordings(self, clips: list[Clip], rounds: int, device: torch.device) -> None:
        """As they are, then so many times as other speakers: each round changes every speaker in a new way."""
        names = sorted({clip.speaker for clip in clips})
        wave, owner = (each.to(device) for each in cut_pieces(clips, names))
        envelope = torch.cat([measure_envelope(part) for part in normalize_level(wave).split(EMBEDDED_AT_ONCE)])
        envelope = _average_rows(envelope, owner, len(names))
        for each in range(rounds + 1):
            base, group = self.speakers, torch.randint(GROUPS, (len(names),), device=device)
            for number in group.unique():
                change = VirtualSpeakers.sample(envelope) if each else None
                for piece in (group[owner] == number).nonzero().squeeze(1).split(EMBEDDED_AT_ONCE):
                    changed = change.apply(wave[piece], owner[piece]) if change else wave[piece]
                    unknown = torch.full((len(piece), AXES), torch.nan, device=device)
                    self._add(changed, base + owner[piece], unknown)
            self.speakers = base + len(names)
        self.real += len(names)

    def add_voices(self, wave: Tensor, coordinates: Tensor) -> None:
        """Random voices: each is a speaker with one clip."""
        self._add(wave, self.speakers + torch.arange(len(wave), device=wave.device), coordinates)

    def build(self) -> SpeakerBank:
        return SpeakerBank(**{name: torch.cat(values) for name, values in self.parts.items()}, real=self.real)


@torch.no_grad()
def synthesize_random_voices(
    synthesis: Synthesis, texts: Texts, batches: int, batch: int
) -> Iterator[tuple[Tensor, Voice]]:
    """English texts, each in a new voice."""
    for _ in range(batches):
        voice = sample_voices(synthesis.pca, batch, with_offsets=0.7)
        yield synthesis(texts.draw(batch, "a"), voice).wave, voice


def recombine(predicted: PredictedVoice) -> PredictedVoice:
    """Timbre, layer offsets, vocoder embedding and mask of different speakers: voices that nobody has."""
    parts = (
        ("coordinates", "residual"),
        ("layer_offsets", "foreign_layer_offsets"),
        ("vocoder_embedding",),
        ("mask_coordinates", "mask_offset"),
    )
    count, device = len(predicted.residual), predicted.residual.device
    drawn = {}
    for names in parts:
        own = torch.arange(count, device=device)
        order = torch.where(torch.rand(count, device=device) < 0.5, own, torch.randperm(count, device=device))
        drawn |= {name: getattr(predicted, name)[order] for name in names}
    return PredictedVoice(**drawn)


def sample_voices(pca: VoicePca, count: int, with_offsets: float = 0.0) -> Voice:
    """Random voices around the built-in ones, at another pitch.

    The share `with_offsets` of them has layer offsets, each towards another random timbre by a random amount.
    """
    timbres = pca.offsets[:, :STYLE]
    voice = plain_voice(_sample_styles(timbres, pca.timbre, count))
    device = voice.timbre.device
    amount = 0.8 * torch.rand(count, LAYERS, 1, device=device)
    amount = amount * (torch.rand(count, 1, 1, device=device) < with_offsets)
    voice.layer_offsets = amount * (_sample_styles(timbres, pca.timbre, count) - voice.timbre)[:, None]
    voice.pitch_scale = torch.exp((torch.rand(count, device=device) - 0.5) * 1.2)
    return voice


def _sample_styles(known: Tensor, axes: Tensor, count: int) -> Tensor:
    """Half are mixtures of known styles, often extrapolated, half are Gaussian on the axes. [count, 128]"""
    device = known.device
    order = torch.rand(count, len(known), device=device).argsort(dim=1)[:, : random.choice((2, 3, 4))]
    weight = torch.rand(order.shape, device=device).clamp(min=1e-6).log().neg()
    mixed = (weight / weight.sum(dim=1, keepdim=True))[..., None].mul(known[order]).sum(dim=1)
    gaussian = (torch.randn(count, AXES, device=device) * random.uniform(0.7, 1.3)) @ axes
    return torch.where(torch.rand(count, 1, device=device) < 0.5, mixed * random.uniform(1.0, 1.7), gaussian)
