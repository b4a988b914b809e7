"""The wheel holds everything that the service needs beside its code."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what the image is built from, and from nothing else."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    with ZipFile(built) as archive:
        archive.extractall(target / "unpacked")
    return target / "unpacked"


def test_it_holds_every_file_of_the_package(wheel: Path) -> None:
    package = ROOT / "src/svc"
    ours = {
        path.relative_to(package) for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }
    assert {path for path in ours if not (wheel / "svc" / path).exists()} == set()


def test_it_holds_the_guides(wheel: Path) -> None:
    guides = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    assert {path for path in guides if not (wheel / "svc/docs" / path).exists()} == set()
    program = "from svc.web import docs_site; print(docs_site.find_docs_folder())"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(wheel)}, capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()) == wheel / "svc/docs"


def test_it_holds_no_figures_of_benchmarks(wheel: Path) -> None:
    """Tables are for readers; what they were made of is large."""
    kinds = {path.suffix for path in (wheel / "svc/docs").rglob("*") if path.is_file()}
    assert kinds == {".md", ".png"}


def test_it_holds_the_licences(wheel: Path) -> None:
    assert {path.name for path in wheel.glob("*.dist-info/licenses/*")} == {"LICENSE", "NOTICE"}
