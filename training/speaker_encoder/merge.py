"""Makes one mapper of several.

    python -m cloning.merge mapper.pt mapper.pt [mapper.pt …] merged.pt

takes the mean of their weights, which is as good as the mean of their guesses if all went on from one beginning. With
`--side-by-side` they may have begun anywhere: the merged mapper is as wide as all together, and can be trained further.
"""

import argparse
from pathlib import Path

import torch

from cloning import encoder as encoders
from cloning.mapper import mean, side_by_side


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mappers", type=Path, nargs="+")
    parser.add_argument("merged", type=Path)
    parser.add_argument("--side-by-side", action="store_true")
    args = parser.parse_args()
    encoder, *others = [encoders.load_mapper(path) for path in args.mappers]
    if not all(torch.equal(encoder.axes.timbre, other.axes.timbre) for other in others):
        raise SystemExit("they guess on different axes")
    merge = side_by_side if args.side_by_side else mean
    encoder.mapper = merge([encoder.mapper, *(other.mapper for other in others)])
    encoders.save_mapper(encoder, args.merged)


if __name__ == "__main__":
    main()
