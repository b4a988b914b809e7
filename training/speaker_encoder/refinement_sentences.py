"""The sentences that refinement speaks, before they have a voice, and how clear they are in clones.

    python -m speaker_encoder.refinement_sentences --run acoustic/run --voices voices.pt --accents accents.npz \
        --judge judge.pt --mapper mapper.pt --inputs inputs.pt ../src/svc/data/refinement.npz

Those of refinement_sentences.tsv (text, ids of its phonemes as the service finds them) that last three seconds.
`inputs.pt` has the mapper's inputs of some training speakers [N, 643]: their clones' phoneme loss is what the judge
asks of refined ones, sentence by sentence, because a sentence may be harder for it than another.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from speaker_encoder import refinement_judge, voice_encoder
from speaker_encoder import synthesis as syntheses
from speaker_encoder.export_refinement import describe_sentences
from speaker_encoder.features import log_mel, normalize_level
from speaker_encoder.refinement_judge import RefinementJudge, measure_phoneme_loss, resample_phonemes
from speaker_encoder.synthesis import Lines, Synthesis
from speaker_encoder.voice_encoder import VoiceEncoder
from speaker_encoder.voice_pca import VoicePca
from teacher import voices

COUNT = 30
PEOPLE = 6
HARDEST = 1.4
"""Phoneme loss of a sentence that the judge can still judge."""


def read_lines(synthesis: Synthesis) -> Lines:
    rows = Path(__file__).with_suffix(".tsv").read_text().splitlines()
    return synthesis.make_lines([("a", [int(each) for each in row.split("\t")[1].split()]) for row in rows])


@torch.no_grad()
def measure_clarity(
    synthesis: Synthesis, judge: RefinementJudge, network: VoiceEncoder, lines: Lines, inputs: Tensor
) -> Tensor:
    """The mean phoneme loss of these people's clones in each sentence."""
    log_pitch = inputs[:, 384] / 3 + 5.1
    losses = []
    for number in range(len(lines)):
        line = lines[torch.full((len(inputs),), number)]
        voice = synthesis.pca.to_voice(network.mapper(inputs), log_pitch, line.language)
        found = judge(log_mel(normalize_level(synthesis(line, voice).wave)))
        losses.append(measure_phoneme_loss(found.phonemes, resample_phonemes(line.phonemes, found.phonemes.shape[1])))
    return torch.stack(losses).mean(dim=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("run", "voices", "accents", "judge", "mapper", "inputs"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    network = voice_encoder.load_mapper(args.mapper)
    pca = VoicePca.from_tables(voices.unpack(args.voices), args.accents)
    pca.load_state_dict(network.pca.state_dict())
    synthesis = syntheses.load(args.run, pca)
    lines = read_lines(synthesis)
    inputs = torch.load(args.inputs)[:PEOPLE].float()
    clear = measure_clarity(synthesis, refinement_judge.load(args.judge), network, lines, inputs)
    some = (clear < HARDEST).nonzero()[:COUNT, 0]
    lines, clear = lines[some], clear[some]
    print(f"{len(lines)} sentences, phoneme loss {clear.min():.2f} to {clear.max():.2f}, mean {clear.mean():.2f}")
    np.savez_compressed(args.output, **describe_sentences(synthesis, lines), clear=clear.numpy().astype(np.float32))


if __name__ == "__main__":
    main()
