"""Writes accents for clones: lighter in the last layers, where a clone has offsets of its own.

    python -m accents.lighten ../src/svc/data/accents.npz de

An accent that was trained mostly with built-in voices covers much of the speaker there. A clone's own offsets in these
layers were trained with accents that have no native timbre there, and about this gain: those of the languages that have
voices of their own (EXPERIMENTS.md).
"""

import argparse
from pathlib import Path

import numpy as np

LAYERS = slice(-4, None)
"""In which clones have offsets of their own in other languages than English."""
TIMBRE_GAIN = 0.45
OFFSET_SHARE = 0.25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("accents", type=Path)
    parser.add_argument("languages", nargs="+")
    args = parser.parse_args()
    with np.load(args.accents) as existing:
        written = dict(existing)
    for language in args.languages:
        offset, shares = (written[f"{language} {part}"].copy() for part in ("offset", "shares"))
        offset[LAYERS] *= OFFSET_SHARE
        shares[0, LAYERS], shares[1, LAYERS] = 0, TIMBRE_GAIN
        written[f"{language} clone offset"], written[f"{language} clone shares"] = offset, shares
    np.savez_compressed(args.accents, **written)
    print(f"{args.accents.stat().st_size / 1e3:.0f} kB, {len(written)} arrays")


if __name__ == "__main__":
    main()
