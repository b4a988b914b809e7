"""Checks that training speaks as the product does: the same voices and texts through both; pitch, durations, accents.

    PYTHONPATH=../src python -m cloning.parity front.pt head.onnx voices.pt corpus.json kokoro.onnx

`kokoro.onnx` is the file that the product speaks with (int8 or fp32). The voices are random, as bold as clones are:
wide on the axes, every layer straying, other pitches; `--encoder` adds the voices that an encoder hears in `--clips`.
"""

import argparse
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import torch

import bank as banks
import export
import voices
from cloning import encoder as encoders
from cloning.axes import Accent, Axes, Voice
from cloning.mapper import STYLE
from cloning.shelf import random_voice
from cloning.sound import RATE, level, log_mel, pitch
from cloning.speech import Speech, unpack

try:
    import soxr
    from svc.engine.acoustic_model import SAMPLES_A_FRAME
    from svc.engine.protocol import Utterance
    from svc.engine.turbo import TurboEngine
    from svc.text.g2p.vocabulary import SYMBOLS
    from svc.text.language import Language
    from svc.voices.catalogue import Voices, built_in
    from svc.voices.parameters import VoiceParameters, accent_of
except ImportError as problem:
    raise SystemExit(f"the product is needed too (PYTHONPATH=../src): {problem}") from problem

CLOSE = 0.03
"""Largest difference of log pitch and log duration."""
SAME_STYLE = 1e-3
"""Training's voices are packed: their styles differ a little."""


def bold(axes: Axes, count: int) -> Voice:
    voice = random_voice(axes, count)
    voice.layers = torch.randn_like(voice.layers) * 0.08
    voice.pitch_scale = torch.exp((torch.rand(count) - 0.5) * 0.8)
    voice.grain = torch.randn_like(voice.grain) * 0.05
    return voice


def heard(encoder: encoders.Encoder, clip: Path) -> Voice:
    """The voice that an encoder hears in a recording."""
    import soundfile

    wave, rate = soundfile.read(clip, dtype="float32", always_2d=True)
    wave = level(torch.from_numpy(soxr.resample(wave[:, 0], rate, RATE))[None])
    found = pitch(wave)
    with torch.no_grad():
        return encoder.axes.voice(encoder(log_mel(wave), found)[1], found[:, 0])


def median(curve: np.ndarray) -> float:
    return float(np.median(curve[curve > 40])) if (curve > 40).any() else 1.0


def parameters(voice: Voice) -> VoiceParameters:
    timbre, melody, layers, grain = (
        value[0].numpy() for value in (voice.timbre, voice.melody, voice.layers, voice.grain)
    )
    return VoiceParameters(timbre, melody, layers, float(voice.pitch_scale), grain=grain)


@torch.no_grad()
def compare(speech: Speech, engine: TurboEngine, ids: list[int], voice: Voice) -> list[float]:
    """Of training and product in turn: seconds, the curve's median pitch, the pitch that is heard."""
    names = {number: symbol for symbol, number in SYMBOLS.items()}
    made = parameters(voice)
    phonemes = "".join(names[number] for number in ids)
    style = Voices(built_in()).sketch(made, Language.ENGLISH_US).style
    utterance = Utterance(phonemes, style, layers=made.layers, pitch_scale=made.pitch_scale, grain=made.grain)
    score = engine._front.score(utterance)
    sound = np.concatenate([chunk.samples for chunk in engine.synthesize(utterance)])
    spoken = speech(ids, voice)
    rows = []
    for curve, wave in (
        (spoken.f0[0].numpy(), spoken.wave),
        (score.pitch[0], torch.from_numpy(soxr.resample(sound, engine.sample_rate, RATE))[None]),
    ):
        rows += [len(curve) * SAMPLES_A_FRAME / engine.sample_rate, median(curve), float(pitch(wave)[0, 0].exp())]
    return rows


def abroad(axes: Axes) -> float:
    """By how much a voice differs between the two where it speaks other languages, in style."""
    voice, differences = bold(axes, 1), []
    made = replace(parameters(voice), melody=np.zeros(STYLE, np.float32), abroad=voice.layers[0].numpy())
    for letter, language in {each.key[0]: each.language for each in built_in() if not each.language.english}.items():
        accent = accent_of(language)
        accented = axes.accented(voice, letter, Accent(torch.tensor(accent.offset), torch.tensor(accent.shares)))
        differences.append(np.abs(accented.layers[0].numpy() - made.layers_in(language)).max())
        differences.append(np.abs(accented.melody[0].numpy() - made.melody_in(language)).max())
    return float(max(differences))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("front", "head", "voices", "corpus", "kokoro"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--count", type=int, default=4, help="random voices")
    parser.add_argument("--encoder", type=Path, nargs=2, help="ear.pt and mapper.pt")
    parser.add_argument("--clips", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    speech = Speech(unpack(args.front), export.restore(args.head), Axes.measured(voices.unpack(args.voices)))
    engine = TurboEngine(lambda: onnx.load(args.kokoro).SerializeToString(), threads=1)
    engine.load()
    texts = [ids for ids in banks.texts(args.corpus, seed=0) if 24 <= len(ids) <= 48]
    everybody = [bold(speech.axes, 1) for _ in range(args.count)]
    if args.encoder:
        encoder = encoders.load(*args.encoder)
        everybody += [heard(encoder, clip) for clip in args.clips]
    worst = 0.0
    print("seconds     curve, Hz     heard, Hz   (training, product)")
    for voice, ids in zip(everybody, texts, strict=False):
        a, b = np.array(compare(speech, engine, ids, voice)).reshape(2, 3)
        print("   ".join(f"{x:6.2f} {y:6.2f}" for x, y in zip(a, b, strict=True)), flush=True)
        worst = max(worst, *np.abs(np.log(a[:2] / b[:2])))
    elsewhere = abroad(speech.axes)
    print(f"largest difference {worst:.3f}; of styles in other languages {elsewhere:.4f}")
    if worst > CLOSE or elsewhere > SAME_STYLE:
        raise SystemExit("training and product speak differently")


if __name__ == "__main__":
    main()
