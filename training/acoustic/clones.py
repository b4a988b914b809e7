"""Writes the parameters of cloned voices of real people, for training with voices such as users have.

    python -m acoustic.clones SPEAKERS clones.npz                      # of training
    python -m acoustic.clones SPEAKERS clones-validation.npz --validation

One voice for each speaker, from the longest clip, as the shipped voice encoder predicts it; in English and in each
further language of the teacher, where melody, layer offsets and pitch change. Speakers of
speaker_encoder/validation.txt are left out, or with `--validation` only they are kept. SPEAKERS is the folder that the
voice encoder is trained with. Needs svc (pip install -e ..).
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import soundfile
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder
from svc.voices.parameters import MELODY_PITCH

VALIDATION = Path(__file__).parent.parent / "speaker_encoder/validation.txt"
MAX_SECONDS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("speakers", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--validation", action="store_true")
    args = parser.parse_args()
    held_out = set(VALIDATION.read_text().split())
    clips = defaultdict(list)
    with (args.speakers / "index.tsv").open() as index:
        for row in csv.DictReader(index, delimiter="\t"):
            clips[row["speaker"]].append((float(row["seconds"]), row["file"]))
    encoder = OnnxSpeakerEncoder.load()
    languages = list(MELODY_PITCH)
    columns = defaultdict(list)
    for speaker in sorted(clips):
        if (speaker in held_out) != args.validation:
            continue
        wave, rate = soundfile.read(args.speakers / max(clips[speaker])[1], dtype="float32", always_2d=True)
        voice = encoder.encode(wave[: MAX_SECONDS * rate, 0], rate).parameters
        columns["speaker"].append(speaker)
        columns["timbre"].append(voice.timbre)
        columns["vocoder_embedding"].append(voice.vocoder_embedding)
        columns["melody"].append(np.stack([voice.melody_in(language) for language in languages]))
        columns["layer_offsets"].append(np.stack([voice.layer_offsets_in(language) for language in languages]))
        columns["pitch_scale"].append([voice.pitch_scale_in(language) for language in languages])
    arrays = {name: np.array(values) for name, values in columns.items()}
    halves = {name: array.astype(np.float16) if array.dtype.kind == "f" else array for name, array in arrays.items()}
    np.savez_compressed(args.output, languages=np.array([str(language) for language in languages]), **halves)
    print(f"{len(columns['speaker'])} speakers")


if __name__ == "__main__":
    main()
