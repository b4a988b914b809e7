"""Batches for the mapper: speakers of the bank, with the errors of the encoder added to their embeddings."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from speaker_encoder.augmentation import degrade, keep_clean, simulate_telephone
from speaker_encoder.encoder import DVECTOR, EMBEDDING, Embeddings, SpeakerEncoder
from speaker_encoder.features import RATE, log_mel, normalize_level, pitch
from speaker_encoder.frozen_losses import SpeakerNetworks
from speaker_encoder.mapper import PITCH, build_inputs
from speaker_encoder.speaker_bank import SpeakerBank, SpeakerTraits
from speaker_encoder.speakers import Clip

PARTS = (EMBEDDING, EMBEDDING, PITCH, DVECTOR)
"""Of the mapper's inputs: ERes2Net's embedding, CAM++'s, the pitch, the d-vector."""


@dataclass
class MapperBatch:
    inputs: Tensor  # [B, 643]
    speakers: SpeakerTraits

    def blend(self, share: float) -> "MapperBatch":
        """Blends that share of the speakers with others: many more speakers than there are recordings of."""
        count, device = len(self.inputs), self.inputs.device
        other = torch.randperm(count, device=device)
        own = 0.5 + 0.5 * torch.rand(count, 1, device=device)
        own = torch.where(torch.rand(count, 1, device=device) < share, own, 1.0)
        inputs = own * self.inputs + (1 - own) * self.inputs[other]
        return MapperBatch(normalize_inputs(inputs), self.speakers.blend(own, other))


def normalize_inputs(inputs: Tensor) -> Tensor:
    """Scales the embeddings in the mapper's inputs to their proper length."""
    eres2net, campplus, scaled_pitch, dvector = inputs.split(PARTS, dim=1)
    eres2net, campplus, dvector = (
        F.normalize(each, dim=1) * math.sqrt(each.shape[1]) for each in (eres2net, campplus, dvector)
    )
    return torch.cat([eres2net, campplus, scaled_pitch, dvector], dim=1)


def degrade_batch(wave: Tensor) -> Tensor:
    return degrade(wave, wave.roll(1, dims=0))


class EncoderErrors:
    """The encoder's errors on held-out speakers, drawn at random.

    On speakers that it was trained on it is far better: a mapper trained with those embeddings would trust it too much.
    """

    CONDITIONS = (keep_clean, keep_clean, degrade_batch, simulate_telephone)
    SAMPLES = 6 * RATE

    @torch.no_grad()
    def __init__(
        self, clips: list[Clip], networks: SpeakerNetworks, encoder: SpeakerEncoder, device: torch.device
    ) -> None:
        waves = [clip.wave.repeat(-(-self.SAMPLES // len(clip.wave)))[: self.SAMPLES] for clip in clips]
        wave = normalize_level(torch.stack(waves).to(device))
        embeddings = Embeddings.concatenate([networks.embed(part) for part in wave.split(32)])
        truth = build_inputs(embeddings, pitch(wave))
        shares, residuals, similarities = [], [], []
        for change in self.CONDITIONS:
            changed = [normalize_level(change(part)) for part in wave.split(32)]
            found = torch.cat([build_inputs(encoder(log_mel(part)), pitch(part)) for part in changed])
            eres2net, campplus, _, dvector = (part.mean() for part in (found * truth).split(PARTS, dim=1))
            similarity = torch.stack([eres2net, campplus, torch.ones_like(dvector), dvector])
            share = similarity.repeat_interleave(torch.tensor(PARTS, device=device))
            shares.append(share.expand_as(found))
            residuals.append(found - share * truth)
            similarities.append(", ".join(f"{float(each):.3f}" for each in (eres2net, campplus, dvector)))
        # An encoder's output is `share` of the truth plus `residual`; a row for each clip in each condition.
        self.share, self.residual = torch.cat(shares), torch.cat(residuals)
        self.description = "; ".join(similarities)

    def apply(self, truth: Tensor) -> Tensor:
        drawn = torch.randint(len(self.residual), (len(truth),), device=truth.device)
        return normalize_inputs(self.share[drawn] * truth + self.residual[drawn])


class MapperData:
    def __init__(self, bank: SpeakerBank, errors: EncoderErrors) -> None:
        self.bank, self.errors = bank, errors
        self.speakers = bank.speaker_traits()
        self.recorded = bank.recorded.nonzero().squeeze(1)
        self.synthesized = (~bank.recorded).nonzero().squeeze(1)
        clips = torch.bincount(bank.speaker)[bank.speaker[self.recorded]]
        self.probability = clips.float().rsqrt()

    def pick_clips(self, count: int, recorded: float) -> Tensor:
        """Indices of clips, that share of them recordings; each clip of a speaker with many clips less often."""
        first = round(count * recorded)
        real = self.recorded[torch.multinomial(self.probability, count, replacement=True)[:first]]
        random = self.synthesized[torch.randint(len(self.synthesized), (count - first,), device=real.device)]
        return torch.cat([real, random])

    def first_clips(self) -> Tensor:
        """One clip of each real speaker, as it was recorded."""
        return torch.stack([(self.bank.speaker == i).nonzero()[0, 0] for i in range(self.bank.real)])

    def true_inputs(self, clip: Tensor) -> Tensor:
        """The mapper's inputs from the speaker networks' own embeddings."""
        eres2net, campplus = self.bank.embedding[clip].chunk(2, dim=1)
        return build_inputs(Embeddings(eres2net, campplus, self.bank.dvector[clip]), self.bank.pitch[clip])

    def make_batch(self, clip: Tensor) -> MapperBatch:
        return MapperBatch(self.errors.apply(self.true_inputs(clip)), self.speakers[self.bank.speaker[clip]])
