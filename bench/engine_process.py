"""One engine of Kokoro's kind in a process of its own, from phonemes to samples.

Reads lines of JSON, {"phonemes": […], "voice": …, "path": …}, speaks the utterances one after the other, into the file
if there is a path, and answers with what it took. A voice can be a mixture, such as `af_heart+am_adam`, or a cloned
voice's parameters. Its arguments are the engine's name and the published fp32 file.
"""

import json
import sys
import wave
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnxruntime as ort

from bench.stopwatch import Stopwatch
from svc.app import create_engine
from svc.engine.protocol import Chunk, StyleTable, Utterance
from svc.settings import Settings
from svc.text.g2p.vocabulary import VOCABULARY
from svc.text.language import Language
from svc.voices.catalogue import VoiceCatalogue, built_in
from svc.voices.parameters import VoiceParameters

TEACHER, TURBO, KOKORO = "Kokoro fp32", "svc-turbo", "SVC_ENGINE=kokoro"


class Speaks(Protocol):
    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]: ...


class Published:
    """Kokoro's graph as it was published, run whole by ONNX Runtime with its own settings."""

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


def _of_svc(name: str) -> Speaks:
    engine = create_engine(Settings(engine=name))
    engine.load()
    return engine


_ENGINES: dict[str, Callable[[Path], Speaks]] = {
    TEACHER: Published,
    TURBO: lambda _: _of_svc("turbo"),
    KOKORO: lambda _: _of_svc("kokoro"),
}


def _speak(engine: Speaks, question: dict[str, Any], styles: dict[str, StyleTable]) -> dict[str, Any]:
    utterances = [_utterance(phonemes, question["voice"], styles) for phonemes in question["phonemes"]]
    samples = []
    stopwatch = Stopwatch()
    for utterance in utterances:
        for chunk in engine.synthesize(utterance):
            stopwatch.part(len(chunk.samples) / 24_000)
            samples.append(chunk.samples)
    taken = stopwatch.stop()
    if path := question.get("path"):
        with wave.open(path, "wb") as file:
            file.setparams((1, 2, 24_000, 0, "NONE", "NONE"))
            file.writeframes((np.concatenate(samples).clip(-1, 1) * 32767).astype("<i2").tobytes())
    return taken


def _utterance(phonemes: str, voice: str | dict[str, Any], styles: dict[str, StyleTable]) -> Utterance:
    if isinstance(voice, str):
        return Utterance(phonemes, np.stack([styles[key] for key in voice.split("+")]).mean(axis=0))
    cloned = VoiceParameters.from_json(voice)
    style = VoiceCatalogue(built_in()).sketch(cloned, Language.ENGLISH_US).style
    return Utterance(
        phonemes,
        style,
        layer_offsets=cloned.layer_offsets,
        pitch_scale=cloned.pitch_scale,
        vocoder_embedding=cloned.vocoder_embedding,
    )


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    engine = _ENGINES[sys.argv[1]](Path(sys.argv[2]))
    styles = {voice.key: voice.style for voice in built_in()}
    for line in sys.stdin:
        print(json.dumps(_speak(engine, json.loads(line), styles)), file=answers, flush=True)


if __name__ == "__main__":
    main()
