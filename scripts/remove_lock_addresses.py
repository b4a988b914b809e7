"""Removes download addresses from a package-lock.json: integrity hashes pin a package, wherever it comes from.

python scripts/remove_lock_addresses.py package-lock.json
"""

import json
import sys
from pathlib import Path


def main(lock: Path) -> None:
    content = json.loads(lock.read_text())
    for package in content["packages"].values():
        package.pop("funding", None)
        package.pop("resolved", None)
    lock.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
