"""Speaks into files, through the same pipeline as the server."""

import wave
from pathlib import Path

import numpy as np

from svc.app import create_pipeline, create_voices
from svc.audio import formats
from svc.engine.protocol import Samples
from svc.settings import Settings
from svc.synthesis.alignment import TimedWord
from svc.synthesis.request import SpeechChunk, SynthesisRequest
from svc.voices.settings import VoiceSettings


class Studio:
    def __init__(self) -> None:
        settings = Settings()
        self.voices = create_voices(settings)
        self._speech = create_pipeline(settings)
        self._speech.load()
        self._format = formats.find("wav_24000")

    def say(
        self,
        text: str,
        voice: str,
        path: Path,
        settings: VoiceSettings | None = None,
        seed: int | None = None,
    ) -> float:
        """Speaks the text into the file; the seconds that it lasts."""
        request = SynthesisRequest(text, self.voices.find(voice), settings or VoiceSettings(), seed=seed)
        self.record(request, path)
        with wave.open(str(path)) as recording:
            return float(recording.getnframes() / recording.getframerate())

    def speak(self, request: SynthesisRequest) -> Samples:
        return np.concatenate([chunk.samples for chunk in self._speech.synthesize(request)])

    @property
    def sample_rate(self) -> int:
        return self._speech.sample_rate

    def record(self, request: SynthesisRequest, path: Path) -> list[TimedWord]:
        """Speaks into the file; the words with their times."""
        chunks: list[SpeechChunk] = []
        *_, whole = self._speech.render(request, self._format, chunks.append)
        path.write_bytes(whole.audio)
        return [timed for chunk in chunks for timed in chunk.aligned.words]
