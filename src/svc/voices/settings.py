"""`voice_settings`: what each slider changes in the synthesis, and the settings stored for voices."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock

import numpy as np

from svc import atomic_files
from svc.audio.equalizer import FLAT, SpectralEnvelope
from svc.engine.protocol import NO_LAYER_OFFSETS, NO_VOCODER_EMBEDDING, Delivery, StyleTable
from svc.text.language import Language
from svc.voices.catalogue import Voice
from svc.voices.parameters import STYLE, Vector

SLOWEST, FASTEST = 0.5, 2.0


@dataclass(frozen=True, slots=True)
class VoiceSettings:
    """Sliders from 0 to 1, and the speed. The defaults leave the voice as it is."""

    stability: float = 0.5
    """How steady the melody is: lower is livelier, higher is calmer."""
    similarity_boost: float = 0.75
    """How much of its own timbre a voice keeps: lower is nearer to the mean voice of its gender."""
    style: float = 0.0
    """Exaggeration: how much wider the pitch range is."""
    use_speaker_boost: bool = True
    """Off is a little nearer to the mean voice."""
    speed: float = 1.0

    def clamp(self) -> "VoiceSettings":
        """The same settings within their ranges."""
        return VoiceSettings(
            stability=_clamp_slider(self.stability),
            similarity_boost=_clamp_slider(self.similarity_boost),
            style=_clamp_slider(self.style),
            use_speaker_boost=self.use_speaker_boost,
            speed=min(max(self.speed, SLOWEST), FASTEST),
        )

    def delivery(self, seed: int | None) -> Delivery:
        settings = self.clamp()
        liveliness: float = 2.0 ** (0.5 - settings.stability)
        exaggeration = 1.0 + 0.4 * settings.style
        return Delivery(speed=settings.speed, pitch_range=liveliness * exaggeration, seed=seed)

    # `similarity_boost` scales all that sets a voice apart from the mean voice: its timbre and, of a clone, its layer
    # offsets, vocoder embedding and equalizer gains. The melody is not a matter of similarity.

    def style_table(self, voice: Voice, language: Language) -> StyleTable:
        strength, full = self._strength(), voice.style_in(language)
        if strength == 1.0:
            return full
        style = full.copy()
        timbre = slice(0, STYLE)
        style[:, timbre] = voice.neutral[:, timbre] + strength * (full - voice.neutral)[:, timbre]
        return style

    def layer_offsets(self, voice: Voice, language: Language) -> Vector:
        if voice.parameters is None:
            return NO_LAYER_OFFSETS
        return np.float32(self._strength()) * voice.parameters.layer_offsets_in(language)

    def vocoder_embedding(self, voice: Voice) -> Vector:
        if voice.parameters is None:
            return NO_VOCODER_EMBEDDING
        return np.float32(self._strength()) * voice.parameters.vocoder_embedding

    def equalizer_gains(self, voice: Voice) -> SpectralEnvelope:
        if voice.parameters is None:
            return FLAT
        return np.float32(self._strength()) * voice.parameters.equalizer_gains

    def _strength(self) -> float:
        """The factor of what sets the voice apart from the mean voice."""
        strength = 0.6 + 0.4 * _clamp_slider(self.similarity_boost) / 0.75
        return strength if self.use_speaker_boost else strength - 0.1


def _clamp_slider(value: float) -> float:
    return min(max(value, 0.0), 1.0)


class VoiceSettingsStore:
    """The settings of each voice, in one file that is written atomically; voices without any have the defaults."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "voice-settings.json"
        self._lock = Lock()
        stored = json.loads(self._file.read_text()) if self._file.exists() else {}
        self._settings = {voice_id: VoiceSettings(**fields) for voice_id, fields in stored.items()}

    def get(self, voice_id: str) -> VoiceSettings:
        return self._settings.get(voice_id, VoiceSettings())

    def set(self, voice_id: str, settings: VoiceSettings) -> None:
        with self._lock:
            self._replace({**self._settings, voice_id: settings})

    def forget(self, voice_id: str) -> None:
        """Deletes the settings of a removed voice."""
        with self._lock:
            if voice_id in self._settings:
                self._replace({known: each for known, each in self._settings.items() if known != voice_id})

    def _replace(self, settings: dict[str, VoiceSettings]) -> None:
        """Writes the file first: if that fails, the settings in memory stay as they were."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        content = {voice_id: asdict(each) for voice_id, each in settings.items()}
        atomic_files.write(self._file, json.dumps(content, indent=2).encode())
        self._settings = settings
