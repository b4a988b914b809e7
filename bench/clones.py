"""Clones, made as the server makes them."""

from dataclasses import replace

import numpy as np

from bench.recorder import Recorder
from svc.audio import decode, equalizer
from svc.audio.equalizer import Equalizer, SpectralEnvelope
from svc.audio.samples import Samples
from svc.cloning.gradients import VoiceRefiner
from svc.cloning.refinement import JUDGING_TEXT, is_clearly_better
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder, SpeakerEmbedding
from svc.synthesis.request import SynthesisRequest
from svc.text.language.languages import Language
from svc.voices.built_in import PREVIEW_TEXTS
from svc.voices.catalogue import Voice
from svc.voices.loudness import list_calibration_texts, measure_clone
from svc.voices.parameters import VoiceParameters


def make_clone(
    recorder: Recorder, encoder: OnnxSpeakerEncoder, speaker: SpeakerEmbedding, language: Language
) -> VoiceParameters:
    """The voice of a person: it speaks, and what it lacks is corrected."""
    *_, text = list_calibration_texts(language)
    spoken = _synthesize(recorder, speaker.parameters, text, language)
    gains = _match_envelope(recorder, encoder, speaker, spoken)
    corrected = encoder.correct(speaker, Equalizer(gains, recorder.sample_rate)(spoken), recorder.sample_rate)
    return finish_clone(recorder, encoder, replace(speaker, parameters=corrected), language)


def finish_clone(
    recorder: Recorder, encoder: OnnxSpeakerEncoder, speaker: SpeakerEmbedding, language: Language
) -> VoiceParameters:
    """What the encoder found, with the equalizer gains and the loudness that are measured on spoken texts."""
    flat = replace(speaker.parameters, equalizer_gains=equalizer.FLAT)
    spoken = _speak_calibration_texts(recorder, flat, language)
    gains = _match_envelope(recorder, encoder, speaker, np.concatenate(spoken))
    equalized = [Equalizer(gains, recorder.sample_rate)(each) for each in spoken]
    return _set_loudness(recorder, replace(flat, equalizer_gains=gains), equalized, language)


def _match_envelope(
    recorder: Recorder, encoder: OnnxSpeakerEncoder, speaker: SpeakerEmbedding, spoken: Samples
) -> SpectralEnvelope:
    return equalizer.matching_gains(speaker.spectral_envelope, encoder.spectral_envelope(spoken, recorder.sample_rate))


def refine_clone(
    recorder: Recorder,
    encoder: OnnxSpeakerEncoder,
    refiner: VoiceRefiner,
    reference: Samples,
    clone: VoiceParameters,
    language: Language,
) -> VoiceParameters:
    """What the server's refinement makes of a clone: the same voice, if nothing better is found."""
    speaker = encoder.encode(reference, decode.RATE)
    *_, best = refiner.refine(clone, reference, decode.RATE)
    refined = finish_clone(recorder, encoder, replace(speaker, parameters=best), language)

    def measure_similarities(parameters: VoiceParameters) -> list[float]:
        texts = ((PREVIEW_TEXTS[language], language), (JUDGING_TEXT, Language.ENGLISH_US))
        spoken = [_synthesize(recorder, parameters, text, spoken_in) for text, spoken_in in texts]
        embeddings = [encoder.encode(each, recorder.sample_rate).embedding for each in spoken]
        return [encoder.similarity(each, speaker.embedding) for each in embeddings]

    return refined if is_clearly_better(measure_similarities(refined), measure_similarities(clone)) else clone


def measure_in(recorder: Recorder, parameters: VoiceParameters, language: Language) -> VoiceParameters:
    """With the loudness in another language, as the server measures it once the voice speaks it."""
    return _set_loudness(recorder, parameters, _speak_calibration_texts(recorder, parameters, language), language)


def _speak_calibration_texts(recorder: Recorder, parameters: VoiceParameters, language: Language) -> list[Samples]:
    return [_synthesize(recorder, parameters, text, language) for text in list_calibration_texts(language)]


def _set_loudness(
    recorder: Recorder, parameters: VoiceParameters, spoken: list[Samples], language: Language
) -> VoiceParameters:
    return parameters.with_loudness(language, measure_clone(np.concatenate(spoken), recorder.sample_rate, language))


def _synthesize(recorder: Recorder, parameters: VoiceParameters, text: str, language: Language) -> Samples:
    """Without gain."""
    voice = recorder.voices.build(replace(parameters, loudness={}), language)
    return recorder.synthesize(SynthesisRequest(text, voice, language=language))


def clone(recorder: Recorder, encoder: OnnxSpeakerEncoder, reference: Samples, language: Language) -> Voice:
    """The voice of a person, from a reference at `decode.RATE`."""
    parameters = make_clone(recorder, encoder, encoder.encode(reference, decode.RATE), language)
    return recorder.voices.build(parameters, language)
