"""Cloning with the real encoder and the real engine: speakers who are no built-in voice."""

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import soxr
from fastapi.testclient import TestClient

from svc.audio.loudness import measure_loudness
from svc.audio.samples import Samples
from svc.cloning import gradients
from svc.cloning.speaker_encoder import RATE as ENCODER_RATE
from svc.cloning.speaker_encoder import (
    BuiltInEmbeddings,
    Embedding,
    OnnxSpeakerEncoder,
    has_several_speakers,
    measure_pitch,
)
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.request import SynthesisRequest
from svc.text.language.languages import Language
from svc.voices.built_in import PREVIEW_TEXTS, STYLE
from svc.voices.catalogue import Voice, VoiceCatalogue
from svc.voices.loudness import TARGET_LUFS
from svc.voices.parameters import LAYERS, MELODY_PITCH, VoiceParameters
from tests.audio.recordings import RATE, encode_recording
from tests.conftest import STORY, serve_ready

# Each speaker is halfway between two built-in voices.
SPEAKERS = {"Ada": ("af_bella", "bf_emma"), "Bert": ("am_fenrir", "bm_lewis"), "Cleo": ("jf_alpha", "ef_dora")}
OTHER_WORDS = "The lighthouse keeper climbed the stairs, lit the lamp, and looked out over the quiet water."


def speak_as(name: str, text: str, pipeline: Pipeline, voices: VoiceCatalogue) -> Samples:
    one, other = (voices.find(each) for each in SPEAKERS[name])
    voice = Voice.of_mix([(one, 1.0), (other, 1.0)])
    return np.concatenate([chunk.samples for chunk in pipeline.synthesize(SynthesisRequest(text, voice))])


@pytest.fixture(scope="module")
def recordings(pipeline: Pipeline, voices: VoiceCatalogue) -> dict[str, Samples]:
    return {name: speak_as(name, STORY, pipeline, voices) for name in SPEAKERS}


@pytest.fixture(scope="module")
def client(pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), cache_dir=tmp_path_factory.mktemp("cache"))
    with serve_ready(settings, pipeline) as client:
        yield client


@pytest.fixture(scope="module")
def cloned(client: TestClient, recordings: dict[str, Samples]) -> dict[str, dict[str, object]]:
    answers = {}
    for name, samples in recordings.items():
        response = client.post("/voices", data={"name": name}, files={"files": ("x", encode_recording(samples, "m4a"))})
        assert response.status_code == 200, response.text
        answers[name] = response.json()
    return answers


def test_clones_are_similar_to_their_speakers(
    client: TestClient,
    cloned: dict[str, dict[str, object]],
    encoder: OnnxSpeakerEncoder,
    pipeline: Pipeline,
    voices: VoiceCatalogue,
) -> None:
    def embed(samples: Samples) -> Embedding:
        return encoder.encode(samples, RATE).embedding

    originals = {name: speak_as(name, OTHER_WORDS, pipeline, voices) for name in SPEAKERS}
    for name, voice in cloned.items():
        path = f"/v1/text-to-speech/{voice['voice_id']}?output_format=pcm_24000"
        audio = client.post(path, json={"text": OTHER_WORDS}).content
        clone = np.frombuffer(audio, dtype="<i2").astype(np.float32) / np.float32(32768)
        similarity = {other: encoder.similarity(embed(clone), embed(each)) for other, each in originals.items()}
        assert max(similarity, key=similarity.__getitem__) == name, similarity
        assert similarity[name] > 0.5, similarity
        assert pitch_octaves(clone) == pytest.approx(pitch_octaves(originals[name]), abs=0.35), "the pitch differs"


def test_clones_mixes_and_built_in_voices_are_equally_loud(
    client: TestClient, cloned: dict[str, dict[str, object]]
) -> None:
    """Without gain, the built-in voices among these differ by 12 dB."""
    clones = [str(voice["voice_id"]) for voice in cloned.values()]
    for voice_id in (
        *clones,
        f"{clones[0]}+{clones[1]}",
        f"{clones[0]}+af_nova",
        "if_sara",
        "af_nova",
        "if_sara+af_nova",
    ):
        path = f"/v1/text-to-speech/{voice_id}?output_format=pcm_24000"
        audio = client.post(path, json={"text": OTHER_WORDS, "language_code": "en"}).content
        samples = np.frombuffer(audio, dtype="<i2").astype(np.float32) / np.float32(32768)
        # Of a mix that is not stored, the loudness is not measured but the mean of its voices'.
        within = 2.5 if "+" in voice_id else 1.5
        assert measure_loudness(samples, RATE) == pytest.approx(TARGET_LUFS, abs=within), voice_id
        assert np.abs(samples).max() < 10 ** (-0.99 / 20)


@pytest.mark.parametrize("language", [*MELODY_PITCH, Language.GERMAN])
def test_the_pitch_of_a_clone_is_the_same_in_all_languages(
    pipeline: Pipeline, voices: VoiceCatalogue, language: Language
) -> None:
    zeros = np.zeros(STYLE, np.float32)
    parameters = VoiceParameters(zeros, zeros, np.zeros((LAYERS, STYLE), np.float32), pitch_scale=0.8)
    request = SynthesisRequest(PREVIEW_TEXTS[language], voices.build(parameters, language), language=language)
    samples = np.concatenate([chunk.samples for chunk in pipeline.synthesize(request)])
    expected = 0.8 * MELODY_PITCH[Language.ENGLISH_US]
    assert pitch_octaves(samples) == pytest.approx(math.log2(expected), abs=0.15)


def pitch_octaves(samples: Samples) -> float:
    """The median pitch, in octaves above 1 Hz."""
    return float(measure_pitch(soxr.resample(samples, RATE, ENCODER_RATE))[0]) / math.log(2)


def test_the_response_reports_the_similarity(cloned: dict[str, dict[str, object]]) -> None:
    for voice in cloned.values():
        report = voice["cloning"]
        assert isinstance(report, dict)
        assert 0.4 < report["similarity"] <= 1
        assert -0.2 < report["nearest_built_in_similarity"] < 1
        worse = report["similarity"] < report["nearest_built_in_similarity"]
        assert any("built-in voice" in warning for warning in report["warnings"]) == worse


def test_the_nearest_built_in_voice_is_found(
    pipeline: Pipeline, voices: VoiceCatalogue, encoder: OnnxSpeakerEncoder
) -> None:
    built_in = BuiltInEmbeddings.load()
    for key in ("af_heart", "bm_george", "am_michael"):
        request = SynthesisRequest(STORY, voices.find(key))
        samples = np.concatenate([chunk.samples for chunk in pipeline.synthesize(request)])
        assert built_in.find_nearest(encoder, encoder.encode(samples, RATE).embedding)[0] == key


def test_refinement_shows_its_steps_and_never_makes_a_voice_worse(
    client: TestClient, cloned: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a fifth of the usual steps, which may be too few to replace the voice."""
    monkeypatch.setattr(gradients, "STEPS", 8)
    voice = cloned["Bert"]
    path = f"/v1/voices/{voice['voice_id']}"
    assert client.post(f"{path}/edit", data={"refine": "true"}).status_code == 200
    seen, deadline = [0.0], time.monotonic() + 300
    while (progress := client.get(path).json()["cloning"]["refinement_progress"]) is not None:
        assert time.monotonic() < deadline
        seen.append(progress)
        time.sleep(0.1)
    after = client.get(path).json()["cloning"]
    assert after["refined"] == (after["similarity"] > voice["cloning"]["similarity"])
    assert after["similarity"] >= voice["cloning"]["similarity"]
    assert seen == sorted(seen)
    assert len(set(seen)) > 5, "the steps of the descent were seen"


def test_two_speakers_are_a_warning(
    client: TestClient, recordings: dict[str, Samples], encoder: OnnxSpeakerEncoder
) -> None:
    for samples in recordings.values():
        assert not has_several_speakers(encoder, samples, RATE)
    both = np.concatenate([recordings["Ada"][: RATE * 8], recordings["Bert"][: RATE * 8]])
    assert has_several_speakers(encoder, both, RATE)
    voice = client.post("/voices", data={"name": "Both"}, files={"files": ("x", encode_recording(both, "flac"))}).json()
    assert any("More than one person" in warning for warning in voice["cloning"]["warnings"])
    assert client.delete(f"/voices/{voice['voice_id']}").status_code == 200
