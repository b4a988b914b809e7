"""Averages the weights of trainings that continue one another: less of each one's own errors.

    python -m acoustic.average FIRST SECOND OUT

FIRST, SECOND: folders with decoder.pt and head.pt. OUT gets their mean, and the SECOND's prosody.pt.
"""

import argparse
import shutil
from pathlib import Path

import torch
from torch import nn

from acoustic import model


def average(first: nn.Module, second: nn.Module) -> nn.Module:
    """The second, with the mean of both networks' weights."""
    other = first.state_dict()
    mean = {k: (v + other[k]) / 2 if v.is_floating_point() else v for k, v in second.state_dict().items()}
    second.load_state_dict(mean)
    return second


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("first", "second", "out"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in ("decoder", "head"):
        model.save(name, average(model.load(name, args.first), model.load(name, args.second)), args.out)
    shutil.copyfile(args.second / "prosody.pt", args.out / "prosody.pt")


if __name__ == "__main__":
    main()
