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

from svc.audio import equalizer
from svc.audio.equalizer import Equalizer, SpectralEnvelope
from svc.cloning.built_in_embeddings import BuiltInEmbeddings
from svc.cloning.speaker_embedding import Embedding, SpeakerEncoder
from svc.engine.protocol import Samples
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.synthesis.scheduler import PlaybackClock, Scheduler
from svc.text.language import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.parameters import VoiceParameters
from svc.voices.preview_texts import INTRODUCTIONS

T = TypeVar("T")
LoadSpeakerEncoder = Callable[[], tuple[SpeakerEncoder, BuiltInEmbeddings]]

_NICENESS = 10
_PATIENCE = 2.0


class TrialSynthesis:
    """Speaks on the engine, where live speech goes first, and hears in one thread of its own, at low priority."""

    def __init__(
        self, load_speaker_encoder: LoadSpeakerEncoder, speech: Pipeline, scheduler: Scheduler, voices: VoiceCatalogue
    ) -> None:
        self._load_ear = load_speaker_encoder
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
        request = SynthesisRequest(text, self._voices.sketch(parameters, language), language=language)
        work = (chunk.samples for chunk in self._speech.synthesize(request))
        turns = self._scheduler.run_when_idle(work) if spare else self._scheduler.run(work, _Patient(lambda _: 0.0))
        async with aclosing(turns) as chunks:
            return np.concatenate([samples async for samples in chunks])

    async def work(self, function: Callable[..., T], *arguments: object) -> T:
        """Calls a function in the booth's thread, the only one that may use the ear."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, function, *arguments)

    def likeness(self, spoken: Samples, person: Embedding) -> float:
        """Of what was said here to somebody: 1 is the same person, 0 a stranger."""
        return self.encoder.similarity(self.encoder.encode(spoken, self._speech.sample_rate).embedding, person)

    async def tuned(
        self, parameters: VoiceParameters, person: SpectralEnvelope, language: Language, *, spare: bool = False
    ) -> tuple[VoiceParameters, Samples]:
        """The voice in the colour of the person, and how it introduces itself: that is what it is tuned by."""
        plain = replace(parameters, equalizer_gains=equalizer.FLAT)
        spoken = await self.say(plain, INTRODUCTIONS[language], language, spare=spare)
        return await self.work(self._coloured, plain, spoken, person)

    def _coloured(
        self, plain: VoiceParameters, spoken: Samples, person: SpectralEnvelope
    ) -> tuple[VoiceParameters, Samples]:
        rate = self._speech.sample_rate
        change = equalizer.matching_gains(person, self.encoder.spectral_envelope(spoken, rate))
        return replace(plain, equalizer_gains=change), Equalizer(change, rate)(spoken)

    # Loaded in the thread: those that it starts inherit the low priority. If that fails, whoever needs it is told why.

    @property
    def encoder(self) -> SpeakerEncoder:
        return self._loaded[0]

    @property
    def built_in(self) -> BuiltInEmbeddings:
        return self._loaded[1]

    @cached_property
    def _loaded(self) -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
        return self._load_ear()


class _Patient(PlaybackClock[Samples]):
    """Nobody listens to it: whoever's speech is due within seconds goes first."""

    def deadline(self) -> float:
        return time.monotonic() + _PATIENCE


def _step_back() -> None:
    """Lets the threads that speak go first; only Linux gives threads priorities of their own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
