"""Every command and program in README.md and docs/ is run, and every other block is at least read by what it is for."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import crossplane  # type: ignore[import-untyped]
import pytest

from tests.docs.blocks import PAGES, Block, all_blocks, blocks
from tests.docs.conftest import CLIENTS, NODE, Surroundings

_CADDY = Path(sys.executable).with_name("caddy")
_COMMAND = re.compile(r"^\s*(\$ |curl|docker|export|make|npm|pip|python3?|sudo|svc)\b", re.MULTILINE)

Run = Callable[[Block, str, Path, dict[str, str]], "subprocess.CompletedProcess[str] | None"]


def _execute(
    command: list[str | Path], folder: Path, environment: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )


def _sh(_: Block, text: str, folder: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return _execute(["bash", "-euo", "pipefail", "-c", text], folder, environment)


def _python(block: Block, text: str, folder: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """With the client that the block names, and nothing else, or with what svc itself brings."""
    if not block.words:
        return _execute([sys.executable, "-c", text], folder, environment)
    packages = CLIENTS / block.words[0]
    assert packages.is_dir(), f"{packages} is missing; `make test` puts it there"
    return _execute([sys.executable, "-S", "-c", text], folder, {**environment, "PYTHONPATH": str(packages)})


def _js(_: Block, text: str, folder: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    (folder / "example.mjs").write_text(text)
    return _execute([NODE, "example.mjs"], folder, environment)


def _caddy(_: Block, text: str, folder: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    (folder / "Caddyfile").write_text(text)
    return _execute([_CADDY, "validate", "--adapter", "caddyfile", "--config", "Caddyfile"], folder, environment)


def _nginx(_: Block, text: str, folder: Path, __: dict[str, str]) -> None:
    (folder / "nginx.conf").write_text(f"events {{}}\nhttp {{\n{text}\n}}\n")
    parsed = crossplane.parse(str(folder / "nginx.conf"))
    assert parsed["status"] == "ok", parsed["errors"]


def _json(_: Block, text: str, __: Path, ___: dict[str, str]) -> None:
    json.loads(text)


RUNNERS: dict[str, Run] = {
    "sh": _sh,
    "python": _python,
    "js": _js,
    "caddy": _caddy,
    "nginx": _nginx,
    "json": _json,
}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_examples_work(page: Path, surroundings: Surroundings, checkout: Path) -> None:
    for block in blocks(page):
        if block.language in RUNNERS and block.runs:
            text = surroundings.adapt(block.text)
            done = RUNNERS[block.language](block, text, checkout, surroundings.environment)
            assert done is None or done.returncode == 0, f"{block}\n{done.stdout}"


def test_every_block_is_of_a_kind_that_is_run() -> None:
    unknown = [block for block in all_blocks() if block.language not in {*RUNNERS, "", "text"}]
    assert unknown == []


def test_what_is_not_run_holds_no_commands() -> None:
    hidden = [block for block in all_blocks() if block.language in ("", "text") and _COMMAND.search(block.text)]
    assert hidden == []


def test_hardly_anything_is_exempt() -> None:
    assert len([block for block in all_blocks() if not block.runs]) <= 1
