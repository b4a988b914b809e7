"""The networks that are part of svc. A file is used only if its sha256 is the expected one."""

import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import PurePosixPath

from svc.errors import EngineUnavailable


def read_packaged_model(name: str, sha256: str) -> bytes:
    """A network that is part of svc, by its path in the package."""
    file = files("svc").joinpath(name)
    return verify_sha256(file.read_bytes(), sha256, str(file))


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


def verify_sha256(content: bytes, sha256: str, source: str) -> bytes:
    """The content, if its hash is `sha256`; else raises `EngineUnavailable`, which names the source."""
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise EngineUnavailable(f"{source} is damaged: its sha256 is {found} and should be {sha256}. Install it again.")
    return content


def fingerprint_weights(content: bytes) -> str:
    """Short, and another one for other weights."""
    return hashlib.sha256(content).hexdigest()[:8]
