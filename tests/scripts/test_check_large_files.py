"""Large files are refused, except the networks that ship."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from scripts.check_large_files import ROOT, Allowed, find_problems

LARGE = b"\0" * 1_100_000


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def stage(repository: Path, name: str, content: bytes) -> None:
    (repository / name).write_bytes(content)
    subprocess.run(["git", "add", name], cwd=repository, check=True)


def test_present_tree_is_accepted() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    assert find_problems(ROOT) == []


def test_staged_large_file_is_refused(repository: Path) -> None:
    stage(repository, "small.bin", LARGE[:1_000_000])
    stage(repository, "large file.bin", LARGE)
    (problem,) = find_problems(repository, allowed=())
    assert problem.startswith("large file.bin has 1.1 MB")


def test_listed_file_is_accepted_until_it_changes(repository: Path) -> None:
    allowed = [Allowed("network.onnx", hashlib.sha256(LARGE).hexdigest(), "ships")]
    stage(repository, "network.onnx", LARGE)
    assert find_problems(repository, allowed) == []
    changed = LARGE + b"1"
    stage(repository, "network.onnx", changed)
    (problem,) = find_problems(repository, allowed)
    assert hashlib.sha256(changed).hexdigest() in problem


def test_listed_file_must_exist(repository: Path) -> None:
    (problem,) = find_problems(repository, [Allowed("network.onnx", "", "ships")])
    assert "network.onnx is listed" in problem
