"""What differs between a server and the object store is named, and repaired."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import obstore
import pytest
from obstore.store import LocalStore, MemoryStore, ObjectStore

from svc.voices.custom_voice import CustomVoice
from svc.voices.drift import find_drift
from svc.voices.store import VoiceStore
from svc.voices.sync import VoiceSync
from tests.cli.test_voices import run
from tests.voices.examples import make_voice


class Server:
    def __init__(self, folder: Path, object_store: ObjectStore) -> None:
        self.folder, self.objects = folder, object_store
        self.store = VoiceStore(folder, track_uploads=True)
        self._sync = VoiceSync(object_store, self.store, lambda: None, 1)

    def add(self) -> CustomVoice:
        voice = make_voice()
        self.store.add(voice, b"reference")
        return voice

    def rename(self, voice: CustomVoice) -> None:
        self.store.change(voice.voice_id, lambda known: replace(known, name="Renamed", revision=known.revision + 1))

    def synchronise(self) -> None:
        async def rounds() -> None:
            await self._sync.fetch()
            await self._sync.upload()
            await self._sync.fetch()

        asyncio.run(rounds())

    def find_drift(self) -> dict[str, str]:
        return {each.voice_id: each.problem for each in asyncio.run(find_drift(self.objects, self.store))}


@pytest.fixture
def servers(tmp_path: Path) -> tuple[Server, Server]:
    """Two servers with one object store and the same voice."""
    object_store = MemoryStore()
    return Server(tmp_path / "one", object_store), Server(tmp_path / "other", object_store)


def _delete_recording(server: Server, voice: CustomVoice) -> None:
    assert voice.reference
    obstore.delete(server.objects, f"voices/{voice.voice_id}/{voice.reference.name}")


def _damage_stored(server: Server, voice: CustomVoice) -> None:
    obstore.put(server.objects, f"voices/{voice.voice_id}/voice.json", b"{")


def _damage_here(server: Server, voice: CustomVoice) -> None:
    next(server.folder.glob(f"**/{voice.voice_id}/voice.json")).write_bytes(b"{")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda here, other, voice: here.rename(voice), "older in the object store"),
        (lambda here, other, voice: (other.rename(voice), other.synchronise()), "older here"),
        (lambda here, other, voice: here.store.remove(voice.voice_id), "removed here, but not in the object store"),
        (
            lambda here, other, voice: (other.store.remove(voice.voice_id), other.synchronise()),
            "removed in the object store, but still here",
        ),
        (
            lambda here, other, voice: obstore.delete(here.objects, f"voices/{voice.voice_id}/voice.json"),
            "missing in the object store",
        ),
        (lambda here, other, voice: _delete_recording(here, voice), "its recording is missing in the object store"),
        (lambda here, other, voice: _damage_stored(here, voice), "damaged in the object store"),
        (lambda here, other, voice: _damage_here(here, voice), "damaged here"),
    ],
)
def test_each_difference_is_named_and_repaired(
    servers: tuple[Server, Server], change: Callable[[Server, Server, CustomVoice], object], problem: str
) -> None:
    here, other = servers
    voice = here.add()
    here.synchronise()
    other.synchronise()
    assert not here.find_drift()
    change(here, other, voice)
    assert here.find_drift()[voice.voice_id].startswith(problem)
    here.synchronise()
    assert not here.find_drift()
    other.synchronise()
    assert not other.find_drift()


def test_a_voice_that_only_others_have(servers: tuple[Server, Server]) -> None:
    here, other = servers
    voice = other.add()
    other.synchronise()
    assert here.find_drift() == {voice.voice_id: "missing here"}


@pytest.mark.real
def test_the_command(tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    server = Server(tmp_path / "data/voices", LocalStore(mirror))
    voice = server.add()
    checked = run(tmp_path, "sync", "--check", SVC_VOICE_MIRROR=f"file://{mirror}")
    assert checked.returncode == 1
    assert voice.voice_id in checked.stdout
    assert run(tmp_path, "sync", "--repair", SVC_VOICE_MIRROR=f"file://{mirror}").returncode == 0
    assert "the same" in run(tmp_path, "sync", "--check", SVC_VOICE_MIRROR=f"file://{mirror}").stdout
    without = run(tmp_path, "sync", SVC_VOICE_MIRROR="")
    assert without.returncode == 2
    assert "SVC_VOICE_MIRROR" in without.stderr
