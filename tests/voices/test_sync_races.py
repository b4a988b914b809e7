"""Servers that change the same voice at once: one version wins everywhere, and none loses its reference."""

import asyncio
import random
import shutil
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import obstore
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from obstore.store import LocalStore, MemoryStore, ObjectStore

from svc.errors import VoiceNotFound
from svc.voices import sync as voice_sync
from svc.voices.custom_voice import CustomVoice, StoredReference
from svc.voices.object_store import Overtaken, VoiceObjects
from svc.voices.store import VoiceStore
from svc.voices.sync import VoiceSync
from tests.voices.examples import make_voice
from tests.voices.s3_server import open_bucket, serve_conditional_s3

REFERENCES = (b"reference", b"second", b"third")


class Server:
    def __init__(self, folder: Path, object_store: ObjectStore) -> None:
        self.store = VoiceStore(folder, track_uploads=True)
        self.sync = VoiceSync(object_store, self.store, lambda: None, 1)

    def rename(self, voice_id: str, name: str) -> CustomVoice:
        return self.store.change(voice_id, lambda known: known.revise(name=name))

    def replace_reference(self, voice_id: str, content: bytes) -> CustomVoice:
        reference = StoredReference.of(content)
        return self.store.change(voice_id, lambda known: known.revise(reference=reference), content)

    def state(self) -> dict[str, tuple[bytes, bytes | None]]:
        whole = {voice_id: self.store.read_whole(voice_id) for voice_id in self.store.signatures()}
        return {voice_id: (voice.to_bytes(), reference) for voice_id, (voice, reference) in whole.items()}


@pytest.fixture(params=["memory", "folder", pytest.param("s3", marks=pytest.mark.real)])
def object_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ObjectStore]:
    """Two that compare before they replace, and one that cannot."""
    if request.param == "s3":
        with serve_conditional_s3() as port:
            yield open_bucket(port)
    else:
        yield MemoryStore() if request.param == "memory" else LocalStore(tmp_path / "objects", mkdir=True)


@pytest.fixture
def servers(tmp_path: Path, object_store: ObjectStore) -> tuple[Server, Server]:
    return Server(tmp_path / "here", object_store), Server(tmp_path / "there", object_store)


async def share(voice: CustomVoice, here: Server, there: Server) -> None:
    here.store.add(voice, b"reference")
    await here.sync.upload()
    await there.sync.fetch()


async def settle(*servers: Server) -> None:
    """Rounds of the background work, without changes in between."""
    for _ in range(4):
        for server in servers:
            await server.sync.fetch()
            await server.sync.upload()


def list_objects(object_store: ObjectStore) -> set[str]:
    return {each["path"] for found in obstore.list(object_store) for each in found}


def before_put(monkeypatch: pytest.MonkeyPatch, path: str, meanwhile: Callable[[], Awaitable[None]]) -> None:
    """Does something else once, right before an object of that name is put."""
    put = obstore.put_async
    waiting = [meanwhile]

    async def put_later(object_store: Any, name: str, *arguments: Any, **options: Any) -> Any:
        if name.endswith(path) and waiting:
            await waiting.pop()()
        return await put(object_store, name, *arguments, **options)

    monkeypatch.setattr(obstore, "put_async", put_later)


def test_an_overtaken_upload_does_not_replace_a_later_version(
    servers: tuple[Server, Server], object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = servers

    async def main() -> None:
        voice = make_voice()
        await share(voice, here, there)
        here.replace_reference(voice.voice_id, b"second")
        there.rename(voice.voice_id, "Later")
        there.rename(voice.voice_id, "Latest")
        before_put(monkeypatch, "voice.json", there.sync.upload)
        await here.sync.upload()
        await settle(here, there)
        assert here.state() == there.state()
        assert here.store.read(voice.voice_id).name == "Latest"
        assert here.store.read_whole(voice.voice_id)[1] == b"reference"
        named = f"voices/{voice.voice_id}/{StoredReference.of(b'reference').name}"
        assert named in list_objects(object_store), "the loser has not deleted the winner's reference"

    asyncio.run(main())


def test_an_upload_that_is_overtaken_by_an_earlier_version_tries_again(
    servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = servers

    async def main() -> None:
        voice = make_voice()
        await share(voice, here, there)
        there.rename(voice.voice_id, "Earlier")
        here.rename(voice.voice_id, "Later")
        before_put(monkeypatch, "voice.json", there.sync.upload)
        await here.sync.upload()
        third = Server(here.store._folder.with_name("third"), here.sync._objects._object_store)
        await third.sync.fetch()
        assert third.store.read(voice.voice_id).name == "Later"
        await settle(here, there)
        assert there.state() == here.state() == third.state()

    asyncio.run(main())


def test_a_version_that_got_lost_is_uploaded_again(servers: tuple[Server, Server], object_store: ObjectStore) -> None:
    """An object store that does not compare lets the last writer win: the next round repairs it."""
    here, there = servers

    async def main() -> None:
        voice = make_voice()
        await share(voice, here, there)
        here.rename(voice.voice_id, "Later")
        await here.sync.upload()
        path = f"voices/{voice.voice_id}/voice.json"
        obstore.put(object_store, path, there.store.read(voice.voice_id).to_bytes())
        await settle(here, there)
        assert there.store.read(voice.voice_id).name == "Later"
        obstore.put(object_store, path, b"damaged")
        await settle(here, there)
        assert Server(here.store._folder.with_name("third"), object_store).state() == {}
        third = Server(here.store._folder.with_name("third"), object_store)
        await third.sync.fetch()
        assert third.state() == here.state()

    asyncio.run(main())


def test_a_missing_reference_is_uploaded_again(servers: tuple[Server, Server], object_store: ObjectStore) -> None:
    here, there = servers

    async def main() -> None:
        voice = make_voice()
        here.store.add(voice, b"reference")
        await here.sync.upload()
        obstore.delete(object_store, f"voices/{voice.voice_id}/{StoredReference.of(b'reference').name}")
        await there.sync.fetch()
        assert there.state() == {}, "a voice is not taken over without its reference"
        await settle(here, there)
        assert there.state() == here.state() != {}

    asyncio.run(main())


def test_a_lost_tombstone_is_restored(servers: tuple[Server, Server], object_store: ObjectStore) -> None:
    here, there = servers

    async def main() -> None:
        voice = make_voice()
        await share(voice, here, there)
        here.store.remove(voice.voice_id)
        await here.sync.upload()
        obstore.delete(object_store, f"removed/{voice.voice_id}")
        await settle(there, here)
        assert here.state() == there.state() == {}
        assert list_objects(object_store) == {f"removed/{voice.voice_id}"}

    asyncio.run(main())


def test_an_upload_at_the_moment_of_the_removal_leaves_nothing_behind(
    servers: tuple[Server, Server], object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = servers

    async def main() -> None:
        voice = make_voice()
        await share(voice, here, there)
        here.rename(voice.voice_id, "Removed elsewhere")
        there.store.remove(voice.voice_id)
        before_put(monkeypatch, "voice.json", there.sync.upload)
        await here.sync.upload()
        await settle(here, there)
        assert list_objects(object_store) == {f"removed/{voice.voice_id}"}

    asyncio.run(main())


def test_replaced_references_are_deleted_after_a_while(
    servers: tuple[Server, Server], object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = servers

    async def main() -> None:
        voice = make_voice()
        await share(voice, here, there)
        here.replace_reference(voice.voice_id, b"second")
        await settle(here, there)
        assert len(list_objects(object_store)) == 3
        monkeypatch.setattr(voice_sync, "_LEFTOVER_AGE", timedelta(0))
        await there.sync.fetch()
        names = {path.split("/")[-1] for path in list_objects(object_store)}
        assert names == {"voice.json", StoredReference.of(b"second").name}

    asyncio.run(main())


def test_versions_of_the_same_moment_have_one_winner() -> None:
    voice = make_voice()
    one, other = replace(voice, name="One"), replace(voice, name="Other")
    assert one.version != other.version
    assert (one.version > other.version) == (
        CustomVoice.from_bytes(one.to_bytes()).version > CustomVoice.from_bytes(other.to_bytes()).version
    )


class PausingObjects(VoiceObjects):
    """Lets other servers work before each request."""

    def __init__(self, object_store: ObjectStore, generator: random.Random) -> None:
        super().__init__(object_store)
        for name in ("fetch_voice", "fetch_reference", "put_reference", "put_voice", "put_removal", "delete_object"):
            setattr(self, name, self._delay(getattr(self, name), generator))

    def _delay(self, request: Callable[..., Awaitable[Any]], generator: random.Random) -> Callable[..., Awaitable[Any]]:
        async def delayed(*arguments: Any) -> Any:
            await asyncio.sleep(generator.choice((0, 0, 0.001, 0.003)))
            return await request(*arguments)

        return delayed


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "folder"])
@pytest.mark.parametrize("leftover_minutes", [0, 15], ids=["leftovers deleted at once", "leftovers kept a while"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_servers_that_race_agree_in_the_end(kind: str, leftover_minutes: int, seed: int) -> None:
    generator = random.Random(seed)
    folder = Path(tempfile.mkdtemp())
    object_store = MemoryStore() if kind == "memory" else LocalStore(folder / "objects", mkdir=True)
    servers = [Server(folder / name, object_store) for name in ("here", "there", "third")]
    made: dict[str, CustomVoice] = {}
    removed: set[str] = set()
    for server in servers:
        server.sync._objects = PausingObjects(object_store, generator)

    def note(voice: CustomVoice) -> None:
        if voice.voice_id not in made or made[voice.voice_id].version < voice.version:
            made[voice.voice_id] = voice

    async def work(server: Server) -> None:
        for _ in range(8):
            ids = list(server.store.signatures())
            action = generator.randrange(8)
            if ids and action == 0:
                note(server.rename(generator.choice(ids), str(generator.random())))
            elif ids and action == 1:
                note(server.replace_reference(generator.choice(ids), generator.choice(REFERENCES)))
            elif ids and action == 2 and generator.random() < 0.3:
                server.store.remove(removed_id := generator.choice(ids))
                removed.add(removed_id)
            elif action < 6:
                await server.sync.upload()
            else:
                await server.sync.fetch()

    async def main() -> None:
        for _ in range(2):
            voice = make_voice()
            note(voice)
            await share(voice, servers[0], servers[1])
        await asyncio.gather(*(work(server) for server in servers))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(voice_sync, "_LEFTOVER_AGE", timedelta(minutes=15))
            await settle(*servers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(voice_sync, "_LEFTOVER_AGE", timedelta(minutes=leftover_minutes))
        asyncio.run(main())
    expected = {voice_id: voice.to_bytes() for voice_id, voice in made.items() if voice_id not in removed}
    for server in servers:
        assert {voice_id: content for voice_id, (content, _) in server.state().items()} == expected
        assert server.store.pending_uploads
        assert server.store.pending_uploads.read_all() == []
    stored = {path.split("/")[1] for path in list_objects(object_store) if path.startswith("voices/")}
    assert stored == expected.keys()
    shutil.rmtree(folder)


def test_the_lag_can_be_read_while_uploads_complete(tmp_path: Path) -> None:
    here = Server(tmp_path / "here", MemoryStore())
    pending_uploads = here.store.pending_uploads
    assert pending_uploads
    voices = [make_voice() for _ in range(20)]
    for voice in voices:
        here.store.add(voice, b"reference")
    done = threading.Event()

    def complete() -> None:
        for _ in range(30):
            for voice in voices:
                here.store.queue_upload(voice.voice_id)
            for upload in pending_uploads.read_all():
                here.store.complete_upload(upload)
        done.set()

    thread = threading.Thread(target=complete)
    thread.start()
    while not done.is_set():
        assert all(upload.stamp for upload in pending_uploads.read_all())
        assert here.sync.lag().waiting == 0, "counted by the background work, which does not run here"
    thread.join()


def test_a_change_during_the_completion_of_an_upload_stays_pending(tmp_path: Path) -> None:
    here = Server(tmp_path / "here", MemoryStore())
    pending_uploads = here.store.pending_uploads
    assert pending_uploads
    voice = make_voice()
    here.store.add(voice, b"reference")
    for number in range(30):
        (upload,) = pending_uploads.read_all()
        changing = threading.Thread(target=here.rename, args=(voice.voice_id, str(number)))
        changing.start()
        here.store.complete_upload(upload)
        changing.join()
        assert pending_uploads.contains(voice.voice_id)


def test_a_removed_voice_cannot_be_read_whole(tmp_path: Path) -> None:
    with pytest.raises(VoiceNotFound):
        VoiceStore(tmp_path).read_whole(make_voice().voice_id)


def test_a_put_names_what_it_replaces() -> None:
    async def main() -> None:
        objects = VoiceObjects(MemoryStore())
        voice = make_voice()
        await objects.put_voice(voice, None)
        with pytest.raises(Overtaken):
            await objects.put_voice(voice, None)
        read = await objects.fetch_voice(voice.voice_id)
        await objects.put_voice(voice.revise(name="Berta"), read)
        with pytest.raises(Overtaken):
            await objects.put_voice(voice.revise(name="Clara"), read)

    asyncio.run(main())
