"""Synthesises speech of random voices, for the training of the encoder.

    python -m speaker_encoder.random_voices --run acoustic/run --voices voices.pt --accents accents.npz \
        --corpus corpus.npz random_voices.pt
"""

import argparse
import random
from pathlib import Path

import torch

from speaker_encoder import synthesis as syntheses
from speaker_encoder.speaker_bank import synthesize_random_voices
from speaker_encoder.texts import Texts
from speaker_encoder.voice_pca import VoicePca
from teacher import voices


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("run", "voices", "accents", "corpus"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=1500, help="of each language, of which some last three seconds")
    parser.add_argument("--batches", type=int, default=150)
    parser.add_argument("--batch", type=int, default=96, help="voices in each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    synthesis = syntheses.load(args.run, VoicePca.from_tables(voices.unpack(args.voices), args.accents)).to(device)
    texts = Texts(args.corpus, synthesis, args.texts)
    batches = synthesize_random_voices(synthesis, texts, args.batches, args.batch)
    waves = [clip.half().cpu() for wave, _ in batches for clip in wave]
    torch.save(waves, args.output)
    print(f"{len(waves)} voices")


if __name__ == "__main__":
    main()
