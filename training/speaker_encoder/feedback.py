"""Second answers: a voice speaks, the encoder hears it as it heard the recording, and the mapper gets what it lacks.

In training as a further input; the product asks for more of it instead (`overshoot`), which helps people whom training
never heard.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from speaker_encoder.encoder import DVECTOR, EMBEDDING, SpeakerEncoder
from speaker_encoder.equalizer import equalize
from speaker_encoder.features import log_mel, normalize_level
from speaker_encoder.mapper import PITCH, PredictedVoice, find_shortfall
from speaker_encoder.mapper_data import normalize_inputs
from speaker_encoder.synthesis import Lines, Synthesis

SPOKEN = 2
"""Texts that are heard, as one clip."""
OVERSHOOTS = (0.3, 0.5, 0.7)
"""Shares of what ERes2Net's embedding, CAM++'s and the d-vector lack: as in svc.cloning.speaker_encoder."""


@dataclass
class Feedback:
    synthesis: Synthesis
    encoder: SpeakerEncoder

    @torch.no_grad()
    def __call__(
        self, predicted: PredictedVoice, lines: list[Lines], inputs: Tensor, envelope: Tensor, log_pitch: Tensor
    ) -> Tensor:
        """The shortfall [B, 640] of the speech in which each voice says `SPOKEN` texts, a row of each of `lines`.

        `inputs` are those that the voices were predicted from.
        """
        spoken = []
        for each in lines:
            voice = self.synthesis.pca.to_voice(predicted, log_pitch, each.language)
            spoken.append(self.synthesis(each, voice).wave)
        heard = self.encoder(log_mel(normalize_level(equalize(torch.cat(spoken, dim=1).float(), envelope))))
        return find_shortfall(inputs, heard.float())


def overshoot(inputs: Tensor, shortfall: Tensor) -> Tensor:
    """The inputs of somebody in whom there is more of what a voice lacks. [B, 643], [B, 640]"""
    parts = shortfall.split([EMBEDDING, EMBEDDING, DVECTOR], dim=1)
    eres2net, campplus, dvector = (share * each for share, each in zip(OVERSHOOTS, parts, strict=True))
    pitch = torch.zeros_like(inputs[:, :PITCH])
    return normalize_inputs(inputs + torch.cat([eres2net, campplus, pitch, dvector], dim=1))
