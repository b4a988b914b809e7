"""Writes the voices to train accents with, as svc has them: built-in ones, and clones of real people.

    python -m accents.voices PEOPLE voices.npz

PEOPLE is the file of `accents.people`; its people of validation are not trained with. Needs svc (pip install -e ..).
"""

import argparse
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

LONGEST = 200
"""Rows of the style tables that are kept: one for each number of phonemes."""
TIMBRE_ROW = 59
"""Shorter texts have the timbre of this row, as in the service (TIMBRE_PHONEMES)."""
STYLE, LAYERS = 128, 11
NOTHING = {"layer_offsets": 0.0, "english_layer_offsets": 0.0, "vocoder_embedding": 0.0, "mask_offset": 0.0}
NOTHING |= {"pitch_scale": 1.0, "equalizer": np.eye(1, 512)[0], "person": 0.0}
"""What only clones have, and built-in voices in its place."""


@dataclass
class Voices:
    """Built-in voices first, then clones. All differences are from the mean of the built-in voices."""

    tables: Tensor  # [V, lengths, 256], of the built-in voices
    mean_table: Tensor  # [lengths, 256]
    timbre: Tensor  # [V + C, 128]
    prosody: Tensor  # [V + C, 128]
    layer_offsets: Tensor  # [V + C, 11, 128]: in languages other than English
    english_layer_offsets: Tensor  # [V + C, 11, 128]
    vocoder_embedding: Tensor  # [V + C, 256]
    mask_offset: Tensor  # [V + C, 2408]
    equalizer: Tensor  # [V + C, 512]: its impulse response at the listeners' rate
    pitch_scale: Tensor  # [V + C]
    person: Tensor  # [V + C, 192]: how the person that was cloned sounds (ERes2Net); zero for built-in voices
    gain: Tensor  # [V + C], a factor
    native: Tensor  # [N, 256]: the mean style of each language's own voices
    native_accents: Tensor  # [N, 13, 128]: offsets of the accents so far; the last two rows begin with the shares
    gender_axis: Tensor  # [128]
    keys: list[str]
    languages: list[str]
    """Of the built-in voices."""
    natives: list[str]
    """The languages with voices of their own."""
    held_out: Tensor  # []: the first clone that is not trained with

    def rows(self, voice: Tensor, phonemes: Tensor) -> tuple[Tensor, Tensor]:
        """Timbre and prosody of texts of these lengths without any accent. [B], [B] → [B, 128] twice"""
        row = (phonemes - 1).clamp(0, LONGEST - 1)
        longer = row.clamp(min=TIMBRE_ROW)
        built_in = voice < len(self.tables)
        table = voice.clamp(max=len(self.tables) - 1)
        timbre = torch.where(
            built_in[:, None], self.tables[table, longer, :STYLE], self.mean_table[longer, :STYLE] + self.timbre[voice]
        )
        prosody = torch.where(
            built_in[:, None], self.tables[table, row, STYLE:], self.mean_table[row, STYLE:] + self.prosody[voice]
        )
        return timbre, prosody


def load(path: Path, device: torch.device) -> Voices:
    with np.load(path) as saved:
        arrays = {each.name: saved[each.name] for each in fields(Voices)}
    return Voices(
        **{
            name: [str(each) for each in array] if array.dtype.kind == "U" else torch.tensor(array).float().to(device)
            for name, array in arrays.items()
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("people", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    from svc.text.language.languages import Language
    from svc.voices import accents as shipped
    from svc.voices.built_in import load_built_in_voices
    from svc.voices.loudness import find_built_in_loudness, find_gain

    built_in = load_built_in_voices()
    mean = np.mean([voice.style for voice in built_in], axis=0)
    typical = np.stack([voice.typical_style for voice in built_in])
    own = typical - typical.mean(axis=0)
    natives = [Language.SPANISH, Language.FRENCH, Language.HINDI, Language.ITALIAN, Language.JAPANESE]
    natives += [Language.PORTUGUESE_BR, Language.MANDARIN]
    accents = [shipped.load_accent(language) for language in natives]
    with np.load(args.people) as stored:
        people = dict(stored)
    count = len(people["timbre"])

    def join(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        return np.concatenate([ours, theirs]).astype(np.float16)

    def fill(name: str, nothing: float | np.ndarray) -> np.ndarray:
        shape = (len(built_in), *people[name].shape[1:])
        return join(np.broadcast_to(nothing, shape), people[name])

    gains = [10 ** (find_gain(find_built_in_loudness(voice.key, voice.language)) / 20) for voice in built_in]
    np.savez_compressed(
        args.output,
        tables=np.stack([voice.style[:LONGEST] for voice in built_in]).astype(np.float16),
        mean_table=mean[:LONGEST].astype(np.float32),
        timbre=join(own[:, :STYLE], people["timbre"]),
        prosody=join(own[:, STYLE:], np.zeros((count, STYLE))),
        gain=join(np.array(gains), np.ones(count)),
        **{name: fill(name, nothing) for name, nothing in NOTHING.items()},
        native=np.stack([shipped.native_offset(language) for language in natives]).astype(np.float32),
        native_accents=np.stack(
            [np.concatenate([each.offset, np.pad(each.shares, ((0, 0), (0, STYLE - LAYERS)))]) for each in accents]
        ).astype(np.float32),
        gender_axis=shipped.gender_axis().astype(np.float32),
        keys=np.array([voice.key for voice in built_in]),
        languages=np.array([voice.language.value for voice in built_in]),
        natives=np.array([language.value for language in natives]),
        held_out=np.array(len(built_in) + int(people["trained"])),
    )


if __name__ == "__main__":
    main()
