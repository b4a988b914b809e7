"""A browser for the tests: the machine's own Chromium or, on Debian and its kin, one unpacked beside the environment.

python -m tests.browser.chromium    finds one, or fetches Debian's packages into .venv/chromium; needs no root
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FOLDER = Path(sys.prefix) / "chromium"
_UNPACKED = _FOLDER / "root"
_COMPLETE = _FOLDER / "complete"
_FONTS = """<fontconfig>
  <dir>{folder}</dir>
  <dir>/usr/share/fonts</dir>
  <alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
  <alias><family>serif</family><prefer><family>DejaVu Serif</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
  <alias><family>system-ui</family><prefer><family>DejaVu Sans</family></prefer></alias>
  <match><edit name="family" mode="append_last"><string>DejaVu Sans</string></edit></match>
</fontconfig>
"""
_HELP = (
    "The tests of the page need Chromium, and none was found. Install it (on Debian: apt-get install chromium), "
    "name one in SVC_TEST_CHROMIUM, or run: python -m tests.browser.chromium"
)


class NoChromium(Exception):
    """There is no browser; the message says what would help."""


@dataclass(frozen=True)
class Chromium:
    program: Path
    environment: dict[str, str] = field(default_factory=dict)
    """What it needs besides the environment of the tests."""


# Read when this module is: the tests run without any setting of the person who runs them.
_CHOSEN = os.environ.get("SVC_TEST_CHROMIUM")


def find() -> Chromium:
    if _CHOSEN:
        return Chromium(Path(_CHOSEN))
    for name in _NAMES:
        if found := shutil.which(name):
            return Chromium(Path(found))
    if _COMPLETE.exists():
        return _unpacked()
    raise NoChromium(_HELP)


def environment() -> dict[str, str | float | bool]:
    """What the browser gets of this process's environment."""
    return {name: value for name, value in os.environ.items() if name in {"HOME", "LANG", "PATH", "TMPDIR", "USER"}}


def fetch() -> None:
    """Unpacks Chromium and what it needs, without installing anything: apt checks what it fetches, as always."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NoChromium(_HELP)
    shutil.rmtree(_FOLDER, ignore_errors=True)
    packages = _FOLDER / "packages"
    packages.mkdir(parents=True)
    apt = ["apt-get", "-qq", "-o", "Debug::NoLocking=1"]
    try:
        missing = _missing(apt)
    except subprocess.CalledProcessError:  # no lists of packages, or old ones: fetched, but not to the system's place
        apt += ["-o", f"Dir::State::lists={_FOLDER / 'lists'}", "-o", f"Dir::Cache={_FOLDER / 'cache'}"]
        (_FOLDER / "lists/partial").mkdir(parents=True)
        _run([*apt, "update"])
        missing = _missing(apt)
    _run([*apt, "download", *missing], packages)
    for package in packages.iterdir():
        _run(["dpkg-deb", "-x", str(package), str(_UNPACKED)])
    shutil.rmtree(packages)
    _COMPLETE.touch()


def _missing(apt: list[str]) -> list[str]:
    """Chromium, and those of its dependencies that this machine does not have."""
    plan = _run([*apt, "--simulate", "--no-install-recommends", "install", "chromium", "fonts-dejavu-core"])
    return [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]


def _unpacked() -> Chromium:
    fonts = _FOLDER / "fonts.conf"
    fonts.write_text(_FONTS.format(folder=_UNPACKED / "usr/share/fonts"))
    libraries = sorted({str(library.parent) for library in _UNPACKED.glob("**/*-linux-gnu/**/lib*.so*")})
    return Chromium(
        _UNPACKED / "usr/lib/chromium/chromium",
        {"LD_LIBRARY_PATH": ":".join(libraries), "FONTCONFIG_FILE": str(fonts)},
    )


def _run(command: list[str], folder: Path | None = None) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=600).stdout


def main() -> None:
    try:
        try:
            found = find()
        except NoChromium:
            print("Fetching Chromium for the tests of the page ...", flush=True)
            fetch()
            found = find()
    except (NoChromium, subprocess.SubprocessError) as problem:
        said = getattr(problem, "stderr", None) or ""
        print(f"No Chromium: the tests of the page will be skipped. {problem}\n{said}")
    else:
        print(f"Chromium for the tests of the page: {found.program}")


if __name__ == "__main__":
    main()
