"""Clones, made as the server makes them, and the speech of voices without the gain that all of them get."""

from dataclasses import replace

from bench.recorder import Recorder
from svc.audio import decode, equalizer
from svc.audio.equalizer import Equalizer
from svc.audio.loudness import measure_loudness
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder, SpeakerEmbedding
from svc.engine.protocol import Samples
from svc.synthesis.request import SynthesisRequest
from svc.text.language import Language
from svc.voices.built_in import PREVIEW_TEXTS
from svc.voices.catalogue import Voice
from svc.voices.loudness import to_clone_loudness
from svc.voices.parameters import VoiceParameters


def finish_clone(
    recorder: Recorder, encoder: OnnxSpeakerEncoder, speaker: SpeakerEmbedding, language: Language
) -> VoiceParameters:
    """What the encoder found, with the equalizer gains and the loudness that are measured on a spoken preview."""
    flat = replace(speaker.parameters, equalizer_gains=equalizer.FLAT, loudness=None)
    voice = recorder.voices.build(flat, language)
    preview = recorder.synthesize(SynthesisRequest(PREVIEW_TEXTS[language], voice, language=language))
    envelope = encoder.spectral_envelope(preview, recorder.sample_rate)
    gains = equalizer.matching_gains(speaker.spectral_envelope, envelope)
    equalized = Equalizer(gains, recorder.sample_rate)(preview)
    loudness = to_clone_loudness(measure_loudness(equalized, recorder.sample_rate), language)
    return replace(flat, equalizer_gains=gains, loudness=loudness)


def clone(recorder: Recorder, encoder: OnnxSpeakerEncoder, reference: Samples, language: Language) -> Voice:
    """The voice of a person, from a reference at `decode.RATE`."""
    parameters = finish_clone(recorder, encoder, encoder.encode(reference, decode.RATE), language)
    return recorder.voices.build(parameters, language)


def without_gain(voice: Voice) -> Voice:
    """The same voice, as loud as the engine makes it."""
    parameters = replace(voice.parameters, loudness=None) if voice.parameters else None
    return replace(voice, key="", parameters=parameters)
