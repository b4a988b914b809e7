"""What is to be refined is noted so that a crash, an edit and a damaged file are survived."""

from pathlib import Path

import pytest

from svc import atomic_files
from svc.cloning.refinement import Refinement, RefinementQueue
from svc.cloning.search import GENERATIONS, TRIALS, Search
from svc.errors import NoReference, StorageUnavailable
from svc.voices.custom_voice import CustomVoice
from tests.voices.examples import made_up


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "refining"


@pytest.fixture
def refinement_queue(folder: Path) -> RefinementQueue:
    return RefinementQueue(folder)


def further(refinement_queue: RefinementQueue, voice: CustomVoice) -> Refinement:
    """The refinement of a voice, a generation later."""
    known = refinement_queue.find(voice.voice_id)
    assert known
    return Refinement(voice.voice_id, voice.sound, known.search.after([0.0] * TRIALS))


def test_from_asked_to_dropped(refinement_queue: RefinementQueue) -> None:
    voice = made_up()
    assert refinement_queue.progress(voice) is None
    assert refinement_queue.waiting() == []
    refinement_queue.ask(voice)
    assert refinement_queue.progress(voice) == 0
    assert refinement_queue.go_on(further(refinement_queue, voice))
    assert 0 < (refinement_queue.progress(voice) or 0) < 1
    refinement_queue.drop(voice.voice_id)
    refinement_queue.drop(voice.voice_id)
    assert refinement_queue.progress(voice) is None


def test_asked_twice_it_goes_on(refinement_queue: RefinementQueue) -> None:
    voice = made_up()
    refinement_queue.ask(voice)
    refinement_queue.go_on(further(refinement_queue, voice))
    refinement_queue.ask(voice.changed(name="Another name"))
    assert refinement_queue.progress(voice) != 0


def test_a_voice_that_was_made_anew_begins_anew(refinement_queue: RefinementQueue) -> None:
    voice = made_up()
    refinement_queue.ask(voice)
    before = further(refinement_queue, voice)
    anew = voice.changed(parameters=made_up().parameters)
    assert refinement_queue.progress(anew) is None
    refinement_queue.ask(anew)
    assert refinement_queue.progress(anew) == 0
    assert not refinement_queue.go_on(before)
    refinement_queue.drop(voice.voice_id, voice.sound)
    assert refinement_queue.progress(anew) == 0


def test_what_is_not_wanted_any_more_does_not_come_back(refinement_queue: RefinementQueue) -> None:
    voice = made_up()
    refinement_queue.ask(voice)
    later = further(refinement_queue, voice)
    refinement_queue.drop(voice.voice_id)
    assert not refinement_queue.go_on(later)
    assert refinement_queue.waiting() == []


def test_what_was_begun_goes_first(refinement_queue: RefinementQueue) -> None:
    first, second, third = made_up(), made_up(), made_up()
    for voice in (first, second, third):
        refinement_queue.ask(voice)
    refinement_queue.go_on(further(refinement_queue, third))
    assert refinement_queue.waiting() == [third.voice_id, first.voice_id, second.voice_id]


def test_without_its_recording_there_is_nothing_to_compare_a_voice_with(refinement_queue: RefinementQueue) -> None:
    with pytest.raises(NoReference):
        refinement_queue.ask(made_up(reference=None))


@pytest.mark.parametrize("content", [b"", b"nonsense", b"[]", b"{}", b'{"sound": "x", "search": {}}', b"\xff"])
def test_a_damaged_note_counts_as_none(content: bytes, refinement_queue: RefinementQueue, folder: Path) -> None:
    voice = made_up()
    refinement_queue.ask(voice)
    (folder / voice.voice_id).write_bytes(content)
    assert refinement_queue.find(voice.voice_id) is None
    assert refinement_queue.progress(voice) is None
    assert refinement_queue.waiting() == [voice.voice_id]
    refinement_queue.drop(voice.voice_id, None)
    assert refinement_queue.waiting() == []


def test_a_full_disk_leaves_the_note_that_was_there(
    refinement_queue: RefinementQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    voice = made_up()
    refinement_queue.ask(voice)
    later = further(refinement_queue, voice)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic_files, "write", full)
        with pytest.raises(StorageUnavailable):
            refinement_queue.go_on(later)
    assert refinement_queue.progress(voice) == 0


def test_what_a_crash_left_beside_it_is_no_note(refinement_queue: RefinementQueue, folder: Path) -> None:
    folder.mkdir()
    (folder / f"{made_up().voice_id}{atomic_files.BESIDE}").write_bytes(b"")
    assert refinement_queue.waiting() == []


def test_a_search_that_is_done_has_come_all_the_way(refinement_queue: RefinementQueue) -> None:
    voice = made_up()
    refinement_queue.ask(voice)
    done = Search(GENERATIONS, Search.start().centre)
    refinement_queue.go_on(Refinement(voice.voice_id, voice.sound, done))
    assert refinement_queue.progress(voice) == 1
