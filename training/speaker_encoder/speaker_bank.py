"""The speaker bank: embeddings and pitch of the speakers that the mapper is trained on, real, augmented and random."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from speaker_encoder.augmentation import change_speed, shift_formants
from speaker_encoder.encoder import EMBEDDING
from speaker_encoder.equalizer import measure_envelope
from speaker_encoder.features import RATE, normalize_level, pitch
from speaker_encoder.frozen_losses import SpeakerNetworks
from speaker_encoder.mapper import AXES, LAYERS, STYLE
from speaker_encoder.speakers import Clip
from speaker_encoder.synthesis import Synthesis
from speaker_encoder.texts import Texts
from speaker_encoder.voice_pca import Voice, VoicePca, plain_voice

AUGMENTATIONS = [(speed, formants) for speed in (0.87, 0.93, 1, 1.07, 1.15) for formants in (0.91, 1, 1.1)]
"""Factors of speed and formants: each makes another speaker of a recording."""
LONGEST = 10 * RATE


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
        count = int(self.speaker.max()) + 1
        sums = torch.zeros(count, values.shape[1], device=values.device).index_add_(0, self.speaker, values)
        return sums / torch.bincount(self.speaker, minlength=count)[:, None].clamp(min=1)


def normalize_halves(embedding: Tensor) -> Tensor:
    """ERes2Net's and CAM++'s embeddings side by side, each scaled to length one."""
    return F.normalize(embedding.unflatten(1, (2, EMBEDDING)), dim=2).flatten(1)


@dataclass
class SpeakerBankBuilder:
    networks: SpeakerNetworks
    parts: dict[str, list[Tensor]] = field(default_factory=dict)
    speakers: int = 0

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

    def add_recordings(self, clips: list[Clip], device: torch.device, batch: int = 64) -> None:
        """Each with all augmentations."""
        number = {name: i for i, name in enumerate(sorted({clip.speaker for clip in clips}))}
        base, ordered = self.speakers, sorted(clips, key=lambda clip: len(clip.wave))
        for begin in range(0, len(ordered), batch):
            some = ordered[begin : begin + batch]
            length = min(LONGEST, len(some[0].wave))
            wave = torch.stack([clip.wave[:length] for clip in some]).to(device)
            speaker = torch.tensor([number[clip.speaker] for clip in some], device=device)
            unknown = torch.full((len(some), AXES), torch.nan, device=device)
            for i, (speed, formants) in enumerate(AUGMENTATIONS):
                changed = wave if speed == 1 else change_speed(wave, round(length / speed))
                if formants != 1:
                    changed = shift_formants(changed, torch.full((len(some),), formants, device=device))
                self._add(changed, base + i * len(number) + speaker, unknown)

    def add_voices(self, wave: Tensor, coordinates: Tensor) -> None:
        """Random voices: each is a speaker with one clip."""
        self._add(wave, self.speakers + torch.arange(len(wave), device=wave.device), coordinates)

    def build(self) -> SpeakerBank:
        return SpeakerBank(**{name: torch.cat(values) for name, values in self.parts.items()})


@torch.no_grad()
def synthesize_random_voices(
    synthesis: Synthesis, texts: Texts, batches: int, batch: int
) -> Iterator[tuple[Tensor, Voice]]:
    """English texts, each in a new voice."""
    for _ in range(batches):
        voice = sample_voices(synthesis.pca, batch, with_offsets=0.7)
        yield synthesis(texts.draw(batch, "a"), voice).wave, voice


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
