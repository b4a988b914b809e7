"""The real encoder and the real engine: people who are no built-in voice, cloned from a recording and recognised."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import soxr
from fastapi.testclient import TestClient

from svc.cloning.built_in_embeddings import BuiltInEmbeddings
from svc.cloning.speaker_count import has_several_speakers
from svc.cloning.speaker_embedding import Embedding
from svc.cloning.speaker_encoder import RATE as ENCODER_RATE
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder, _pitch
from svc.engine.protocol import Samples
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.language import Language
from svc.voices.catalogue import VoiceCatalogue
from svc.voices.parameters import LAYERS, MELODY_PITCH, STYLE, VoiceParameters
from svc.voices.preview_texts import INTRODUCTIONS
from tests.audio.recordings import RATE, encoded
from tests.conftest import STORY, ready

# Each is between two built-in voices, and like neither.
PEOPLE = {"Ada": ("af_bella", "bf_emma"), "Bert": ("am_fenrir", "bm_lewis"), "Cleo": ("jf_alpha", "ef_dora")}
OTHER_WORDS = "The lighthouse keeper climbed the stairs, lit the lamp, and looked out over the quiet water."


def person(name: str, text: str, speech: Pipeline, voices: VoiceCatalogue) -> Samples:
    one, other = (voices.find(each) for each in PEOPLE[name])
    voice = replace(one, table=0.5 * (one.style + other.style))
    return np.concatenate([chunk.samples for chunk in speech.synthesize(SynthesisRequest(text, voice))])


@pytest.fixture(scope="module")
def recordings(speech: Pipeline, voices: VoiceCatalogue) -> dict[str, Samples]:
    return {name: person(name, STORY, speech, voices) for name in PEOPLE}


@pytest.fixture(scope="module")
def encoder() -> OnnxSpeakerEncoder:
    return OnnxSpeakerEncoder.load()


@pytest.fixture(scope="module")
def client(speech: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), cache_dir=tmp_path_factory.mktemp("cache"))
    with ready(settings, speech) as client:
        yield client


@pytest.fixture(scope="module")
def cloned(client: TestClient, recordings: dict[str, Samples]) -> dict[str, dict[str, object]]:
    answers = {}
    for name, samples in recordings.items():
        response = client.post("/voices", data={"name": name}, files={"files": ("x", encoded(samples, "m4a"))})
        assert response.status_code == 200, response.text
        answers[name] = response.json()
    return answers


def test_clones_are_like_their_speakers(
    client: TestClient,
    cloned: dict[str, dict[str, object]],
    encoder: OnnxSpeakerEncoder,
    speech: Pipeline,
    voices: VoiceCatalogue,
) -> None:
    def embedded(samples: Samples) -> Embedding:
        return encoder.encode(samples, RATE).embedding

    people = {name: person(name, OTHER_WORDS, speech, voices) for name in PEOPLE}
    for name, voice in cloned.items():
        path = f"/v1/text-to-speech/{voice['voice_id']}?output_format=pcm_24000"
        audio = client.post(path, json={"text": OTHER_WORDS}).content
        clone = np.frombuffer(audio, dtype="<i2").astype(np.float32) / np.float32(32768)
        likeness = {other: encoder.similarity(embedded(clone), embedded(each)) for other, each in people.items()}
        assert max(likeness, key=likeness.__getitem__) == name, likeness
        assert likeness[name] > 0.5, likeness
        assert octaves(clone) == pytest.approx(octaves(people[name]), abs=0.35), "it speaks at another pitch"


@pytest.mark.parametrize("language", Language)
def test_its_pitch_is_the_same_in_all_languages(speech: Pipeline, voices: VoiceCatalogue, language: Language) -> None:
    nothing = np.zeros(STYLE, np.float32)
    parameters = VoiceParameters(nothing, nothing, np.zeros((LAYERS, STYLE), np.float32), pitch_scale=0.8)
    request = SynthesisRequest(INTRODUCTIONS[language], voices.sketch(parameters, language), language=language)
    samples = np.concatenate([chunk.samples for chunk in speech.synthesize(request)])
    expected = 0.8 * MELODY_PITCH[Language.ENGLISH_US]
    assert octaves(samples) == pytest.approx(math.log2(expected), abs=0.15)


def octaves(samples: Samples) -> float:
    """The median pitch, above 1 Hz."""
    return float(_pitch(soxr.resample(samples, RATE, ENCODER_RATE))[0]) / math.log(2)


def test_the_answer_says_how_good_the_likeness_is(cloned: dict[str, dict[str, object]]) -> None:
    for voice in cloned.values():
        report = voice["cloning"]
        assert isinstance(report, dict)
        assert 0.4 < report["similarity"] <= 1
        assert -0.2 < report["nearest_built_in_similarity"] < 1
        worse = report["similarity"] < report["nearest_built_in_similarity"]
        assert any("built-in voice" in warning for warning in report["warnings"]) == worse


def test_a_built_in_voice_is_recognised(speech: Pipeline, voices: VoiceCatalogue, encoder: OnnxSpeakerEncoder) -> None:
    likeness = BuiltInEmbeddings.load()
    for key in ("af_heart", "bm_george", "am_michael"):
        request = SynthesisRequest(STORY, voices.find(key))
        samples = np.concatenate([chunk.samples for chunk in speech.synthesize(request)])
        assert likeness.nearest(encoder, encoder.encode(samples, RATE).embedding)[0] == key


def test_two_speakers_are_a_warning(
    client: TestClient, recordings: dict[str, Samples], encoder: OnnxSpeakerEncoder
) -> None:
    for samples in recordings.values():
        assert not has_several_speakers(encoder, samples)
    both = np.concatenate([recordings["Ada"][: RATE * 8], recordings["Bert"][: RATE * 8]])
    assert has_several_speakers(encoder, both)
    voice = client.post("/voices", data={"name": "Both"}, files={"files": ("x", encoded(both, "flac"))}).json()
    assert any("More than one person" in warning for warning in voice["cloning"]["warnings"])
    assert client.delete(f"/voices/{voice['voice_id']}").status_code == 200
