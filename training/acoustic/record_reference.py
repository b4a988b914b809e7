"""Records what the service has to compute in numpy as the training does: expansion, summary and phase.

python -m acoustic.record_reference ../tests/engine/acoustic_reference.npz
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from acoustic import model
from head.model import accumulate_phase


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    args = parser.parse_args()
    torch.manual_seed(0)
    ids = torch.randint(0, model.SYMBOLS, (1, 40))
    durations = torch.randint(1, 9, (1, 40))
    curves, pitch_scale = torch.randn(1, model.CURVE_SUMMARY), torch.tensor(1.25)
    token, place = model.expand_tokens(durations, int(durations.sum()))
    scaled = curves.clone()
    scaled[:, 1] += torch.log(pitch_scale)
    f0 = 120 + 80 * torch.rand(1, 2 * int(durations.sum()))
    known = {"ids": ids, "durations": durations, "curves": curves, "pitch_scale": pitch_scale}
    known |= {"token": token, "place": place, "summary": model.summarise(ids, durations, scaled)}
    known |= {"f0": f0, "phase": accumulate_phase(f0)}
    np.savez_compressed(args.path, **{name: value.numpy() for name, value in known.items()})


if __name__ == "__main__":
    main()
