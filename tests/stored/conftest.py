"""A data folder with a record of every kind, as the release wrote them that first kept such files, and its keys."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

FILES = Path(__file__).parent

CLONE, MIX, REMOVED = "custom-GoldenClone000000001", "custom-GoldenMix00000000002", "custom-GoldenGone0000000003"
DICTIONARY, REMOVED_DICTIONARY = "GoldenDictionary0001", "GoldenDictionary0002"
KEY_ID = "0123456789ab"
KEY = "svc_rsNPEqxBucXiZCYMTClsjCfaus0pJN1EWjDHEjZpLyM"
REVOKED = "svc_uJZGQj6DM0JnkIJqmhvjufjvqZoxxSDGSvu9LA3fac2"
EPHEMERAL = "svc_tmp_xVaQoyTmew6TInWSbgdPUarSTrOcEv4fBrbtxaYoypt"
SINGLE_USE = "svc_once_8P5ulfqHXalrozf4dkFEGXv0loBMlpxXH58IMlUbfC6"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    shutil.copytree(FILES / "data", folder)
    with closing(sqlite3.connect(folder / "keys.db")) as database:
        database.executescript((FILES / "keys.sql").read_text())
    return folder
