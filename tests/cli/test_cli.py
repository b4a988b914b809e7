"""The `svc` command, run as people run it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

import av
import httpx
import pytest

from svc.audio.formats import ENDINGS

SVC = str(Path(sys.executable).with_name("svc"))


def _run(*arguments: str, stdin: str | None = None, **variables: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "SVC_ENGINE": "fake", **variables}
    given = stdin.encode() if stdin is not None else None
    return subprocess.run([SVC, *arguments], input=given, capture_output=True, env=environment, check=False)


def _fails_in_one_line(result: subprocess.CompletedProcess[bytes], *expected: str) -> None:
    assert result.returncode != 0
    error = result.stderr.decode()
    assert "Traceback" not in error
    assert all(part in error for part in expected), error


@pytest.mark.parametrize(
    ("name", "codec", "rate"),
    [
        ("a.mp3", "mp3float", 44_100),
        ("a.wav", "pcm_s16le", 24_000),
        ("a.opus", "opus", 48_000),
        ("a.flac", "flac", 24_000),
    ],
)
def test_say_writes_what_the_name_promises(tmp_path: Path, name: str, codec: str, rate: int) -> None:
    assert _run("say", "Hello there.", "-o", str(tmp_path / name)).returncode == 0
    with av.open(tmp_path / name) as container:
        stream = container.streams.audio[0]
        assert (stream.codec_context.name, stream.rate) == (codec, rate)


def test_say_reads_standard_input_and_writes_standard_output(tmp_path: Path) -> None:
    arguments = ("say", "-o", "-", "--format", "pcm_8000", "--voice", "bm_george", "--speed", "1.2", "-l", "en")
    piped = _run(*arguments, stdin="Hello there.")
    (tmp_path / "text.txt").write_text("Hello there.")
    read = _run(*arguments, "--file", str(tmp_path / "text.txt"))
    assert piped.returncode == read.returncode == 0
    assert piped.stdout == read.stdout != b""


def test_say_errors() -> None:
    _fails_in_one_line(_run("say", "Hello.", "-o", "x.mp3", "--voice", "nobody"), "nobody")
    _fails_in_one_line(_run("say", "Hello.", "-o", "x.mp3", "--format", "mp9"), "mp9", "mp3_44100_128")
    _fails_in_one_line(_run("say", "Hello.", "-o", "x.m4a"), "x.m4a", *ENDINGS)
    _fails_in_one_line(_run("say", "Hello.", "-o", "x.mp3", "-l", "klingon"), "klingon")
    _fails_in_one_line(_run("say", "-o", "x.mp3", stdin="  \n"), "blank")
    _fails_in_one_line(_run("say", "--file", "does-not-exist", "-o", "x.mp3"), "does-not-exist")
    _fails_in_one_line(_run("say", "Hello.", "-o", "/no/such/folder/x.mp3"), "/no/such/folder")
    _fails_in_one_line(_run("say", "Hello.", "-o", "x.mp3", SVC_MAX_CHARACTERS="3"), "SVC_MAX_CHARACTERS")


def test_say_without_a_player_says_so() -> None:
    _fails_in_one_line(_run("say", "Hello.", PATH="/nowhere"), "-o")


def test_damaged_weights_are_one_readable_line(tmp_path: Path) -> None:
    with as_file(files("svc")) as package:
        shutil.copytree(package, tmp_path / "svc", ignore=shutil.ignore_patterns("voice-*.onnx", "refinement*.onnx"))
    (tmp_path / "svc/data/turbo-text.onnx").write_bytes(b"x")
    result = _run("say", "Hello.", "-o", "x.mp3", SVC_ENGINE="turbo", PYTHONPATH=str(tmp_path))
    _fails_in_one_line(result, "turbo-text.onnx", "48dc6631", "2d711642")


def test_voices() -> None:
    everyone = json.loads(_run("voices", "--json").stdout)
    assert len(everyone) == 54
    assert {voice["language"] for voice in json.loads(_run("voices", "--json", "-l", "fr").stdout)} == {"fr"}
    assert b"af_heart" in _run("voices").stdout


def test_bench_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    result = _run("bench", "--runs", "1", "--json", str(tmp_path / "figures.json"))
    assert b"real-time factor" in result.stdout
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["texts"]["paragraph"]["speech"] > figures["texts"]["sentence"]["speech"] > 0


def test_wrong_settings_are_named() -> None:
    _fails_in_one_line(_run("serve", SVC_PORT="many"), "SVC_PORT")
    _fails_in_one_line(_run("serve", SVC_DEFAULT_VOICE="nobody"), "nobody")


def test_version_and_help() -> None:
    assert _run("--version").stdout.startswith(b"svc ")
    assert all(command in _run("--help").stdout for command in (b"say", b"serve", b"voices", b"bench"))


@contextmanager
def _serving(**variables: str) -> Iterator[str]:
    """The address that `svc serve` prints, while it runs."""
    environment = {**os.environ, "SVC_ENGINE": "fake", **variables}
    with subprocess.Popen([SVC, "serve", "--port", "0"], stdout=subprocess.PIPE, env=environment, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=300) == 0


def test_serve_prints_its_address_and_stops_cleanly() -> None:
    with _serving() as address:
        assert httpx.get(f"{address}/health").status_code in (200, 503)


@pytest.mark.parametrize(("trusted", "scheme"), [("127.0.0.1", "https"), ("192.0.2.1", "http")])
def test_links_follow_a_trusted_proxy(trusted: str, scheme: str) -> None:
    headers = {"x-forwarded-proto": "https", "host": "speech.example.com"}
    with _serving(SVC_TRUSTED_PROXIES=trusted, SVC_ALLOWED_HOSTS="speech.example.com") as address:
        voice = httpx.get(f"{address}/v1/voices/af_heart", headers=headers).json()
    assert voice["preview_url"].startswith(f"{scheme}://speech.example.com/previews/")


def test_serve_on_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        _fails_in_one_line(_run("serve", "--port", port), port, "--port")


def test_numbers_out_of_range_are_one_readable_line(tmp_path: Path) -> None:
    for port in ("99999", "-1", "65536", "http"):
        _fails_in_one_line(_run("serve", "--port", port), "--port")
    clip = str(tmp_path / "x.wav")
    for speed in ("0", "-1", "nan", "inf", "1e300"):
        _fails_in_one_line(_run("say", "Hello.", "-o", clip, "--speed", speed), "0.5 to 2")
    assert not Path(clip).exists()
    for seed in ("-1", "99999999999999999999999999999"):
        assert _run("say", "Hello.", "-o", clip, "--seed", seed).returncode == 0
    _fails_in_one_line(_run("bench", "--runs", "-5"), "--runs")
