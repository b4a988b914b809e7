"""Where voices are made: recordings in, a voice that can speak out."""

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from svc.cloning import clip, quality
from svc.cloning.clip import Clip
from svc.cloning.custom_voice import ID, CustomVoice, DamagedVoice, Report, StoredReference, new_id
from svc.cloning.custom_voices import CustomVoices
from svc.cloning.ear import Ear, Heard
from svc.cloning.likeness import Likeness
from svc.cloning.quality import Reference
from svc.cloning.speakers import several
from svc.engine.protocol import Samples
from svc.errors import BuiltInVoice, CloningBusy, ConsentRequired, VoiceLimitReached, VoiceNotFound
from svc.introductions import INTRODUCTIONS
from svc.scheduler import Scheduler
from svc.speech import Speech, SpeechRequest
from svc.text.language import Language
from svc.turns import Playback
from svc.voices import Voices

log = logging.getLogger(__name__)

T = TypeVar("T")
LoadEar = Callable[[], tuple[Ear, Likeness]]

_UNDER_WAY = 4  # clones at once: they are made one after the other, and the last must not wait for long
_NICENESS = 10
_PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Details:
    """What somebody says about a voice."""

    name: str
    description: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    language: Language = Language.ENGLISH_US
    consent: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What to say about a voice from now on; None leaves it as it is."""

    name: str | None = None
    description: str | None = None
    labels: dict[str, str] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class _Sitting:
    """Somebody sits for a voice: the recording, and what was heard in it."""

    reference: Reference
    heard: Heard
    kept: bytes | None
    """The recording as a file, if it is to be kept."""


class Studio:
    """Makes voices one at a time, off the event loop and at low priority: live speech goes first."""

    def __init__(
        self,
        load_ear: LoadEar,
        speech: Speech,
        scheduler: Scheduler,
        voices: Voices,
        custom_voices: CustomVoices,
        *,
        max_voices: int,
        keep_references: bool,
        require_consent: bool,
    ) -> None:
        self._load_ear = load_ear
        self._speech = speech
        self._scheduler = scheduler
        self._voices = voices
        self._custom_voices = custom_voices
        self._max_voices = max_voices
        self._keep_references = keep_references
        self._require_consent = require_consent
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="studio", initializer=_step_back)
        self._under_way = 0

    async def close(self) -> None:
        """Waits for the step that is running, and takes no more."""
        await asyncio.to_thread(self._worker.shutdown, cancel_futures=True)

    async def clone(self, clips: Sequence[bytes], details: Details, key_id: str) -> CustomVoice:
        """Makes a voice from recordings of one person, and keeps it. What fails leaves nothing behind."""
        if self._require_consent and not details.consent:
            raise ConsentRequired
        if len(self._custom_voices) >= self._max_voices:
            raise VoiceLimitReached(self._max_voices)
        async with self._place():
            sitting = await self._work(self._listen, clips)
            now = time.time()
            voice = CustomVoice(
                voice_id=new_id(),
                name=details.name,
                description=details.description,
                labels=details.labels,
                language=details.language,
                consent=details.consent,
                key_id=key_id,
                created_at=int(now),
                changed_at=now,
                **await self._likeness(sitting, details.language),
            )
            await self._work(self._custom_voices.add, voice, sitting.kept, self._max_voices)
        log.info("key %s cloned the voice %s (consent: %s)", key_id, voice.voice_id, "yes" if voice.consent else "no")
        return voice

    async def edit(self, voice_id: str, clips: Sequence[bytes], changes: Changes, consent: bool, key_id: str) -> None:
        """Changes what is said about a voice or, with further recordings, how it sounds."""
        known = self._custom(voice_id)
        if clips and self._require_consent and not consent:
            raise ConsentRequired
        given = {name: value for name in changes.__slots__ if (value := getattr(changes, name)) is not None}
        kept = None
        if clips:
            async with self._place():
                sitting = await self._work(self._listen, clips, known)
                given |= await self._likeness(sitting, known.language)
                kept = sitting.kept

        def changed(voice: CustomVoice) -> CustomVoice:
            return replace(voice, **given, revision=voice.revision + 1, changed_at=time.time())

        await asyncio.to_thread(self._custom_voices.change, voice_id, changed, kept)
        log.info("key %s changed the voice %s", key_id, voice_id)

    async def remove(self, voice_id: str, key_id: str) -> None:
        """Removes a voice for good; who is speaking with it is not interrupted."""
        if not ID.fullmatch(voice_id):  # one that is may be damaged, and so missing from the catalogue
            self._custom(voice_id)
        await asyncio.to_thread(self._custom_voices.remove, voice_id)
        log.info("key %s removed the voice %s", key_id, voice_id)

    def _custom(self, voice_id: str) -> CustomVoice:
        """The cloned voice of that id. Its name will not do: several may have it."""
        voice = self._voices.find(voice_id)
        if voice.custom is None:
            raise BuiltInVoice(voice.name)
        if voice.voice_id != voice_id:
            raise VoiceNotFound(voice_id)
        return voice.custom

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """A place in the line of those who wait for their voice, if the engine is there and the line is short."""
        self._scheduler.require_ready()
        if self._under_way >= _UNDER_WAY:
            raise CloningBusy
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def _work(self, function: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)

    def _listen(self, contents: Sequence[bytes], known: CustomVoice | None = None) -> _Sitting:
        clips = [*self._earlier(known), *clip.read_all(contents)]
        reference = quality.examine(clips)
        kept = clip.to_flac(reference.samples) if self._keep_references else None
        return _Sitting(reference, self._ear.hear(reference.samples, clip.RATE), kept)

    def _earlier(self, known: CustomVoice | None) -> list[Clip]:
        """The speech that a voice was made from before."""
        try:
            content = known and self._custom_voices.store.reference(known)
        except DamagedVoice as problem:
            log.error("the reference of a voice is left out: %s", problem)
            return []
        return [clip.read(content)] if content else []

    async def _likeness(self, sitting: _Sitting, language: Language) -> dict[str, Any]:
        """What a sitting gives to a voice, and how good a likeness that is: heard when it speaks."""
        voice = self._voices.sketch(sitting.heard.parameters, language)
        request = SpeechRequest(INTRODUCTIONS[language], voice)
        work = (chunk.samples for chunk in self._speech.speak(request))
        async with aclosing(self._scheduler.turns(work, _Patient(lambda _: 0.0))) as chunks:
            spoken = np.concatenate([samples async for samples in chunks])
        return {
            "parameters": sitting.heard.parameters,
            "report": await self._work(self._report, sitting, spoken),
            "reference": StoredReference.of(sitting.kept) if sitting.kept else None,
        }

    def _report(self, sitting: _Sitting, spoken: Samples) -> Report:
        heard = self._ear.hear(spoken, self._speech.sample_rate)
        similarity = self._ear.similarity(sitting.heard.embedding, heard.embedding)
        key, nearest_similarity = self._built_in.nearest(self._ear, sitting.heard.embedding)
        nearest = self._voices.find(key).name
        warnings = list(sitting.reference.warnings)
        if several(self._ear, sitting.reference.samples):
            warnings.append("More than one person seems to speak. Send a recording of one.")
        if similarity < nearest_similarity:
            warnings.append(
                f"The built-in voice {nearest} is more like the recording than this clone. "
                "A longer and clearer recording may help."
            )
        return Report(
            measured=sitting.reference.measured,
            similarity=round(similarity, 3),
            nearest=nearest,
            nearest_similarity=round(nearest_similarity, 3),
            warnings=tuple(warnings),
        )

    # Loaded by the first who needs it, in the worker: the threads that it starts inherit the low priority.

    @property
    def _ear(self) -> Ear:
        return self._loaded[0]

    @property
    def _built_in(self) -> Likeness:
        return self._loaded[1]

    @cached_property
    def _loaded(self) -> tuple[Ear, Likeness]:
        return self._load_ear()


class _Patient(Playback[Samples]):
    """Nobody listens to the sample: whoever's speech is due within seconds goes first."""

    def due(self) -> float:
        return time.monotonic() + _PATIENCE


def _step_back() -> None:
    """Lets the threads that speak go first; only Linux gives threads priorities of their own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
