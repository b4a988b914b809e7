"""A worker process that runs one engine from phonemes to samples.

Reads lines of JSON, {"phonemes": […], "voice": …, "path": …}, synthesises the utterances, into the file if there is a
path, and answers with the times. A voice is a key, a mixture (`af_heart+am_adam`) or the parameters of a cloned voice.
Its arguments are the engine's name and the published fp32 file.
"""

import json
import sys
import wave
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnxruntime as ort

from bench.kokoro_engine import KokoroEngine
from bench.timing import Stopwatch
from svc.engine.protocol import Chunk, Engine, StyleTable, Utterance
from svc.service import create_engine
from svc.settings import Settings
from svc.text.g2p.vocabulary import VOCABULARY
from svc.text.language.languages import Language
from svc.voices.built_in import load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.parameters import VoiceParameters

TEACHER, TURBO, KOKORO = "Kokoro fp32", "svc-turbo", "Kokoro int8 in svc"


class Synthesizes(Protocol):
    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]: ...


class PublishedKokoro:
    """Kokoro's graph as published, run whole by ONNX Runtime with default settings."""

    def __init__(self, path: Path) -> None:
        self._session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        tokens = [0, *(VOCABULARY[symbol] for symbol in utterance.phonemes), 0]
        feed = {
            "input_ids": np.array([tokens], dtype=np.int64),
            "style": utterance.style[len(utterance.phonemes) - 1].reshape(1, 256),
            "speed": np.ones(1, dtype=np.float32),
        }
        yield Chunk(self._session.run(None, feed)[0].reshape(-1))


def _load(engine: Engine) -> Synthesizes:
    engine.load()
    return engine


_ENGINES: dict[str, Callable[[Path], Synthesizes]] = {
    TEACHER: PublishedKokoro,
    TURBO: lambda _: _load(create_engine(Settings(engine="turbo"))),
    KOKORO: lambda _: _load(KokoroEngine()),
}


def _synthesize(engine: Synthesizes, request: dict[str, Any], styles: dict[str, StyleTable]) -> dict[str, Any]:
    utterances = [_create_utterance(phonemes, request["voice"], styles) for phonemes in request["phonemes"]]
    samples = []
    stopwatch = Stopwatch()
    for utterance in utterances:
        for chunk in engine.synthesize(utterance):
            stopwatch.add(len(chunk.samples) / 24_000)
            samples.append(chunk.samples)
    times = stopwatch.stop()
    if path := request.get("path"):
        with wave.open(path, "wb") as file:
            file.setparams((1, 2, 24_000, 0, "NONE", "NONE"))
            file.writeframes((np.concatenate(samples).clip(-1, 1) * 32767).astype("<i2").tobytes())
    return times


def _create_utterance(phonemes: str, voice: str | dict[str, Any], styles: dict[str, StyleTable]) -> Utterance:
    if isinstance(voice, str):
        return Utterance(phonemes, np.stack([styles[key] for key in voice.split("+")]).mean(axis=0))
    cloned = VoiceParameters.from_json(voice)
    style = VoiceCatalogue(load_built_in_voices()).build(cloned, Language.ENGLISH_US).style
    return Utterance(
        phonemes,
        style,
        layer_offsets=cloned.layer_offsets,
        pitch_scale=cloned.pitch_scale,
        vocoder_embedding=cloned.vocoder_embedding,
        mask_offset=cloned.mask_offset,
    )


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    engine = _ENGINES[sys.argv[1]](Path(sys.argv[2]))
    styles = {voice.key: voice.style for voice in load_built_in_voices()}
    for line in sys.stdin:
        print(json.dumps(_synthesize(engine, json.loads(line), styles)), file=answers, flush=True)


if __name__ == "__main__":
    main()
