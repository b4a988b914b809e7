"""What an accent must not cost: naturalness (DistillMOS) and the voice itself (ERes2Net). Frozen."""

import sys
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from accents.accents import speak_english
from accents.speech import Clips, Synthesis
from accents.voices import Voices
from speaker_encoder.features import fbank

MOS_SAMPLES = 122_880
"""Samples (7.68 s) of DistillMOS's input."""
SPEAKER_SAMPLES = 40_000
"""Samples (2.5 s) by which a speaker is recognised."""


class Guards:
    def __init__(self, folder: Path, device: torch.device) -> None:
        """The folder of `speaker_encoder.frozen_losses`."""
        sys.path.insert(0, str(folder))
        from distillmos.sqa import ConvTransformerSQAModel
        from speakerlab.models.eres2net.ERes2Net import ERes2Net

        self.distillmos = ConvTransformerSQAModel(load_weights=False)
        self.eres2net = ERes2Net(feat_dim=80, embedding_size=192)
        for name, network in (("distillmos", self.distillmos), ("eres2net", self.eres2net)):
            weights = torch.load(folder / f"{name}.pt", map_location="cpu")
            network.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in weights.items()})
            network.to(device).eval().requires_grad_(False)

    def judge(self, clips: Clips, chosen: Sequence[int]) -> Tensor:
        """The naturalness of the first 7.68 s of some clips."""
        waves = [clips.cut(index)[:MOS_SAMPLES] for index in chosen]
        waves = torch.stack([F.pad(wave, (0, MOS_SAMPLES - len(wave))) for wave in waves])
        # Faint noise keeps its square roots away from zero, where they have no gradient.
        return self.distillmos(waves + 1e-5 * torch.randn_like(waves)).flatten()

    def recognise(self, clips: Clips, chosen: Sequence[int]) -> Tensor:
        """Unit embeddings of the speakers of some clips, which are long enough. [n, 192]"""
        waves = torch.stack([clips.cut(index)[:SPEAKER_SAMPLES] for index in chosen])
        return F.normalize(self.eres2net(fbank(waves)).float(), dim=1)


def find_long(clips: Clips) -> list[int]:
    """The clips that a speaker can be recognised by."""
    lengths = [end - start for start, end in zip(clips.start, clips.end, strict=True)]
    return [index for index, length in enumerate(lengths) if length >= SPEAKER_SAMPLES]


@torch.no_grad()
def recognise_voices(
    guards: Guards, synthesis: Synthesis, voices: Voices, texts: Sequence[Sequence[int]], batch: int = 220
) -> Tensor:
    """The target embedding of each voice [V + C, 192]: of a clone its person, of others themselves in English."""
    targets = voices.person.clone()
    for text in texts:
        for first in range(0, len(voices.tables), batch):
            voice = torch.arange(first, min(first + batch, len(voices.tables)), device=synthesis.device)
            style, timbre = speak_english(voices, voice, torch.full_like(voice, len(text)))
            clips = synthesis([text] * len(voice), style, timbre, voices, voice)
            long = find_long(clips)
            if long:
                targets[voice[torch.tensor(long, device=voice.device)]] += guards.recognise(clips, long)
    return F.normalize(targets, dim=1)
