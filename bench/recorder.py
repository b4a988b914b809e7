"""Synthesises into files, through the same pipeline as the server."""

import wave
from contextlib import closing
from pathlib import Path

import numpy as np

from bench.kokoro_engine import KokoroEngine
from svc.audio import formats
from svc.audio.samples import Samples
from svc.service import create_pipeline, create_voices
from svc.settings import Settings
from svc.synthesis.alignment import TimedWord
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import Clip, SynthesisRequest
from svc.text.g2p import Phonemizer
from svc.voices.settings import VoiceSettings


class Recorder:
    def __init__(self, engine: str = "turbo") -> None:
        """With an engine of the service, or `kokoro`."""
        settings = Settings.model_validate({} if engine == "kokoro" else {"engine": engine})
        self.voices = create_voices(settings)
        self._pipeline = (
            Pipeline(KokoroEngine(), Phonemizer(settings.cache_dir))
            if engine == "kokoro"
            else create_pipeline(settings)
        )
        self._pipeline.load()
        self._format = formats.find("wav_24000")

    def record_text(
        self,
        text: str,
        voice: str,
        path: Path,
        settings: VoiceSettings | None = None,
        seed: int | None = None,
    ) -> float:
        """Writes the speech to the file; returns its length in seconds."""
        request = SynthesisRequest(text, self.voices.find(voice), settings or VoiceSettings(), seed=seed)
        self.record(request, path)
        with wave.open(str(path)) as recording:
            return float(recording.getnframes() / recording.getframerate())

    def synthesize(self, request: SynthesisRequest) -> Samples:
        return np.concatenate([chunk.samples for chunk in self._pipeline.synthesize(request)])

    @property
    def sample_rate(self) -> int:
        return self._pipeline.sample_rate

    def record(self, request: SynthesisRequest, path: Path) -> list[TimedWord]:
        """Writes the speech to the file; returns the words with their times."""
        chunks, clip = list(self._pipeline.synthesize(request)), Clip()
        with closing(self._pipeline.create_encoder(self._format)) as encoder:
            for chunk in chunks:
                clip.add(encoder.encode(chunk))
            encoder.finish(clip)
        path.write_bytes(clip.audio)
        return [timed for chunk in chunks for timed in chunk.aligned.words]
