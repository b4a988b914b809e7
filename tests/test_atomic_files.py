"""Files are on disk when a function returns: the content first, then the name."""

import os
from pathlib import Path

import pytest

from svc.storage import atomic_files


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What the disk is told of that folder, in order."""
    events: list[str] = []
    sync, replace, unlink = os.fsync, Path.replace, Path.unlink

    def note_sync(descriptor: int) -> None:
        events.append(f"sync {Path(f'/proc/self/fd/{descriptor}').readlink().name}")
        sync(descriptor)

    def note_replace(file: Path, target: Path) -> Path:
        events.append(f"rename {file.name} {target.name}")
        return replace(file, target)

    def note_unlink(file: Path, missing_ok: bool = False) -> None:
        events.append(f"unlink {file.name}")
        unlink(file, missing_ok)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "replace", note_replace)
    monkeypatch.setattr(Path, "unlink", note_unlink)
    return events


def test_a_written_file_survives_a_crash_of_the_machine(events: list[str], tmp_path: Path) -> None:
    file = tmp_path / "voice.json"
    atomic_files.write(file, b"new")
    assert events == ["sync voice.json.new", "rename voice.json.new voice.json", f"sync {tmp_path.name}"]
    assert file.read_bytes() == b"new"


def test_a_removal_survives_a_crash_of_the_machine(events: list[str], tmp_path: Path) -> None:
    file = tmp_path / "voice.json"
    file.write_bytes(b"old")
    atomic_files.remove(file)
    atomic_files.remove(file)
    assert events == ["unlink voice.json", f"sync {tmp_path.name}"] * 2
    assert not file.exists()


def test_what_is_set_aside_keeps_its_content_and_ending(events: list[str], tmp_path: Path) -> None:
    asides = []
    for content in (b"one", b"two"):
        file = tmp_path / "settings.json"
        file.write_bytes(content)
        asides.append(atomic_files.set_aside(file))
        assert not file.exists()
    assert [aside.read_bytes() for aside in asides] == [b"one", b"two"]
    assert all(aside.match("settings.damaged-*.json") for aside in asides)
    assert events == [f"sync {tmp_path.name}"] * 2


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_what_is_no_file_is_never_opened(make: object, tmp_path: Path) -> None:
    """A pipe would wait for somebody at its other end."""
    assert callable(make)
    for name in ("lock", "voice.json", "other.json.new"):
        make(tmp_path / name)
    with pytest.raises(atomic_files.NotAFile):
        atomic_files.read(tmp_path / "voice.json")
    with pytest.raises(atomic_files.NotAFile):
        atomic_files.write(tmp_path / "other.json", b"")
    for lock in (atomic_files.hold_lock, atomic_files.try_lock):
        with pytest.raises(atomic_files.NotAFile), lock(tmp_path / "lock"):
            pass


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    with atomic_files.try_lock(tmp_path / "lock") as first, atomic_files.try_lock(tmp_path / "lock") as second:
        assert (first, second) == (True, False)
    with atomic_files.hold_lock(tmp_path / "lock"), atomic_files.try_lock(tmp_path / "lock") as third:
        assert not third
    with atomic_files.try_lock(tmp_path / "lock") as free:
        assert free


def test_discarding_never_fails(tmp_path: Path) -> None:
    folder, file, linked = tmp_path / "folder", tmp_path / "file", tmp_path / "link"
    (folder / "in it").mkdir(parents=True)
    file.write_bytes(b"")
    kept = tmp_path / "kept"
    kept.mkdir()
    linked.symlink_to(kept)
    for path in (folder, file, linked, tmp_path / "nothing"):
        atomic_files.discard(path)
    assert list(tmp_path.iterdir()) == [kept]
