"""The built-in voices as the ear hears them: by the ear that there is, not by one before."""

from collections.abc import Callable
from importlib.resources import files
from io import BytesIO

import numpy as np
import pytest

from svc.cloning.speaker_encoder import NETWORK_SHA256, BuiltInEmbeddings, OnnxSpeakerEncoder
from svc.engine.protocol import Samples
from svc.text.language import Language
from svc.voices.built_in import INTRODUCTIONS
from svc.voices.catalogue import VoiceCatalogue

MAKE_THEM_ANEW = "run scripts/make_voice_embeddings.py"


def test_they_were_heard_by_the_present_network() -> None:
    stored = np.load(BytesIO(files("svc").joinpath("data/voice-embeddings.npz").read_bytes()))
    assert str(stored["encoder_sha256"]) == NETWORK_SHA256, MAKE_THEM_ANEW


def test_every_built_in_voice_is_there(voices: VoiceCatalogue) -> None:
    stored = np.load(BytesIO(files("svc").joinpath("data/voice-embeddings.npz").read_bytes()))
    assert set(stored["keys"]) == {voice.key for voice in voices if voice.custom is None}


@pytest.mark.parametrize("voice", ["af_heart", "bm_george"])
def test_spoken_and_heard_now_they_are_the_same(voice: str, say: Callable[..., Samples]) -> None:
    """Also what the network is given, such as the pitch, must be as it was."""
    encoder = OnnxSpeakerEncoder.load()
    spoken = say(INTRODUCTIONS[Language.ENGLISH_US], voice=voice, language=Language.ENGLISH_US)
    key, similarity = BuiltInEmbeddings.load().nearest(encoder, encoder.encode(spoken, 24_000).embedding)
    assert key == voice
    assert similarity > 0.99, MAKE_THEM_ANEW
