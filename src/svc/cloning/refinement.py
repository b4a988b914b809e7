"""Refinement in the background: a voice that can be used already becomes a better likeness, and nobody waits for it.

It says sentences with small changes of the voice, hears which are more like the recording, and goes on from those.
The voice is spoken as it was until the new version is better by measure; if that never is, it stays as it was.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import cached_property

from svc import atomic_files, tasks
from svc.audio import decode
from svc.cloning.directions import Directions
from svc.cloning.refinement_queue import Refinement, RefinementQueue
from svc.cloning.speaker_embedding import SpeakerEmbedding
from svc.cloning.trial import TrialSynthesis
from svc.errors import SvcError, VoiceNotFound
from svc.text.language import Language
from svc.voices.custom_voice import CustomVoice, DamagedVoice
from svc.voices.custom_voices import CustomVoices
from svc.voices.parameters import VoiceParameters
from svc.voices.preview_texts import INTRODUCTIONS

log = logging.getLogger(__name__)

_LOOK_EVERY, _LONGEST_PAUSE = 2.0, 60.0
_REST = 1.0  # seconds of rest for each second of work
_LONGEST_REST = 3.0  # it may have been waiting, which is no work
_LEAST_GAIN = 0.02  # of likeness: with less, another sentence might say the opposite

# In English whatever the voice's language is: an embedding stands for who speaks, not for what is said.
_TRIED = ("The boats came home at dusk, one after another.", "We never asked what the old letter said.")
JUDGED_BY = "Nobody in the village could remember such a warm October."
"""Said by the old version and the new one, after the introduction."""


def tried(generation: int) -> str:
    """What all trials of a generation say."""
    return _TRIED[generation % len(_TRIED)]


def better(new: Sequence[float], old: Sequence[float]) -> bool:
    """Whether a version is clearly more like the person, given the likeness of its introduction and of `JUDGED_BY`."""
    return sum(new) >= sum(old) + len(old) * _LEAST_GAIN and new[0] > old[0]


class _Overtaken(Exception):
    """The voice that was to be refined is no more: removed, made anew, or refined by somebody else."""


class RefinementWorker:
    """Refines one voice after the other, a sentence at a time, with as much rest as work."""

    def __init__(self, refinement_queue: RefinementQueue, trial: TrialSynthesis, custom_voices: CustomVoices) -> None:
        self._refinement_queue = refinement_queue
        self._trial = trial
        self._custom_voices = custom_voices

    def running(self) -> AbstractAsyncContextManager[None]:
        return tasks.running(self._run())

    async def _run(self) -> None:
        pause = _LOOK_EVERY
        while True:
            try:
                done = await self._round()
            except OSError as error:
                log.warning("what is to be refined cannot be read: %s", error)
                done = False
            pause = _LOOK_EVERY if done else min(2 * pause, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _round(self) -> bool:
        """Refines all that is to be refined, unless another server with the same folder is at it; tells how it went."""
        waiting = await asyncio.to_thread(self._refinement_queue.waiting)
        if not waiting:
            return True
        with atomic_files.claimed(self._refinement_queue.lock) as mine:
            return not mine or all([await self._attempt(voice_id) for voice_id in waiting])

    async def _attempt(self, voice_id: str) -> bool:
        """Refines a voice; false when it has to be tried again, from where it was."""
        refinement = await asyncio.to_thread(self._refinement_queue.find, voice_id)
        try:
            self._trial.require_ready()
            if refinement:  # or else it was damaged
                await self._refine(refinement)
        except (_Overtaken, VoiceNotFound, DamagedVoice) as problem:
            log.info("the voice %s is not refined: %s", voice_id, problem)
        except (SvcError, OSError) as error:  # the engine is loading, or the disk is full
            log.info("the voice %s is refined later: %s", voice_id, error)
            return False
        except Exception:  # whatever is wrong with one voice must not keep the others from being refined
            log.exception("the voice %s cannot be refined", voice_id)
        await asyncio.to_thread(self._refinement_queue.drop, voice_id, refinement.sound if refinement else None)
        return True

    async def _refine(self, refinement: Refinement) -> None:
        voice = await asyncio.to_thread(self._current, refinement)
        person = await self._trial.work(self._person, voice)
        while not refinement.search.done:
            refinement = await self._generation(refinement, voice, person)
            await asyncio.to_thread(self._current, refinement)
            if not await asyncio.to_thread(self._refinement_queue.go_on, refinement):
                raise _Overtaken("nobody wants it any more")
        moved = self._directions.moved(voice.parameters, refinement.search.centre)
        found, _ = await self._trial.tuned(moved, person.spectral_envelope, voice.language, spare=True)
        introduction = INTRODUCTIONS[voice.language], voice.language
        old, new = [
            [await self._likeness(each, person, *introduction), await self._likeness(each, person, JUDGED_BY)]
            for each in (voice.parameters, found)
        ]
        if better(new, old):
            await asyncio.to_thread(self._take_over, refinement, found, new[0])
        log.info("the voice %s was refined: likeness %.3f and %.3f, before %.3f and %.3f", voice.voice_id, *new, *old)

    async def _generation(self, refinement: Refinement, voice: CustomVoice, person: SpeakerEmbedding) -> Refinement:
        search = refinement.search
        sentence = tried(search.generation)
        likeness = [
            await self._likeness(self._directions.moved(voice.parameters, trial), person, sentence)
            for trial in search.trials()
        ]
        return replace(refinement, search=search.after(likeness))

    async def _likeness(
        self, voice: VoiceParameters, person: SpeakerEmbedding, text: str, language: Language = Language.ENGLISH_US
    ) -> float:
        """Of the voice, saying this, to the person; then a rest."""
        began = time.monotonic()
        spoken = await self._trial.say(voice, text, language, spare=True)
        likeness = await self._trial.work(self._trial.likeness, spoken, person.embedding)
        await asyncio.sleep(min(_REST * (time.monotonic() - began), _LONGEST_REST))
        return likeness

    def _take_over(self, refinement: Refinement, parameters: VoiceParameters, similarity: float) -> None:
        """Puts the new version in the place of the old one."""

        def refined(known: CustomVoice) -> CustomVoice:
            if known.sound != refinement.sound:
                raise _Overtaken("it was made anew meanwhile")
            return known.changed(parameters=parameters, report=known.report.of_refined(similarity))

        self._custom_voices.change(refinement.voice_id, refined)

    def _current(self, refinement: Refinement) -> CustomVoice:
        """The voice, if it still is the one that was to be refined."""
        voice = self._custom_voices.store.read(refinement.voice_id)
        if voice.sound != refinement.sound:
            raise _Overtaken("it was made anew meanwhile")
        return voice

    def _person(self, voice: CustomVoice) -> SpeakerEmbedding:
        """Who the voice is to be like."""
        reference = self._custom_voices.store.reference(voice)
        if reference is None:
            raise _Overtaken("its recording was not kept")
        return self._trial.encoder.encode(decode.decode_clip(reference).samples, decode.RATE)

    @cached_property
    def _directions(self) -> Directions:
        return Directions()
