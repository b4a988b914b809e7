"""Checks that training synthesises as the product does: pitch, durations and accents of the same voices and texts.

    python -m speaker_encoder.parity kokoro.pt head.onnx voices.pt corpus.json kokoro.onnx

svc must be installed in the same environment. `kokoro.onnx` is the file of its engine (int8 or fp32). The voices are
random, with parameters as large as those of clones; `--network` adds the voices that a voice encoder predicts from
`--clips`.
"""

import argparse
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import torch

from speaker_encoder import synthesis as syntheses
from speaker_encoder import voice_encoder
from speaker_encoder.features import RATE, log_mel, normalize_level, pitch
from speaker_encoder.mapper import STYLE
from speaker_encoder.speaker_bank import sample_voices
from speaker_encoder.synthesis import Synthesis
from speaker_encoder.voice_encoder import VoiceEncoder
from speaker_encoder.voice_pca import Accent, Voice, VoicePca
from teacher import corpus, voices

try:
    import soxr
    from svc.engine.phonemes import SAMPLES_PER_FRAME
    from svc.engine.protocol import Utterance
    from svc.engine.turbo import TurboEngine
    from svc.text.g2p.vocabulary import VOCABULARY
    from svc.text.language import Language
    from svc.voices.built_in import load_built_in_voices
    from svc.voices.catalogue import VoiceCatalogue
    from svc.voices.parameters import VoiceParameters, load_accent
except ImportError as error:
    raise SystemExit(f"svc must be installed in this environment (pip install -e ..): {error}") from error

CLOSE = 0.03
"""Largest difference of log pitch and log duration."""
SAME_STYLE = 1e-3
"""Training's style tables are stored with rank 8, so styles differ a little."""


def sample_wide_voice(pca: VoicePca) -> Voice:
    """A random voice with parameters as large as those of clones."""
    voice = sample_voices(pca, 1)
    voice.layer_offsets = torch.randn_like(voice.layer_offsets) * 0.08
    voice.pitch_scale = torch.exp((torch.rand(1) - 0.5) * 0.8)
    voice.vocoder_embedding = torch.randn_like(voice.vocoder_embedding) * 0.05
    return voice


def clone(network: VoiceEncoder, clip: Path) -> Voice:
    """The voice that a voice encoder predicts from a recording."""
    import soundfile

    wave, rate = soundfile.read(clip, dtype="float32", always_2d=True)
    wave = normalize_level(torch.from_numpy(soxr.resample(wave[:, 0], rate, RATE))[None])
    measured = pitch(wave)
    with torch.no_grad():
        return network.pca.to_voice(network(log_mel(wave), measured)[1], measured[:, 0])


def median_pitch(curve: np.ndarray) -> float:
    return float(np.median(curve[curve > 40])) if (curve > 40).any() else 1.0


def to_parameters(voice: Voice) -> VoiceParameters:
    """The product's form of a voice."""
    timbre, melody, layer_offsets, vocoder_embedding = (
        value[0].numpy() for value in (voice.timbre, voice.melody, voice.layer_offsets, voice.vocoder_embedding)
    )
    return VoiceParameters(timbre, melody, layer_offsets, float(voice.pitch_scale), vocoder_embedding=vocoder_embedding)


@torch.no_grad()
def compare(synthesis: Synthesis, engine: TurboEngine, ids: list[int], voice: Voice) -> list[float]:
    """Seconds, median of the pitch curve and measured pitch: of training, then of the product."""
    symbols = {number: symbol for symbol, number in VOCABULARY.items()}
    parameters = to_parameters(voice)
    utterance = Utterance(
        "".join(symbols[number] for number in ids),
        VoiceCatalogue(load_built_in_voices()).build(parameters, Language.ENGLISH_US).style,
        layer_offsets=parameters.layer_offsets,
        pitch_scale=parameters.pitch_scale,
        vocoder_embedding=parameters.vocoder_embedding,
    )
    features = engine._acoustic_model.predict(utterance)
    samples = np.concatenate([chunk.samples for chunk in engine.synthesize(utterance)])
    speech = synthesis(ids, voice)
    figures = []
    for curve, wave in (
        (speech.f0[0].numpy(), speech.wave),
        (features.pitch[0], torch.from_numpy(soxr.resample(samples, engine.sample_rate, RATE))[None]),
    ):
        seconds = len(curve) * SAMPLES_PER_FRAME / engine.sample_rate
        figures += [seconds, median_pitch(curve), float(pitch(wave)[0, 0].exp())]
    return figures


def compare_accents(pca: VoicePca) -> float:
    """The largest difference between the two in the styles of other languages."""
    voice, differences = sample_wide_voice(pca), []
    melody, offsets = np.zeros(STYLE, np.float32), voice.layer_offsets[0].numpy()
    parameters = replace(to_parameters(voice), melody=melody, foreign_layer_offsets=offsets)
    for letter, language in {
        each.key[0]: each.language for each in load_built_in_voices() if not each.language.english
    }.items():
        accent = load_accent(language)
        accented = pca.apply_accent(voice, letter, Accent(torch.tensor(accent.offset), torch.tensor(accent.shares)))
        differences.append(np.abs(accented.layer_offsets[0].numpy() - parameters.layer_offsets_in(language)).max())
        differences.append(np.abs(accented.melody[0].numpy() - parameters.melody_in(language)).max())
    return float(max(differences))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("teacher", "head", "voices", "corpus", "kokoro"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--count", type=int, default=4, help="random voices")
    parser.add_argument("--network", type=Path, nargs=2, help="encoder.pt and mapper.pt")
    parser.add_argument("--clips", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    pca = VoicePca.from_tables(voices.unpack(args.voices))
    synthesis = syntheses.load(args.teacher, args.head, pca)
    engine = TurboEngine(lambda: onnx.load(args.kokoro).SerializeToString(), threads=1)
    engine.load()
    texts = [ids for ids in corpus.read_shuffled(args.corpus, seed=0) if 24 <= len(ids) <= 48]
    compared = [sample_wide_voice(pca) for _ in range(args.count)]
    if args.network:
        network = voice_encoder.load(*args.network)
        compared += [clone(network, clip) for clip in args.clips]
    worst = 0.0
    print("seconds     curve, Hz     measured, Hz   (training, product)")
    for voice, ids in zip(compared, texts, strict=False):
        a, b = np.array(compare(synthesis, engine, ids, voice)).reshape(2, 3)
        print("   ".join(f"{x:6.2f} {y:6.2f}" for x, y in zip(a, b, strict=True)), flush=True)
        worst = max(worst, *np.abs(np.log(a[:2] / b[:2])))
    accents = compare_accents(pca)
    print(f"largest difference {worst:.3f}; of styles in other languages {accents:.4f}")
    if worst > CLOSE or accents > SAME_STYLE:
        raise SystemExit("training and product synthesise differently")


if __name__ == "__main__":
    main()
