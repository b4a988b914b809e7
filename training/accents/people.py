"""Writes the clones of real people, as the server makes them, and how the people sound, for `accents.voices`.

    python -m accents.people SPEAKERS FROZEN people.npz

One voice for each speaker, from the longest recording, corrected and equalized by what it speaks. The
person is the mean embedding (ERes2Net) of three recordings. Speakers of speaker_encoder/validation.txt come last; they
are not trained with, and only their other recordings count. SPEAKERS is the folder that the voice encoder is trained
with, FROZEN that of `speaker_encoder.frozen_losses`. Needs svc (pip install -e ..).
"""

import argparse
import csv
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import soundfile
import torch
import torch.nn.functional as F
import torchaudio
from svc.audio import decode
from svc.audio.equalizer import Equalizer
from svc.cloning.speaker_encoder import OnnxSpeakerEncoder
from svc.errors import ClipTooShort, NoSpeech
from svc.text.language.languages import Language
from torch import Tensor

from accents.guards import Guards
from acoustic.clones import VALIDATION
from speaker_encoder.features import RATE, fbank

sys.path.insert(0, str(Path(__file__).parents[2]))
from bench import reference_speakers
from bench.clones import make_clone
from bench.recorder import Recorder

RECORDINGS, LONGEST = 3, 8 * RATE
"""How many recordings of a person are compared with, and how much of each."""
IMPULSE = np.eye(1, 512, dtype=np.float32)[0]


def clone(recorder: Recorder, encoder: OnnxSpeakerEncoder, path: Path) -> dict[str, object]:
    try:
        samples = reference_speakers.prepare(path)
    except (ClipTooShort, NoSpeech):  # the server refuses it, but to train with it is good enough
        samples = decode.decode_clip(path.read_bytes()).samples
    person = encoder.encode(samples, decode.RATE)
    found = make_clone(recorder, encoder, person, Language.ENGLISH_US)
    return {
        "timbre": found.timbre,
        "layer_offsets": found.foreign_layer_offsets,
        "english_layer_offsets": found.layer_offsets,
        "vocoder_embedding": found.vocoder_embedding,
        "mask_offset": found.mask_offset,
        "pitch_scale": found.pitch_scale,
        "equalizer": Equalizer(found.equalizer_gains, RATE)(IMPULSE),
    }


@torch.no_grad()
def recognise(guards: Guards, paths: list[Path]) -> Tensor:
    """[192], of length one."""
    embeddings = []
    for path in paths:
        wave, rate = soundfile.read(path, dtype="float32", always_2d=True)
        wave = torchaudio.functional.resample(torch.from_numpy(wave[None, :, 0]), rate, RATE)
        embeddings.append(F.normalize(guards.eres2net(fbank(wave[:, :LONGEST])).float(), dim=1))
    return F.normalize(torch.cat(embeddings).sum(dim=0), dim=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("speakers", type=Path)
    parser.add_argument("frozen", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    held_out = set(VALIDATION.read_text().split())
    recordings = defaultdict(list)
    with (args.speakers / "index.tsv").open() as index:
        for row in csv.DictReader(index, delimiter="\t"):
            recordings[row["speaker"]].append((float(row["seconds"]), args.speakers / row["file"]))
    recorder, encoder = Recorder(), OnnxSpeakerEncoder.load()
    guards = Guards(args.frozen, torch.device("cpu"))
    columns = defaultdict(list)
    for speaker in sorted(recordings, key=lambda name: (name in held_out, name)):
        *others, longest = [path for _, path in sorted(recordings[speaker])]
        heard = (others or [longest]) if speaker in held_out else [*others, longest]
        for name, value in clone(recorder, encoder, longest).items():
            columns[name].append(value)
        columns["person"].append(recognise(guards, heard[-RECORDINGS:]).numpy())
    halves = {name: np.array(values).astype(np.float16) for name, values in columns.items()}
    trained = sum(name not in held_out for name in recordings)
    np.savez_compressed(args.output, trained=np.array(trained), **halves)
    print(f"{len(recordings)} people, {trained} to train with")


if __name__ == "__main__":
    main()
