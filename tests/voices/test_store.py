"""Voices on disk: the old state or the new one, whatever happens in between; pending uploads; the catalogue."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from svc.auth.keys import ANYONE
from svc.errors import StorageUnavailable, VoiceLimitReached, VoiceNotFound
from svc.storage import atomic_files
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import CustomVoice, DamagedVoice, StoredReference
from svc.voices.custom_voices import CustomVoices
from svc.voices.store import VoiceStore
from tests.voices.examples import make_voice


@pytest.fixture
def store(tmp_path: Path) -> VoiceStore:
    return VoiceStore(tmp_path / "voices", track_uploads=True)


def rename_to(name: str) -> Callable[[CustomVoice], CustomVoice]:
    return lambda voice: replace(voice, name=name, revision=voice.revision + 1)


def test_an_added_voice_is_read_again(store: VoiceStore) -> None:
    voice = make_voice()
    store.add(voice, b"reference")
    kept = store.read(voice.voice_id)
    assert kept.to_bytes() == voice.to_bytes()
    assert store.read_reference(kept) == b"reference"
    assert list(store.signatures()) == [voice.voice_id]


def test_a_change_replaces_or_keeps_the_reference(store: VoiceStore, tmp_path: Path) -> None:
    voice = make_voice()
    store.add(voice, b"reference")
    store.change(voice.voice_id, rename_to("Berta"))
    assert store.read_reference(store.read(voice.voice_id)) == b"reference"
    store.change(voice.voice_id, lambda known: replace(known, reference=StoredReference.of(b"other")), b"other")
    assert store.read_reference(store.read(voice.voice_id)) == b"other"
    assert len(list((tmp_path / "voices" / voice.voice_id).iterdir())) == 2


def test_a_removed_voice_never_comes_back(store: VoiceStore) -> None:
    voice = make_voice()
    store.add(voice, b"reference")
    store.remove(voice.voice_id)
    for attempt in (
        lambda: store.read(voice.voice_id),
        lambda: store.remove(voice.voice_id),
        lambda: store.change(voice.voice_id, rename_to("Berta")),
        lambda: store.add(voice, b"reference"),
    ):
        with pytest.raises(VoiceNotFound):
            attempt()
    assert store.is_removed(voice.voice_id)
    assert store.signatures() == {}


def test_the_limit_holds_for_concurrent_additions(store: VoiceStore) -> None:
    refused = []

    def add() -> None:
        try:
            store.add(make_voice(), b"reference", limit=5)
        except VoiceLimitReached:
            refused.append(1)

    threads = [threading.Thread(target=add) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.signatures()) == 5
    assert len(refused) == 7


def test_damage_is_detected(store: VoiceStore, tmp_path: Path) -> None:
    voice = make_voice()
    store.add(voice, b"reference")
    folder = tmp_path / "voices" / voice.voice_id
    whole = (folder / "voice.json").read_bytes()
    generator = random.Random(1)
    for _ in range(300):
        damaged = bytearray(whole)
        at = generator.randrange(len(damaged))
        damaged[at] ^= 1 << generator.randrange(8)
        (folder / "voice.json").write_bytes(bytes(damaged))
        with suppress(DamagedVoice):
            assert store.read(voice.voice_id).to_bytes() == whole  # one kind of white space in the place of another
    for content in (b"", b"{}", b"[]", b"null", whole[:100], b'{"format": 2}', b"\xff" * 100):
        (folder / "voice.json").write_bytes(content)
        with pytest.raises(DamagedVoice):
            store.read(voice.voice_id)
    (folder / "voice.json").write_bytes(whole)
    next(folder.glob("reference-*")).write_bytes(b"another")
    with pytest.raises(DamagedVoice):
        store.read_reference(store.read(voice.voice_id))


def test_a_folder_with_the_name_of_another_voice_is_damaged(store: VoiceStore, tmp_path: Path) -> None:
    voice = make_voice()
    store.add(voice, b"reference")
    other = make_voice().voice_id
    shutil.copytree(tmp_path / "voices" / voice.voice_id, tmp_path / "voices" / other)
    with pytest.raises(DamagedVoice):
        store.read(other)


def test_the_catalogue_follows_changes_on_disk(
    store: VoiceStore, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    voices = VoiceCatalogue(load_built_in_voices())
    custom_voices, other_process = CustomVoices(store, voices), VoiceStore(tmp_path / "voices")
    custom_voices.load()
    first, second = make_voice("First"), make_voice("Second")
    other_process.add(first, b"reference")
    custom_voices.refresh()
    assert voices.find(first.voice_id).name == "First"
    held = voices.find("first")
    other_process.change(first.voice_id, rename_to("Renamed"))
    other_process.add(second, b"reference")
    (tmp_path / "voices" / second.voice_id / "voice.json").write_bytes(b"{}")
    custom_voices.refresh()
    assert voices.find(first.voice_id).name == "Renamed"
    assert held.style.shape == (510, 256), "a request that holds the voice can continue"
    assert second.voice_id in caplog.text
    with pytest.raises(VoiceNotFound):
        voices.find(second.voice_id)
    other_process.remove(first.voice_id)
    custom_voices.refresh()
    assert voices.resolve(first.voice_id, ANYONE) is voices.default


def test_of_voices_with_the_same_name_the_built_in_or_oldest_is_found(store: VoiceStore) -> None:
    voices = VoiceCatalogue(load_built_in_voices())
    custom_voices = CustomVoices(store, voices)
    older = replace(make_voice("Sam"), created_at=10)
    for voice in (replace(make_voice("Sam"), created_at=20), older, make_voice("Sarah")):
        store.add(voice, b"reference")
    custom_voices.load()
    assert voices.find("sam").voice_id == older.voice_id
    assert voices.find("Sarah").key == "af_sarah"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = VoiceStore(tmp_path / "file")
    with pytest.raises(StorageUnavailable):
        store.add(make_voice(), b"reference")
    voices = VoiceCatalogue(load_built_in_voices())
    CustomVoices(store, voices).load()
    assert len(list(voices)) == 54


@pytest.mark.parametrize("failing", range(1, 12))
def test_a_full_disk_damages_nothing(
    store: VoiceStore, failing: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = make_voice()
    store.add(known, b"reference")
    before = store.read(known.voice_id).to_bytes()
    with _interrupt(monkeypatch, failing, OSError(28, "No space left on device")) as count:
        for attempt in (
            lambda: store.add(make_voice(), b"reference"),
            lambda: store.change(known.voice_id, rename_to("Berta")),
        ):
            try:
                attempt()
            except StorageUnavailable:
                break
    assert count[0] >= failing or failing > 10
    store.tidy()
    for voice_id in store.signatures():
        voice = store.read(voice_id)
        assert store.read_reference(voice) == b"reference"
        assert voice_id != known.voice_id or voice.to_bytes() == before or voice.name == "Berta"


class _Crash(BaseException):
    """The process stops at this point."""


@contextmanager
def _interrupt(monkeypatch: pytest.MonkeyPatch, at: int, error: BaseException) -> Iterator[list[int]]:
    """Raises in place of the `at`th disk operation and of all that follow."""
    count = [0]

    def failing(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            count[0] += 1
            if count[0] >= at:
                raise error
            return function(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "mkdir"), (Path, "unlink"), (shutil, "rmtree")):
            patch.setattr(owner, name, failing(getattr(owner, name)))
        yield count


def _restart(tmp_path: Path) -> dict[str, CustomVoice]:
    """The voices after a restart: every one is complete, and nothing else is left."""
    store = VoiceStore(tmp_path / "voices")
    store.tidy()
    found = {voice_id: store.read(voice_id) for voice_id in store.signatures()}
    for voice in found.values():
        assert store.read_reference(voice) in (b"reference", b"other")
        folder = tmp_path / "voices" / voice.voice_id
        assert voice.reference is not None
        assert {file.name for file in folder.iterdir()} == {"voice.json", voice.reference.name}
    folders = {folder.name for folder in (tmp_path / "voices").glob("custom-*")}
    assert folders == set(found)
    leftovers = (tmp_path / "voices").rglob(f"*{atomic_files.TEMPORARY_SUFFIX}")
    assert not [file for file in leftovers if file.parent.name != "outbox"]  # there, the next write replaces it
    return found


@pytest.mark.slow
def test_a_crash_at_any_step(store: VoiceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding, changing and removing, interrupted at each disk operation."""
    other = StoredReference.of(b"other")
    for at in range(1, 100):
        added, changed, removed = make_voice(), make_voice(), make_voice()
        store.add(changed, b"reference")
        store.add(removed, b"reference")
        done = []
        with _interrupt(monkeypatch, at, _Crash()) as count:
            try:
                store.add(added, b"reference")
                done.append("added")
                store.change(changed.voice_id, lambda voice: replace(voice, name="B", reference=other), b"other")
                done.append("changed")
                store.remove(removed.voice_id)
                done.append("removed")
            except _Crash:
                pass
        found = _restart(tmp_path)
        assert changed.voice_id in found
        assert ("added" in done) <= (added.voice_id in found)
        assert ("changed" in done) <= (found[changed.voice_id].name == "B")
        assert ("removed" in done) <= (removed.voice_id not in found)
        if done == ["added", "changed", "removed"]:
            assert count[0] < at
            return
    raise AssertionError("the operations never completed")


_WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from svc.voices.custom_voice import StoredReference
from svc.voices.store import VoiceStore
from tests.voices.examples import make_voice

store = VoiceStore(Path(sys.argv[1]) / "voices")
say = lambda *words: print(*words, flush=True)
while True:
    voice = make_voice()
    say("adding", voice.voice_id)
    store.add(voice, b"reference")
    say("added", voice.voice_id)
    store.change(voice.voice_id, lambda v: replace(v, name="B", reference=StoredReference.of(b"other")), b"other")
    say("removing", voice.voice_id)
    store.remove(voice.voice_id)
    say("removed", voice.voice_id)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_no_damage(tmp_path: Path) -> None:
    generator = random.Random(7)
    for _ in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        ) as writer:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(generator.randrange(1, 30))]
            threading.Event().wait(generator.random() * 0.01)
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.readlines()
        said = [line.split() for line in lines if line.endswith("\n")]
        latest = {voice_id: word for word, voice_id in said}
        found = _restart(tmp_path)
        for voice_id, word in latest.items():
            assert (voice_id in found) or word != "added"
            assert (voice_id not in found) or word != "removed"


def test_changes_become_pending_uploads(store: VoiceStore) -> None:
    pending_uploads = store.pending_uploads
    assert pending_uploads
    voice, fetched = make_voice(), make_voice()
    store.add(voice, b"reference")
    store.save_fetched(fetched, b"reference")
    (upload,) = pending_uploads.read_all()
    assert upload.voice_id == voice.voice_id
    store.change(voice.voice_id, rename_to("Berta"))
    pending_uploads.complete(upload)
    (later,) = pending_uploads.read_all()
    pending_uploads.complete(later)
    assert pending_uploads.read_all() == []
    store.remove(voice.voice_id)
    assert [each.voice_id for each in pending_uploads.read_all()] == [voice.voice_id]


def test_without_tracking_there_are_no_pending_uploads(tmp_path: Path) -> None:
    store = VoiceStore(tmp_path / "voices")
    store.add(make_voice(), b"reference")
    assert store.pending_uploads is None
    assert not (tmp_path / "voices/outbox").exists()
