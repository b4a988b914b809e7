"""Prints a benchmark's table, and saves it as a page of docs/benchmarks, and all figures beside this file."""

import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import onnxruntime
from rich.console import Console
from rich.table import Table

from svc.settings import Settings

_ROOT = Path(__file__).parent.parent
_PAGES = _ROOT / "docs" / "benchmarks"
_FIGURES = _ROOT / "bench" / ".figures"  # not committed: too large, and no reader needs them


@dataclass
class Report:
    """`rows` is the table; `figures` is everything that was measured."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def show(self) -> None:
        table = Table(*self.columns, title=self.title)
        for row in self.rows:
            table.add_row(*row)
        console = Console(width=None if sys.stdout.isatty() else 140)
        console.print(table)
        for note in self.notes:
            console.print(note, highlight=False, markup=False)

    def save(self, folder: Path | None) -> None:
        """Writes NAME.md and NAME.json: both to the folder, or else to docs/benchmarks and bench/.figures."""
        now = datetime.now(UTC)
        page, figures = (folder or _PAGES) / f"{self.name}.md", figures_file(self.name, folder)
        for file in (page, figures):
            file.parent.mkdir(parents=True, exist_ok=True)
        commit, machine = _read_commit(), _describe_machine()
        content = {
            "measured": now.isoformat(timespec="seconds"), "commit": commit, "machine": machine, **self.figures
        }  # fmt: skip
        figures.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        lines = [
            f"# {self.title}",
            "",
            f"{now:%Y-%m-%d %H:%M} UTC, commit {commit}, "
            f"{', '.join(f'{value} {key}' for key, value in machine.items())}.",
            "",
            _format_row(self.columns),
            _format_row(["---"] * len(self.columns)),
            *(_format_row(row) for row in self.rows),
            *(f"\n{note}" for note in self.notes),
        ]
        page.write_text("\n".join(lines) + "\n")


def figures_file(name: str, folder: Path | None) -> Path:
    """All figures of the benchmark's last run."""
    return (folder or _FIGURES) / f"{name}.json"


def _format_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _read_commit() -> str:
    """The commit that is measured, with a plus if files differ from it."""
    if (git := shutil.which("git")) is None:
        return "unknown"
    command = [git, "describe", "--always", "--exclude=*", "--dirty=+"]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True).stdout.strip() or "unknown"


def _describe_machine() -> dict[str, str]:
    """What the figures depend on. The load is that at the end of the run."""
    return {
        "engine": Settings().engine,
        "cores": str(os.cpu_count()),
        "processor": platform.machine(),
        "Python": platform.python_version(),
        "ONNX Runtime": onnxruntime.__version__,
        "load": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }
