"""What the engine itself speaks on some cores: a process of one thread on each, and neither server nor clients.

More is not to be had of the machine, whose cores slow each other down: they share memory, heat and often the circuits.
"""

import math
import multiprocessing
import os
import time
from collections.abc import Sequence
from multiprocessing.synchronize import Barrier

from bench import sentences
from svc.engine.protocol import Utterance
from svc.service import create_engine, create_voices
from svc.settings import Settings
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language

_LOADS_WITHIN = 300.0


def measure(cpus: Sequence[int], seconds: float, engine: str = "turbo") -> float:
    """Seconds of speech a second."""
    context = multiprocessing.get_context("spawn")
    start, rates = context.Barrier(len(cpus)), context.SimpleQueue()
    speakers = [context.Process(target=_speak, args=(cpu, seconds, engine, start, rates)) for cpu in cpus]
    for each in speakers:
        each.start()
    for each in speakers:
        each.join()
    if any(each.exitcode for each in speakers):
        raise RuntimeError("the engine could not be measured")
    return math.fsum(rates.get() for _ in cpus)


def _speak(cpu: int, seconds: float, engine: str, start: Barrier, rates: "multiprocessing.SimpleQueue[float]") -> None:
    os.sched_setaffinity(0, [cpu])
    settings = Settings.model_validate({"engine": engine, "threads": 1})
    speaker = create_engine(settings)
    speaker.load()
    style = create_voices(settings).find(sentences.VOICE).style
    phonemes = sentences.phonemize(Phonemizer(), sentences.PARAGRAPH, Language.ENGLISH_US)
    utterances = [Utterance(each, style) for each in phonemes]

    def speak_until(end: float) -> float:
        samples = 0
        while time.monotonic() < end:
            samples += sum(len(chunk.samples) for utterance in utterances for chunk in speaker.synthesize(utterance))
        return samples / speaker.sample_rate

    speak_until(time.monotonic() + 0.1)  # warms it
    start.wait(_LOADS_WITHIN)
    began = time.monotonic()
    spoken = speak_until(began + seconds)
    rates.put(spoken / (time.monotonic() - began))
