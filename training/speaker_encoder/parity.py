"""Checks that training synthesises as the product does: the same voices and texts, in English and other languages.

    python -m speaker_encoder.parity acoustic/run voices.pt ../src/svc/data/accents.npz corpus.npz

svc must be installed in the same environment. The voices are random, with parameters as large as those of clones. The
product's networks are rounded to int8, so spectra differ a little.
"""

import argparse
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from speaker_encoder import synthesis as syntheses
from speaker_encoder.features import RATE, log_mel, normalize_level, pitch
from speaker_encoder.speaker_bank import sample_voices
from speaker_encoder.synthesis import Lines, Synthesis
from speaker_encoder.texts import Texts
from speaker_encoder.voice_pca import ACCENTS, LETTERS, Voice, VoicePca
from teacher import voices

try:
    import soxr
    from svc.engine.protocol import Utterance
    from svc.engine.turbo import TurboEngine
    from svc.text.g2p.vocabulary import VOCABULARY
    from svc.text.language.languages import Language
    from svc.voices.built_in import load_built_in_voices
    from svc.voices.catalogue import VoiceCatalogue
    from svc.voices.parameters import VoiceParameters
except ImportError as error:
    raise SystemExit(f"svc must be installed in this environment (pip install -e ..): {error}") from error

CLOSE_PITCH = 0.03
"""Largest difference of the log pitch."""
CLOSE_SPECTRUM = 1.0
"""Largest mean difference of log-mel frames, in nepers, at equal levels. With int8 weights a phoneme may last one frame
longer, which moves all that follows."""


def sample_wide_voice(pca: VoicePca) -> Voice:
    """A random voice with parameters as large as those of clones."""
    voice = sample_voices(pca, 1)
    voice.layer_offsets = torch.randn_like(voice.layer_offsets) * 0.08
    voice.pitch_scale = torch.exp((torch.rand(1) - 0.5) * 0.8)
    voice.vocoder_embedding = torch.randn_like(voice.vocoder_embedding) * 0.05
    voice.mask_offset = torch.randn_like(voice.mask_offset) * 0.1
    return voice


def speak_in_product(engine: TurboEngine, line: Lines, voice: Voice) -> torch.Tensor:
    """16 kHz. [1, samples]"""
    number = int(line.language)
    language = Language(ACCENTS[LETTERS[number]]) if LETTERS[number] in ACCENTS else Language.ENGLISH_US
    symbols = {number: symbol for symbol, number in VOCABULARY.items()}
    tokens = torch.unique_consecutive(torch.stack([line.phonemes[0], line.token[0]]), dim=1)[0].tolist()
    offsets = voice.layer_offsets[0].numpy()
    parameters = VoiceParameters(
        voice.timbre[0].numpy(),
        np.zeros(128, np.float32),
        offsets,
        foreign_layer_offsets=offsets,
        vocoder_embedding=voice.vocoder_embedding[0].numpy(),
        mask_offset=voice.mask_offset[0].numpy(),
    )
    built = VoiceCatalogue(load_built_in_voices()).build(parameters, language)
    utterance = Utterance(
        "".join(symbols[each] for each in tokens if each),
        built.style_in(language),
        layer_offsets=built.layer_offsets_in(language),
        pitch_scale=float(voice.pitch_scale),
        vocoder_embedding=parameters.vocoder_embedding,
        mask_offset=parameters.mask_offset,
    )
    samples = np.concatenate([chunk.samples for chunk in engine.synthesize(utterance)])
    return torch.from_numpy(soxr.resample(samples, engine.sample_rate, RATE))[None]


def align(longer: torch.Tensor, shorter: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both without the silence at the start that the product leaves out."""
    size = longer.shape[1] + shorter.shape[1]
    correlation = torch.fft.irfft(torch.fft.rfft(longer, size) * torch.fft.rfft(shorter, size).conj(), size)
    lag = int(correlation[0, : longer.shape[1]].argmax())
    length = min(longer.shape[1] - lag, shorter.shape[1])
    return longer[:, lag : lag + length], shorter[:, :length]


@torch.no_grad()
def compare(synthesis: Synthesis, engine: TurboEngine, line: Lines, voice: Voice) -> tuple[float, float]:
    """The differences of the pitch and of the spectrum."""
    product = speak_in_product(engine, line, voice)
    offsets = synthesis.pca.articulate(voice.timbre, voice.layer_offsets, line.language)
    accented = replace(voice, layer_offsets=offsets)
    ours, theirs = align(synthesis(line, accented).wave, product)
    ours, theirs = normalize_level(ours), normalize_level(theirs)
    difference = (log_mel(ours) - log_mel(theirs)).abs().mean()
    return float((pitch(ours)[0, 0] - pitch(theirs)[0, 0]).abs()), float(difference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("run", "voices", "accents", "corpus"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    pca = VoicePca.from_tables(voices.unpack(args.voices), args.accents)
    synthesis = syntheses.load(args.run, pca)
    engine = TurboEngine(threads=1)
    engine.load()
    texts = Texts(args.corpus, synthesis, 40, letters="aef")
    worst_pitch = worst_spectrum = 0.0
    for letter in "aaef":
        line = texts.draw(1, letter)
        found = compare(synthesis, engine, line, sample_wide_voice(pca))
        print(f"{letter}: pitch {found[0]:.3f}, spectrum {found[1]:.2f}", flush=True)
        worst_pitch, worst_spectrum = max(worst_pitch, found[0]), max(worst_spectrum, found[1])
    if worst_pitch > CLOSE_PITCH or worst_spectrum > CLOSE_SPECTRUM:
        raise SystemExit("training and product synthesise differently")


if __name__ == "__main__":
    main()
