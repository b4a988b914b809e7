"""Chromium for the browser tests: the machine's own or, on Debian and its derivatives, one unpacked into the .venv.

python -m tests.browser.chromium    finds one, or fetches Debian's packages into .venv/chromium; needs no root
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests import debian

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
    "The browser tests need Chromium, and none was found. Install it (on Debian: apt-get install chromium), "
    "name one in SVC_TEST_CHROMIUM, or run: python -m tests.browser.chromium"
)


class NoChromium(Exception):
    """There is no browser; the message says how to get one."""


@dataclass(frozen=True)
class Chromium:
    program: Path
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that it needs besides those of `environment`."""


# Read at import: the tests themselves run without any SVC_ variable.
_CONFIGURED = os.environ.get("SVC_TEST_CHROMIUM")


def find() -> Chromium:
    if _CONFIGURED:
        return Chromium(Path(_CONFIGURED))
    for name in _NAMES:
        if found := shutil.which(name):
            return Chromium(Path(found))
    if _COMPLETE.exists():
        return _use_unpacked()
    raise NoChromium(_HELP)


def environment() -> dict[str, str | float | bool]:
    """The part of this process's environment that the browser gets."""
    return {name: value for name, value in os.environ.items() if name in {"HOME", "LANG", "PATH", "TMPDIR", "USER"}}


def fetch() -> None:
    """Unpacks Chromium, its libraries and a font without installing them."""
    if not debian.can_unpack():
        raise NoChromium(_HELP)
    debian.unpack(_FOLDER, "chromium", "fonts-dejavu-core")
    _COMPLETE.touch()


def _use_unpacked() -> Chromium:
    fonts = _FOLDER / "fonts.conf"
    fonts.write_text(_FONTS.format(folder=_UNPACKED / "usr/share/fonts"))
    libraries = sorted({str(library.parent) for library in _UNPACKED.glob("**/*-linux-gnu/**/lib*.so*")})
    return Chromium(
        _UNPACKED / "usr/lib/chromium/chromium",
        {"LD_LIBRARY_PATH": ":".join(libraries), "FONTCONFIG_FILE": str(fonts)},
    )


def main() -> None:
    try:
        try:
            found = find()
        except NoChromium:
            print("Fetching Chromium for the browser tests ...", flush=True)
            fetch()
            found = find()
    except (NoChromium, subprocess.SubprocessError) as error:
        output = getattr(error, "stderr", None) or ""
        print(f"No Chromium: the browser tests will be skipped. {error}\n{output}")
    else:
        print(f"Chromium for the browser tests: {found.program}")


if __name__ == "__main__":
    main()
