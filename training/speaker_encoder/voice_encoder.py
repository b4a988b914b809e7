"""The network that ships: a speaker encoder, and a mapper from its embeddings to voice parameters."""

from pathlib import Path

import torch
from torch import Tensor, nn

from speaker_encoder.encoder import Embeddings, SpeakerEncoder
from speaker_encoder.mapper import WIDTH, Mapper, PredictedVoice, build_inputs
from speaker_encoder.voice_pca import VoicePca


class VoiceEncoder(nn.Module):
    def __init__(self, encoder: SpeakerEncoder, mapper: Mapper, pca: VoicePca) -> None:
        super().__init__()
        self.encoder, self.mapper, self.pca = encoder, mapper, pca

    def forward(self, mel: Tensor, pitch: Tensor) -> tuple[Embeddings, PredictedVoice]:
        embeddings = self.encoder(mel)
        return embeddings, self.mapper(build_inputs(embeddings, pitch))


def save_encoder(encoder: SpeakerEncoder, path: Path) -> None:
    _save(encoder.state_dict(), path)


def save_mapper(network: VoiceEncoder, path: Path) -> None:
    """The mapper, and the principal axes that it predicts coordinates on."""
    _save({k: v for k, v in network.state_dict().items() if not k.startswith("encoder.")}, path)


def load_encoder(path: Path) -> SpeakerEncoder:
    encoder = SpeakerEncoder()
    encoder.load_state_dict(_load(path))
    return encoder.eval()


def load_mapper(path: Path) -> VoiceEncoder:
    """A mapper and its axes, with an untrained encoder."""
    weights = _load(path)
    network = VoiceEncoder(SpeakerEncoder(), Mapper(len(weights["mapper.entry.bias"]) // WIDTH), VoicePca())
    _, unexpected = network.load_state_dict(weights, strict=False)
    assert not unexpected
    return network.eval()


def load(encoder: Path, mapper: Path) -> VoiceEncoder:
    network = load_mapper(mapper)
    network.encoder = load_encoder(encoder)
    return network


def _save(weights: dict[str, Tensor], path: Path) -> None:
    """In fp16, except for the principal axes of the voices."""
    stored = {k: v.half() if v.is_floating_point() and not k.startswith("pca.") else v for k, v in weights.items()}
    torch.save(stored, path)


def _load(path: Path) -> dict[str, Tensor]:
    weights = torch.load(path, map_location="cpu")
    return {k: v.float() if v.is_floating_point() else v for k, v in weights.items()}
