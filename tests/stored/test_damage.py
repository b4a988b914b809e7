"""One damaged record stops nothing: the server starts, names it in the log, and serves what is intact."""

import logging
import os
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from svc.app import create_app
from svc.cloning.refinement_queue import RefinementQueue
from svc.dictionaries.store import DictionaryStore
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.api.realtime.conftest import eventually
from tests.cloning.fakes import load_fake_encoder
from tests.conftest import serve_ready
from tests.stored.conftest import CLONE, DICTIONARY, KEY, MIX

# A pipe that nobody writes to would keep its reader waiting for ever.
pytestmark = pytest.mark.timeout(180)


def _make_socket(file: Path) -> None:
    here = Path.cwd()
    os.chdir(file.parent)  # the path of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(file.name)
    finally:
        os.chdir(here)


def _write(content: bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deep": _write(b"[" * 200_000),
    "deep objects": _write(b'{"voice":' * 200_000),
    "empty": _write(b""),
    "not text": _write(b"\xff\xfe\x00" * 100),
    "another type": _write(b"7"),
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a socket": _make_socket,
}


@pytest.fixture
def damage(request: pytest.FixtureRequest) -> Iterator[Callable[[Path], None]]:
    """Puts something else in the place of a file."""
    made = []

    def damage(file: Path) -> None:
        file.unlink(missing_ok=True)
        DAMAGES[request.param](file)
        made.append(file)

    yield damage
    for file in made:
        if file.is_fifo():  # lets go of a reader that waits, so that the test fails and ends
            os.close(os.open(file, os.O_RDWR))


everything = pytest.mark.parametrize("damage", DAMAGES, indirect=True)


@everything
def test_the_server_starts(
    damage: Callable[[Path], None], data: Path, phonemizer: Phonemizer, caplog: pytest.LogCaptureFixture
) -> None:
    """Every kind of record is damaged at once, and the one beside it is not."""
    caplog.set_level(logging.INFO)
    state = DictionaryStore(data / "dictionaries").list_files()[DICTIONARY].state
    assert state is not None
    damage(data / f"voices/{CLONE}/voice.json")
    damage(data / f"voices/outbox/{CLONE}")
    damage(data / f"voices/refining/{CLONE}")
    damage(data / f"dictionaries/{DICTIONARY}/{state}")
    damage(data / "voice-settings.json")
    mirror = (data.parent / "mirror").as_uri()
    settings = Settings(data_dir=data, cache_dir=data / "cache", voice_mirror=mirror)
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer), load_fake_encoder) as client:
        listed = {voice["voice_id"] for voice in client.get("/v1/voices").json()["voices"]}
        assert MIX in listed
        assert CLONE not in listed
        edited = client.post(f"/v1/voices/{MIX}/settings/edit", json={"speed": 1.1})
        assert edited.status_code == 200
        assert client.get(f"/v1/voices/{MIX}/settings").json()["speed"] == 1.1
        rules = [{"type": "alias", "string_to_replace": "UN", "alias": "United Nations"}]
        added = client.post("/v1/pronunciation-dictionaries/add-from-rules", json={"name": "New", "rules": rules})
        assert added.status_code == 200
        for name in (CLONE, DICTIONARY, "voice-settings.damaged-", f"refinement of {CLONE}"):
            eventually(partial(_is_logged, caplog, name))
        eventually(lambda: RefinementQueue(data / "voices/refining").waiting() == [])
        eventually(lambda: client.get("/readyz").json()["voice_mirror"]["waiting"] == 0)
        tasks = client.get("/readyz").json()["background"]
        assert {name: task["error"] for name, task in tasks.items() if task["failures"]} == {}


def _is_logged(caplog: pytest.LogCaptureFixture, name: str) -> bool:
    return any(name in each.getMessage() for each in caplog.get_records("call") if each.levelno >= logging.ERROR)


@everything
def test_damaged_versions_and_references(
    damage: Callable[[Path], None], data: Path, phonemizer: Phonemizer, caplog: pytest.LogCaptureFixture
) -> None:
    """They are read when they are needed: the voice and the dictionary are there, without them."""
    for file in (data / f"dictionaries/{DICTIONARY}").glob("version-*"):
        damage(file)
    for file in (data / f"voices/{CLONE}").glob("reference-*"):
        damage(file)
    settings = Settings(data_dir=data, cache_dir=data / "cache")
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer), load_fake_encoder) as client:
        locators = [{"pronunciation_dictionary_id": DICTIONARY}]
        spoken = client.post(
            f"/v1/text-to-speech/{CLONE}", json={"text": "The UN.", "pronunciation_dictionary_locators": locators}
        )
        assert spoken.status_code == 200
        assert DICTIONARY in caplog.text
        eventually(lambda: RefinementQueue(data / "voices/refining").waiting() == [])


@everything
def test_a_damaged_keys_table_refuses_only_its_own_keys(
    damage: Callable[[Path], None], data: Path, phonemizer: Phonemizer
) -> None:
    file = data / "keys.db"
    damage(file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SVC_API_KEY", "static")
        patch.setenv("SVC_API_KEYS_TABLE", f"sqlite:///{file}")
        patch.setenv("SVC_DATA_DIR", str(data))
        settings = Settings()
    if file.is_dir() or file.is_socket():  # no table at all, which is an error of the settings
        with pytest.raises(OSError, match="keys table cannot be opened"):
            create_app(settings)
        return
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer), load_fake_encoder) as client:
        found = {key: client.get("/v1/user", headers={"xi-api-key": key}).status_code for key in ("static", KEY)}
        assert found["static"] == 200
        assert found[KEY] in (401, 503)  # an empty file is an empty table
        assert client.get("/v1/user").status_code == 401


@everything
@pytest.mark.parametrize(
    "name",
    [
        "voices/.lock",
        "voices/.loudness",
        "voices/refining/.lock",
        "voices/refining/.changes",
        "dictionaries/.lock",
        ".voice-settings.lock",
        f"voices/{MIX}/voice.json.new",
        f"voices/removed/{MIX}.new",
        f"dictionaries/{DICTIONARY}/state.json.new",
        f"dictionaries/removed/{DICTIONARY}.new",
    ],
)
def test_nothing_beside_the_records_stops_the_start(
    damage: Callable[[Path], None], name: str, data: Path, phonemizer: Phonemizer
) -> None:
    damage(data / name)
    settings = Settings(data_dir=data, cache_dir=data / "cache")
    with serve_ready(settings, Pipeline(FakeEngine(), phonemizer), load_fake_encoder) as client:
        assert client.get(f"/v1/voices/{CLONE}").json()["name"] == "Anna"
        assert client.get(f"/v1/pronunciation-dictionaries/{DICTIONARY}").json()["name"] == "Names"
        edited = client.post(f"/v1/voices/{MIX}/settings/edit", json={"speed": 1.1})
        assert edited.status_code in (200, 503)
