"""Fake speaker encoders that need no model, and an engine whose output they can judge."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from zlib import crc32

import numpy as np

from svc.audio import decode
from svc.audio.equalizer import FLAT, SpectralEnvelope
from svc.audio.samples import Samples
from svc.cloning.speaker_encoder import BuiltInEmbeddings, Embedding, SpeakerEmbedding, SpeakerEncoder
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Utterance
from svc.voices.built_in import STYLE, load_built_in_voices
from svc.voices.parameters import LAYERS, VoiceParameters


class FakeSpeakerEncoder:
    """The embedding is the spectrum of the recording; the parameters are random, with the embedding as the seed."""

    def encode(self, samples: Samples, rate: int) -> SpeakerEmbedding:
        spectrum = np.abs(np.fft.rfft(samples, rate))[100:3300].reshape(32, -1).mean(axis=1)
        embedding = (spectrum / np.linalg.norm(spectrum)).astype(np.float32)
        random = np.random.default_rng(crc32(embedding.tobytes()))
        timbre, melody = 0.1 * random.standard_normal((2, STYLE), dtype=np.float32)
        parameters = VoiceParameters(timbre, melody, np.zeros((LAYERS, STYLE), np.float32))
        return SpeakerEmbedding(parameters, embedding, FLAT, embedding, np.zeros(3, np.float32))

    def correct(self, speaker: SpeakerEmbedding, spoken: Samples, rate: int) -> VoiceParameters:
        return speaker.parameters

    def embed_quickly(self, samples: Samples, rate: int) -> Embedding:
        return self.encode(samples, rate).embedding

    def spectral_envelope(self, samples: Samples, rate: int) -> SpectralEnvelope:
        return FLAT

    def similarity(self, one: Embedding, other: Embedding) -> float:
        return float(one @ other)


def load_fake_encoder() -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
    """No built-in voice is similar to anybody; Heart, a little to everybody, is the nearest."""
    return FakeSpeakerEncoder(), BuiltInEmbeddings({"af_heart": np.full(32, 0.01, np.float32)})


class StyleEchoEngine(FakeEngine):
    """Its samples are the mean style that it was given, which `StyleEncoder` takes for the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.spoken: list[str] = []
        self.before: Callable[[], object] = lambda: None
        """Called before each utterance."""

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        self.before()
        self.spoken.append(utterance.phonemes)
        yield Chunk(utterance.style.mean(axis=0))


_STYLES = {voice.key: voice.style.mean(axis=0) for voice in load_built_in_voices()}
PERSON: Embedding = _STYLES["am_michael"]
"""Who speaks in every recording, for `StyleEncoder`."""
PERSON_OFFSET: Samples = PERSON - np.mean(list(_STYLES.values()), axis=0)
"""The timbre and melody with which `StyleEchoEngine` speaks like that person in English."""


class StyleEncoder:
    """Clones every recording as `PERSON`; the first `outdated` ones less well, as the encoder of an older release."""

    def __init__(self, outdated: float = 0) -> None:
        self._outdated = outdated
        self.recordings = 0

    def encode(self, samples: Samples, rate: int) -> SpeakerEmbedding:
        is_recording = len(samples) > 2 * decode.RATE
        self.recordings += is_recording
        offset = (0.5 if self.recordings <= self._outdated else 1.0) * PERSON_OFFSET
        parameters = VoiceParameters(offset[:STYLE], offset[STYLE:], np.zeros((LAYERS, STYLE), np.float32))
        heard = PERSON if is_recording else samples[: 2 * STYLE]
        return SpeakerEmbedding(parameters, heard, FLAT, heard, np.zeros(3, np.float32))

    def correct(self, speaker: SpeakerEmbedding, spoken: Samples, rate: int) -> VoiceParameters:
        return speaker.parameters

    def embed_quickly(self, samples: Samples, rate: int) -> Embedding:
        return PERSON

    def spectral_envelope(self, samples: Samples, rate: int) -> SpectralEnvelope:
        return FLAT

    def similarity(self, one: Embedding, other: Embedding) -> float:
        return 1 - float(np.linalg.norm(one - other))


class StyleRefiner:
    """Goes half of the way to `PERSON`, or away from them, in every run."""

    RUNS = 4

    def __init__(self, share: float = 0.5) -> None:
        self._share = share
        self.runs = 0
        self.before: Callable[[], object] = lambda: None
        """Called before each run."""

    def refine(self, parameters: VoiceParameters, samples: Samples, rate: int) -> Iterator[VoiceParameters]:
        for _ in range(self.RUNS):
            self.before()
            self.runs += 1
            timbre = parameters.timbre + self._share * (PERSON_OFFSET[:STYLE] - parameters.timbre)
            melody = parameters.melody + self._share * (PERSON_OFFSET[STYLE:] - parameters.melody)
            parameters = replace(parameters, timbre=timbre, melody=melody)
            yield parameters


def load_style_encoder() -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
    return StyleEncoder(), BuiltInEmbeddings({"af_heart": _STYLES["af_heart"]})


def load_outdated_encoder() -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
    """Voices that it made are refined with `load_style_encoder`."""
    return StyleEncoder(outdated=math.inf), BuiltInEmbeddings({"af_heart": _STYLES["af_heart"]})
