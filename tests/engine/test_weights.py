"""Weights come from where they should, are checked, and say what is wrong."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from svc.engine import weights
from svc.engine.weights import PublishedFile
from svc.errors import EngineUnavailable

CONTENT = bytes(range(256)) * 4000


class _Hub(BaseHTTPRequestHandler):
    """Serves CONTENT with ranges; breaks off after `cut` bytes when that is set."""

    cut: int | None = None
    ranges: list[str | None]

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        type(self).ranges.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        body = CONTENT[start:]
        self.wfile.write(body if self.cut is None else body[: self.cut])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[tuple[str, type[_Hub]]]:
    handler = type("Hub", (_Hub,), {"ranges": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", handler
        server.shutdown()
        thread.join()


@pytest.fixture
def file() -> PublishedFile:
    return PublishedFile("model.onnx", hashlib.sha256(CONTENT).hexdigest(), hub_path="some/model.onnx")


def test_installed_weights_are_found(tmp_path: Path) -> None:
    content = weights.load(None, "http://127.0.0.1:1", tmp_path)
    assert hashlib.sha256(content).hexdigest() == weights.INT8.sha256


def test_model_dir_without_the_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"SVC_MODEL_DIR.*kokoro-v1\.0\.int8\.onnx.*unset"):
        weights.load(tmp_path, "http://127.0.0.1:1", tmp_path)


def test_damaged_file_is_named_with_both_hashes(tmp_path: Path) -> None:
    damaged = tmp_path / weights.INT8.name
    damaged.write_bytes(b"not a model")
    with pytest.raises(EngineUnavailable) as error:
        weights.load(tmp_path, "http://127.0.0.1:1", tmp_path)
    for part in (str(damaged), weights.INT8.sha256, hashlib.sha256(b"not a model").hexdigest(), "again"):
        assert part in error.value.message


def test_download(hub: tuple[str, type[_Hub]], file: PublishedFile, tmp_path: Path) -> None:
    weights.download(file, hub[0], tmp_path / file.name)
    assert (tmp_path / file.name).read_bytes() == CONTENT


def test_interrupted_download_is_continued(hub: tuple[str, type[_Hub]], file: PublishedFile, tmp_path: Path) -> None:
    address, handler = hub
    handler.cut = 300_000
    with pytest.raises(EngineUnavailable, match="kept"):
        weights.download(file, address, tmp_path / file.name)
    assert not (tmp_path / file.name).exists()
    handler.cut = None
    weights.download(file, address, tmp_path / file.name)
    assert (tmp_path / file.name).read_bytes() == CONTENT
    assert handler.ranges == [None, "bytes=300000-"]


def test_damaged_download_is_not_kept(hub: tuple[str, type[_Hub]], tmp_path: Path) -> None:
    wrong = PublishedFile("model.onnx", "0" * 64, hub_path="some/model.onnx")
    with pytest.raises(EngineUnavailable, match="0000"):
        weights.download(wrong, hub[0], tmp_path / wrong.name)
    assert list(tmp_path.iterdir()) == []


def test_unreachable_hub_says_what_to_do(file: PublishedFile, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"127\.0\.0\.1:1/some/model\.onnx.*SVC_MODEL_DIR"):
        weights.download(file, "http://127.0.0.1:1", tmp_path / file.name)
