"""The life of a server process: it drains at the first signal, and exits with 0."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.api.realtime.conftest import eventually
from tests.security.wire import LONG, PATH, dial, read_rest, request, speak

pytestmark = pytest.mark.slow


@dataclass
class Process:
    address: str
    running: "subprocess.Popen[str]"
    log: list[str] = field(default_factory=list)

    def is_draining(self) -> bool:
        return "shutting_down" in httpx.get(f"{self.address}/health").text

    def stop(self) -> None:
        self.running.send_signal(signal.SIGTERM)
        eventually(self.is_draining)


@contextmanager
def serve(folder: Path, **variables: str) -> Iterator[Process]:
    command = [sys.executable, "-c", "from svc.cli.main import main; main()", "serve", "--port", "0"]
    environment = {**os.environ, "SVC_ENGINE": "fake", "SVC_DATA_DIR": str(folder), **variables}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        _, _, address = running.stdout.readline().partition("http://")
        process = Process(f"http://{address.split()[0]}", running)
        reading = threading.Thread(target=lambda errors: process.log.extend(errors), args=(running.stderr,))
        reading.start()
        try:
            eventually(lambda: httpx.get(f"{process.address}/health").status_code == 200)
            yield process
        finally:
            running.kill()
            reading.join()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_exits_with_0(tmp_path: Path, number: signal.Signals) -> None:
    with serve(tmp_path) as process, dial(process.address) as idle:
        idle.sendall(request("GET", "/health"))
        process.running.send_signal(number)
        assert process.running.wait(timeout=120) == 0
    assert "Traceback" not in "".join(process.log)


def test_what_runs_is_finished_and_what_comes_is_refused(tmp_path: Path) -> None:
    text = json.dumps({"text": "Hello."}).encode()
    with serve(tmp_path, SVC_SHUTDOWN_SECONDS="100", SVC_STALL_SECONDS="100") as process, httpx.Client() as kept:
        assert kept.get(f"{process.address}/v1/models").status_code == 200
        with dial(process.address) as unfinished, dial(process.address, small=True) as listening:
            unfinished.sendall(
                request("POST", PATH, {"content-length": str(len(text)), "content-type": "application/json"}) + text[:3]
            )
            listening.sendall(speak(LONG[:4000]))
            assert listening.recv(12) == b"HTTP/1.1 200"
            process.stop()
            for client in (kept, httpx):
                for response in (
                    client.get(f"{process.address}/readyz"),
                    client.post(f"{process.address}{PATH}", json={"text": "Hi."}),
                    client.post(f"{process.address}/v1/voices/add", files={"files": b"RIFF"}, data={"name": "a"}),
                ):
                    assert response.status_code == 503
                    assert "shutting_down" in response.text
                    assert int(response.headers["retry-after"]) > 0
            with (
                pytest.raises(InvalidStatus) as refusal,
                connect(f"{process.address.replace('http', 'ws', 1)}{PATH}/stream-input"),
            ):
                pass
            assert refusal.value.response.status_code == 503
            unfinished.sendall(text[3:])
            assert unfinished.recv(12) == b"HTTP/1.1 200"
            assert read_rest(listening).endswith(b"0\r\n\r\n"), "the stream is whole"
            read_rest(unfinished)
        assert process.running.wait(timeout=120) == 0


def test_a_stalled_client_does_not_hold_up_the_exit(tmp_path: Path) -> None:
    with (
        serve(tmp_path, SVC_SHUTDOWN_SECONDS="1", SVC_STALL_SECONDS="1000") as process,
        dial(process.address, small=True) as stalled,
        dial(process.address, small=True) as waiting,
    ):
        stalled.sendall(speak(LONG))
        waiting.sendall(speak(LONG[:4000], f"{PATH}?output_format=pcm_48000"))
        assert stalled.recv(12) == b"HTTP/1.1 200"
        assert waiting.recv(12) == b"HTTP/1.1 200"
        process.running.send_signal(signal.SIGTERM)
        assert process.running.wait(timeout=120) == 0
    assert "Traceback" not in "".join(process.log)


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with (
        serve(tmp_path, SVC_SHUTDOWN_SECONDS="1000", SVC_STALL_SECONDS="1000") as process,
        dial(process.address, small=True) as stalled,
    ):
        stalled.sendall(speak(LONG))
        assert stalled.recv(12) == b"HTTP/1.1 200"
        process.stop()
        process.running.send_signal(signal.SIGTERM)
        assert process.running.wait(timeout=120) == -signal.SIGTERM


def test_the_log_in_json(tmp_path: Path) -> None:
    with serve(tmp_path, SVC_LOG_FORMAT="json", SVC_HOST="0.0.0.0") as process:
        address = process.address.replace("0.0.0.0", "127.0.0.1")
        answer = httpx.post(f"{address}{PATH}?secret=1", json={"text": "Hello."})
        httpx.get(f"{address}/v1/voices%0Aforged")
        with suppress(httpx.HTTPError):
            httpx.get(f"{address}/health")
        process.running.send_signal(signal.SIGTERM)
        assert process.running.wait(timeout=120) == 0
    lines = [json.loads(line) for line in process.log]
    assert all(line.keys() >= {"time", "level", "logger", "message"} for line in lines)
    (spoken,) = (line for line in lines if line.get("request_id") == answer.headers["request-id"])
    assert (spoken["route"], spoken["status"]) == ("/v1/text-to-speech/{voice_id}", 200)
    assert {line["logger"].partition(".")[0] for line in lines} == {"svc", "uvicorn"}
    assert "secret" not in "".join(process.log)
