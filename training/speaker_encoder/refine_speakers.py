"""Refines the parameters of many speakers at once, by gradients through decoder and head.

Adam works element by element, so nobody sees another's gradient. What it finds for the training speakers is the basis
of the mapper's masks; on the validation speakers it measures what refinement in the service can reach.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from speaker_encoder.encoder import EMBEDDING, Embeddings, SpeakerEncoder
from speaker_encoder.equalizer import equalize
from speaker_encoder.features import log_mel, normalize_level
from speaker_encoder.frozen_losses import FrozenNetworks, mixed_precision
from speaker_encoder.mapper import PredictedVoice
from speaker_encoder.phoneme_loss import PhonemeRecognizer
from speaker_encoder.refinement_judge import RefinementJudge, measure_phoneme_loss, resample_phonemes
from speaker_encoder.speaker_bank import SpeakerTraits
from speaker_encoder.synthesis import Lines, Synthesis

RATES = {"residual": 1.0, "layer_offsets": 1.0, "vocoder_embedding": 1.0, "mask_offset": 3.0, "mask_coordinates": 6.0}
PULLS = {"residual": 1.0, "layer_offsets": 0.2, "vocoder_embedding": 1.0, "mask_offset": 0.02, "mask_coordinates": 0.02}
NATURAL_ENOUGH = 4.7
CHUNK = 88
"""Speakers in one pass: all at once would not fit into memory."""


def search_algorithms() -> AbstractContextManager[None]:
    """For work whose shapes stay the same: the search takes seconds for each new one."""
    return torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=True)


@dataclass(frozen=True)
class Refinement:
    name: str
    losses: dict[str, float]
    """Weights: ear_eres2net, ear_campplus, ear_dvector (the encoder's), eres2net, campplus, dvector (the networks'),
    naturalness, phonemes; judge_campplus, judge_dvector, judge_naturalness, judge_phonemes (the judge's)."""
    moving: tuple[str, ...] = ("residual", "layer_offsets", "vocoder_embedding", "mask_offset")
    steps: int = 80
    rate: float = 0.02
    pull: float = 0.02
    texts: int = 6
    measured: tuple[int, ...] = field(default=(20, 40, 80))


@dataclass
class Refiner:
    synthesis: Synthesis
    frozen: FrozenNetworks
    encoder: SpeakerEncoder
    recognizer: PhonemeRecognizer
    lines: Lines
    """English texts, which are spoken in turn."""
    plain: float
    """Phoneme loss of the built-in voices."""
    judge: RefinementJudge | None = None
    hear: Callable[[Tensor, Tensor, Lines], None] = lambda speech, mel, lines: None
    """Gets what was spoken in each step, after the equalizer, and its log-mel frames."""

    def unlikeness(
        self, wave: Tensor, lines: Lines, traits: SpeakerTraits, heard: Embeddings, weights: dict[str, float]
    ) -> Tensor:
        """[speakers]. What the networks hear has passed the product's equalizer."""
        speech = equalize(wave, traits.envelope)
        mel = log_mel(normalize_level(speech))
        self.hear(speech.detach(), mel.detach(), lines)
        loss = torch.zeros(len(wave), device=wave.device)
        if any(name.startswith("ear_") for name in weights):
            with mixed_precision(speech):
                opinions = self.encoder(mel)
            for name in ("eres2net", "campplus", "dvector"):
                if weight := weights.get(f"ear_{name}", 0.0):
                    loss = loss - weight * (getattr(opinions, name).float() * getattr(heard, name)).sum(dim=1)
        if self.judge and any(name.startswith("judge_") for name in weights):
            with mixed_precision(speech):
                found = self.judge(mel)
            for name in ("campplus", "dvector"):
                similarity = (getattr(found, name).float() * getattr(heard, name)).sum(dim=1)
                loss = loss - weights.get(f"judge_{name}", 0.0) * similarity
            shortfall = F.relu(NATURAL_ENOUGH - found.naturalness.float())
            spoken = resample_phonemes(lines.phonemes, found.phonemes.shape[1])
            unclear = F.relu(measure_phoneme_loss(found.phonemes.float(), spoken) - self.judge.clear_enough)
            loss = loss + weights.get("judge_naturalness", 0.0) * shortfall
            loss = loss + weights.get("judge_phonemes", 0.0) * unclear
        truth = dict(zip(("eres2net", "campplus"), traits.embedding.split(EMBEDDING, dim=1), strict=True))
        truth["dvector"] = traits.dvector
        for name, target in truth.items():
            if weight := weights.get(name, 0.0):
                loss = loss - weight * (getattr(self.frozen, name)(speech) * target).sum(dim=1)
        if weight := weights.get("naturalness", 0.0):
            loss = loss + weight * F.relu(NATURAL_ENOUGH - self.frozen.naturalness(speech))
        if weight := weights.get("phonemes", 0.0):
            with mixed_precision(wave):
                phonemes = self.recognizer(wave, lines.phonemes)[0].float()
            loss = loss + weight * F.relu(phonemes - self.plain)
        return loss

    def refine(
        self,
        start: PredictedVoice,
        traits: SpeakerTraits,
        heard: Embeddings,
        config: Refinement,
        axes: Tensor,
        measure: Callable[[int, PredictedVoice], None] = lambda step, predicted: None,
    ) -> PredictedVoice:
        """What is heard in the references: by the frozen networks (`traits`) and by the encoder (`heard`).

        `axes` [64, 2408]: those on which mask_coordinates move, if they do.
        """
        moved = {name: torch.zeros_like(getattr(start, name)).requires_grad_() for name in config.moving}
        groups = [{"params": [value], "lr": 0.0, "rate": config.rate * RATES[name]} for name, value in moved.items()]
        optimizer = torch.optim.Adam(groups, betas=(0.9, 0.95))

        def current(part: slice = slice(None)) -> PredictedVoice:
            voice = PredictedVoice(*(value[part] for value in vars(start).values()))
            voice = replace(voice, **{name: getattr(voice, name) + value[part] for name, value in moved.items()})
            if "mask_coordinates" in moved:
                voice = replace(voice, mask_offset=voice.mask_offset + moved["mask_coordinates"][part] @ axes)
            return voice

        count = len(start.residual)
        for step in range(config.steps):
            for group in optimizer.param_groups:  # half of the steps at the full rate, then down to nothing
                group["lr"] = group["rate"] * min(1.0, 2 * (1 - step / config.steps)) * min(1.0, (step + 1) / 2)
            optimizer.zero_grad()
            line = self.lines[torch.tensor([step % config.texts])]
            for first in range(0, count, CHUNK):
                part = slice(first, min(first + CHUNK, count))
                lines = line[torch.zeros(part.stop - first, dtype=torch.long)]
                some = Embeddings(*(value[part] for value in vars(heard).values()))
                with search_algorithms():
                    voice = self.synthesis.pca.to_voice(current(part), traits.log_pitch[part], lines.language)
                    wave = self.synthesis(lines, voice).wave
                    loss = self.unlikeness(wave, lines, traits[part], some, config.losses)
                    for name, value in moved.items():
                        loss = loss + config.pull * PULLS[name] * value[part].flatten(1).square().sum(dim=1)
                    loss.sum().backward()
            for value in moved.values():
                value.grad.nan_to_num_(0, 0, 0)
            optimizer.step()
            if step + 1 in config.measured:
                with torch.no_grad():
                    measure(step + 1, current())
        with torch.no_grad():
            return PredictedVoice(*(value.detach().clone() for value in vars(current()).values()))
