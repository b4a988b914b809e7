"""The sliders of `voice_settings`, and what each does to the sound."""

from dataclasses import dataclass

import numpy as np

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
