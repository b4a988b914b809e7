"""The refinement queue on disk survives a crash, an edit and a damaged file."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from svc.cloning.refinement_queue import STEPS, Refinement, RefinementQueue
from svc.errors import NoReference, StorageUnavailable
from svc.storage import atomic_files
from svc.voices.custom_voice import CustomVoice
from tests.voices.examples import make_voice


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "refining"


@pytest.fixture
def queue(folder: Path) -> RefinementQueue:
    return RefinementQueue(folder)


def advance(queue: RefinementQueue, voice: CustomVoice) -> Refinement:
    """The refinement of a queued voice, one step later."""
    known = queue.find(voice.voice_id)
    assert known
    return replace(known, steps_done=known.steps_done + 1)


def test_a_voice_is_added_updated_and_removed(queue: RefinementQueue) -> None:
    voice = make_voice()
    assert queue.progress(voice) is None
    assert queue.waiting() == []
    queue.add(voice)
    assert queue.progress(voice) == 0
    assert queue.update(advance(queue, voice))
    assert 0 < (queue.progress(voice) or 0) < 1
    queue.remove(voice.voice_id)
    queue.remove(voice.voice_id)
    assert queue.progress(voice) is None


def test_progress_goes_from_0_to_1(queue: RefinementQueue) -> None:
    voice = make_voice()
    queue.add(voice)
    seen = [queue.progress(voice)]
    for _ in range(STEPS):
        queue.update(advance(queue, voice))
        seen.append(queue.progress(voice))
    assert seen == sorted(set(seen), key=lambda progress: progress or 0)
    assert (seen[0], seen[-1]) == (0, 1)


def test_voices_of_earlier_releases_are_queued_once(queue: RefinementQueue, folder: Path) -> None:
    known, later = make_voice(), make_voice()
    queue.add_earlier([known])
    queue.remove(known.voice_id)
    RefinementQueue(folder).add_earlier([known, later])
    assert queue.waiting() == []


def test_added_twice_it_continues(queue: RefinementQueue) -> None:
    voice = make_voice()
    queue.add(voice)
    queue.update(advance(queue, voice))
    queue.add(voice.revise(name="Another name"))
    assert queue.progress(voice) != 0


def test_a_voice_with_new_parameters_starts_again(queue: RefinementQueue) -> None:
    voice = make_voice()
    queue.add(voice)
    before = advance(queue, voice)
    changed = voice.revise(parameters=make_voice().parameters)
    assert queue.progress(changed) is None
    queue.add(changed)
    assert queue.progress(changed) == 0
    assert not queue.update(before)
    queue.remove(voice.voice_id, voice.parameters_hash)
    assert queue.progress(changed) == 0


def test_an_update_does_not_bring_back_a_removed_refinement(queue: RefinementQueue) -> None:
    voice = make_voice()
    queue.add(voice)
    later = advance(queue, voice)
    queue.remove(voice.voice_id)
    assert not queue.update(later)
    assert queue.waiting() == []


def test_a_voice_that_was_begun_goes_first(queue: RefinementQueue) -> None:
    first, second, third = make_voice(), make_voice(), make_voice()
    for voice in (first, second, third):
        queue.add(voice)
    queue.update(advance(queue, third))
    assert queue.waiting() == [third.voice_id, first.voice_id, second.voice_id]


def test_a_voice_without_a_reference_is_refused(queue: RefinementQueue) -> None:
    with pytest.raises(NoReference):
        queue.add(make_voice(reference=None))


@pytest.mark.parametrize(
    "search", [{}, {"generation": 5, "centre": [0.1, -0.2]}, {"generation": 13, "centre": [0.0] * 17}], ids=str
)
def test_a_file_of_an_older_release_counts_as_queued(
    search: dict[str, object], queue: RefinementQueue, folder: Path
) -> None:
    """They hold the state of a search that is gone."""
    voice = make_voice()
    folder.mkdir()
    content = f'{{"sound": "{voice.parameters_hash}", "search": {search}}}'.replace("'", '"')
    (folder / voice.voice_id).write_text(content)
    queue.refresh()
    assert queue.progress(voice) == 0
    assert queue.waiting() == [voice.voice_id]
    assert queue.update(advance(queue, voice))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"sound": "x", "steps_done": "many"}',
        b'{"sound": "x", "steps_done": 99}',
        b'{"sound": "x", "steps_done": null}',
        b'{"sound": "x", "steps_done": 1e999}',
        b'{"sound": "x", "steps_done": -1}',
        b"[" * 200_000,
        b"\xff",
    ],
)
def test_a_damaged_file_is_no_refinement(content: bytes, queue: RefinementQueue, folder: Path) -> None:
    voice = make_voice()
    queue.add(voice)
    (folder / voice.voice_id).write_bytes(content)
    queue.refresh()
    assert queue.find(voice.voice_id) is None
    assert queue.progress(voice) is None
    assert queue.waiting() == [voice.voice_id], "the worker removes it"
    queue.remove(voice.voice_id, None)
    assert queue.waiting() == []
    (aside,) = folder.glob(f"{voice.voice_id}.damaged-*")
    assert aside.read_bytes() == content


def test_on_a_full_disk_the_old_file_remains(queue: RefinementQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = make_voice()
    queue.add(voice)
    later = advance(queue, voice)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic_files, "write", fail)
        with pytest.raises(StorageUnavailable):
            queue.update(later)
    assert queue.progress(voice) == 0


def test_a_file_that_was_not_finished_before_a_crash_is_ignored(queue: RefinementQueue, folder: Path) -> None:
    folder.mkdir()
    (folder / f"{make_voice().voice_id}{atomic_files.TEMPORARY_SUFFIX}").write_bytes(b"")
    assert queue.waiting() == []


def test_progress_reads_no_file(queue: RefinementQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of voices show it for each clone, on the event loop."""
    voices = [make_voice() for _ in range(3)]
    queue.add(voices[0])

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a file is read")

    for name in ("open", "stat", "iterdir"):
        monkeypatch.setattr(Path, name, fail)
    assert [queue.progress(voice) for voice in voices] == [0, None, None]


def test_what_another_process_queues_is_seen(queue: RefinementQueue, folder: Path) -> None:
    other, voice = RefinementQueue(folder), make_voice()
    other.add(voice)
    assert queue.waiting() == [voice.voice_id]
    assert queue.progress(voice) == 0
    assert queue.update(advance(queue, voice))
    other.remove(voice.voice_id)
    assert not queue.update(advance(queue, voice)), "cancelled by the other one"
    assert queue.progress(voice) is None


def test_a_cancellation_during_an_update_counts(queue: RefinementQueue, folder: Path) -> None:
    voice, other = make_voice(), RefinementQueue(folder)
    for _ in range(30):
        queue.add(voice)
        later = advance(queue, voice)
        updating = threading.Thread(target=queue.update, args=(later,))
        updating.start()
        other.remove(voice.voice_id)
        updating.join()
        assert queue.waiting() == []
