"""What is to be refined is noted so that a crash, an edit and a damaged file are survived."""

from pathlib import Path

import pytest

from svc import atomic_files as durable
from svc.cloning.refinement_queue import Refinement, Refinements
from svc.cloning.search import GENERATIONS, TRIALS, Search
from svc.errors import NoReference, StorageUnavailable
from svc.voices.custom_voice import CustomVoice
from tests.voices.examples import made_up


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "refining"


@pytest.fixture
def refinements(folder: Path) -> Refinements:
    return Refinements(folder)


def further(refinements: Refinements, voice: CustomVoice) -> Refinement:
    """The refinement of a voice, a generation later."""
    known = refinements.find(voice.voice_id)
    assert known
    return Refinement(voice.voice_id, voice.sound, known.search.after([0.0] * TRIALS))


def test_from_asked_to_dropped(refinements: Refinements) -> None:
    voice = made_up()
    assert refinements.progress(voice) is None
    assert refinements.waiting() == []
    refinements.ask(voice)
    assert refinements.progress(voice) == 0
    assert refinements.go_on(further(refinements, voice))
    assert 0 < (refinements.progress(voice) or 0) < 1
    refinements.drop(voice.voice_id)
    refinements.drop(voice.voice_id)
    assert refinements.progress(voice) is None


def test_asked_twice_it_goes_on(refinements: Refinements) -> None:
    voice = made_up()
    refinements.ask(voice)
    refinements.go_on(further(refinements, voice))
    refinements.ask(voice.changed(name="Another name"))
    assert refinements.progress(voice) != 0


def test_a_voice_that_was_made_anew_begins_anew(refinements: Refinements) -> None:
    voice = made_up()
    refinements.ask(voice)
    before = further(refinements, voice)
    anew = voice.changed(parameters=made_up().parameters)
    assert refinements.progress(anew) is None
    refinements.ask(anew)
    assert refinements.progress(anew) == 0
    assert not refinements.go_on(before)
    refinements.drop(voice.voice_id, voice.sound)
    assert refinements.progress(anew) == 0


def test_what_is_not_wanted_any_more_does_not_come_back(refinements: Refinements) -> None:
    voice = made_up()
    refinements.ask(voice)
    later = further(refinements, voice)
    refinements.drop(voice.voice_id)
    assert not refinements.go_on(later)
    assert refinements.waiting() == []


def test_what_was_begun_goes_first(refinements: Refinements) -> None:
    first, second, third = made_up(), made_up(), made_up()
    for voice in (first, second, third):
        refinements.ask(voice)
    refinements.go_on(further(refinements, third))
    assert refinements.waiting() == [third.voice_id, first.voice_id, second.voice_id]


def test_without_its_recording_there_is_nothing_to_compare_a_voice_with(refinements: Refinements) -> None:
    with pytest.raises(NoReference):
        refinements.ask(made_up(reference=None))


@pytest.mark.parametrize("content", [b"", b"nonsense", b"[]", b"{}", b'{"sound": "x", "search": {}}', b"\xff"])
def test_a_damaged_note_counts_as_none(content: bytes, refinements: Refinements, folder: Path) -> None:
    voice = made_up()
    refinements.ask(voice)
    (folder / voice.voice_id).write_bytes(content)
    assert refinements.find(voice.voice_id) is None
    assert refinements.progress(voice) is None
    assert refinements.waiting() == [voice.voice_id]
    refinements.drop(voice.voice_id, None)
    assert refinements.waiting() == []


def test_a_full_disk_leaves_the_note_that_was_there(refinements: Refinements, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = made_up()
    refinements.ask(voice)
    later = further(refinements, voice)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(durable, "write", full)
        with pytest.raises(StorageUnavailable):
            refinements.go_on(later)
    assert refinements.progress(voice) == 0


def test_what_a_crash_left_beside_it_is_no_note(refinements: Refinements, folder: Path) -> None:
    folder.mkdir()
    (folder / f"{made_up().voice_id}{durable.BESIDE}").write_bytes(b"")
    assert refinements.waiting() == []


def test_a_search_that_is_done_has_come_all_the_way(refinements: Refinements) -> None:
    voice = made_up()
    refinements.ask(voice)
    done = Search(GENERATIONS, Search.start().centre)
    refinements.go_on(Refinement(voice.voice_id, voice.sound, done))
    assert refinements.progress(voice) == 1
