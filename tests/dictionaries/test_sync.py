"""Dictionary sync: regions exchange dictionaries, and no failure of the object store loses one."""

import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import obstore
import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.exceptions import BaseError
from obstore.store import LocalStore, MemoryStore, ObjectStore

from svc.app import create_app
from svc.auth.keys import ANYONE, Principal, Quota, Scope
from svc.dictionaries import store as store_module
from svc.dictionaries.catalogue import Dictionaries
from svc.dictionaries.dictionary import Dictionary
from svc.dictionaries.lexicon import Lexicon
from svc.dictionaries.store import DictionaryStore
from svc.dictionaries.sync import DictionarySync
from svc.engine.fake import FakeEngine
from svc.errors import DictionaryNotFound
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.text.pronunciation_rules import PronunciationRule
from tests.voices.s3_server import (
    BUCKET,
    FailingProxy,
    S3Server,
    environment,
    open_bucket,
    serve_conditional_s3,
)

RULES = [PronunciationRule(f"UN{number}", "United Nations") for number in range(30)]

KEY = Principal("key", frozenset({Scope.FULL}))


@dataclass
class Region:
    dictionaries: Dictionaries
    sync: DictionarySync

    def add(self, name: str = "Names") -> Dictionary:
        return self.dictionaries.add(name, "", Lexicon(RULES), KEY)

    def append(self, dictionary: Dictionary, string: str) -> Dictionary:
        rule = PronunciationRule(string, "x")
        return self.dictionaries.edit_rules(dictionary.dictionary_id, lambda known: [*known, rule])

    def upload(self) -> None:
        asyncio.run(self.sync.upload())

    def fetch(self) -> None:
        asyncio.run(self.sync.fetch())

    def names(self) -> set[str]:
        return {each.name for each in self.dictionaries.list_for(ANYONE)}

    def version_ids(self, dictionary: Dictionary) -> set[str]:
        files = self.dictionaries.store.list_files()[dictionary.dictionary_id]
        return {name.removeprefix("version-").removesuffix(".json") for name in files.versions}


def open_region(folder: Path, object_store: ObjectStore) -> Region:
    dictionaries = Dictionaries(DictionaryStore(folder), Quota(100, 100))
    dictionaries.load()
    return Region(dictionaries, DictionarySync(object_store, dictionaries.store, dictionaries.refresh, 0.1))


@pytest.fixture(params=["memory", "folder", pytest.param("s3", marks=pytest.mark.real)])
def object_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ObjectStore]:
    if request.param == "s3":
        with serve_conditional_s3() as port:
            yield open_bucket(port)
    else:
        yield MemoryStore() if request.param == "memory" else LocalStore(tmp_path / "objects", mkdir=True)


MakeRegion = Callable[[str], Region]


@pytest.fixture
def region(tmp_path: Path, object_store: ObjectStore) -> MakeRegion:
    """The dictionaries of one server; called again with the same name, it is that server after a restart."""
    return lambda name: open_region(tmp_path / name, object_store)


def list_objects(object_store: ObjectStore) -> set[str]:
    return {each["path"] for found in obstore.list(object_store) for each in found}


def test_regions_exchange_everything(region: MakeRegion, object_store: ObjectStore) -> None:
    here, there = region("here"), region("there")
    added = here.add()
    here.upload()
    folder = f"dictionaries/{added.dictionary_id}"
    assert list_objects(object_store) == {f"{folder}/version-{added.version_id}.json", f"{folder}/{added.file_name}"}
    there.fetch()
    assert there.dictionaries.list_for(ANYONE) == [added]
    changed = there.append(added, "EU")
    there.dictionaries.edit(added.dictionary_id, name="Unions", archived=True)
    there.upload()
    here.fetch()
    (copy,) = here.dictionaries.list_for(ANYONE)
    assert (copy.name, copy.version_id) == ("Unions", changed.version_id)
    assert copy.archived_at
    assert here.version_ids(added) == {added.version_id, changed.version_id}
    assert len(list_objects(object_store)) == 3, "old states are deleted"
    there.dictionaries.remove(added.dictionary_id)
    there.upload()
    assert list_objects(object_store) == {f"dictionaries/removed/{added.dictionary_id}"}
    here.fetch()
    assert here.names() == set()
    assert here.sync.lag().waiting == there.sync.lag().waiting == 0


def test_versions_that_are_made_at_once_are_all_kept(region: MakeRegion) -> None:
    here, there = region("here"), region("there")
    added = here.add()
    here.upload()
    there.fetch()
    ours, theirs = here.append(added, "ours"), there.append(added, "theirs")
    for each in (there, here, region("third"), there, here):
        each.upload()
        each.fetch()
        assert {ours.version_id, theirs.version_id} & each.version_ids(added)
    later = max((ours, theirs), key=lambda each: each.file_name)
    for each in (here, there, region("third")):
        each.fetch()
        assert each.version_ids(added) == {added.version_id, ours.version_id, theirs.version_id}
        assert each.dictionaries.find(added.dictionary_id) == later


def test_a_removed_dictionary_does_not_come_back(region: MakeRegion, object_store: ObjectStore) -> None:
    here, there = region("here"), region("there")
    added = here.add()
    here.upload()
    there.fetch()
    here.dictionaries.remove(added.dictionary_id)
    there.append(added, "removed elsewhere")
    here.upload()
    there.upload()
    for each in (here, there, region("here"), region("there"), region("new")):
        each.fetch()
        each.upload()
        with pytest.raises(DictionaryNotFound):
            each.dictionaries.find(added.dictionary_id)
    here.fetch()
    tombstone = f"dictionaries/removed/{added.dictionary_id}"
    assert list_objects(object_store) == {tombstone}
    obstore.delete(object_store, tombstone)
    here.fetch()
    assert list_objects(object_store) == {tombstone}, "it is put back"


def test_lost_and_damaged_objects_are_repaired(
    region: MakeRegion, object_store: ObjectStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    here = region("here")
    added = here.add()
    here.upload()
    paths = list_objects(object_store)
    for path in paths:
        obstore.put(object_store, path, b"{")
    obstore.put(object_store, f"dictionaries/{'a' * 20}/version-{'b' * 20}.json", b"{}")
    obstore.put(object_store, "dictionaries/x", b"{}")
    there = region("there")
    there.fetch()
    assert there.names() == set()
    assert added.dictionary_id in caplog.text
    here.fetch()
    there.fetch()
    assert there.dictionaries.list_for(ANYONE) == [added]
    for path in paths:
        obstore.delete(object_store, path)
    here.fetch()
    assert paths <= list_objects(object_store)
    (tmp_path / "here" / added.dictionary_id / added.file_name).write_bytes(b"damaged on disk")
    here = region("here")
    assert here.names() == set()
    here.fetch()
    assert here.dictionaries.list_for(ANYONE) == [added]


@given(st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_random_changes_converge(seed: int) -> None:
    generator = random.Random(seed)
    object_store = MemoryStore()
    with tempfile.TemporaryDirectory() as folder:
        regions = [open_region(Path(folder) / str(number), object_store) for number in range(3)]
        made, added, removed = dict[str, str](), set[str](), set[str]()
        for each in regions:
            changed = each.append(each.add(), "at first")
            made[changed.version_id] = changed.dictionary_id
        for _ in range(20):
            each = generator.choice(regions)
            known = each.dictionaries.list_for(ANYONE)
            match generator.choice(["add", "append", "rename", "remove", "upload", "fetch"]):
                case "add":
                    added.add(each.add().dictionary_id)
                case "append" if known:
                    changed = each.append(generator.choice(known), str(generator.random()))
                    made[changed.version_id] = changed.dictionary_id
                case "rename" if known:
                    each.dictionaries.edit(generator.choice(known).dictionary_id, name=str(generator.random()))
                case "remove" if known and generator.random() < 0.3:
                    gone = generator.choice(known).dictionary_id
                    each.dictionaries.remove(gone)
                    removed.add(gone)
                case "upload":
                    each.upload()
                case "fetch":
                    each.fetch()
        for _ in range(3):
            for each in regions:
                each.fetch()
                each.upload()
        states = [{known.dictionary_id: known for known in each.dictionaries.list_for(ANYONE)} for each in regions]
        assert states[0] == states[1] == states[2]
        assert states[0].keys() <= set(made.values()) | added
        for each in regions:
            assert each.sync.lag().waiting == 0
            for version_id, dictionary_id in made.items():
                if dictionary_id in removed:
                    assert dictionary_id not in states[0]
                else:
                    assert version_id in each.version_ids(states[0][dictionary_id])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[S3Server]:
    server = S3Server(tmp_path / "objects")
    server.start()
    yield server
    server.kill()


@pytest.mark.real
@pytest.mark.parametrize("mode", ["hang", "cut", "503"])
def test_a_store_that_fails_loses_nothing(mode: str, server: S3Server, tmp_path: Path) -> None:
    proxy = FailingProxy(server.port)
    before = open_region(tmp_path / "here", open_bucket(server.port))
    before.add("Before")
    before.upload()
    proxy.mode = mode  # type: ignore[assignment]
    here = open_region(tmp_path / "here", open_bucket(proxy.port, 5.0))
    here.add("During")
    with pytest.raises(BaseError):
        here.upload()
    assert here.sync.lag().waiting > 0
    proxy.mode = "none"
    open_region(tmp_path / "here", open_bucket(proxy.port)).upload()
    there = open_region(tmp_path / "there", open_bucket(server.port))
    there.fetch()
    assert there.names() == {"Before", "During"}
    proxy.close()


@pytest.mark.real
def test_two_servers_over_http(
    server: S3Server, tmp_path: Path, phonemizer: Phonemizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(server.port).items():
        monkeypatch.setenv(name, value)

    def serve(name: str) -> TestClient:
        chosen = Settings(data_dir=tmp_path / name, voice_mirror=f"s3://{BUCKET}/ours", voice_mirror_seconds=0.1)
        return TestClient(create_app(chosen, Pipeline(FakeEngine(), phonemizer)))

    def wait_until(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < deadline, "it does not happen"
            time.sleep(0.05)

    with serve("here") as here, serve("there") as there:
        rules = [{"type": "alias", "string_to_replace": "UN", "alias": "United Nations"}]
        body = {"name": "Names", "rules": rules}
        added = here.post("/v1/pronunciation-dictionaries/add-from-rules", json=body).json()
        path = f"/v1/pronunciation-dictionaries/{added['id']}"
        wait_until(lambda: there.get(path).status_code == 200)
        assert there.get(path).json() == here.get(path).json()
        changed = there.post(f"{path}/add-rules", json={"rules": [{**rules[0], "string_to_replace": "ONU"}]}).json()
        wait_until(lambda: here.get(path).json()["latest_version_id"] == changed["version_id"])
        wait_until(lambda: there.get("/readyz").json()["dictionary_mirror"]["waiting"] == 0)
        assert "svc_dictionary_mirror_waiting 0.0\n" in there.get("/metrics").text
        assert here.delete(path).status_code == 200
        wait_until(lambda: there.get(path).status_code == 404)


def test_all_servers_keep_the_same_versions(
    region: MakeRegion, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that were made at the same time on two servers, each of which still had room."""
    seconds = count()
    monkeypatch.setattr("time.time", lambda: 1_800_000_000 + next(seconds))
    monkeypatch.setattr(store_module, "MAX_VERSIONS", 4)
    here, there = region("here"), region("there")
    added = here.add()
    here.upload()
    there.fetch()
    for number in range(4):
        here.append(added, f"h{number}")
        there.append(added, f"t{number}")
    for each in (here, there, here, there, here):
        each.upload()
        each.fetch()
    folder = f"dictionaries/{added.dictionary_id}/version-"
    stored = {each.removeprefix(folder).removesuffix(".json") for each in list_objects(object_store) if folder in each}
    assert here.version_ids(added) == there.version_ids(added) == stored
    assert len(stored) == 5
    assert added.version_id not in stored
    assert here.dictionaries.find(added.dictionary_id).version_id in stored
