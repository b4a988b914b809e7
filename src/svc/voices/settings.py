"""The sliders of `voice_settings`, and what each does to the sound."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock

import numpy as np

from svc import atomic_files
from svc.audio.equalizer import FLAT, SpectralEnvelope
from svc.engine.protocol import NO_LAYER_OFFSETS, NO_VOCODER_EMBEDDING, Delivery, Samples, StyleTable
from svc.text.language import Language
from svc.voices.catalogue import Voice

SLOWEST, FASTEST = 0.5, 2.0


@dataclass(frozen=True, slots=True)
class VoiceSettings:
    """Sliders from 0 to 1, and the speed. At these values a voice sounds just as it is."""

    stability: float = 0.5
    """How steady the melody is: lower is livelier, higher is calmer."""
    similarity_boost: float = 0.75
    """How much of what is its own a voice keeps: lower is nearer to an average voice of its gender."""
    style: float = 0.0
    """Exaggeration: how much further the melody swings."""
    use_speaker_boost: bool = True
    """Off takes a little of the voice's own character away."""
    speed: float = 1.0

    def clamped(self) -> "VoiceSettings":
        """The same settings within their ranges."""
        return VoiceSettings(
            stability=_slider(self.stability),
            similarity_boost=_slider(self.similarity_boost),
            style=_slider(self.style),
            use_speaker_boost=self.use_speaker_boost,
            speed=min(max(self.speed, SLOWEST), FASTEST),
        )

    def delivery(self, seed: int | None) -> Delivery:
        calm_to_lively: float = 2.0 ** (0.5 - _slider(self.stability))
        exaggeration = 1.0 + 0.4 * _slider(self.style)
        return Delivery(
            speed=min(max(self.speed, SLOWEST), FASTEST),
            pitch_range=calm_to_lively * exaggeration,
            seed=seed,
        )

    def style_table(self, voice: Voice, language: Language) -> StyleTable:
        """The voice's style, with as much of its own timbre as asked for."""
        own, plain = self._own(), voice.style_in(language)
        if own == 1.0:
            return plain
        style = plain.copy()
        timbre = slice(0, 128)
        style[:, timbre] = voice.neutral[:, timbre] + own * (plain - voice.neutral)[:, timbre]
        return style

    def layer_offsets(self, voice: Voice, language: Language) -> Samples:
        """How far the layers of a cloned voice stray from its timbre, in the same measure."""
        if voice.parameters is None:
            return NO_LAYER_OFFSETS
        return np.float32(self._own()) * voice.parameters.layer_offsets_in(language)

    def vocoder_embedding(self, voice: Voice) -> Samples:
        """What a cloned voice has of its own in the vocoder, in the same measure."""
        if voice.parameters is None:
            return NO_VOCODER_EMBEDDING
        return np.float32(self._own()) * voice.parameters.vocoder_embedding

    def equalizer_gains(self, voice: Voice) -> SpectralEnvelope:
        """The filter that a cloned voice passes through, in the same measure."""
        if voice.parameters is None:
            return FLAT
        return np.float32(self._own()) * voice.parameters.equalizer_gains

    def _own(self) -> float:
        """How much of what is its own a voice keeps."""
        own = 0.6 + 0.4 * _slider(self.similarity_boost) / 0.75
        return own if self.use_speaker_boost else own - 0.1


def _slider(value: float) -> float:
    return min(max(value, 0.0), 1.0)


class VoiceSettingsStore:
    """A voice's own settings, or the default ones."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "voice-settings.json"
        self._lock = Lock()
        stored = json.loads(self._file.read_text()) if self._file.exists() else {}
        self._settings = {voice_id: VoiceSettings(**fields) for voice_id, fields in stored.items()}

    def get(self, voice_id: str) -> VoiceSettings:
        return self._settings.get(voice_id, VoiceSettings())

    def set(self, voice_id: str, settings: VoiceSettings) -> None:
        with self._lock:
            changed = {**self._settings, voice_id: settings}
            self._write({voice_id: asdict(each) for voice_id, each in changed.items()})
            self._settings = changed

    def forget(self, voice_id: str) -> None:
        """A removed voice leaves no settings behind."""
        with self._lock:
            if voice_id in self._settings:
                changed = {known: each for known, each in self._settings.items() if known != voice_id}
                self._write({known: asdict(each) for known, each in changed.items()})
                self._settings = changed

    def _write(self, content: dict[str, dict[str, object]]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write(self._file, json.dumps(content, indent=2).encode())
