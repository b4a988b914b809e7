"""Where weights come from, how they are verified, and the errors when that fails."""

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
    """Serves CONTENT with ranges; ends the connection after `limit` bytes if that is set."""

    limit: int | None = None
    refuses_ranges = False
    ranges: list[str | None]

    def do_GET(self) -> None:
        requested = self.headers.get("Range")
        type(self).ranges.append(requested)
        start = int(requested.removeprefix("bytes=").rstrip("-")) if requested else 0
        if start >= len(CONTENT) or (requested and self.refuses_ranges):
            self.send_error(416)
            return
        self.send_response(206 if requested else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        body = CONTENT[start:]
        self.wfile.write(body if self.limit is None else body[: self.limit])

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


def test_model_dir_without_the_file_is_an_error_with_a_remedy(tmp_path: Path) -> None:
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
    url, handler = hub
    handler.limit = 300_000
    with pytest.raises(EngineUnavailable, match="continues"):
        weights.download(file, url, tmp_path / file.name)
    assert not (tmp_path / file.name).exists()
    handler.limit = None
    weights.download(file, url, tmp_path / file.name)
    assert (tmp_path / file.name).read_bytes() == CONTENT
    assert handler.ranges == [None, "bytes=300000-"]


def test_complete_partial_download_is_used(hub: tuple[str, type[_Hub]], file: PublishedFile, tmp_path: Path) -> None:
    (tmp_path / "model.partial").write_bytes(CONTENT)
    weights.download(file, hub[0], tmp_path / file.name)
    assert (tmp_path / file.name).read_bytes() == CONTENT


@pytest.mark.parametrize("leftover", [CONTENT + b"more", CONTENT[:-1] + b"?", b"x" * 5000, b""])
def test_leftover_of_another_file_is_downloaded_again(
    hub: tuple[str, type[_Hub]], file: PublishedFile, tmp_path: Path, leftover: bytes
) -> None:
    (tmp_path / "model.partial").write_bytes(leftover)
    weights.download(file, hub[0], tmp_path / file.name)
    assert (tmp_path / file.name).read_bytes() == CONTENT
    assert [each.name for each in tmp_path.iterdir()] == [file.name]
    assert hub[1].ranges == ([f"bytes={len(leftover)}-", None] if leftover else [None])


def test_hub_that_refuses_every_range(hub: tuple[str, type[_Hub]], file: PublishedFile, tmp_path: Path) -> None:
    (tmp_path / "model.partial").write_bytes(CONTENT[:300])
    hub[1].refuses_ranges = True
    weights.download(file, hub[0], tmp_path / file.name)
    assert (tmp_path / file.name).read_bytes() == CONTENT


def test_damaged_file_in_the_cache_is_downloaded_again(
    hub: tuple[str, type[_Hub]], file: PublishedFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "FP32", file)
    monkeypatch.setattr(weights, "_find_package_part", lambda package: None)
    (tmp_path / file.name).write_bytes(CONTENT[:100])
    assert weights.load(None, hub[0], tmp_path) == CONTENT
    (tmp_path / file.name).write_bytes(CONTENT[:100])
    with pytest.raises(EngineUnavailable, match="downloaded"):
        weights.load(None, "http://127.0.0.1:1", tmp_path)


def test_damaged_download_is_not_kept(hub: tuple[str, type[_Hub]], tmp_path: Path) -> None:
    wrong = PublishedFile("model.onnx", "0" * 64, hub_path="some/model.onnx")
    with pytest.raises(EngineUnavailable, match="0000"):
        weights.download(wrong, hub[0], tmp_path / wrong.name)
    assert list(tmp_path.iterdir()) == []


def test_unreachable_hub_is_an_error_with_a_remedy(file: PublishedFile, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"127\.0\.0\.1:1/some/model\.onnx.*SVC_MODEL_DIR"):
        weights.download(file, "http://127.0.0.1:1", tmp_path / file.name)
