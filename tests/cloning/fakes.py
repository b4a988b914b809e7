"""A mouth that tells what it is made of, and an ear that takes its word for it: a likeness can be found by looking."""

from collections.abc import Callable, Iterator

import numpy as np

from svc.audio import decode
from svc.audio.equalizer import FLAT, SpectralEnvelope
from svc.cloning.speaker_encoder import BuiltInEmbeddings, Embedding, SpeakerEmbedding, SpeakerEncoder
from svc.engine.fake import FakeEngine
from svc.engine.protocol import Chunk, Samples, Utterance
from svc.voices.catalogue import VoiceCatalogue, built_in
from svc.voices.parameters import STYLE
from tests.voices.examples import made_up

SOMEBODY: Embedding = VoiceCatalogue(built_in()).find("am_michael").style.mean(axis=0)


class TellingEngine(FakeEngine):
    """What it speaks is the timbre and melody that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.spoken: list[str] = []
        self.before: Callable[[], object] = lambda: None

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        self.before()
        self.spoken.append(utterance.phonemes)
        yield Chunk(utterance.style.mean(axis=0))


class BelievingEncoder:
    def encode(self, samples: Samples, rate: int) -> SpeakerEmbedding:
        is_recording = len(samples) > 2 * decode.RATE
        return SpeakerEmbedding(made_up().parameters, SOMEBODY if is_recording else samples[: 2 * STYLE], FLAT)

    def spectral_envelope(self, samples: Samples, rate: int) -> SpectralEnvelope:
        return FLAT

    def similarity(self, one: Embedding, other: Embedding) -> float:
        return 1 - float(np.linalg.norm(one - other))


def load_believing() -> tuple[SpeakerEncoder, BuiltInEmbeddings]:
    return BelievingEncoder(), BuiltInEmbeddings(
        {"af_heart": VoiceCatalogue(built_in()).find("af_heart").style.mean(axis=0)}
    )
