"""Merges several mappers into one.

    python -m speaker_encoder.merge mapper.pt mapper.pt [mapper.pt …] merged.pt

takes the mean of their weights, which works if all were trained from one common start. `--concatenate` merges mappers
of any start into one as wide as all together, which predicts the mean of their predictions and can be trained further.
`--foreign-gain` scales the layer offsets of other languages than English: smaller ones are less similar, but clearer.
"""

import argparse
from pathlib import Path

import torch

from speaker_encoder import voice_encoder
from speaker_encoder.mapper import average, concatenate, scale_foreign_offsets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mappers", type=Path, nargs="+")
    parser.add_argument("merged", type=Path)
    parser.add_argument("--concatenate", action="store_true")
    parser.add_argument("--foreign-gain", type=float, default=1.0)
    args = parser.parse_args()
    network, *others = [voice_encoder.load_mapper(path) for path in args.mappers]
    if not all(torch.equal(network.pca.timbre, other.pca.timbre) for other in others):
        raise SystemExit("the mappers predict on different principal axes")
    merge = concatenate if args.concatenate else average
    network.mapper = merge([network.mapper, *(other.mapper for other in others)])
    scale_foreign_offsets(network.mapper, args.foreign_gain)
    voice_encoder.save_mapper(network, args.merged)


if __name__ == "__main__":
    main()
