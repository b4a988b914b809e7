"""Refinement in the background: what becomes of a voice, whatever else happens to it meanwhile."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from svc import atomic_files
from svc.audio import decode, equalizer
from svc.audio.containers import encode_flac
from svc.cloning import refinement as refinement_worker
from svc.cloning import search
from svc.cloning.built_in_embeddings import BuiltInEmbeddings
from svc.cloning.refinement import RefinementWorker
from svc.cloning.refinement_queue import RefinementQueue
from svc.cloning.trial import TrialSynthesis
from svc.engine.protocol import Samples
from svc.errors import EngineUnavailable, ModelLoading
from svc.synthesis.pipeline import Pipeline, SynthesisRequest
from svc.synthesis.scheduler import Scheduler
from svc.text.g2p import Phonemizer
from svc.voices.catalogue import VoiceCatalogue, built_in
from svc.voices.custom_voice import CustomVoice, StoredReference, fainter_than
from svc.voices.custom_voices import CustomVoices
from svc.voices.pending_uploads import PendingUploads
from svc.voices.store import VoiceStore
from tests.cloning.conftest import Made
from tests.cloning.stand_ins import SOMEBODY, BelievingEncoder, TellingEngine
from tests.voices.examples import made_up

RECORDING = encode_flac(np.zeros(3 * decode.RATE, dtype=np.float32), decode.RATE)
VOICES = VoiceCatalogue(built_in())


@dataclass
class House:
    """A server, without its doors."""

    engine: TellingEngine
    encoder: BelievingEncoder
    scheduler: Scheduler
    speech: Pipeline
    custom_voices: CustomVoices
    refinement_queue: RefinementQueue
    refinement_worker: RefinementWorker
    pending_uploads: PendingUploads

    def add(self) -> CustomVoice:
        voice = made_up(reference=RECORDING)
        self.custom_voices.add(voice, RECORDING, 100)
        self.refinement_queue.ask(voice)
        return voice

    def read(self, voice: CustomVoice) -> CustomVoice:
        return self.custom_voices.store.read(voice.voice_id)

    async def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(12_000):  # a minute or more, and not for ever
            if condition():
                return
            await asyncio.sleep(0.005)
        raise AssertionError("it never happens")

    async def settled(self) -> None:
        await self.until(lambda: not self.refinement_queue.waiting())

    def begun(self, voice: CustomVoice) -> Callable[[], bool]:
        return lambda: bool(self.refinement_queue.progress(self.read(voice)))


Build = Callable[..., House]


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "GENERATIONS", 6)
    monkeypatch.setattr(refinement_worker, "_REST", 0.0)
    monkeypatch.setattr(refinement_worker, "_LOOK_EVERY", 0.01)
    monkeypatch.setattr(refinement_worker, "_LONGEST_PAUSE", 0.01)


@pytest.fixture
def build(tmp_path: Path, phonemizer: Phonemizer) -> Build:
    """Called again, it is the server after a restart, or another that shares the folder."""

    def build(name: str = "here") -> House:
        engine, encoder, voices = TellingEngine(), BelievingEncoder(), VoiceCatalogue(built_in())
        speech = Pipeline(engine, phonemizer)
        scheduler = Scheduler(speech.load, 8)
        pending_uploads = PendingUploads(tmp_path / name / "outbox")
        custom_voices = CustomVoices(VoiceStore(tmp_path / name, pending_uploads), voices)
        refinement_queue = RefinementQueue(tmp_path / name / "refining")
        trial = TrialSynthesis(lambda: (encoder, BuiltInEmbeddings({})), speech, scheduler, voices)
        works = RefinementWorker(refinement_queue, trial, custom_voices)
        return House(engine, encoder, scheduler, speech, custom_voices, refinement_queue, works, pending_uploads)

    return build


@pytest.fixture
def house(build: Build) -> House:
    return build()


@asynccontextmanager
async def running(house: House) -> AsyncIterator[None]:
    house.scheduler.start()
    async with house.refinement_worker.running():
        yield
    await house.scheduler.close()


def run(house: House, scene: Coroutine[Any, Any, None]) -> None:
    """Plays a scene while the house is at work."""

    async def main() -> None:
        async with running(house):
            await scene

    asyncio.run(main())


def test_a_voice_becomes_a_better_likeness(house: House) -> None:
    voice = house.add()
    run(house, house.settled())
    after = house.read(voice)
    wanted = SOMEBODY - np.mean([each.style.mean(axis=0) for each in built_in()], axis=0)
    before, now = (
        1 - np.linalg.norm(np.concatenate([each.parameters.timbre, each.parameters.melody_in(each.language)]) - wanted)
        for each in (voice, after)
    )
    assert now > before + 0.02
    assert after.report.refined
    assert after.report.similarity == pytest.approx(now, abs=0.01)
    assert (after.name, after.labels, after.reference) == (voice.name, voice.labels, voice.reference)
    assert house.custom_voices.store.reference(after) == RECORDING


def test_it_is_brought_to_the_colour_of_the_recording_anew(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another timbre has another colour, so the filter of the first version is no longer right."""
    voice = house.add()
    dull = np.linspace(3, -3, equalizer.BANDS, dtype=np.float32)
    monkeypatch.setattr(house.encoder, "spectral_envelope", lambda *_: dull)
    monkeypatch.setattr(refinement_worker, "better", lambda *_: True)  # what passes a filter tells this ear nothing
    run(house, house.settled())
    wanted = equalizer.matching_gains(
        house.encoder.encode(np.zeros(3 * decode.RATE, dtype=np.float32), decode.RATE).spectral_envelope, dull
    )
    assert wanted.max() > 1
    assert house.read(voice).parameters.equalizer_gains == pytest.approx(wanted, abs=0.01)


def test_it_is_mirrored_as_the_next_version(house: House) -> None:
    voice = house.add()
    for note in house.pending_uploads.pending():
        house.pending_uploads.done(note)
    run(house, house.settled())
    assert house.read(voice).version > voice.version
    assert [note.voice_id for note in house.pending_uploads.pending()] == [voice.voice_id]


def test_one_that_is_no_better_stays_as_it_was(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = house.add()
    monkeypatch.setattr(house.encoder, "similarity", lambda *_: 0.5)
    run(house, house.settled())
    assert house.read(voice).to_bytes() == voice.to_bytes()


@pytest.mark.parametrize(("similarity", "remains"), [(0.2, True), (0.9, False)])
def test_a_warning_that_is_no_longer_true_goes(similarity: float, remains: bool) -> None:
    report = made_up().report
    faint = fainter_than(report.nearest)
    refined = replace(report, warnings=(*report.warnings, faint)).of_refined(similarity)
    assert refined.warnings == (report.warnings + (faint,) * remains)


def test_a_restart_goes_on_from_there(build: Build) -> None:
    """To the same voice as without one: of what was found by then, nothing is lost."""
    house = build()
    voice = house.add()
    stopped = house.begun(voice)
    run(house, house.until(stopped))
    assert not house.read(voice).report.refined

    restarted = build()
    spoken = restarted.engine.spoken
    run(restarted, restarted.settled())
    assert 0 < len(spoken) - 5 < 6 * search.TRIALS  # one to tune it by, four to judge

    uninterrupted = build("elsewhere")
    uninterrupted.custom_voices.add(voice, RECORDING, 100)
    uninterrupted.refinement_queue.ask(voice)
    run(uninterrupted, uninterrupted.settled())
    assert restarted.read(voice).sound == uninterrupted.read(voice).sound


def test_live_speech_goes_first(house: House) -> None:
    """While somebody is speaking, however slowly they listen, no trial is spoken."""
    house.add()

    async def scene() -> None:
        await house.until(lambda: len(house.engine.spoken) > 3)
        work = house.speech.speak(SynthesisRequest("One. Two. Three.", VOICES.find("af_heart")))
        live = house.scheduler.stream(chunk for chunk in work)
        await anext(live)
        spoken = len(house.engine.spoken)
        for _ in range(20):
            await asyncio.sleep(0.005)  # for as long as the listener has enough to hear
            assert len(house.engine.spoken) == spoken
        async for _ in live:
            pass
        await house.settled()

    run(house, scene())


def test_a_voice_that_is_removed_meanwhile(house: House) -> None:
    voice, other = house.add(), house.add()

    async def scene() -> None:
        await house.until(house.begun(voice))
        house.custom_voices.remove(voice.voice_id)
        await house.settled()

    run(house, scene())
    assert list(house.custom_voices.store.signatures()) == [other.voice_id]
    assert house.read(other).report.refined


def test_a_new_name_does_not_disturb_it(house: House) -> None:
    voice = house.add()

    async def scene() -> None:
        await house.until(house.begun(voice))
        house.custom_voices.change(voice.voice_id, lambda known: known.changed(name="Berta"))
        await house.settled()

    run(house, scene())
    after = house.read(voice)
    assert (after.name, after.report.refined, after.revision) == ("Berta", True, 3)


@pytest.mark.parametrize("asked", [True, False])
def test_a_voice_that_is_made_anew_meanwhile(house: House, asked: bool) -> None:
    """By an edit here or, through the mirror, elsewhere. Only where it was asked for is the new one refined."""
    voice = house.add()
    anew = made_up().parameters

    async def scene() -> None:
        await house.until(house.begun(voice))
        changed = house.custom_voices.change(voice.voice_id, lambda known: known.changed(parameters=anew))
        if asked:
            house.refinement_queue.ask(changed)
        await house.settled()

    run(house, scene())
    after = house.read(voice)
    assert after.report.refined is asked
    assert asked or after.parameters.to_json() == anew.to_json()


def test_made_anew_at_the_last_moment_it_stays_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = house.add()
    anew = made_up().parameters
    change = house.custom_voices.change

    def changed_before(*arguments: Any) -> CustomVoice:
        house.custom_voices.store.change(voice.voice_id, lambda known: known.changed(parameters=anew))
        return change(*arguments)

    monkeypatch.setattr(house.custom_voices, "change", changed_before)
    run(house, house.settled())
    assert house.read(voice).parameters.to_json() == anew.to_json()


def test_nobody_wants_it_any_more(house: House) -> None:
    voice = house.add()

    async def scene() -> None:
        await house.until(house.begun(voice))
        house.refinement_queue.drop(voice.voice_id)
        spoken = len(house.engine.spoken)
        await asyncio.sleep(0.1)
        assert len(house.engine.spoken) <= spoken + search.TRIALS

    run(house, scene())
    assert house.refinement_queue.waiting() == []
    assert house.read(voice).to_bytes() == voice.to_bytes()


def test_a_disk_that_was_full_for_a_while(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = house.add()
    write, full = atomic_files.write, threading.Event()

    def writes(file: Path, content: bytes) -> None:
        if full.is_set():
            raise OSError(28, "No space left on device")
        write(file, content)

    monkeypatch.setattr(atomic_files, "write", writes)

    async def scene() -> None:
        await house.until(house.begun(voice))
        full.set()
        await asyncio.sleep(0.1)
        assert house.refinement_queue.waiting() == [voice.voice_id]
        assert not house.read(voice).report.refined
        full.clear()
        await house.settled()

    run(house, scene())
    assert house.read(voice).report.refined


def test_a_disk_that_does_not_answer_for_a_while(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = house.add()
    waiting, failures = house.refinement_queue.waiting, [OSError(5, "Input/output error")] * 3

    def waits() -> list[str]:
        if failures:
            raise failures.pop()
        return waiting()

    monkeypatch.setattr(house.refinement_queue, "waiting", waits)
    run(house, house.until(lambda: house.read(voice).report.refined))


def test_an_engine_that_fails_for_a_while(house: House) -> None:
    voice = house.add()

    def fails() -> None:
        if 10 < failures.pop() < 15:
            raise EngineUnavailable("Out of order.")

    failures = list(range(1_000, 0, -1))
    house.engine.before = fails
    run(house, house.settled())
    assert house.read(voice).report.refined


def test_before_the_engine_is_loaded_nothing_is_lost(house: House) -> None:
    voice = house.add()
    loaded = threading.Event()
    house.engine.load = loaded.wait  # type: ignore[assignment]

    async def scene() -> None:
        await asyncio.sleep(0.1)
        with pytest.raises(ModelLoading):
            house.scheduler.require_ready()
        assert house.refinement_queue.waiting() == [voice.voice_id]
        loaded.set()
        await house.settled()

    run(house, scene())
    assert house.read(voice).report.refined


def test_one_that_cannot_be_refined_does_not_hold_up_the_others(house: House, caplog: pytest.LogCaptureFixture) -> None:
    bad, good = house.add(), house.add()
    encode = house.encoder.encode
    heard: list[int] = []

    def hears(samples: Samples, rate: int) -> Made:
        heard.append(1)
        if len(heard) == 1:
            raise RuntimeError("a bug")
        return encode(samples, rate)

    house.encoder.encode = hears  # type: ignore[method-assign]
    run(house, house.settled())
    assert house.read(bad).to_bytes() == bad.to_bytes()
    assert house.read(good).report.refined
    assert "cannot be refined" in caplog.text


@pytest.mark.parametrize("damage", ["note", "recording", "no recording"])
def test_what_is_damaged_is_given_up(house: House, damage: str, tmp_path: Path) -> None:
    voice = house.add()
    if damage == "note":
        (tmp_path / "here/refining" / voice.voice_id).write_bytes(b"nonsense")
    elif damage == "recording":
        (tmp_path / "here" / voice.voice_id / StoredReference.of(RECORDING).name).write_bytes(b"nonsense")
    else:
        house.custom_voices.change(voice.voice_id, lambda known: known.changed(reference=None))
    run(house, house.settled())
    assert not house.read(voice).report.refined


def test_of_two_servers_with_one_folder_one_refines(build: Build) -> None:
    one, other = build(), build()
    voice = one.add()

    async def main() -> None:
        async with running(one):
            await one.until(one.begun(voice))
            async with running(other):
                await asyncio.sleep(0.05)
                assert other.engine.spoken == []
                assert other.refinement_queue.progress(voice)  # which it shows as well
                await one.settled()

    asyncio.run(main())
    assert one.read(voice).revision == 2


def test_of_two_regions_the_first_is_taken_over_by_the_other(build: Build) -> None:
    here, there = build("here"), build("there")
    voice = here.add()
    there.custom_voices.store.take_over(voice, RECORDING)
    there.refinement_queue.ask(voice)

    async def main() -> None:
        async with running(there):
            await there.until(there.begun(voice))
            held = threading.Event()
            there.engine.before = held.wait
            async with running(here):
                await here.settled()
            there.custom_voices.store.take_over(here.read(voice), RECORDING)  # as the mirror does
            held.set()
            await there.settled()

    asyncio.run(main())
    assert here.read(voice).report.refined
    assert there.read(voice).to_bytes() == here.read(voice).to_bytes()
