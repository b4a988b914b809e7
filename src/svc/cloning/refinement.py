"""Refinement: in the background, a voice is made more similar to its kept recording, and replaced if that succeeds.

The recording is encoded again, so a voice of an older release gets the parameters of the speaker encoder that is
installed now. From there the parameters are improved by gradients. The old and the new version speak two sentences that
were not part of that; the new one replaces the old one only if it is clearly more similar to the recording.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from svc.audio import decode
from svc.audio.samples import Samples
from svc.cloning.gradients import VoiceRefiner
from svc.cloning.refinement_queue import STEPS, Refinement, RefinementQueue
from svc.cloning.speaker_encoder import SpeakerEmbedding
from svc.cloning.trial import TrialSynthesis
from svc.errors import StorageUnavailable, SvcError, VoiceNotFound
from svc.process.memory import measure_available, trim_malloc
from svc.process.tasks import Supervisor
from svc.storage import atomic_files
from svc.text.language.languages import Language
from svc.voices.built_in import PREVIEW_TEXTS
from svc.voices.custom_voice import CustomVoice, DamagedVoice, Report
from svc.voices.custom_voices import CustomVoices
from svc.voices.parameters import VoiceParameters

log = logging.getLogger(__name__)

_POLL_SECONDS, _LONGEST_PAUSE = 2.0, 60.0
_REST = 0.25  # seconds of rest for each second of work
_LONGEST_REST = 1.0  # most of a long step is waiting for the engine, not work
_MEMORY = 800e6  # bytes that have to be free: the graph takes 600 MB, and requests go on meanwhile
_LEAST_GAIN = 0.02  # in similarity: smaller differences depend on the sentence

# English in every language of a voice: the embedding depends on the speaker, not on what is said.
JUDGING_TEXT = "Nobody in the village could remember such a warm October."


def is_clearly_better(new: Sequence[float], old: Sequence[float]) -> bool:
    """Compares the similarities of two versions to the recording: of the preview text first, then of another one."""
    return sum(new) >= sum(old) + len(old) * _LEAST_GAIN and new[0] > old[0]


def is_refined_by_default(voice: CustomVoice) -> bool:
    """Refinement speaks English: what it gains there has cost voices of other languages some of their words."""
    return voice.language.english and not voice.report.refined


class _Obsolete(Exception):
    """The voice that was to be refined was removed or changed, or the refinement was cancelled."""


class RefinementWorker:
    """Refines one voice after the other, a sentence at a time, while nobody needs the engine."""

    def __init__(
        self,
        refinement_queue: RefinementQueue,
        trial: TrialSynthesis,
        custom_voices: CustomVoices,
        load_refiner: Callable[[], VoiceRefiner] | None,
        *,
        refine_earlier: bool = False,
    ) -> None:
        """Without a refiner, a voice only gets the parameters of the installed encoder.

        `refine_earlier`: voices of earlier releases, which nobody asked for, are refined as new ones are.
        """
        self._queue = refinement_queue
        self._trial = trial
        self._custom_voices = custom_voices
        self._load_refiner = load_refiner
        self._refine_earlier = refine_earlier
        self._refiner: VoiceRefiner | None = None

    def running(self, supervisor: Supervisor) -> AbstractAsyncContextManager[None]:
        return supervisor.running("refinement", self._poll, expected=(OSError, StorageUnavailable))

    async def _poll(self) -> None:
        pause = _POLL_SECONDS
        if self._refine_earlier:
            await asyncio.to_thread(self._queue_earlier)
        while True:
            done = await self._refine_all()
            pause = _POLL_SECONDS if done else min(2 * pause, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    def _queue_earlier(self) -> None:
        self._queue.add_earlier(
            voice for voice in self._custom_voices if voice.reference and is_refined_by_default(voice)
        )

    async def _refine_all(self) -> bool:
        """Refines all queued voices, unless another server with the same folder does; false if any has to wait."""
        waiting = await asyncio.to_thread(self._queue.waiting)
        if not waiting:
            return True
        with atomic_files.try_lock(self._queue.worker_lock) as claimed:
            if not claimed:
                return True
            try:
                return all([await self._try_to_refine(voice_id) for voice_id in waiting])
            finally:  # it takes some hundred megabytes, and voices are seldom cloned
                self._refiner = None
                await asyncio.to_thread(trim_malloc)

    async def _try_to_refine(self, voice_id: str) -> bool:
        """Refines a voice and removes it from the queue; false if it has to be tried again."""
        refinement = self._queue.find(voice_id)
        try:
            self._trial.require_ready()
            if refinement:  # None: its file is damaged
                await self._refine(refinement)
        except (_Obsolete, VoiceNotFound, DamagedVoice) as problem:
            log.info("the voice %s is not refined: %s", voice_id, problem)
        except (SvcError, OSError, MemoryError) as error:  # the engine is loading, or the disk or the memory is full
            log.info("the voice %s will be refined later: %s", voice_id, error)
            return False
        except Exception:  # an error with one voice must not keep the others from being refined
            log.exception("the voice %s cannot be refined", voice_id)
        await asyncio.to_thread(self._queue.remove, voice_id, refinement.parameters_hash if refinement else None)
        return True

    async def _refine(self, refinement: Refinement) -> None:
        """Begins at the first step, also after a restart."""
        refinement = replace(refinement, steps_done=0)
        voice = await asyncio.to_thread(self._read_voice, refinement)
        samples = await self._trial.run_in_thread(self._read_reference, voice)
        speaker = await self._trial.run_in_thread(self._trial.encoder.encode, samples, decode.RATE)
        refinement = await self._advance(refinement)
        pace = voice.parameters.pace  # the encoder does not measure it
        parameters, _ = await self._trial.make_voice(speaker, pace, voice.language, when_idle=True)
        refinement = await self._advance(refinement)
        async for best in self._descend(parameters, samples):
            parameters = best
            refinement = await self._advance(refinement)
        parameters, _ = await self._trial.match_envelope(
            parameters, speaker.spectral_envelope, voice.language, when_idle=True
        )
        # The descent may have ended early.
        refinement = await self._advance(replace(refinement, steps_done=STEPS - 5))
        similarities: list[float] = []
        for version in (voice.parameters, parameters):
            for text, language in (
                (PREVIEW_TEXTS[voice.language], voice.language),
                (JUDGING_TEXT, Language.ENGLISH_US),
            ):
                similarities.append(await self._measure_similarity(version, speaker, text, language))
                refinement = await self._advance(refinement)
        old, new = similarities[:2], similarities[2:]
        replaces = is_clearly_better(new, old)
        if replaces:
            report = await self._trial.run_in_thread(self._update_report, voice.report, speaker, new[0])
            await asyncio.to_thread(self._replace, refinement, parameters, report)
        log.info(
            "refinement of the voice %s: similarity %.3f and %.3f, before %.3f and %.3f; %s",
            *(voice.voice_id, *new, *old),
            "replaced" if replaces else "left as it is",
        )

    async def _descend(self, parameters: VoiceParameters, samples: Samples) -> AsyncIterator[VoiceParameters]:
        """The best parameters so far, after each run of the refiner; none without one."""
        if self._load_refiner is None:
            return
        if self._refiner is None:
            if (available := measure_available()) < _MEMORY:
                raise MemoryError(f"it needs {_MEMORY / 1e6:.0f} MB of memory, and {available / 1e6:.0f} are free")
            self._refiner = await self._trial.run_in_thread(self._load_refiner)
        descent = self._refiner.refine(parameters, samples, decode.RATE)
        while True:
            await self._trial.wait_until_idle()
            async with _rest_afterwards():
                best = await self._trial.run_in_thread(next, descent, None)
            if best is None:
                return
            yield best

    async def _advance(self, refinement: Refinement) -> Refinement:
        """Stores that one more step is done; raises `_Obsolete` if the others are not needed any more."""
        await asyncio.to_thread(self._read_voice, refinement)
        advanced = replace(refinement, steps_done=refinement.steps_done + 1)
        if not await asyncio.to_thread(self._queue.update, advanced):
            raise _Obsolete("it was cancelled")
        return advanced

    async def _measure_similarity(
        self, parameters: VoiceParameters, speaker: SpeakerEmbedding, text: str, language: Language
    ) -> float:
        """Of a voice with these parameters, speaking the text, to the speaker."""
        async with _rest_afterwards():
            samples = await self._trial.synthesize(parameters, text, language, when_idle=True)
            return await self._trial.run_in_thread(self._trial.measure_similarity, samples, speaker.embedding)

    def _update_report(self, report: Report, speaker: SpeakerEmbedding, similarity: float) -> Report:
        """The nearest built-in voice is determined again: similarities of two encoders cannot be compared."""
        return report.mark_refined(similarity, *self._trial.find_nearest_built_in(speaker.embedding))

    def _replace(self, refinement: Refinement, parameters: VoiceParameters, report: Report) -> None:
        def revise(known: CustomVoice) -> CustomVoice:
            _require_unchanged(known, refinement)
            return known.revise(parameters=parameters, report=report)

        self._custom_voices.change(refinement.voice_id, revise)

    def _read_voice(self, refinement: Refinement) -> CustomVoice:
        voice = self._custom_voices.store.read(refinement.voice_id)
        _require_unchanged(voice, refinement)
        return voice

    def _read_reference(self, voice: CustomVoice) -> Samples:
        reference = self._custom_voices.store.read_reference(voice)
        if reference is None:
            raise _Obsolete("its recording was not kept")
        return decode.decode_clip(reference).samples


@asynccontextmanager
async def _rest_afterwards() -> AsyncIterator[None]:
    """The work within is followed by a rest."""
    began = time.monotonic()
    yield
    await asyncio.sleep(min(_REST * (time.monotonic() - began), _LONGEST_REST))


def _require_unchanged(voice: CustomVoice, refinement: Refinement) -> None:
    if voice.parameters_hash != refinement.parameters_hash:
        raise _Obsolete("its parameters were changed in the meantime")
