"""Stands in for commands that would change the machine, take minutes or need what is not here.

Each checks that what it was asked for could work with this repository, and does no more. It is called with the
command's name and arguments, in the folder of a page's examples, which looks like a checkout.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def curl(*arguments: str) -> None:
    """The real one, for which an answer of 400 or more is a failure."""
    os.execv(_real("curl"), ["curl", "--fail-with-body", "--silent", "--show-error", *arguments])


def docker(command: str, *arguments: str) -> None:
    if command == "build":
        _there(arguments[-1], "Dockerfile")
    elif command == "run":
        _is(arguments[-1] == "svc", "the image that was built is called svc")
    elif command == "compose":
        _compose(*arguments)
    else:
        _is(False, "docker is asked for something that nobody checks")


def _compose(command: str, *arguments: str) -> None:
    file = "compose.yaml"
    if command == "--file":
        file, command, *rest = arguments
        arguments = tuple(rest)
    _there(file)
    text = Path(file).read_text()
    services = re.findall(r"^  (\w+):$", text.split("\nservices:\n")[1], re.MULTILINE)
    if command == "up":
        written = Path(".env").read_text() if Path(".env").exists() else ""
        given = {**os.environ, **dict(re.findall(r"^(\w+)=(.*)$", written, re.MULTILINE))}
        empty = [name for name in re.findall(r"\$\{(\w+)", text) if not given.get(name)]
        _is(not empty, f"{empty} are empty")
    else:
        _is(command in ("build", "exec"), f"docker compose {command} is checked by nobody")
        names = [word for word in arguments if not word.startswith("-")]
        _is(names[0] in services, f"there is no service {names[0]}")


def git(*arguments: str) -> None:
    _is(arguments == ("pull",), "no other git command is expected")


def install(*arguments: str) -> None:
    for source in [word for word in arguments if not word.startswith("-")][:-1]:
        _there(source)


def make(*arguments: str) -> None:
    """The real one tells whether there are such targets."""
    subprocess.run([_real("make"), "--dry-run", "--directory", ROOT, *arguments], check=True, stdout=subprocess.DEVNULL)


def pip(command: str, *arguments: str) -> None:
    _is(command in ("install", "uninstall"), f"pip {command} is checked by nobody")
    for option, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if option == "-r":
            _there(value)
        elif option == ".":
            _there("pyproject.toml")


def pre_commit(command: str) -> None:
    _is(command == "install", "the hooks are installed, and run by git")
    _there(".pre-commit-config.yaml")


def python3(*arguments: str) -> None:
    """An environment holds these stand-ins; everything else is the real one's work."""
    if arguments[:2] != ("-m", "venv"):
        os.execv(sys.executable, [sys.executable, *arguments])
    folder = Path(arguments[2])
    if not folder.is_absolute():
        folder.mkdir()
        (folder / "bin").symlink_to(os.environ["STAND_INS"])


def sudo(command: str, *arguments: str) -> None:
    """Checks the command, and never runs it."""
    checks: dict[str, Callable[..., None]] = {
        "install": install,
        "pip": pip,
        "python3": python3,
        "systemctl": systemctl,
        "tee": tee,
    }
    checks[Path(command).name](*arguments)


def svc(*arguments: str) -> None:
    """The real one, in a process that has it loaded. A server is stopped as soon as it listens."""
    if arguments[:1] != ("serve",):
        sys.exit(Call(arguments, sys.stdout.fileno()).ended())
    if "SVC_WYOMING_PORT" in os.environ:
        os.environ["SVC_WYOMING_PORT"] = "0"
    reading, writing = os.pipe()
    call = Call((*arguments, "--host", "127.0.0.1", "--port", "0"), writing)
    os.close(writing)
    with os.fdopen(reading) as output:
        said = output.readline()
        if "SVC_WYOMING_PORT" in os.environ:
            _is(said.startswith("svc speaks Wyoming on tcp://127.0.0.1:"), f"the server said {said!r}")
            said = output.readline()
        _is(said.startswith("svc listens on http://127.0.0.1:"), f"the server said {said!r}")
        os.kill(call.process, signal.SIGTERM)
        status = call.ended()
    _is(status in (0, -signal.SIGTERM), f"the server ended with {status}")


class Call:
    """A call of the svc that is loaded (preloaded.py)."""

    def __init__(self, arguments: tuple[str, ...], stdout: int) -> None:
        call = {"arguments": arguments, "folder": str(Path.cwd()), "environment": dict(os.environ)}
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(os.environ["PRELOADED"])
        socket.send_fds(self._socket, [json.dumps(call).encode()], [0, stdout, 2])
        self._answer = self._socket.makefile()
        self.process = int(self._answer.readline())

    def ended(self) -> int:
        """How it ended, once it has."""
        return int(self._answer.readline())


def systemctl(command: str, *arguments: str) -> None:
    for unit in [word for word in arguments if not word.startswith("-")]:
        _there("deploy", f"{unit}.service")
    _is(command in ("daemon-reload", "enable", "restart"), f"systemctl {command} is checked by nobody")


def tee(*_: str) -> None:
    _is(bool(sys.stdin.read().strip()), "nothing to write")


def _real(command: str) -> str:
    """The command that one of these stands before."""
    folders = [folder for folder in os.environ["PATH"].split(os.pathsep) if folder != os.environ["STAND_INS"]]
    found = shutil.which(command, path=os.pathsep.join(folders))
    _is(found is not None, f"{command} is not installed")
    return str(found)


def _there(*parts: str) -> None:
    path = Path(*parts)
    _is(path.exists(), f"{path} does not exist")


def _is(true: bool, otherwise: str) -> None:
    if not true:
        sys.exit(f"{' '.join(sys.argv[1:])}: {otherwise}")


COMMANDS: dict[str, Callable[..., None]] = {
    each.__name__.replace("_", "-"): each
    for each in (curl, docker, git, install, make, pip, pre_commit, python3, sudo, svc, systemctl)
}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
