"""Voices on the disk: whole or not there at all, whatever happens on the way."""

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

from svc import atomic_files
from svc.errors import StorageUnavailable, VoiceLimitReached, VoiceNotFound
from svc.voices.catalogue import VoiceCatalogue, built_in
from svc.voices.custom_voice import CustomVoice, DamagedVoice, StoredReference
from svc.voices.custom_voices import CustomVoices
from svc.voices.store import PendingUploads, VoiceStore
from tests.voices.examples import made_up


@pytest.fixture
def store(tmp_path: Path) -> VoiceStore:
    return VoiceStore(tmp_path / "voices", PendingUploads(tmp_path / "outbox"))


def renamed(name: str) -> Callable[[CustomVoice], CustomVoice]:
    return lambda voice: replace(voice, name=name, revision=voice.revision + 1)


def test_what_is_kept_is_what_was_given(store: VoiceStore) -> None:
    voice = made_up()
    store.add(voice, b"reference")
    kept = store.read(voice.voice_id)
    assert kept.to_bytes() == voice.to_bytes()
    assert store.reference(kept) == b"reference"
    assert list(store.signatures()) == [voice.voice_id]


def test_a_change_replaces_the_reference_or_leaves_it(store: VoiceStore, tmp_path: Path) -> None:
    voice = made_up()
    store.add(voice, b"reference")
    store.change(voice.voice_id, renamed("Berta"))
    assert store.reference(store.read(voice.voice_id)) == b"reference"
    store.change(voice.voice_id, lambda known: replace(known, reference=StoredReference.of(b"other")), b"other")
    assert store.reference(store.read(voice.voice_id)) == b"other"
    assert len(list((tmp_path / "voices" / voice.voice_id).iterdir())) == 2


def test_a_removed_voice_never_comes_back(store: VoiceStore) -> None:
    voice = made_up()
    store.add(voice, b"reference")
    store.remove(voice.voice_id)
    for attempt in (
        lambda: store.read(voice.voice_id),
        lambda: store.remove(voice.voice_id),
        lambda: store.change(voice.voice_id, renamed("Berta")),
        lambda: store.add(voice, b"reference"),
    ):
        with pytest.raises(VoiceNotFound):
            attempt()
    assert store.is_removed(voice.voice_id)
    assert store.signatures() == {}


def test_the_limit_holds_for_many_at_once(store: VoiceStore) -> None:
    refused = []

    def add() -> None:
        try:
            store.add(made_up(), b"reference", limit=5)
        except VoiceLimitReached:
            refused.append(1)

    threads = [threading.Thread(target=add) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.signatures()) == 5
    assert len(refused) == 7


def test_damage_is_found(store: VoiceStore, tmp_path: Path) -> None:
    voice = made_up()
    store.add(voice, b"reference")
    folder = tmp_path / "voices" / voice.voice_id
    whole = (folder / "voice.json").read_bytes()
    chance = random.Random(1)
    for _ in range(300):
        damaged = bytearray(whole)
        at = chance.randrange(len(damaged))
        damaged[at] ^= 1 << chance.randrange(8)
        (folder / "voice.json").write_bytes(bytes(damaged))
        with suppress(DamagedVoice):
            assert store.read(voice.voice_id).to_bytes() == whole  # a blank may be any kind of blank
    for content in (b"", b"{}", b"[]", b"null", whole[:100], b'{"format": 2}', b"\xff" * 100):
        (folder / "voice.json").write_bytes(content)
        with pytest.raises(DamagedVoice):
            store.read(voice.voice_id)
    (folder / "voice.json").write_bytes(whole)
    next(folder.glob("reference-*")).write_bytes(b"another")
    with pytest.raises(DamagedVoice):
        store.reference(store.read(voice.voice_id))


def test_a_folder_under_another_name_is_no_voice(store: VoiceStore, tmp_path: Path) -> None:
    voice = made_up()
    store.add(voice, b"reference")
    other = made_up().voice_id
    shutil.copytree(tmp_path / "voices" / voice.voice_id, tmp_path / "voices" / other)
    with pytest.raises(DamagedVoice):
        store.read(other)


def test_the_catalogue_follows_the_disk(store: VoiceStore, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    voices = VoiceCatalogue(built_in())
    mine, elsewhere = CustomVoices(store, voices), VoiceStore(tmp_path / "voices")
    mine.load()
    first, second = made_up("First"), made_up("Second")
    elsewhere.add(first, b"reference")
    mine.refresh()
    assert voices.find(first.voice_id).name == "First"
    held = voices.find("first")
    elsewhere.change(first.voice_id, renamed("Renamed"))
    elsewhere.add(second, b"reference")
    (tmp_path / "voices" / second.voice_id / "voice.json").write_bytes(b"{}")
    mine.refresh()
    assert voices.find(first.voice_id).name == "Renamed"
    assert held.style.shape == (510, 256), "whoever holds a voice can go on speaking with it"
    assert second.voice_id in caplog.text
    with pytest.raises(VoiceNotFound):
        voices.find(second.voice_id)
    elsewhere.remove(first.voice_id)
    mine.refresh()
    assert voices.resolve(first.voice_id) is voices.default


def test_names(store: VoiceStore) -> None:
    voices = VoiceCatalogue(built_in())
    custom_voices = CustomVoices(store, voices)
    older = replace(made_up("Sam"), created_at=10)
    for voice in (replace(made_up("Sam"), created_at=20), older, made_up("Sarah")):
        store.add(voice, b"reference")
    custom_voices.load()
    assert voices.find("sam").voice_id == older.voice_id
    assert voices.find("Sarah").key == "af_sarah"


def test_a_disk_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = VoiceStore(tmp_path / "file")
    with pytest.raises(StorageUnavailable):
        store.add(made_up(), b"reference")
    voices = VoiceCatalogue(built_in())
    CustomVoices(store, voices).load()
    assert len(list(voices)) == 54


@pytest.mark.parametrize("failing", range(1, 12))
def test_a_full_disk_changes_nothing(
    store: VoiceStore, failing: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = made_up()
    store.add(known, b"reference")
    before = store.read(known.voice_id).to_bytes()
    with _interrupted(monkeypatch, failing, OSError(28, "No space left on device")) as count:
        for attempt in (
            lambda: store.add(made_up(), b"reference"),
            lambda: store.change(known.voice_id, renamed("Berta")),
        ):
            try:
                attempt()
            except StorageUnavailable:
                break
    assert count[0] >= failing or failing > 10
    store.tidy()
    for voice_id in store.signatures():
        voice = store.read(voice_id)
        assert store.reference(voice) == b"reference"
        assert voice_id != known.voice_id or voice.to_bytes() == before or voice.name == "Berta"


class _Crash(BaseException):
    """The power is gone."""


@contextmanager
def _interrupted(monkeypatch: pytest.MonkeyPatch, at: int, error: BaseException) -> Iterator[list[int]]:
    """Raises in the place of the so-manyeth thing that would have reached the disk, and of all that follow."""
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


def _settled(tmp_path: Path) -> dict[str, CustomVoice]:
    """What a server finds that starts after the crash. Every voice is whole, and nothing else is left."""
    store = VoiceStore(tmp_path / "voices")
    store.tidy()
    found = {voice_id: store.read(voice_id) for voice_id in store.signatures()}
    for voice in found.values():
        assert store.reference(voice) in (b"reference", b"other")
        folder = tmp_path / "voices" / voice.voice_id
        assert voice.reference is not None
        assert {file.name for file in folder.iterdir()} == {"voice.json", voice.reference.name}
    folders = {folder.name for folder in (tmp_path / "voices").glob("custom-*")}
    assert folders == set(found)
    assert not list((tmp_path / "voices").rglob(f"*{atomic_files.BESIDE}"))
    return found


def test_a_crash_at_any_step(store: VoiceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding, changing and removing, interrupted at each of their steps: the old state or the new one."""
    other = StoredReference.of(b"other")
    for at in range(1, 100):
        added, changed, removed = made_up(), made_up(), made_up()
        store.add(changed, b"reference")
        store.add(removed, b"reference")
        done = []
        with _interrupted(monkeypatch, at, _Crash()) as count:
            try:
                store.add(added, b"reference")
                done.append("added")
                store.change(changed.voice_id, lambda voice: replace(voice, name="B", reference=other), b"other")
                done.append("changed")
                store.remove(removed.voice_id)
                done.append("removed")
            except _Crash:
                pass
        found = _settled(tmp_path)
        assert changed.voice_id in found
        assert ("added" in done) <= (added.voice_id in found)
        assert ("changed" in done) <= (found[changed.voice_id].name == "B")
        assert ("removed" in done) <= (removed.voice_id not in found)
        if done == ["added", "changed", "removed"]:
            assert count[0] < at
            return
    raise AssertionError("it never ends")


_WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from svc.voices.custom_voice import StoredReference
from svc.voices.store import VoiceStore
from tests.voices.examples import made_up

store = VoiceStore(Path(sys.argv[1]) / "voices")
say = lambda *words: print(*words, flush=True)
while True:
    voice = made_up()
    say("adding", voice.voice_id)
    store.add(voice, b"reference")
    say("added", voice.voice_id)
    store.change(voice.voice_id, lambda v: replace(v, name="B", reference=StoredReference.of(b"other")), b"other")
    say("removing", voice.voice_id)
    store.remove(voice.voice_id)
    say("removed", voice.voice_id)
"""


def test_a_process_that_is_killed(tmp_path: Path) -> None:
    chance = random.Random(7)
    for _ in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        ) as writer:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(chance.randrange(1, 30))]
            threading.Event().wait(chance.random() * 0.01)
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.readlines()
        said = [line.split() for line in lines if line.endswith("\n")]
        latest = {voice_id: word for word, voice_id in said}
        found = _settled(tmp_path)
        for voice_id, word in latest.items():
            assert (voice_id in found) or word != "added"
            assert (voice_id not in found) or word != "removed"


def test_what_the_mirror_is_told(tmp_path: Path) -> None:
    pending_uploads = PendingUploads(tmp_path / "outbox")
    store = VoiceStore(tmp_path / "voices", pending_uploads)
    voice, silent = made_up(), made_up()
    store.add(voice, b"reference")
    store.take_over(silent, b"reference")
    (note,) = pending_uploads.pending()
    assert note.voice_id == voice.voice_id
    store.change(voice.voice_id, renamed("Berta"))
    pending_uploads.done(note)
    (later,) = pending_uploads.pending()
    pending_uploads.done(later)
    assert pending_uploads.pending() == []
    store.remove(voice.voice_id)
    assert [each.voice_id for each in pending_uploads.pending()] == [voice.voice_id]
