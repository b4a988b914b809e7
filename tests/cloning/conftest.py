"""What the tests of cloning share: somebody who speaks, and an ear that needs no model."""

from zlib import crc32

import numpy as np

from svc.audio.equalizer import FLAT, SpectralEnvelope
from svc.cloning.speaker_encoder import BuiltInEmbeddings, Embedding, SpeakerEmbedding, SpeakerEncoder
from svc.engine.protocol import Samples
from svc.voices.parameters import LAYERS, STYLE, VoiceParameters


class StandInEncoder:
    """Hears how a recording's sound is spread over the frequencies, and makes up a voice from that."""

    def encode(self, samples: Samples, rate: int) -> SpeakerEmbedding:
        spectrum = np.abs(np.fft.rfft(samples, rate))[100:3300].reshape(32, -1).mean(axis=1)
        embedding = (spectrum / np.linalg.norm(spectrum)).astype(np.float32)
        chance = np.random.default_rng(crc32(embedding.tobytes()))
        timbre, melody = 0.1 * chance.standard_normal((2, STYLE), dtype=np.float32)
        parameters = VoiceParameters(timbre, melody, np.zeros((LAYERS, STYLE), np.float32))
        return SpeakerEmbedding(parameters, embedding, FLAT)

    def spectral_envelope(self, samples: Samples, rate: int) -> SpectralEnvelope:
        return FLAT

    def similarity(self, one: Embedding, other: Embedding) -> float:
        return float(one @ other)


def load_stand_in() -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
    """An ear for which no built-in voice is like anybody, but for Heart, who is a little like everybody."""
    return StandInEncoder(), BuiltInEmbeddings({"af_heart": np.full(32, 0.01, np.float32)})
