"""Prometheus for the tests of the alerts: the machine's own or, on Debian, one unpacked into the .venv.

python -m tests.deploy.prometheus    finds one, or fetches Debian's package into .venv/prometheus; needs no root
"""

import shutil
import subprocess
import sys
from pathlib import Path

from tests import debian

_FOLDER = Path(sys.prefix) / "prometheus"


def find(program: str) -> Path | None:
    """`prometheus` or `promtool`, which come together."""
    unpacked = _FOLDER / "root/usr/bin" / program
    found = shutil.which(program)
    return Path(found) if found else unpacked if unpacked.exists() else None


def main() -> None:
    if find("promtool") is None and debian.can_unpack():
        print("Fetching Prometheus for the tests of the alerts ...", flush=True)
        try:
            debian.unpack(_FOLDER, "prometheus")
        except subprocess.SubprocessError as error:
            print(f"{error}\n{getattr(error, 'stderr', None) or ''}")
    print(f"Prometheus for the tests of the alerts: {find('promtool') or 'none, they will be skipped'}")


if __name__ == "__main__":
    main()
