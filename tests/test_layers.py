"""The layers that the import linter holds are those that the table for contributors shows."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_table_of_rooms_is_the_contract() -> None:
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert contract["exhaustive"]
    _, _, guide = (ROOT / "CONTRIBUTING.md").read_text().partition("| room | |")
    table, _, _ = guide.partition("\n\n")
    assert re.findall(r"^\| `(\w+)", table, flags=re.MULTILINE) == contract["layers"]
