"""Prints a benchmark's table, and saves it with all figures to docs/benchmarks/<today>."""

import json
import os
import platform
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import onnxruntime
from rich.console import Console
from rich.table import Table

from svc.settings import Settings

_RESULTS = Path(__file__).parent.parent / "docs" / "benchmarks"


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
        """Writes NAME.md and NAME.json; the default folder is docs/benchmarks/<today>."""
        now = datetime.now(UTC)
        folder = results_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        machine = _describe_machine()
        content = {"measured": now.isoformat(timespec="seconds"), "machine": machine, **self.figures}
        (folder / f"{self.name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        lines = [
            f"# {self.title}",
            "",
            f"{now:%Y-%m-%d %H:%M} UTC, {', '.join(f'{value} {key}' for key, value in machine.items())}.",
            "",
            _format_row(self.columns),
            _format_row(["---"] * len(self.columns)),
            *(_format_row(row) for row in self.rows),
            *(f"\n{note}" for note in self.notes),
        ]
        (folder / f"{self.name}.md").write_text("\n".join(lines) + "\n")


def results_folder(folder: Path | None) -> Path:
    """The given folder, or that of today."""
    return folder or _RESULTS / datetime.now(UTC).date().isoformat()


def _format_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


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
