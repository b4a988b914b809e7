"""The booth: where a voice that nobody has kept yet speaks, and is heard."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from svc.audio import equalizer as colour
from svc.audio.equalizer import Colour, Filter
from svc.cloning.built_in_embeddings import Likeness
from svc.cloning.speaker_embedding import Ear, Embedding
from svc.engine.protocol import Samples
from svc.synthesis.pipeline import Speech, SpeechRequest
from svc.synthesis.scheduler import Scheduler
from svc.synthesis.turns import Playback
from svc.text.language import Language
from svc.voices.catalogue import Voices
from svc.voices.parameters import VoiceParameters
from svc.voices.preview_texts import INTRODUCTIONS

T = TypeVar("T")
LoadEar = Callable[[], tuple[Ear, Likeness]]

_NICENESS = 10
_PATIENCE = 2.0


class Booth:
    """Speaks on the engine, where live speech goes first, and hears in one thread of its own, at low priority."""

    def __init__(self, load_ear: LoadEar, speech: Speech, scheduler: Scheduler, voices: Voices) -> None:
        self._load_ear = load_ear
        self._speech = speech
        self._scheduler = scheduler
        self._voices = voices
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="booth", initializer=_step_back)

    def open(self) -> None:
        """Begins to load the ear, so that the first clone need not wait for it; returns at once."""
        self._worker.submit(lambda: self._loaded)

    async def close(self) -> None:
        """Waits for the step that is running, and takes no more."""
        await asyncio.to_thread(self._worker.shutdown, cancel_futures=True)

    def require_ready(self) -> None:
        """Raises unless there is an engine to speak with."""
        self._scheduler.require_ready()

    async def say(self, parameters: VoiceParameters, text: str, language: Language, *, spare: bool = False) -> Samples:
        """How a voice with these parameters says it. `spare` takes the engine only while nobody else wants it."""
        request = SpeechRequest(text, self._voices.sketch(parameters, language), language=language)
        work = (chunk.samples for chunk in self._speech.speak(request))
        turns = self._scheduler.spare_turns(work) if spare else self._scheduler.turns(work, _Patient(lambda _: 0.0))
        async with aclosing(turns) as chunks:
            return np.concatenate([samples async for samples in chunks])

    async def work(self, function: Callable[..., T], *arguments: object) -> T:
        """Calls a function in the booth's thread, the only one that may use the ear."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)

    def likeness(self, spoken: Samples, person: Embedding) -> float:
        """Of what was said here to somebody: 1 is the same person, 0 a stranger."""
        return self.ear.similarity(self.ear.hear(spoken, self._speech.sample_rate).embedding, person)

    async def tuned(
        self, parameters: VoiceParameters, person: Colour, language: Language, *, spare: bool = False
    ) -> tuple[VoiceParameters, Samples]:
        """The voice in the colour of the person, and how it introduces itself: that is what it is tuned by."""
        plain = replace(parameters, colour=colour.PLAIN)
        spoken = await self.say(plain, INTRODUCTIONS[language], language, spare=spare)
        return await self.work(self._coloured, plain, spoken, person)

    def _coloured(self, plain: VoiceParameters, spoken: Samples, person: Colour) -> tuple[VoiceParameters, Samples]:
        rate = self._speech.sample_rate
        change = colour.change(person, self.ear.colour(spoken, rate))
        return replace(plain, colour=change), Filter(change, rate)(spoken)

    # Loaded in the thread: those that it starts inherit the low priority. If that fails, whoever needs it is told why.

    @property
    def ear(self) -> Ear:
        return self._loaded[0]

    @property
    def built_in(self) -> Likeness:
        return self._loaded[1]

    @cached_property
    def _loaded(self) -> tuple[Ear, Likeness]:
        return self._load_ear()


class _Patient(Playback[Samples]):
    """Nobody listens to it: whoever's speech is due within seconds goes first."""

    def due(self) -> float:
        return time.monotonic() + _PATIENCE


def _step_back() -> None:
    """Lets the threads that speak go first; only Linux gives threads priorities of their own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
