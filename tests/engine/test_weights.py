"""The networks that are part of svc are verified."""

import hashlib
from importlib.resources import files

import pytest

from svc.engine.weights import read_packaged_model
from svc.errors import EngineUnavailable

_NAME = "data/turbo.sha256"  # any file of the package


def test_a_damaged_file_is_named_with_both_hashes() -> None:
    content = read_packaged_model(_NAME, sha256=_hash())
    assert hashlib.sha256(content).hexdigest() == _hash()
    with pytest.raises(EngineUnavailable) as error:
        read_packaged_model(_NAME, sha256="0" * 64)
    for part in (_NAME, "0" * 64, _hash(), "again"):
        assert part in error.value.message


def _hash() -> str:
    return hashlib.sha256(files("svc").joinpath(_NAME).read_bytes()).hexdigest()
