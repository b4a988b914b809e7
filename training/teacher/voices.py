"""Packs Kokoro's style tables into one small file: each is its mean row plus a product of rank 8.

python -m teacher.voices voices/ voices.pt
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

COUNT, ROWS, STYLE, RANK = 54, 510, 256, 8


def pack(tables: Tensor) -> dict[str, Tensor]:
    mean = tables.mean(dim=1, keepdim=True)
    u, s, v = torch.linalg.svd(tables - mean, full_matrices=False)
    return {"mean": mean.half(), "left": (u * s[:, None])[..., :RANK].half(), "right": v[:, :RANK].half()}


def unpack(path: Path, device: torch.device | str = "cpu") -> Tensor:
    """All tables [voices, 510, 256]; a row is chosen by the number of phoneme tokens."""
    packed = {k: v.float() for k, v in torch.load(path, map_location=device).items()}
    return packed["mean"] + packed["left"] @ packed["right"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    paths = sorted(args.folder.glob("*.bin"))
    tables = torch.stack([torch.tensor(np.fromfile(p, np.float32)).view(ROWS, STYLE) for p in paths])
    torch.save(pack(tables), args.output)
    error = (unpack(args.output) - tables).abs().max()
    print(f"{len(paths)} voices, {args.output.stat().st_size / 1e6:.2f} MB, largest error {error:.1e}")


if __name__ == "__main__":
    main()
