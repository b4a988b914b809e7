"""Writes trained accents into the file that svc reads.

    python -m accents.export FOLDER ../src/svc/data/accents.npz

Accents of other languages in the file stay, and so does the pitch axis, which is theirs too. An accent that starts from
the layers of one language is written for the language that data/languages.toml names, so that both give the same.
Needs svc (pip install -e ..).
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from svc.text.language.languages import Language
from svc.voices import accents as shipped

from accents.accents import Start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--leave", nargs="*", default=[], help="rows that are not written")
    parser.add_argument(
        "--clone-gain", type=float, help="the gain of clones' own layer offsets, if not that of training"
    )
    args = parser.parse_args()
    stored = torch.load(args.folder / "accents.pt", map_location="cpu")
    state = {name: each.numpy() for name, each in stored["state"].items()}
    starts = [Start(**each) for each in stored["starts"]]
    gender = shipped.gender_axis()
    with np.load(args.output) as existing:
        written = dict(existing)
    trained = {f"{start.row} prosody" for start in starts if start.row not in args.leave}
    if trained >= {name for name in written if name.endswith(" prosody")}:
        axis = torch.load(args.folder / "pitch-axis.pt").numpy()
        written["pitch axis"] = (axis / np.linalg.norm(axis)).astype(np.float32)
    axis = written["pitch axis"]
    for row, start in enumerate(starts):
        if start.row in args.leave:
            continue
        native = shipped.native_offset(Language(start.language).articulation)[: len(gender)]
        change = state["native"][row] - native
        change -= gender * (gender @ change)
        shares, prosody = state["shares"][row], state["prosody"][row]
        written[f"{start.row} offset"] = (state["offset"][row] + shares[0][:, None] * change).astype(np.float16)
        written[f"{start.row} shares"] = shares.astype(np.float16)
        prosody = prosody - axis * (axis @ prosody)
        written[f"{start.row} prosody"] = prosody.astype(np.float16)
        written[f"{start.row} prosody_share"] = np.float16(state["prosody_share"][row])
        written[f"{start.row} clone_gain"] = np.float16(
            state["clone_gain"][row] if args.clone_gain is None else args.clone_gain
        )
    np.savez_compressed(args.output, **written)
    print(f"{args.output.stat().st_size / 1e3:.0f} kB, {len(written)} arrays")


if __name__ == "__main__":
    main()
