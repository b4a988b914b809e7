"""Voice sync against a real S3 server: regions exchange voices, and no failure of the store loses one."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from obstore.exceptions import BaseError

from svc.app import create_app
from svc.audio.samples import Samples
from svc.auth.keys import ANYONE
from svc.engine.fake import FakeEngine
from svc.errors import VoiceNotFound
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import CustomVoice, StoredReference
from svc.voices.custom_voices import CustomVoices
from svc.voices.object_store import StoredVoice, open_object_store
from svc.voices.store import PendingUploads, VoiceStore
from svc.voices.sync import VoiceSync
from tests.audio.recordings import encode_recording
from tests.cloning.fakes import load_fake_encoder
from tests.voices.examples import make_voice
from tests.voices.s3_server import BUCKET, FailingProxy, S3Server, environment, open_bucket

pytestmark = pytest.mark.real

BUILT_IN = load_built_in_voices()
REFERENCE = b"reference"


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
    sync: VoiceSync

    def add(self, voice: CustomVoice) -> CustomVoice:
        self.store.add(voice, REFERENCE)
        return voice

    def rename(self, voice: CustomVoice, name: str) -> None:
        self.store.change(
            voice.voice_id,
            lambda known: replace(known, name=name, revision=known.revision + 1, changed_at=time.time()),
        )

    def upload(self) -> None:
        asyncio.run(self.sync.upload())

    def fetch(self) -> None:
        asyncio.run(self.sync.fetch())

    def names(self) -> set[str]:
        return {self.store.read(voice_id).name for voice_id in self.store.signatures()}


MakeRegion = Callable[..., Region]


@pytest.fixture
def region(tmp_path: Path, server: S3Server) -> MakeRegion:
    """The voices of one server; called again with the same name, it is that server after a restart."""

    def region(name: str, port: int | None = None, timeout: float = 10.0) -> Region:
        folder = tmp_path / name
        store, voices = VoiceStore(folder, track_uploads=True), VoiceCatalogue(BUILT_IN)
        assert store.pending_uploads
        custom_voices = CustomVoices(store, voices)
        custom_voices.load()
        sync = VoiceSync(open_bucket(port or server.port, timeout), store, custom_voices.refresh, 0.1)
        return Region(store, store.pending_uploads, voices, sync)

    return region


def test_regions_exchange_additions_changes_and_removals(region: MakeRegion, server: S3Server) -> None:
    here, there = region("here"), region("there")
    voice = here.add(make_voice("Anna"))
    here.upload()
    assert server.objects() == {
        f"voices/{voice.voice_id}/voice.json",
        f"voices/{voice.voice_id}/{StoredReference.of(REFERENCE).name}",
    }
    there.fetch()
    assert there.voices.find(voice.voice_id).name == "Anna"
    assert there.store.read_reference(there.store.read(voice.voice_id)) == REFERENCE
    assert there.pending_uploads.read_all() == [], "what was fetched is not uploaded again"
    there.rename(voice, "Berta")
    there.upload()
    here.fetch()
    assert here.voices.find(voice.voice_id).name == "Berta"
    there.store.remove(voice.voice_id)
    there.upload()
    assert server.objects() == {f"removed/{voice.voice_id}"}
    here.fetch()
    assert here.voices.resolve(voice.voice_id, ANYONE) is here.voices.default
    assert here.sync.lag().waiting == 0


def test_a_removed_voice_does_not_come_back(region: MakeRegion, server: S3Server) -> None:
    here, there = region("here"), region("there")
    voice = here.add(make_voice())
    here.upload()
    there.fetch()
    here.store.remove(voice.voice_id)
    there.rename(voice, "Removed elsewhere")
    here.upload()
    there.upload()  # a change of a voice that was removed elsewhere
    for each in (here, there, region("here"), region("there"), region("new")):
        each.upload()
        each.fetch()
        with pytest.raises(VoiceNotFound):
            each.store.read(voice.voice_id)
    assert server.objects() == {f"removed/{voice.voice_id}"}


def test_a_removed_voice_that_is_put_back_into_the_bucket_stays_removed(region: MakeRegion, server: S3Server) -> None:
    here, there = region("here"), region("there")
    voice = here.add(make_voice())
    here.upload()
    path = f"voices/{voice.voice_id}/voice.json"
    content = server.get(path)
    here.store.remove(voice.voice_id)
    here.upload()
    server.put(path, content)
    there.fetch()
    here.fetch()
    assert here.names() == there.names() == set()


def test_of_concurrent_changes_the_later_wins_everywhere(region: MakeRegion) -> None:
    here, there = region("here"), region("there")
    voice = here.add(make_voice())
    here.upload()
    there.fetch()
    here.rename(voice, "Earlier")
    there.rename(voice, "Later")
    there.upload()
    here.upload()
    for each in (here, there, region("third")):
        each.fetch()
        assert each.names() == {"Later"}


def test_a_store_that_is_down_loses_nothing(region: MakeRegion, server: S3Server) -> None:
    here, there = region("here"), region("there")
    gone = here.add(make_voice("Gone"))
    here.upload()
    server.kill()
    here.add(make_voice("Anna"))
    here.store.remove(gone.voice_id)
    for _ in range(2):
        with pytest.raises(BaseError):
            here.upload()
        with pytest.raises(BaseError):
            here.fetch()
    assert here.names() == {"Anna"}
    assert here.sync.lag().waiting == 2
    assert here.sync.lag().seconds > 0
    here = region("here")  # a restart in between
    assert here.sync.lag().waiting == 2
    server.start()
    here.upload()
    assert here.sync.lag().waiting == 0
    there.fetch()
    assert there.names() == {"Anna"}


@pytest.mark.parametrize("mode", ["hang", "cut", "500", "503", "507"])
def test_a_store_that_fails_loses_nothing(mode: str, region: MakeRegion, server: S3Server) -> None:
    proxy = FailingProxy(server.port)
    here, there = region("here", proxy.port, timeout=1.0), region("there")
    voice = here.add(make_voice("Anna"))
    proxy.mode = mode  # type: ignore[assignment]
    with pytest.raises(BaseError):
        here.upload()
    assert here.sync.lag().waiting == 1
    there.fetch()
    assert there.names() == set()
    proxy.mode = "none"
    region("here", proxy.port).upload()
    there.fetch()
    assert there.names() == {"Anna"}
    assert there.store.read_reference(there.store.read(voice.voice_id)) == REFERENCE
    proxy.close()


def test_a_store_that_is_full_loses_nothing(region: MakeRegion, server: S3Server) -> None:
    server.kill()
    server.start(largest_file=100)
    here, there = region("here"), region("there")
    here.add(make_voice("Anna"))
    with pytest.raises(BaseError):
        here.upload()
    there.fetch()
    assert there.names() == set()
    assert here.sync.lag().waiting == 1
    server.kill()
    server.start()
    here.upload()
    there.fetch()
    assert there.names() == {"Anna"}


def test_damaged_objects_are_not_fetched(
    region: MakeRegion, server: S3Server, caplog: pytest.LogCaptureFixture
) -> None:
    here = region("here")
    good, bad_voice, bad_reference = (here.add(make_voice(name)) for name in ("Good", "Bad voice", "Bad reference"))
    here.upload()
    path = f"voices/{bad_voice.voice_id}/voice.json"
    stored = json.loads(server.get(path))
    stored["voice"]["name"] = "Mallory"
    server.put(path, json.dumps(stored).encode())
    server.put(f"voices/{bad_reference.voice_id}/{StoredReference.of(REFERENCE).name}", b"another")
    for name, content in (("custom-x", b"{}"), ("x/y", b"{}"), (make_voice().voice_id, b"x" * 2_000_000)):
        server.put(f"voices/{name}/voice.json", content)
    there = region("there")
    there.fetch()
    assert there.names() == {"Good"}
    assert bad_voice.voice_id in caplog.text
    assert bad_reference.voice_id in caplog.text
    assert here.names() == {"Good", "Bad voice", "Bad reference"}, "intact local voices stay"
    assert good.voice_id not in caplog.text


def test_a_voice_that_is_damaged_on_disk_is_fetched_again(region: MakeRegion, tmp_path: Path) -> None:
    here = region("here")
    voice = here.add(make_voice("Anna"))
    here.upload()
    (tmp_path / "here" / voice.voice_id / "voice.json").write_bytes(b"{}")
    here = region("here")
    assert here.voices.resolve(voice.voice_id, ANYONE) is here.voices.default
    here.fetch()
    assert here.voices.find(voice.voice_id).name == "Anna"


def test_a_new_or_emptied_store_gets_all_voices(region: MakeRegion, server: S3Server, tmp_path: Path) -> None:
    voice = make_voice("Older than the sync")
    VoiceStore(tmp_path / "here").add(voice, REFERENCE)
    here = region("here")
    assert here.pending_uploads.read_all() == []
    here.fetch()
    here.upload()
    assert f"voices/{voice.voice_id}/voice.json" in server.objects()
    for path in server.objects():
        server.delete(path)
    here.fetch()
    here.upload()
    assert f"voices/{voice.voice_id}/voice.json" in server.objects()


def test_voices_that_always_fail_do_not_hold_up_others(
    region: MakeRegion, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = region("here")
    stuck = [here.add(make_voice(f"Stuck {n}")).voice_id for n in range(3)]
    here.add(make_voice("Anna"))
    put = here.sync._put

    async def put_or_fail(voice: CustomVoice, reference: bytes | None, stored: StoredVoice | None) -> None:
        if voice.voice_id in stuck:
            raise OSError("too large")
        await put(voice, reference, stored)

    monkeypatch.setattr(here.sync, "_put", put_or_fail)
    for _ in range(2):
        with pytest.raises(OSError, match="too large"):
            here.upload()
    assert [upload.voice_id for upload in here.pending_uploads.read_all()] == stuck


def test_sync_with_a_folder(tmp_path: Path) -> None:
    url = (tmp_path / "shared folder").as_uri()
    here, there = (VoiceStore(tmp_path / name, track_uploads=True) for name in ("here", "there"))
    voice = make_voice()
    here.add(voice, REFERENCE)
    asyncio.run(VoiceSync(open_object_store(url), here, lambda: None, 1).upload())
    asyncio.run(VoiceSync(open_object_store(url), there, lambda: None, 1).fetch())
    assert there.read(voice.voice_id).name == "Anna"


def test_two_servers_over_http(
    server: S3Server, tmp_path: Path, phonemizer: Phonemizer, spoken: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A voice that one server clones is available on the other one, and a removal comes back the same way."""
    for name, value in environment(server.port).items():
        monkeypatch.setenv(name, value)

    def serve(name: str) -> TestClient:
        mirror = f"s3://{BUCKET}/ours"
        # Refinement goes on here alone, and so its progress.
        settings = Settings(
            data_dir=tmp_path / name, voice_mirror=mirror, voice_mirror_seconds=0.1, refine_voices=False
        )
        return TestClient(create_app(settings, Pipeline(FakeEngine(), phonemizer), encoder=load_fake_encoder))

    def wait_until(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < deadline, "it does not happen"
            time.sleep(0.05)

    with serve("here") as here, serve("there") as there:
        for client in (here, there):
            wait_until(lambda client=client: client.get("/readyz").status_code == 200)  # type: ignore[misc]
        files = {"files": ("x", encode_recording(spoken, "mp3"))}
        voice = here.post("/voices", data={"name": "Anna"}, files=files).json()
        path = f"/v1/voices/{voice['voice_id']}"
        wait_until(lambda: there.get(path).json()["name"] == "Anna")
        copy = there.get(path).json()
        assert {**copy, "preview_url": "", "verified_languages": []} == {
            **voice,
            "preview_url": "",
            "verified_languages": [],
        }
        assert there.get(copy["preview_url"]).status_code == 200
        wait_until(lambda: here.get("/readyz").json()["voice_mirror"]["waiting"] == 0)
        server.kill()
        other = here.post("/voices", data={"name": "Berta"}, files=files)
        assert other.status_code == 200, "cloning works while the store is down"
        wait_until(lambda: here.get("/readyz").json()["voice_mirror"]["lag_seconds"] > 0)
        assert here.get("/readyz").status_code == 200
        # Two if a fetch that began before the upload of Anna has queued her once more.
        waiting = re.compile(r"^svc_voice_mirror_waiting [12]\.0$", re.MULTILINE)
        wait_until(lambda: waiting.search(here.get("/metrics").text) is not None)
        assert there.delete(f"/voices/{voice['voice_id']}").status_code == 200
        server.start()
        wait_until(lambda: here.get(path).json()["name"] != "Anna")
        wait_until(lambda: there.get(f"/v1/voices/{other.json()['voice_id']}").json()["name"] == "Berta")
        wait_until(lambda: here.get("/readyz").json()["voice_mirror"]["waiting"] == 0)
    with serve("new") as new:
        wait_until(lambda: new.get(f"/v1/voices/{other.json()['voice_id']}").json()["name"] == "Berta")
        assert new.get(path).json()["name"] != "Anna"
