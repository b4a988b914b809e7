"""A voice with its settings, and how the manner of a phrase changes what it does."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np

from svc.audio.equalizer import Equalizer
from svc.audio.samples import Samples
from svc.engine.protocol import Utterance
from svc.synthesis.request import SynthesisRequest
from svc.text.language.languages import Language
from svc.text.markup.prosody import HIGHEST, LOWEST, MEAN_HERTZ, NARROWEST, WIDEST, Prosody
from svc.text.sentences.phrases import Phrase
from svc.voices.catalogue import Voice

NoteLanguage = Callable[[Voice, Language], None]
"""Is told which languages a voice speaks."""
FindVoice = Callable[[str], Voice | None]
"""The voice of that name or id; None if there is none."""

# The mean pitch of speaking voices, for a pitch that is given in Hz.
_GENDER_HERTZ = {"female": 200.0, "male": 120.0}

# Louder samples are limited softly from the knee on, and stay below the ceiling: -1 dBFS.
_KNEE, _CEILING = 0.7, 0.891


class Speaker:
    """Turns phrases into utterances of the engine, and applies what the engine does not."""

    def __init__(self, voice: Voice, request: SynthesisRequest, sample_rate: int, note_language: NoteLanguage) -> None:
        settings = request.settings
        self.voice = voice
        self._delivery = settings.delivery(request.seed)
        self._split_speed = settings.split_speed
        # These differ between languages, and are the same for all phrases of one.
        self._style_table = cache(partial(settings.style_table, voice))
        self._layer_offsets = cache(partial(settings.layer_offsets, voice))
        self._gain = cache(self._find_gain)
        self._note_language = note_language
        self._vocoder_embedding = settings.vocoder_embedding(voice)
        self._mask_offset = settings.mask_offset(voice)
        gains = settings.equalizer_gains(voice)
        self._equalizer = Equalizer(gains, sample_rate) if gains.any() else None

    def make_utterance(self, phrase: Phrase) -> Utterance:
        prosody = phrase.manner.prosody
        pitch_range = self._delivery.pitch_range * self.voice.pitch_range * prosody.pitch_range
        delivery = replace(
            self._delivery,
            speed=self._split_speed(prosody.rate * self.voice.pace)[0],
            pitch_range=_clamp(pitch_range, NARROWEST, WIDEST),
        )
        return Utterance(
            phrase.phonemes,
            self._style_table(phrase.language),
            delivery,
            phrase.before,
            phrase.after,
            self._layer_offsets(phrase.language),
            self.voice.pitch_scale_in(phrase.language) * self._find_pitch(prosody),
            self._vocoder_embedding,
            self._mask_offset,
        )

    def find_tempo(self, prosody: Prosody) -> float:
        """By how much the engine's speech is to be sped up."""
        return self._split_speed(prosody.rate * self.voice.pace)[1]

    def post_process(self, samples: Samples, phrase: Phrase) -> Samples:
        """The equalizer, and the volume: that of all voices, changed as the markup asks for."""
        if self._equalizer:
            samples = self._equalizer(samples)
        return _amplify(samples, self._gain(phrase.language) + phrase.manner.prosody.volume)

    def _find_gain(self, language: Language) -> float:
        self._note_language(self.voice, language)
        return self.voice.gain_in(language)

    def _find_pitch(self, prosody: Prosody) -> float:
        if prosody.hertz is None:
            return prosody.pitch
        return _clamp(prosody.pitch * prosody.hertz / _GENDER_HERTZ.get(self.voice.gender, MEAN_HERTZ), LOWEST, HIGHEST)


def _amplify(samples: Samples, decibels: float) -> Samples:
    amplified: Samples = samples * np.float32(10 ** (decibels / 20))
    if max(amplified.max(initial=0.0), -amplified.min(initial=0.0)) <= np.float32(_KNEE):
        return amplified
    excess = np.abs(amplified) - np.float32(_KNEE)
    room = np.float32(_CEILING - _KNEE)
    limited: Samples = np.where(
        excess > 0, np.copysign(np.float32(_KNEE) + room * np.tanh(excess / room), amplified), amplified
    )
    return limited


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
