"""A worker process in a virtual environment of its own, with requests and answers as lines of JSON."""

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parent.parent


class Worker:
    """Runs `python -m module`: its libraries are not imported here, and its start-up is not in any timing."""

    def __init__(self, python: Path, module: str, *arguments: str) -> None:
        if not python.exists():
            raise SystemExit(f"{python} is missing: create the environment with bench/setup.sh.")
        self._process = subprocess.Popen(
            [python, "-m", module, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    @classmethod
    def evaluator(cls, home: Path) -> Self:
        """The evaluation models, in the environment at `home`."""
        return cls(home / "venv/bin/python", "bench.evaluator", str(home.resolve()))

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"the worker process ended (exit status {self._process.wait()}); see above")
        result: dict[str, Any] = json.loads(answer)
        return result

    def resident_megabytes(self) -> float:
        return resident_megabytes(self._process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin
        self._process.stdin.close()  # a worker ends with its input
        self._process.wait(timeout=30)


def resident_megabytes(process: int) -> float:
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=True)
    return int(shown.stdout) / 1024
