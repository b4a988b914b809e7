"""The mirror against a real S3 server: regions exchange voices, and no trouble with the store loses one."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from obstore.exceptions import BaseError

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Samples
from svc.errors import VoiceNotFound
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.voices.catalogue import Voice, VoiceCatalogue, built_in
from svc.voices.custom_voice import CustomVoice, StoredReference
from svc.voices.custom_voices import CustomVoices
from svc.voices.object_store import open_object_store
from svc.voices.store import PendingUploads, VoiceStore
from svc.voices.sync import VoiceSync
from tests.audio.recordings import encoded
from tests.cloning.conftest import load_stand_in
from tests.voices.examples import made_up
from tests.voices.s3_server import BUCKET, S3Server, Trouble, environment, remote

BUILT_IN: list[Voice] = built_in()
SOUND = b"reference"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[S3Server]:
    server = S3Server(tmp_path / "objects")
    server.start()
    yield server
    server.kill()


@dataclass
class Region:
    store: VoiceStore
    pending_uploads: PendingUploads
    voices: VoiceCatalogue
    mirror: VoiceSync

    def add(self, voice: CustomVoice) -> CustomVoice:
        self.store.add(voice, SOUND)
        return voice

    def rename(self, voice: CustomVoice, name: str) -> None:
        self.store.change(
            voice.voice_id,
            lambda known: replace(known, name=name, revision=known.revision + 1, changed_at=time.time()),
        )

    def send(self) -> None:
        asyncio.run(self.mirror.send())

    def fetch(self) -> None:
        asyncio.run(self.mirror.fetch())

    def names(self) -> set[str]:
        return {self.store.read(voice_id).name for voice_id in self.store.signatures()}


MakeRegion = Callable[..., Region]


@pytest.fixture
def region(tmp_path: Path, server: S3Server) -> MakeRegion:
    """A server's half of the mirror; asked for again by the same name, it is that server after a restart."""

    def region(name: str, port: int | None = None, timeout: float = 10.0) -> Region:
        folder = tmp_path / name
        pending_uploads = PendingUploads(folder / "outbox")
        store, voices = VoiceStore(folder, pending_uploads), VoiceCatalogue(BUILT_IN)
        custom_voices = CustomVoices(store, voices)
        custom_voices.load()
        mirror = VoiceSync(remote(port or server.port, timeout), store, pending_uploads, custom_voices.refresh, 0.1)
        return Region(store, pending_uploads, voices, mirror)

    return region


def test_regions_exchange_additions_changes_and_removals(region: MakeRegion, server: S3Server) -> None:
    here, there = region("here"), region("there")
    voice = here.add(made_up("Anna"))
    here.send()
    assert server.objects() == {
        f"voices/{voice.voice_id}/voice.json",
        f"voices/{voice.voice_id}/{StoredReference.of(SOUND).name}",
    }
    there.fetch()
    assert there.voices.find(voice.voice_id).name == "Anna"
    assert there.store.reference(there.store.read(voice.voice_id)) == SOUND
    assert there.pending_uploads.pending() == [], "what came from the store need not go back"
    there.rename(voice, "Berta")
    there.send()
    here.fetch()
    assert here.voices.find(voice.voice_id).name == "Berta"
    there.store.remove(voice.voice_id)
    there.send()
    assert server.objects() == {f"removed/{voice.voice_id}"}
    here.fetch()
    assert here.voices.resolve(voice.voice_id) is here.voices.default
    assert here.mirror.lag().waiting == 0


def test_nothing_rises_from_the_dead(region: MakeRegion, server: S3Server) -> None:
    here, there = region("here"), region("there")
    voice = here.add(made_up())
    here.send()
    there.fetch()
    here.store.remove(voice.voice_id)
    there.rename(voice, "Undead")
    here.send()
    there.send()  # a change of a voice that was removed elsewhere
    for each in (here, there, region("here"), region("there"), region("new")):
        each.send()
        each.fetch()
        with pytest.raises(VoiceNotFound):
            each.store.read(voice.voice_id)
    assert server.objects() == {f"removed/{voice.voice_id}"}


def test_a_voice_that_is_put_back_into_the_bucket_stays_dead(region: MakeRegion, server: S3Server) -> None:
    here, there = region("here"), region("there")
    voice = here.add(made_up())
    here.send()
    path = f"voices/{voice.voice_id}/voice.json"
    content = server.get(path)
    here.store.remove(voice.voice_id)
    here.send()
    server.put(path, content)
    there.fetch()
    here.fetch()
    assert here.names() == there.names() == set()


def test_of_two_changes_at_once_the_later_wins_everywhere(region: MakeRegion) -> None:
    here, there = region("here"), region("there")
    voice = here.add(made_up())
    here.send()
    there.fetch()
    here.rename(voice, "Earlier")
    there.rename(voice, "Later")
    there.send()
    here.send()
    for each in (here, there, region("third")):
        each.fetch()
        assert each.names() == {"Later"}


def test_a_store_that_is_down_loses_nothing(region: MakeRegion, server: S3Server) -> None:
    here, there = region("here"), region("there")
    gone = here.add(made_up("Gone"))
    here.send()
    server.kill()
    here.add(made_up("Anna"))
    here.store.remove(gone.voice_id)
    for _ in range(2):
        with pytest.raises(BaseError):
            here.send()
        with pytest.raises(BaseError):
            here.fetch()
    assert here.names() == {"Anna"}
    assert here.mirror.lag().waiting == 2
    assert here.mirror.lag().seconds > 0
    here = region("here")  # a restart in between
    assert here.mirror.lag().waiting == 2
    server.start()
    here.send()
    assert here.mirror.lag().waiting == 0
    there.fetch()
    assert there.names() == {"Anna"}


@pytest.mark.parametrize("mode", ["hang", "break off", "500", "503", "507"])
def test_a_store_in_trouble_loses_nothing(mode: str, region: MakeRegion, server: S3Server) -> None:
    trouble = Trouble(server.port)
    here, there = region("here", trouble.port, timeout=1.0), region("there")
    voice = here.add(made_up("Anna"))
    trouble.mode = mode  # type: ignore[assignment]
    with pytest.raises(BaseError):
        here.send()
    assert here.mirror.lag().waiting == 1
    there.fetch()
    assert there.names() == set()
    trouble.mode = "none"
    region("here", trouble.port).send()
    there.fetch()
    assert there.names() == {"Anna"}
    assert there.store.reference(there.store.read(voice.voice_id)) == SOUND
    trouble.close()


def test_a_store_that_is_full_loses_nothing(region: MakeRegion, server: S3Server) -> None:
    server.kill()
    server.start(largest_file=100)
    here, there = region("here"), region("there")
    here.add(made_up("Anna"))
    with pytest.raises(BaseError):
        here.send()
    there.fetch()
    assert there.names() == set()
    assert here.mirror.lag().waiting == 1
    server.kill()
    server.start()
    here.send()
    there.fetch()
    assert there.names() == {"Anna"}


def test_damaged_objects_are_left_out(region: MakeRegion, server: S3Server, caplog: pytest.LogCaptureFixture) -> None:
    here = region("here")
    good, bad_voice, bad_sound = (here.add(made_up(name)) for name in ("Good", "Bad voice", "Bad sound"))
    here.send()
    path = f"voices/{bad_voice.voice_id}/voice.json"
    stored = json.loads(server.get(path))
    stored["voice"]["name"] = "Mallory"
    server.put(path, json.dumps(stored).encode())
    server.put(f"voices/{bad_sound.voice_id}/{StoredReference.of(SOUND).name}", b"another")
    for name, content in (("custom-x", b"{}"), ("x/y", b"{}"), (made_up().voice_id, b"x" * 2_000_000)):
        server.put(f"voices/{name}/voice.json", content)
    there = region("there")
    there.fetch()
    assert there.names() == {"Good"}
    assert bad_voice.voice_id in caplog.text
    assert bad_sound.voice_id in caplog.text
    assert here.names() == {"Good", "Bad voice", "Bad sound"}, "what is whole here stays"
    assert good.voice_id not in caplog.text


def test_a_voice_that_was_damaged_here_is_fetched_again(region: MakeRegion, tmp_path: Path) -> None:
    here = region("here")
    voice = here.add(made_up("Anna"))
    here.send()
    (tmp_path / "here" / voice.voice_id / "voice.json").write_bytes(b"{}")
    here = region("here")
    assert here.voices.resolve(voice.voice_id) is here.voices.default
    here.fetch()
    assert here.voices.find(voice.voice_id).name == "Anna"


def test_a_mirror_that_is_new_or_was_emptied_gets_what_is_there(
    region: MakeRegion, server: S3Server, tmp_path: Path
) -> None:
    voice = made_up("Older than the mirror")
    VoiceStore(tmp_path / "here").add(voice, SOUND)
    here = region("here")
    assert here.pending_uploads.pending() == []
    here.fetch()
    here.send()
    assert f"voices/{voice.voice_id}/voice.json" in server.objects()
    for path in server.objects():
        server.delete(path)
    here.fetch()
    here.send()
    assert f"voices/{voice.voice_id}/voice.json" in server.objects()


def test_one_voice_that_never_works_does_not_hold_up_others(
    region: MakeRegion, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = region("here")
    stuck = [here.add(made_up(f"Stuck {n}")).voice_id for n in range(3)]
    here.add(made_up("Anna"))
    sent = here.mirror._put

    async def put(voice: CustomVoice, reference: bytes | None) -> None:
        if voice.voice_id in stuck:
            raise OSError("too large")
        await sent(voice, reference)

    monkeypatch.setattr(here.mirror, "_put", put)
    for _ in range(2):
        with pytest.raises(OSError, match="too large"):
            here.send()
    assert [note.voice_id for note in here.pending_uploads.pending()] == stuck


def test_in_a_folder(tmp_path: Path) -> None:
    store, pending_uploads = (
        VoiceStore(tmp_path / "here", PendingUploads(tmp_path / "out")),
        PendingUploads(tmp_path / "out"),
    )
    mirror = VoiceSync(
        open_object_store((tmp_path / "shared folder").as_uri()), store, pending_uploads, lambda: None, 1
    )
    voice = made_up()
    store.add(voice, SOUND)
    asyncio.run(mirror.send())
    other = VoiceStore(tmp_path / "there")
    mirror = VoiceSync(
        open_object_store((tmp_path / "shared folder").as_uri()), other, pending_uploads, lambda: None, 1
    )
    asyncio.run(mirror.fetch())
    assert other.read(voice.voice_id).name == "Anna"


def test_two_servers(
    server: S3Server, tmp_path: Path, phonemizer: Phonemizer, spoken: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two regions over HTTP: what one of them clones, the other one speaks with, and the other way round it ends."""
    for name, value in environment(server.port).items():
        monkeypatch.setenv(name, value)

    def served(name: str) -> TestClient:
        settings = Settings(data_dir=tmp_path / name, voice_mirror=f"s3://{BUCKET}/ours", voice_mirror_seconds=0.1)
        return TestClient(create_app(settings, Pipeline(FakeEngine(), phonemizer), encoder=load_stand_in))

    def until(condition: Callable[[], bool]) -> None:
        for _ in range(1_200):  # a minute: long enough for any machine, and not for ever
            if condition():
                return
            time.sleep(0.05)
        raise AssertionError("it did not happen")

    with served("here") as here, served("there") as there:
        for client in (here, there):
            until(lambda client=client: client.get("/readyz").status_code == 200)  # type: ignore[misc]
        files = {"files": ("x", encoded(spoken, "mp3"))}
        voice = here.post("/voices", data={"name": "Anna"}, files=files).json()
        path = f"/v1/voices/{voice['voice_id']}"
        until(lambda: there.get(path).json()["name"] == "Anna")
        copy = there.get(path).json()
        assert {**copy, "preview_url": "", "verified_languages": []} == {
            **voice,
            "preview_url": "",
            "verified_languages": [],
        }
        assert there.get(copy["preview_url"]).status_code == 200
        server.kill()
        other = here.post("/voices", data={"name": "Berta"}, files=files)
        assert other.status_code == 200, "the store being down does not fail a clone"
        until(lambda: here.get("/readyz").json()["voice_mirror"]["lag_seconds"] > 0)
        assert here.get("/readyz").status_code == 200
        assert "svc_voice_mirror_waiting 1\n" in here.get("/metrics").text
        assert there.delete(f"/voices/{voice['voice_id']}").status_code == 200
        server.start()
        until(lambda: here.get(path).json()["name"] != "Anna")
        until(lambda: there.get(f"/v1/voices/{other.json()['voice_id']}").json()["name"] == "Berta")
        until(lambda: here.get("/readyz").json()["voice_mirror"]["waiting"] == 0)
    with served("new") as new:
        until(lambda: new.get(f"/v1/voices/{other.json()['voice_id']}").json()["name"] == "Berta")
        assert new.get(path).json()["name"] != "Anna"
