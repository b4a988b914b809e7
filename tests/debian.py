"""Unpacks Debian's packages into a folder, without installing them and without root; apt verifies them as usual."""

import shutil
import subprocess
from pathlib import Path


def can_unpack() -> bool:
    return shutil.which("apt-get") is not None and shutil.which("dpkg-deb") is not None


def unpack(folder: Path, *names: str) -> Path:
    """Unpacks packages, and those of their dependencies that are not installed; gives the root of their files.

    Whatever was in the folder before is deleted.
    """
    shutil.rmtree(folder, ignore_errors=True)
    packages, root = folder / "packages", folder / "root"
    packages.mkdir(parents=True)
    apt = ["apt-get", "-qq", "-o", "Debug::NoLocking=1"]
    try:
        needed = _list_needed(apt, names)
    except subprocess.CalledProcessError:  # no package lists, or outdated ones: they are fetched into this folder
        apt += ["-o", f"Dir::State::lists={folder / 'lists'}", "-o", f"Dir::Cache={folder / 'cache'}"]
        (folder / "lists/partial").mkdir(parents=True)
        _run([*apt, "update"])
        needed = _list_needed(apt, names)
    _run([*apt, "download", *needed], packages)
    for package in packages.iterdir():
        _run(["dpkg-deb", "-x", str(package), str(root)])
    shutil.rmtree(packages)
    return root


def _list_needed(apt: list[str], names: tuple[str, ...]) -> list[str]:
    plan = _run([*apt, "--simulate", "--no-install-recommends", "install", *names])
    return [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]


def _run(command: list[str], folder: Path | None = None) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=600).stdout
