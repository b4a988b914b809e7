"""Synthesis with voices that are not stored yet, and their comparison with the reference."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from svc.audio import equalizer
from svc.audio.equalizer import Equalizer, SpectralEnvelope
from svc.audio.samples import Samples
from svc.cloning.speaker_encoder import BuiltInEmbeddings, Embedding, SpeakerEmbedding, SpeakerEncoder
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.synthesis.scheduler import Scheduler
from svc.text.language.languages import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.loudness import list_calibration_texts, measure_clone
from svc.voices.parameters import LOUDNESSES, VoiceParameters

T = TypeVar("T")
LoadSpeakerEncoder = Callable[[], tuple[SpeakerEncoder, BuiltInEmbeddings]]

_NICENESS = 10


class TrialSynthesis:
    """Synthesizes on the shared engine, behind live requests, and runs the encoder in one low-priority thread."""

    def __init__(
        self, load_speaker_encoder: LoadSpeakerEncoder, pipeline: Pipeline, scheduler: Scheduler, voices: VoiceCatalogue
    ) -> None:
        self._load_speaker_encoder = load_speaker_encoder
        self._pipeline = pipeline
        self._scheduler = scheduler
        self._voices = voices
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="cloning", initializer=_lower_priority)

    def open(self) -> None:
        """Starts to load the encoder, so that the first clone need not wait for it; returns at once."""
        self._executor.submit(lambda: self._loaded)

    async def close(self) -> None:
        """Waits for the step that is running; no further step starts."""
        await asyncio.to_thread(self._executor.shutdown, cancel_futures=True)

    def require_ready(self) -> None:
        """Raises unless the engine is loaded."""
        self._scheduler.require_ready()

    async def wait_until_idle(self) -> None:
        """Until no request needs the engine."""
        await self._scheduler.wait_until_idle()

    async def run_in_thread(self, function: Callable[..., T], *arguments: object) -> T:
        """Calls a function in the low-priority thread, the only one that may use the encoder."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *arguments)

    async def synthesize(
        self, parameters: VoiceParameters, text: str, language: Language, *, when_idle: bool = False
    ) -> Samples:
        """Speaks a text with these parameters, as loud as the engine makes it.

        `when_idle` only uses the engine while no other request does.
        """
        voice = self._voices.build(replace(parameters, loudness={}), language)
        request = SynthesisRequest(text, voice, language=language)
        work = (chunk.samples for chunk in self._pipeline.synthesize(request))
        run = self._scheduler.run_when_idle if when_idle else self._scheduler.run_in_background
        async with aclosing(run(work)) as chunks:
            return np.concatenate([samples async for samples in chunks])

    async def make_voice(
        self, speaker: SpeakerEmbedding, pace: float, language: Language, *, when_idle: bool = False
    ) -> tuple[VoiceParameters, Samples]:
        """The parameters of a person's voice, and the preview spoken so.

        What the voice lacks at first is heard in one text, and corrected.
        """
        paced = replace(speaker, parameters=replace(speaker.parameters, pace=pace))
        *_, text = list_calibration_texts(language)
        spoken = await self.synthesize(paced.parameters, text, language, when_idle=when_idle)
        corrected = await self.run_in_thread(self._correct, paced, spoken)
        return await self.match_envelope(corrected, speaker.spectral_envelope, language, when_idle=when_idle)

    def _correct(self, speaker: SpeakerEmbedding, spoken: Samples) -> VoiceParameters:
        """The voice is heard through the equalizer that it would get."""
        _, (equalized,) = self._equalize(speaker.parameters, [spoken], speaker.spectral_envelope)
        return self.encoder.correct(speaker, equalized, self._pipeline.sample_rate)

    async def match_envelope(
        self, parameters: VoiceParameters, target: SpectralEnvelope, language: Language, *, when_idle: bool = False
    ) -> tuple[VoiceParameters, Samples]:
        """The parameters with the equalizer gains that bring the voice to the envelope, and the preview spoken so.

        The loudness is measured, too.
        """
        flat = replace(parameters, equalizer_gains=equalizer.FLAT)
        spoken = await self._speak_calibration_texts(flat, language, when_idle=when_idle)
        matched, equalized = await self.run_in_thread(self._equalize, flat, spoken, target)
        return await self._set_loudness(matched, equalized, language), equalized[0]

    def _equalize(
        self, flat: VoiceParameters, spoken: list[Samples], target: SpectralEnvelope
    ) -> tuple[VoiceParameters, list[Samples]]:
        """The envelope of both texts together is the voice's: that of one has much of its words."""
        rate = self._pipeline.sample_rate
        gains = equalizer.matching_gains(target, self.encoder.spectral_envelope(np.concatenate(spoken), rate))
        return replace(flat, equalizer_gains=gains), [Equalizer(gains, rate)(each) for each in spoken]

    async def measure_loudness(self, parameters: VoiceParameters, language: Language) -> VoiceParameters:
        """The parameters with the loudness that they have in a language; only uses the engine while it is idle."""
        spoken = await self._speak_calibration_texts(parameters, language, when_idle=True)
        return await self._set_loudness(parameters, spoken, language)

    async def _speak_calibration_texts(
        self, parameters: VoiceParameters, language: Language, *, when_idle: bool
    ) -> list[Samples]:
        """The preview, and one more."""
        texts = list_calibration_texts(language)
        return [await self.synthesize(parameters, text, language, when_idle=when_idle) for text in texts]

    async def _set_loudness(
        self, parameters: VoiceParameters, spoken: list[Samples], language: Language
    ) -> VoiceParameters:
        """What is silent stays unmeasured."""
        speech = np.concatenate(spoken)
        loudness = await self.run_in_thread(measure_clone, speech, self._pipeline.sample_rate, language)
        low, high = LOUDNESSES
        return parameters.with_loudness(language, round(loudness, 2)) if low <= loudness <= high else parameters

    # The following use the encoder: only in `run_in_thread`.

    def measure_similarity(self, samples: Samples, embedding: Embedding) -> float:
        """Of synthesized speech to a person: 1 is the same person, about 0 another."""
        return self.encoder.similarity(self.encoder.encode(samples, self._pipeline.sample_rate).embedding, embedding)

    def find_nearest_built_in(self, embedding: Embedding) -> tuple[str, float]:
        """The name of the built-in voice that is most similar to a person, and its similarity."""
        key, similarity = self._loaded[1].find_nearest(self.encoder, embedding)
        return self._voices.find(key).name, similarity

    @property
    def encoder(self) -> SpeakerEncoder:
        return self._loaded[0]

    @cached_property
    def _loaded(self) -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
        """Loaded in the thread, so that the threads of the runtime inherit its priority.

        If loading fails, every caller gets the error.
        """
        return self._load_speaker_encoder()


def _lower_priority() -> None:
    """Synthesis threads go first. Only Linux has a priority for each thread."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
