"""The refinement worker: which version a voice has afterwards, whatever else happens in the meantime."""

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from svc.audio import decode, equalizer, formats
from svc.audio.equalizer import SpectralEnvelope
from svc.audio.flac import encode_flac
from svc.audio.samples import Samples
from svc.auth.keys import COMMAND_LINE, Quota
from svc.cloning import refinement
from svc.cloning.refinement import RefinementWorker, is_clearly_better
from svc.cloning.refinement_queue import RefinementQueue
from svc.cloning.speaker_encoder import SpeakerEmbedding
from svc.cloning.trial import TrialSynthesis
from svc.errors import EngineUnavailable, ModelLoading
from svc.process.tasks import Supervisor
from svc.storage import atomic_files
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.playback import Playback
from svc.synthesis.request import SynthesisRequest
from svc.synthesis.scheduler import Scheduler
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.custom_voice import CustomVoice, StoredReference, nearest_voice_warning
from svc.voices.custom_voices import CustomVoices
from svc.voices.loudness import list_calibration_texts
from svc.voices.parameters import VoiceParameters
from svc.voices.store import VoiceStore
from tests.cloning.fakes import PERSON, PERSON_OFFSET, StyleEchoEngine, StyleEncoder, StyleRefiner, load_style_encoder
from tests.voices.examples import make_voice

RECORDING = encode_flac(np.zeros(3 * decode.RATE, dtype=np.float32), decode.RATE)
VOICES = VoiceCatalogue(load_built_in_voices())
TIMEOUT = 120.0


@dataclass
class Server:
    """The parts of a server that refinement needs."""

    engine: StyleEchoEngine
    encoder: StyleEncoder
    scheduler: Scheduler
    pipeline: Pipeline
    custom_voices: CustomVoices
    queue: RefinementQueue
    worker: RefinementWorker

    def add(self) -> CustomVoice:
        """Stores a voice with random parameters, and queues its refinement."""
        voice = make_voice(reference=RECORDING)
        self.custom_voices.add(voice, RECORDING, Quota(100, 100), COMMAND_LINE)
        self.queue.add(voice)
        return voice

    def read(self, voice: CustomVoice) -> CustomVoice:
        return self.custom_voices.store.read(voice.voice_id)

    async def wait_until_done(self) -> None:
        await wait_until(lambda: not self.queue.waiting())


class Pause:
    """Set as `engine.before`: the first utterance waits, when the refinement has made its first step."""

    def __init__(self) -> None:
        self._reached, self._released = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self._reached.set()
        assert self._released.wait(TIMEOUT)

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        await wait_until(self._reached.is_set)
        try:
            yield
        finally:
            self._released.set()


async def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        await asyncio.sleep(0.005)


Build = Callable[..., Server]


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "_REST", 0.0)
    monkeypatch.setattr(refinement, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(refinement, "_LONGEST_PAUSE", 0.01)


@pytest.fixture
def build(tmp_path: Path, phonemizer: Phonemizer) -> Build:
    """Called again, it is the server after a restart, or another one that shares the folder."""

    def build(name: str = "here", encoder: StyleEncoder | None = None, refiner: StyleRefiner | None = None) -> Server:
        engine, voices = StyleEchoEngine(), VoiceCatalogue(load_built_in_voices())
        pipeline = Pipeline(engine, phonemizer)
        scheduler = Scheduler(pipeline.load)
        custom_voices = CustomVoices(VoiceStore(tmp_path / name, track_uploads=True), voices)
        queue = RefinementQueue(tmp_path / name / "refining")
        encoder, (_, built_in) = encoder or StyleEncoder(), load_style_encoder()
        trial = TrialSynthesis(lambda: (encoder, built_in), pipeline, scheduler, voices)
        worker = RefinementWorker(queue, trial, custom_voices, (lambda: refiner) if refiner else None)
        return Server(engine, encoder, scheduler, pipeline, custom_voices, queue, worker)

    return build


@pytest.fixture
def server(build: Build) -> Server:
    return build()


@asynccontextmanager
async def running(server: Server) -> AsyncIterator[None]:
    server.scheduler.start()
    async with server.worker.running(Supervisor()):
        yield
    await server.scheduler.close()


def run(server: Server, scene: Coroutine[Any, Any, None]) -> None:
    """Runs the coroutine while the server refines."""

    async def main() -> None:
        async with running(server):
            await scene

    asyncio.run(main())


def record_polls(server: Server, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gets one more entry each time that the worker looks into the queue."""
    polls: list[int] = []
    waiting = server.queue.waiting

    def wait_and_record() -> list[str]:
        polls.append(1)
        return waiting()

    monkeypatch.setattr(server.queue, "waiting", wait_and_record)
    return polls


def similarity_of(voice: CustomVoice) -> float:
    """In the voice's own language, as `StyleEncoder` measures it."""
    offset = np.concatenate([voice.parameters.timbre, voice.parameters.melody_in(voice.language)])
    return 1 - float(np.linalg.norm(offset - PERSON_OFFSET))


def test_a_voice_gets_the_parameters_of_the_installed_encoder(server: Server) -> None:
    voice = server.add()
    run(server, server.wait_until_done())
    after = server.read(voice)
    assert after.parameters.timbre == pytest.approx(PERSON_OFFSET[: len(after.parameters.timbre)], abs=0.01)
    assert similarity_of(after) > similarity_of(voice) + 0.02
    assert after.report.refined
    assert after.report.similarity == pytest.approx(similarity_of(after), abs=0.01)
    assert after.report.nearest == "Heart", "determined again, with the same encoder as the similarity"
    assert (after.name, after.labels, after.reference) == (voice.name, voice.labels, voice.reference)
    assert server.custom_voices.store.read_reference(after) == RECORDING


def test_earlier_voices_are_refined_if_new_ones_would_be(server: Server) -> None:
    english, french, without, refined = (make_voice(reference=each) for each in (RECORDING, RECORDING, None, RECORDING))
    english, without, refined = (replace(each, language=Language.ENGLISH_GB) for each in (english, without, refined))
    refined = replace(refined, report=replace(refined.report, refined=True))
    for voice in (english, french, without, refined):
        server.custom_voices.add(voice, RECORDING if voice.reference else None, Quota(100, 100), COMMAND_LINE)
    server.worker._refine_earlier = True

    run(server, wait_until(lambda: server.read(english).report.refined))
    assert [server.read(each).revision for each in (french, without, refined)] == [1, 1, 1]


def test_what_the_encoder_finds_is_improved_by_the_refiner(build: Build) -> None:
    refiner = StyleRefiner()
    server = build(encoder=StyleEncoder(outdated=math.inf), refiner=refiner)
    voice = server.add()
    run(server, server.wait_until_done())
    after = server.read(voice)
    assert refiner.runs == StyleRefiner.RUNS
    left = np.linalg.norm(after.parameters.timbre - PERSON_OFFSET[: len(after.parameters.timbre)])
    assert left < 0.1 * np.linalg.norm(PERSON_OFFSET), "the encoder alone goes half of the way"
    assert after.report.refined


def test_what_a_voice_lacks_is_heard_and_corrected(build: Build) -> None:
    class CorrectingEncoder(StyleEncoder):
        def correct(self, speaker: SpeakerEmbedding, spoken: Samples, rate: int) -> VoiceParameters:
            lacking = PERSON - spoken[: len(PERSON)]
            timbre, melody = np.split(lacking, 2)
            known = speaker.parameters
            return replace(known, timbre=known.timbre + timbre, melody=known.melody + melody)

    server = build(encoder=CorrectingEncoder(outdated=math.inf))
    voice = server.add()
    run(server, server.wait_until_done())
    after = server.read(voice).parameters
    left = np.linalg.norm(after.timbre - PERSON_OFFSET[: len(after.timbre)])
    assert left < 0.02 * np.linalg.norm(PERSON_OFFSET), "the encoder alone goes half of the way"


def test_a_refiner_that_makes_it_worse_changes_nothing(build: Build) -> None:
    server = build(encoder=StyleEncoder(outdated=math.inf), refiner=StyleRefiner(share=-1.0))
    voice = server.add()
    server.custom_voices.change(voice.voice_id, lambda known: known.revise(parameters=_near_person(known)))
    voice = server.read(voice)
    server.queue.add(voice)
    run(server, server.wait_until_done())
    assert server.read(voice).to_bytes() == voice.to_bytes()


def _near_person(voice: CustomVoice) -> VoiceParameters:
    timbre, melody = np.split(0.9 * PERSON_OFFSET, 2)
    return replace(voice.parameters, timbre=timbre, melody=melody)


def test_every_run_of_the_refiner_is_progress(build: Build) -> None:
    refiner = StyleRefiner()
    server = build(refiner=refiner)
    voice = server.add()
    seen: list[float] = []
    refiner.before = lambda: seen.append(server.queue.progress(voice) or 0.0)
    run(server, server.wait_until_done())
    assert len(seen) == StyleRefiner.RUNS
    assert seen == sorted(set(seen)), "it grows in every run"
    assert 0 < seen[0] < seen[-1] < 1


def test_without_memory_for_the_refiner_a_voice_waits(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be the server that the system ends."""
    server = build(refiner=StyleRefiner())
    voice = server.add()
    free = [100e6]
    polls = record_polls(server, monkeypatch)
    monkeypatch.setattr(refinement, "measure_available", lambda: free[0])

    async def scene() -> None:
        await wait_until(lambda: len(polls) > 2)
        assert not server.read(voice).report.refined
        free[0] = 2e9
        await server.wait_until_done()

    run(server, scene())
    assert server.read(voice).report.refined


def test_while_somebody_listens_the_refiner_waits(build: Build) -> None:
    refiner = StyleRefiner()
    server = build(refiner=refiner)
    server.add()
    pause = refiner.before = Pause()

    async def scene() -> None:
        async with pause.paused():
            request = SynthesisRequest("One. Two. Three.", VOICES.find("af_heart"))
            live = server.scheduler.run(server.pipeline.stream(request, formats.find("pcm_24000")), Playback())
            await anext(live)
        await wait_until(lambda: refiner.runs == 1)
        for _ in range(20):
            await asyncio.sleep(0.005)
            assert refiner.runs == 1
        async for _ in live:
            pass
        await server.wait_until_done()

    run(server, scene())
    assert refiner.runs == StyleRefiner.RUNS


def test_a_refinement_that_is_cancelled_stops_in_the_middle(build: Build) -> None:
    refiner = StyleRefiner()
    server = build(refiner=refiner)
    voice = server.add()
    pause = refiner.before = Pause()

    async def scene() -> None:
        async with pause.paused():
            server.queue.remove(voice.voice_id)
        await server.wait_until_done()
        await wait_until(lambda: refiner.runs == 1)

    run(server, scene())
    assert refiner.runs == 1
    assert server.read(voice).to_bytes() == voice.to_bytes()


def test_a_voice_made_with_the_installed_encoder_stays_as_it_is(build: Build) -> None:
    server = build()
    voice = server.add()
    run(server, server.wait_until_done())
    refined = server.read(voice)
    server = build()
    server.queue.add(refined)
    run(server, server.wait_until_done())
    assert len(server.engine.spoken) > 4, "it was compared"
    assert server.read(voice).to_bytes() == refined.to_bytes()


def test_the_equalizer_gains_are_matched_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other parameters have another spectral envelope, so the old gains do not fit."""
    voice = server.add()
    envelope = np.linspace(3, -3, equalizer.BANDS, dtype=np.float32)
    monkeypatch.setattr(server.encoder, "spectral_envelope", lambda *_: envelope)
    # This encoder cannot judge samples that passed an equalizer.
    monkeypatch.setattr(refinement, "is_clearly_better", lambda *_: True)
    run(server, server.wait_until_done())
    expected = equalizer.matching_gains(equalizer.FLAT, envelope)
    assert expected.max() > 1
    assert server.read(voice).parameters.equalizer_gains == pytest.approx(expected, abs=0.01)


def test_the_envelope_is_measured_on_two_texts(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of one text has much of its words."""
    lengths: list[int] = []

    def measure(samples: Samples, rate: int) -> SpectralEnvelope:
        lengths.append(len(samples))
        return equalizer.FLAT

    voice = server.add()
    monkeypatch.setattr(server.encoder, "spectral_envelope", measure)
    run(server, server.wait_until_done())
    requests = [SynthesisRequest(text, VOICES.find("af_heart")) for text in list_calibration_texts(voice.language)]
    preview, other = (sum(len(chunk.samples) for chunk in server.pipeline.synthesize(request)) for request in requests)
    assert min(preview, other) > 0
    assert set(lengths) == {other, preview + other}, "the other is for the voice that is corrected afterwards"
    assert lengths[-1] == preview + other


def test_the_new_version_is_uploaded(server: Server) -> None:
    voice = server.add()
    pending_uploads = server.custom_voices.store.pending_uploads
    assert pending_uploads
    for upload in pending_uploads.read_all():
        pending_uploads.complete(upload)
    run(server, server.wait_until_done())
    assert server.read(voice).version > voice.version
    assert [upload.voice_id for upload in pending_uploads.read_all()] == [voice.voice_id]


def test_a_voice_that_does_not_become_better_stays_as_it_is(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = server.add()
    monkeypatch.setattr(server.encoder, "similarity", lambda *_: 0.5)
    run(server, server.wait_until_done())
    assert server.read(voice).to_bytes() == voice.to_bytes()


@pytest.mark.parametrize(
    ("new", "better"),
    [
        ((0.6, 0.6), True),
        ((0.51, 0.53), True),
        ((0.51, 0.51), False),
        ((0.49, 0.9), False),
        ((0.5, 0.5), False),
    ],
)
def test_better_is_a_clear_gain_in_both_and_some_gain_in_the_preview(new: tuple[float, float], better: bool) -> None:
    assert is_clearly_better(new, (0.5, 0.5)) is better


@pytest.mark.parametrize(("similarity", "warned"), [(0.2, True), (0.9, False)])
def test_the_warning_about_the_nearest_voice_is_updated(similarity: float, warned: bool) -> None:
    report = make_voice().report
    warned_before = replace(report, warnings=(*report.warnings, nearest_voice_warning(report.nearest)))
    refined = warned_before.mark_refined(similarity, "Heart", 0.3)
    assert (refined.nearest, refined.nearest_similarity) == ("Heart", 0.3)
    assert refined.warnings == (report.warnings + (nearest_voice_warning("Heart"),) * warned)


def test_a_queued_voice_survives_a_restart(build: Build) -> None:
    server = build()
    voice = server.add()

    def fail() -> None:
        raise EngineUnavailable("Out of order.")

    server.engine.before = fail
    run(server, wait_until(lambda: bool(server.queue.progress(voice))))
    assert not server.read(voice).report.refined

    restarted = build()
    run(restarted, restarted.wait_until_done())

    uninterrupted = build("elsewhere")
    uninterrupted.custom_voices.add(voice, RECORDING, Quota(100, 100), COMMAND_LINE)
    uninterrupted.queue.add(voice)
    run(uninterrupted, uninterrupted.wait_until_done())
    assert restarted.read(voice).report.refined
    assert restarted.read(voice).parameters_hash == uninterrupted.read(voice).parameters_hash


def test_live_requests_go_first(server: Server) -> None:
    """While a live stream is open, however slowly it is read, nothing is synthesized for a refinement."""
    server.add()
    pause = server.engine.before = Pause()

    async def scene() -> None:
        async with pause.paused():
            request = SynthesisRequest("One. Two. Three.", VOICES.find("af_heart"))
            live = server.scheduler.run(server.pipeline.stream(request, formats.find("pcm_24000")), Playback())
            first = asyncio.ensure_future(anext(live))
        await first
        spoken = len(server.engine.spoken)
        for _ in range(20):
            await asyncio.sleep(0.005)  # within the playing time of the first chunk
            assert len(server.engine.spoken) == spoken
        async for _ in live:
            pass
        await server.wait_until_done()

    run(server, scene())


def test_a_voice_that_is_removed_in_the_meantime(server: Server) -> None:
    voice, other = server.add(), server.add()
    pause = server.engine.before = Pause()

    async def scene() -> None:
        async with pause.paused():
            server.custom_voices.remove(voice.voice_id)
        await server.wait_until_done()

    run(server, scene())
    assert list(server.custom_voices.store.signatures()) == [other.voice_id]
    assert server.read(other).report.refined


def test_a_new_name_does_not_disturb_the_refinement(server: Server) -> None:
    voice = server.add()
    pause = server.engine.before = Pause()

    async def scene() -> None:
        async with pause.paused():
            server.custom_voices.change(voice.voice_id, lambda known: known.revise(name="Berta"))
        await server.wait_until_done()

    run(server, scene())
    after = server.read(voice)
    assert (after.name, after.report.refined, after.revision) == ("Berta", True, 3)


@pytest.mark.parametrize("queued", [True, False])
def test_a_voice_that_is_made_again_in_the_meantime(server: Server, queued: bool) -> None:
    """By an edit here or on another server. The new one is only refined if it was queued."""
    voice = server.add()
    parameters = make_voice().parameters
    pause = server.engine.before = Pause()

    async def scene() -> None:
        async with pause.paused():
            changed = server.custom_voices.change(voice.voice_id, lambda known: known.revise(parameters=parameters))
            if queued:
                server.queue.add(changed)
        await server.wait_until_done()

    run(server, scene())
    after = server.read(voice)
    assert after.report.refined is queued
    assert queued or after.parameters.to_json() == parameters.to_json()


def test_a_voice_that_is_made_again_just_before_the_new_version_is_written(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    voice = server.add()
    parameters = make_voice().parameters
    change = server.custom_voices.change

    def change_twice(*arguments: Any) -> CustomVoice:
        server.custom_voices.store.change(voice.voice_id, lambda known: known.revise(parameters=parameters))
        return change(*arguments)

    monkeypatch.setattr(server.custom_voices, "change", change_twice)
    run(server, server.wait_until_done())
    assert server.read(voice).parameters.to_json() == parameters.to_json()


def test_a_cancelled_refinement_stops(server: Server) -> None:
    voice = server.add()
    pause = server.engine.before = Pause()

    async def scene() -> None:
        async with pause.paused():
            server.queue.remove(voice.voice_id)
            other = server.add()
        await server.wait_until_done()
        assert server.read(other).report.refined

    run(server, scene())
    assert server.read(voice).to_bytes() == voice.to_bytes()


def test_a_disk_that_is_full_for_a_while(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = server.add()
    write, full, failures = atomic_files.write, threading.Event(), []
    pause = server.engine.before = Pause()

    def write_unless_full(file: Path, content: bytes) -> None:
        if full.is_set():
            failures.append(file)
            raise OSError(28, "No space left on device")
        write(file, content)

    monkeypatch.setattr(atomic_files, "write", write_unless_full)

    async def scene() -> None:
        async with pause.paused():
            full.set()
        await wait_until(lambda: len(failures) >= 3)
        assert server.queue.waiting() == [voice.voice_id]
        assert not server.read(voice).report.refined
        full.clear()
        await server.wait_until_done()

    run(server, scene())
    assert server.read(voice).report.refined


def test_a_disk_that_does_not_answer_for_a_while(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = server.add()
    waiting, failures = server.queue.waiting, [OSError(5, "Input/output error")] * 3

    def fail_at_first() -> list[str]:
        if failures:
            raise failures.pop()
        return waiting()

    monkeypatch.setattr(server.queue, "waiting", fail_at_first)
    run(server, wait_until(lambda: server.read(voice).report.refined))


def test_an_engine_that_fails_for_a_while(server: Server) -> None:
    voice = server.add()
    failures = [False, True, True, False, False, False, True]

    def fail_sometimes() -> None:
        if failures and failures.pop(0):
            raise EngineUnavailable("Out of order.")

    server.engine.before = fail_sometimes
    run(server, server.wait_until_done())
    assert not failures
    assert server.read(voice).report.refined


def test_before_the_engine_is_loaded_the_voice_stays_queued(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = server.add()
    loaded, polls = threading.Event(), record_polls(server, monkeypatch)
    server.engine.load = lambda: loaded.wait(TIMEOUT)  # type: ignore[method-assign, assignment]

    async def scene() -> None:
        await wait_until(lambda: len(polls) > 3)
        with pytest.raises(ModelLoading):
            server.scheduler.require_ready()
        assert server.queue.waiting() == [voice.voice_id]
        loaded.set()
        await server.wait_until_done()

    run(server, scene())
    assert server.read(voice).report.refined


def test_a_voice_that_cannot_be_refined_does_not_hold_up_the_others(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = server.add(), server.add()
    encode = server.encoder.encode
    calls: list[int] = []

    def fail_at_first(samples: Samples, rate: int) -> SpeakerEmbedding:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("a bug")
        return encode(samples, rate)

    server.encoder.encode = fail_at_first  # type: ignore[method-assign]
    run(server, server.wait_until_done())
    assert server.read(bad).to_bytes() == bad.to_bytes()
    assert server.read(good).report.refined
    assert "cannot be refined" in caplog.text


@pytest.mark.parametrize("damage", ["queue file", "recording", "no recording"])
def test_a_damaged_voice_leaves_the_queue(server: Server, damage: str, tmp_path: Path) -> None:
    voice = server.add()
    if damage == "queue file":
        (tmp_path / "here/refining" / voice.voice_id).write_bytes(b"nonsense")
    elif damage == "recording":
        (tmp_path / "here" / voice.voice_id / StoredReference.of(RECORDING).name).write_bytes(b"nonsense")
    else:
        server.custom_voices.change(voice.voice_id, lambda known: known.revise(reference=None))
    run(server, server.wait_until_done())
    assert not server.read(voice).report.refined


def test_of_two_servers_that_share_a_folder_one_refines(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = build(), build()
    voice = one.add()
    pause = one.engine.before = Pause()
    polls = record_polls(other, monkeypatch)

    async def main() -> None:
        async with running(one):
            async with pause.paused(), running(other):
                await wait_until(lambda: len(polls) > 3)
                assert other.engine.spoken == []
                assert other.queue.progress(voice), "the other server shows the progress, too"
            await one.wait_until_done()

    asyncio.run(main())
    assert one.read(voice).revision == 2


def test_of_two_regions_the_first_version_wins(build: Build) -> None:
    here, there = build("here"), build("there")
    voice = here.add()
    there.custom_voices.store.save_fetched(voice, RECORDING)
    there.queue.add(voice)
    pause = there.engine.before = Pause()

    async def main() -> None:
        async with running(there):
            async with pause.paused():
                async with running(here):
                    await here.wait_until_done()
                there.custom_voices.store.save_fetched(here.read(voice), RECORDING)  # as the sync does
            await there.wait_until_done()

    asyncio.run(main())
    assert here.read(voice).report.refined
    assert there.read(voice).to_bytes() == here.read(voice).to_bytes()
