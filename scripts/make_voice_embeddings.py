"""Makes src/svc/data/voice-embeddings.npz: the voice encoder's embeddings of the built-in voices.

python scripts/make_voice_embeddings.py    after every change of the encoder's weights

A clone should be more similar to its speaker than the nearest of them.
"""

from pathlib import Path

import numpy as np

from svc.cloning.speaker_encoder import NETWORK_SHA256, OnnxSpeakerEncoder
from svc.service import create_pipeline
from svc.settings import Settings
from svc.synthesis.request import SynthesisRequest
from svc.text.language.languages import Language
from svc.voices.built_in import PREVIEW_TEXTS, load_built_in_voices
from svc.voices.catalogue import VoiceCatalogue

TARGET = Path(__file__).parent.parent / "src/svc/data/voice-embeddings.npz"


def main() -> None:
    pipeline, encoder = create_pipeline(Settings()), OnnxSpeakerEncoder.load()
    pipeline.load()
    keys, embeddings = [], []
    for voice in VoiceCatalogue(load_built_in_voices()):
        # English by all of them, so that the language makes no difference; most can read it, and all have an accent.
        request = SynthesisRequest(PREVIEW_TEXTS[Language.ENGLISH_US], voice, language=Language.ENGLISH_US)
        samples = np.concatenate([chunk.samples for chunk in pipeline.synthesize(request)])
        keys.append(voice.key)
        embeddings.append(encoder.encode(samples, pipeline.sample_rate).embedding.astype(np.float16))
    # The network's hash: a test fails when the shipped network is another one.
    np.savez_compressed(
        TARGET, keys=np.array(keys), embeddings=np.array(embeddings), encoder_sha256=np.array(NETWORK_SHA256)
    )
    print(f"{len(keys)} voices, {TARGET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
