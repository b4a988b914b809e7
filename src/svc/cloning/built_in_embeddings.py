"""How much the built-in voices are like somebody: a clone ought to be more so."""

from importlib.resources import files
from io import BytesIO

import numpy as np

from svc.cloning.speaker_embedding import Embedding, SpeakerEncoder

_DATA = "data/voice-embeddings.npz"


class BuiltInEmbeddings:
    """The built-in voices as the ear hears them."""

    def __init__(self, embeddings: dict[str, Embedding]) -> None:
        """`embeddings` by the keys of the voices."""
        self._embeddings = embeddings

    @classmethod
    def load(cls) -> "BuiltInEmbeddings":
        archive = np.load(BytesIO(files("svc").joinpath(_DATA).read_bytes()))
        embeddings = archive["embeddings"].astype(np.float32)
        return cls({str(key): each for key, each in zip(archive["keys"], embeddings, strict=True)})

    def nearest(self, encoder: SpeakerEncoder, embedding: Embedding) -> tuple[str, float]:
        """The key of the voice that is most like this, and how much it is."""
        likeness = {key: encoder.similarity(embedding, each) for key, each in self._embeddings.items()}
        key = max(likeness, key=likeness.__getitem__)
        return key, likeness[key]
