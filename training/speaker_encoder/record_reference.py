"""Records what the voice encoder predicts in torch, for the service's test of its own features and network.

python -m speaker_encoder.record_reference encoder.pt mapper.pt eres2net.pt ../tests/cloning/encoder_reference.npz
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from speaker_encoder import voice_encoder
from speaker_encoder.features import RATE, log_mel, normalize_level, pitch
from speaker_encoder.voice_pca import pad_layers


def make_glide(seconds: float = 3.0) -> torch.Tensor:
    """A tone with harmonics that glides from 120 to 180 Hz, and a little noise. [1, samples]"""
    time = np.arange(int(seconds * RATE)) / RATE
    phase = 2 * np.pi * (120 * time + 10 * np.square(time))
    harmonics = sum(np.sin(k * phase) / k for k in range(1, 25))
    noise = np.random.default_rng(0).standard_normal(len(time))
    return torch.tensor(0.1 * (harmonics + 0.05 * noise), dtype=torch.float32)[None]


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("encoder", "mapper", "eres2net", "output"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    network = voice_encoder.load(args.encoder, args.mapper, args.eres2net)
    clip = make_glide().half().float()  # as it is stored
    wave = normalize_level(clip)
    embeddings, predicted = network(log_mel(wave), pitch(wave))
    np.savez_compressed(
        args.output,
        clip=clip[0].half().numpy(),
        timbre=network.pca.to_timbre(predicted)[0].numpy(),
        layer_offsets=pad_layers(predicted.layer_offsets)[0].half().numpy(),
        foreign_layer_offsets=pad_layers(predicted.foreign_layer_offsets)[0].half().numpy(),
        vocoder_embedding=predicted.vocoder_embedding[0].numpy(),
        mask_offset=predicted.mask_offset[0].numpy(),
        embedding=embeddings.joint[0].numpy(),
    )


if __name__ == "__main__":
    main()
