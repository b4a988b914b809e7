"""Makes src/svc/data/voices.npz from Kokoro's published style tables (Apache-2.0).

    python scripts/make_voices.py FOLDER    the folder of the published voices/*.bin files

Each published table is float32 [510, 256], a row for each length in phonemes. Its mean row plus a product of rank 8
equals it to within 3e-4, so all 54 voices need only 0.7 MB of float16.
"""

import sys
from pathlib import Path

import numpy as np

RANK = 8
TARGET = Path(__file__).parent.parent / "src/svc/data/voices.npz"


def main(folder: Path) -> None:
    names, means, lengths, directions = [], [], [], []
    worst = 0.0
    for file in sorted(folder.glob("*.bin")):
        table = np.fromfile(file, dtype=np.float32).reshape(-1, 256)
        mean = table.mean(axis=0)
        u, s, vt = np.linalg.svd(table - mean, full_matrices=False)
        names.append(file.stem)
        means.append(mean.astype(np.float32))
        lengths.append((u[:, :RANK] * s[:RANK]).astype(np.float16))
        directions.append(vt[:RANK].astype(np.float16))
        rebuilt = means[-1] + lengths[-1].astype(np.float32) @ directions[-1].astype(np.float32)
        worst = max(worst, float(np.abs(rebuilt - table).max()))
    np.savez_compressed(TARGET, names=np.array(names), means=means, lengths=lengths, directions=directions)
    print(f"{len(names)} voices, {TARGET.stat().st_size / 1e6:.2f} MB, largest error {worst:.1e}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
