"""`svc serve` with several processes on one port: all answer, one that dies is replaced, and none is left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from bench.load.processes import wait_until

_PATIENCE = 120.0
_COMMAND = [sys.executable, "-c", "from svc.cli.main import main; main()", "serve", "--port", "0"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    environment = {**os.environ, "SVC_ENGINE": "fake", "SVC_PROCESSES": "2", "SVC_DATA_DIR": str(tmp_path)}
    with subprocess.Popen(_COMMAND, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout
        try:
            address = process.stdout.readline().split()[-1]
            wait_until(lambda: len(_find_servers(process.pid)) == 4, _PATIENCE, "two servers and two engines run")
            wait_until(lambda: _count_listening(address) == 2, _PATIENCE, "both listen")
            yield process, address
        finally:
            process.kill()


def _find_servers(parent: int) -> set[int]:
    """The processes that were started as servers, not Python's own helper."""
    found = set()
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            mine = int((each / "stat").read_text().rpartition(")")[2].split()[1]) == parent
            if mine and b"spawn_main" in (each / "cmdline").read_bytes():
                found.add(int(each.name))
    return found


def _count_listening(address: str) -> int:
    port = f":{int(address.rpartition(':')[2]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(port) and row[3] == "0A" for row in rows)


def _is_ready(address: str) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"{address}/health").status_code == 200
    return False


def _wait_for_another(parent: int, before: set[int]) -> None:
    wait_until(lambda: len(_find_servers(parent) - before) == 1, _PATIENCE, "another one is started")


def _speaks(address: str) -> bool:
    with suppress(httpx.HTTPError):
        body = {"text": "Hello there."}
        return httpx.post(f"{address}/v1/text-to-speech/af_heart", json=body, timeout=_PATIENCE).status_code == 200
    return False


def test_processes_share_the_port_and_are_replaced(server: tuple[subprocess.Popen[str], str]) -> None:
    process, address = server
    wait_until(lambda: _is_ready(address), _PATIENCE, "the engine is ready")
    for killed in _find_servers(process.pid):  # engines and servers, one after the other
        before = _find_servers(process.pid)
        os.kill(killed, signal.SIGKILL)
        _wait_for_another(process.pid, before)
        wait_until(lambda: _count_listening(address) == 2, _PATIENCE, "both listen")
        wait_until(lambda: _speaks(address), _PATIENCE, "it speaks")
    process.send_signal(signal.SIGTERM)
    assert process.wait(_PATIENCE) == 0
    assert not _find_servers(process.pid)


def test_processes_end_with_the_one_that_started_them(server: tuple[subprocess.Popen[str], str]) -> None:
    process, _ = server
    servers = _find_servers(process.pid)
    process.kill()
    process.wait(_PATIENCE)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in servers), _PATIENCE, "they have ended")


def test_a_mistake_in_the_settings_ends_all_with_a_readable_line(tmp_path: Path) -> None:
    settings = {"SVC_ENGINE": "fake", "SVC_PROCESSES": "2", "SVC_DATA_DIR": str(tmp_path)}
    environment = {**os.environ, **settings, "SVC_DEFAULT_VOICE": "custom-nope"}
    ended = subprocess.run(_COMMAND, capture_output=True, env=environment, text=True, timeout=_PATIENCE)
    assert ended.returncode == 1
    assert "SVC_DEFAULT_VOICE" in ended.stderr
    assert "Traceback" not in ended.stderr
