"""The network that ships: a speaker encoder, and a mapper from its embeddings to voice parameters."""

from pathlib import Path

import torch
from torch import Tensor, nn

from speaker_encoder import eres2net
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


def load_encoder(path: Path, copy: Path | None = None) -> SpeakerEncoder:
    """With the copy of ERes2Net that is stored at `copy`, or with the one that a restored encoder has."""
    weights = _load(path)
    restored = any(name.startswith("eres2net_copy.") for name in weights)
    encoder = SpeakerEncoder(eres2net.make_folded() if restored else None)
    encoder.load_state_dict(weights)
    if copy:
        encoder.eres2net_copy = eres2net.prepare(eres2net.load(copy))
    return encoder.eval()


def load_mapper(path: Path) -> VoiceEncoder:
    """A mapper and its axes, with an untrained encoder."""
    weights = _load(path)
    network = VoiceEncoder(SpeakerEncoder(), Mapper(len(weights["mapper.entry.bias"]) // WIDTH), VoicePca())
    _, unexpected = network.load_state_dict(weights, strict=False)
    assert not unexpected
    return network.eval()


def load(encoder: Path, mapper: Path, copy: Path | None = None) -> VoiceEncoder:
    network = load_mapper(mapper)
    network.encoder = load_encoder(encoder, copy)
    return network


def _save(weights: dict[str, Tensor], path: Path) -> None:
    """In fp16, except for the principal axes of the voices."""
    stored = {k: v.half() if v.is_floating_point() and not k.startswith("pca.") else v for k, v in weights.items()}
    torch.save(stored, path)


def _load(path: Path) -> dict[str, Tensor]:
    weights = torch.load(path, map_location="cpu")
    return {k: v.float() if v.is_floating_point() else v for k, v in weights.items()}
