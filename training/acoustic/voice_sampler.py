"""Random voices for training: built-in voices, mixtures, points around them, and clones of real people."""

import random
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from acoustic.model import VOCODER_EMBEDDING
from teacher.kokoro import STYLE
from teacher.styles import LAYERS, StyleSampler

SHORT_TEXT = 40
"""Tokens. Shorter texts are learned with rows of the style tables that are meant for longer ones, too."""
PARAMETERS = ("timbre", "vocoder_embedding", "melody", "layer_offsets", "pitch_scale")


@dataclass
class SampledVoices:
    """A batch of voices as the engine takes them."""

    timbre: Tensor  # [B, 11, 128]: of each norm of the decoder, and of the vocoder
    prosody: Tensor  # [B, 128]
    pitch_scale: Tensor  # [B]
    vocoder_embedding: Tensor  # [B, 256]
    embedded: Tensor  # [B]: has a vocoder embedding, which the teacher's generator cannot speak with

    def pick(self, index: Tensor) -> "SampledVoices":
        return SampledVoices(**{f.name: getattr(self, f.name)[index] for f in fields(self)})


class VoiceSampler:
    """`clones` is a file of `acoustic.clones`: parameters of people, in each language."""

    def __init__(self, tables: Tensor, clones: Path, cloned: float = 0.3, with_offsets: float = 0.15) -> None:
        """`cloned`: share of clones; `with_offsets`: share of the others that get layer offsets."""
        self.styles = StyleSampler(tables)
        self.cloned, self.with_offsets = cloned, with_offsets
        self.device = tables.device
        with np.load(clones) as saved:
            self.clones = {n: torch.tensor(saved[n].astype(np.float32), device=self.device) for n in PARAMETERS}

    def sample_built_in(self, tokens: Tensor) -> Tensor:
        """The prosody half of a built-in style for each text; `tokens` [B] are the lengths of the texts."""
        chosen = torch.randint(len(self.styles.tables), (len(tokens),), device=self.device)
        return self.styles.tables[chosen, tokens][:, STYLE:]

    def sample_for(self, lengths: Tensor) -> SampledVoices:
        """Voices for texts of nearly equal lengths, for which one row of the style tables does."""
        tokens = int(lengths.median())
        if tokens < SHORT_TEXT and random.random() < 0.5:
            tokens = random.randint(tokens, 3 * SHORT_TEXT)
        # Clones come last in a sample, and the longest texts last in a group.
        return self.sample(tokens, len(lengths)).pick(torch.randperm(len(lengths), device=self.device))

    def sample(self, tokens: int, count: int) -> SampledVoices:
        """The clones are the last of the batch."""
        device = self.device
        cloned = round(self.cloned * count)
        others = count - cloned
        style = self.styles.sample_styles(tokens, others)
        noisy = torch.rand(others, 1, device=device) < 0.15
        style[:, STYLE:] += 0.04 * torch.randn(others, STYLE, device=device) * noisy
        scale = torch.exp((torch.rand(others, device=device) - 0.5) * 0.5)
        scale = torch.where(torch.rand(others, device=device) < 0.7, 1.0, scale)
        timbre = style[:, None, :STYLE].expand(-1, LAYERS, -1)
        # Layer offsets in voices that are no clone's, so that they are not learned together with a clone's timbre.
        some = torch.rand(others, 1, 1, device=device) < self.with_offsets
        timbre = timbre + some * self._sample_clones(others)["layer_offsets"]
        people = self._sample_clones(cloned)
        centre = self.styles.centre[tokens]
        cloned_timbre = (centre[:STYLE] + people["timbre"])[:, None] + people["layer_offsets"]
        embedded = torch.rand(cloned, device=device) < 0.8
        return SampledVoices(
            torch.cat([timbre, cloned_timbre]),
            torch.cat([style[:, STYLE:], centre[STYLE:] + people["melody"]]),
            torch.cat([scale, people["pitch_scale"]]),
            torch.cat(
                [
                    torch.zeros(others, VOCODER_EMBEDDING, device=device),
                    people["vocoder_embedding"] * embedded[:, None],
                ]
            ),
            torch.cat([torch.zeros(others, dtype=torch.bool, device=device), embedded]),
        )

    def _sample_clones(self, count: int) -> dict[str, Tensor]:
        """People in one of the languages; half of them blended with another and moved from or to the mean voice."""
        device = self.device
        people, languages = self.clones["pitch_scale"].shape
        one, other = torch.randint(people, (2, count), device=device)
        language = torch.randint(languages, (count,), device=device)
        # Half of them speak English, which is the first language.
        language = torch.where(torch.rand(count, device=device) < 0.5, 0, language)
        share = torch.where(torch.rand(count, device=device) < 0.5, 0.0, torch.rand(count, device=device))
        gain = torch.where(share > 0, 0.7 + 0.6 * torch.rand(count, device=device), 1.0)

        def blend(name: str, scaled: bool, by_language: bool) -> Tensor:
            known = self.clones[name]
            a, b = ((known[i, language] if by_language else known[i]) for i in (one, other))
            shape = (count, *[1] * (a.dim() - 1))
            value = a + share.view(shape) * (b - a)
            return value * gain.view(shape) if scaled else value

        return {
            "timbre": blend("timbre", scaled=True, by_language=False),
            "vocoder_embedding": blend("vocoder_embedding", scaled=True, by_language=False),
            "melody": blend("melody", scaled=False, by_language=True),
            "layer_offsets": blend("layer_offsets", scaled=True, by_language=True),
            "pitch_scale": blend("pitch_scale", scaled=False, by_language=True),
        }
