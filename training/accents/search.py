"""Finds where the accent of each language should start: whose layers, and whose prosody.

    python -m accents.search FOLDER

A row of each language and candidate speaks the same windows of training texts, by the same voices. Whisper's
cross-entropy less a tenth of DistillMOS decides; first the layers, then the prosody. Writes starts.json.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from accents.accents import NATIVE, Accents, Start
from accents.inputs import Inputs
from accents.windows import Window, WindowMaker, join, speak

NATIVE_ROWS = ("fr", "hi", "it", "zh")
"""Languages whose own voices are misheard: they get an accent as well, which starts at zero."""
MOS_WEIGHT = 0.1
PROSODY_SHARES = (0.5, 1.0)


@torch.no_grad()
def score(inputs: Inputs, accents: Accents, windows: Sequence[Window], batch: int) -> tuple[Tensor, Tensor]:
    """Cross-entropy of a token and naturalness of two clips, for each window."""
    losses, naturalness = [], []
    for first in range(0, len(windows), batch):
        some = windows[first : first + batch]
        clips, _ = speak(inputs.synthesis, accents, some)
        wave, tokens, languages = join(clips, some)
        with torch.autocast(inputs.device.type, torch.bfloat16, enabled=inputs.device.type == "cuda"):
            entropy = inputs.whisper.cross_entropy(wave, tokens, languages)
            counts = [len(window.texts) for window in some]
            firsts = [sum(counts[:i]) for i in range(len(counts))]
            chosen = [at + k for at, count in zip(firsts, counts, strict=True) for k in (0, count - 1)]
            mos = inputs.guards.judge(clips, chosen).float().view(-1, 2).mean(dim=1)
        losses.append(entropy.sum(dim=1) / ((tokens >= 0).sum(dim=1) + 1))
        naturalness.append(mos)
    return torch.cat(losses), torch.cat(naturalness)


def choose(
    inputs: Inputs, candidates: dict[str, list[Start]], axis: Tensor, count: int, batch: int
) -> tuple[dict[str, Start], dict[str, list]]:
    """The best start of each row, and all results."""
    starts = [start for each in candidates.values() for start in each]
    accents = Accents(starts, inputs.voices, axis)
    maker = WindowMaker(accents, inputs.texts, "training", cloned=0.3, seed=1)
    maker.measure(inputs.synthesis)
    windows: list[Window] = []
    row = 0
    for each in candidates.values():
        same = [maker.make(row) for _ in range(count)]
        for _ in each:
            windows += [Window(row, window.language, window.texts, window.voices) for window in same]
            row += 1
    loss, mos = (each.view(-1, count).mean(dim=1) for each in score(inputs, accents, windows, batch))
    total = (loss - MOS_WEIGHT * mos).tolist()
    best, results, row = {}, {}, 0
    for name, each in candidates.items():
        ranked = sorted(range(row, row + len(each)), key=total.__getitem__)
        best[name] = starts[ranked[0]]
        results[name] = [(asdict(starts[i]), round(float(loss[i]), 4), round(float(mos[i]), 3)) for i in ranked]
        row += len(each)
    return best, results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--languages", nargs="*")
    parser.add_argument("--windows", type=int, default=4, help="of each language and candidate")
    parser.add_argument("--batch", type=int, default=64)
    args = parser.parse_args()
    began = time.time()
    inputs = Inputs.load(args.folder)
    axis, natives = inputs.load_pitch_axis(), inputs.voices.natives
    known = json.loads((args.folder / "texts.json").read_text())["articulation"]
    languages = args.languages or [language for language, native in known.items() if language != native]
    candidates = {
        language: [Start(language), *(Start(language, native) for native in natives)] for language in languages
    }
    best, articulation = choose(inputs, candidates, axis, args.windows, args.batch)
    print(f"{time.time() - began:.0f} s: layers", flush=True)
    candidates = {
        language: [
            Start(language, start.articulation),
            *(Start(language, start.articulation, each, s) for each in natives for s in PROSODY_SHARES),
        ]
        for language, start in best.items()
    }
    best, prosody = choose(inputs, candidates, axis, args.windows, args.batch)
    print(f"{time.time() - began:.0f} s: prosody", flush=True)
    starts = [*best.values(), *(Start(code + NATIVE) for code in NATIVE_ROWS)]
    (args.folder / "starts.json").write_text(
        json.dumps(
            {"starts": [asdict(start) for start in starts], "articulation": articulation, "prosody": prosody},
            ensure_ascii=False,
        )
    )
    for language, start in best.items():
        ranked = articulation[language]
        now = next(each for each in ranked if each[0]["articulation"] == known[language])
        print(language, "now", known[language], *now[1:], "best", start, *prosody[language][0][1:], flush=True)


if __name__ == "__main__":
    main()
