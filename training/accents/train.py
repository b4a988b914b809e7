"""Trains the accents of all languages through svc-turbo 2, with Whisper base as the listener.

    python -m accents.train FOLDER --seconds 200
    python -m accents.train FOLDER --shipped ../src/svc/data/accents.npz --languages ms fil --rules symbols.json

Loss: Whisper's cross-entropy of the text, DistillMOS, and how far a clone is from its person, and another voice from
itself in English (ERes2Net). Starts from starts.json, or from the accents that svc has. At the end each language keeps
what is clearest and most natural on the validation texts: the trained accent, the trained layers with the prosody of
the start, or the start; with `--validation 0`, the trained one. Writes accents.pt and validation.json.
"""

import argparse
import json
import random
import time
from pathlib import Path

import torch
from torch import Tensor

from accents.accents import Accents, Start, load_shipped
from accents.guards import find_long, recognise_voices
from accents.inputs import Inputs
from accents.search import MOS_WEIGHT, score
from accents.windows import Window, WindowMaker, join, speak

RATES = {"offset": 0.004, "shares": 0.01, "prosody": 0.002}
CLONED = 0.35
JUDGED, RECOGNISED = 24, 32
"""Clips of a batch that are judged for naturalness, and whose speaker is recognised."""
NATURALNESS, LIKENESS, PULL = 0.15, 0.5, 0.003
"""Weights beside the cross-entropy. PULL: of the mean square of what was learned, in units of SPREAD."""
SPREAD = 0.1
KEPT_EVERY = 20.0
"""Seconds between checkpoints."""


class Trainer:
    def __init__(
        self,
        inputs: Inputs,
        accents: Accents,
        batch: int,
        naturalness: float = NATURALNESS,
        likeness: float = LIKENESS,
        cloned: float = CLONED,
    ) -> None:
        self.inputs, self.accents, self.batch = inputs, accents, batch
        self.naturalness, self.likeness = naturalness, likeness
        self.start = {name: each.detach().clone() for name, each in accents.named_parameters()}
        self.targets = recognise_voices(inputs.guards, inputs.synthesis, inputs.voices, inputs.read_english(6))
        self.maker = WindowMaker(accents, inputs.texts, "training", cloned)
        self.maker.measure(inputs.synthesis)
        groups = [{"params": [each], "lr": RATES[name]} for name, each in accents.named_parameters()]
        self.optimizer = torch.optim.Adam(groups, betas=(0.9, 0.98))
        self.rates = [group["lr"] for group in groups]
        self.rng = random.Random(2)

    def step(self, rows: list[int], progress: float) -> dict[str, float]:
        """One window of each row. progress: from 0 to 1"""
        scale = min(1.0, progress / 0.03 + 0.1) * (1 - progress) ** 0.7
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * max(scale, 0.01)
        self.optimizer.zero_grad()
        totals: dict[str, float] = {}
        for first in range(0, len(rows), self.batch):
            some = rows[first : first + self.batch]
            losses = self.listen([self.maker.make(row) for row in some])
            loss = losses["entropy"] - self.naturalness * losses["mos"] - self.likeness * losses["likeness"]
            (loss * (len(some) / len(rows))).backward()
            for name, each in losses.items():
                totals[name] = totals.get(name, 0.0) + float(each.detach()) * len(some) / len(rows)
        moved = sum(
            ((each - self.start[name]) / SPREAD).square().mean() for name, each in self.accents.named_parameters()
        )
        (PULL * moved).backward()
        finite = all(bool(each.grad.isfinite().all()) for each in self.accents.parameters())
        if finite:
            # Each language has its own gradient: no common norm to clip.
            self.optimizer.step()
        return {**totals, "moved": float(moved), "finite": float(finite)}

    def listen(self, windows: list[Window]) -> dict[str, Tensor]:
        inputs = self.inputs
        clips, voices = speak(inputs.synthesis, self.accents, windows)
        wave, tokens, languages = join(clips, windows)
        long = find_long(clips)
        recognised = self.rng.sample(long, min(RECOGNISED, len(long)))
        judged = self.rng.sample(range(len(voices)), min(JUDGED, len(voices)))
        with torch.autocast(inputs.device.type, torch.bfloat16, enabled=inputs.device.type == "cuda"):
            entropy = inputs.whisper.cross_entropy(wave, tokens, languages)
            mos = inputs.guards.judge(clips, judged).float().mean()
            embeddings = inputs.guards.recognise(clips, recognised)
        target = self.targets[torch.tensor([voices[i] for i in recognised], device=inputs.device)]
        return {
            "entropy": (entropy.sum(dim=1) / ((tokens >= 0).sum(dim=1) + 1)).mean(),
            "mos": mos,
            "likeness": (embeddings * target).sum(dim=1).mean(),
        }


def validate(inputs: Inputs, accents: Accents, count: int, batch: int, cloned: float) -> tuple[Tensor, Tensor]:
    """Cross-entropy and naturalness of each row, on windows that are the same each time."""
    maker = WindowMaker(accents, inputs.texts, "validation", cloned, seed=3)
    maker.measure(inputs.synthesis)
    windows = [maker.make(row) for row in range(len(accents.starts)) for _ in range(count)]
    loss, mos = score(inputs, accents, windows, batch)
    return loss.view(-1, count).mean(dim=1), mos.view(-1, count).mean(dim=1)


def select(
    accents: Accents, start: dict[str, Tensor], inputs: Inputs, count: int, batch: int, cloned: float
) -> dict[str, list]:
    """Gives each row the best of three: as trained, with the prosody of the start, as started."""
    trained = {name: each.detach().clone() for name, each in accents.named_parameters()}
    variants = {"trained": trained, "layers": {**trained, "prosody": start["prosody"]}, "start": start}
    results = {}
    for name, values in variants.items():
        with torch.no_grad():
            for key, each in accents.named_parameters():
                each.copy_(values[key])
        results[name] = validate(inputs, accents, count, batch, cloned)
    totals = torch.stack([loss - MOS_WEIGHT * mos for loss, mos in results.values()])
    chosen = totals.argmin(dim=0).tolist()
    names = list(variants)
    with torch.no_grad():
        for row, number in enumerate(chosen):
            for key, each in accents.named_parameters():
                each[row] = variants[names[number]][key][row]
    return {
        each.row: [
            names[chosen[row]],
            {name: [round(float(part[row]), 4) for part in results[name]] for name in names},
        ]
        for row, each in enumerate(accents.starts)
    }


def save(accents: Accents, path: Path) -> None:
    torch.save({"starts": [vars(each) for each in accents.starts], "state": accents.state_dict()}, path)


def load(path: Path, inputs: Inputs) -> Accents:
    stored = torch.load(path, map_location="cpu")
    accents = Accents([Start(**each) for each in stored["starts"]], inputs.voices, inputs.load_pitch_axis())
    accents.load_state_dict(stored["state"])
    return accents.to(inputs.device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--batch", type=int, default=20, help="windows at once")
    parser.add_argument(
        "--often", nargs="*", default=[], help="languages with a window more a step, for each time they are named"
    )
    parser.add_argument("--languages", nargs="*", help="only these")
    parser.add_argument("--shipped", type=Path, help="accents.npz, to train it further")
    parser.add_argument("--rules", type=Path, help="what accents.symbols has found")
    parser.add_argument("--naturalness", type=float, default=NATURALNESS, help="its weight")
    parser.add_argument("--likeness", type=float, default=LIKENESS, help="its weight")
    parser.add_argument("--clone-gain", type=float, help="the gain of clones' own layer offsets, with --shipped")
    parser.add_argument("--cloned", type=float, default=CLONED, help="share of clones among the voices")
    parser.add_argument("--validation", type=int, default=4, help="windows of each row; 0: nothing is compared")
    args = parser.parse_args()
    began = time.time()
    inputs = Inputs.load(args.folder)
    if args.rules:
        inputs.texts.rules = json.loads(args.rules.read_text())
    if args.shipped:
        known = inputs.texts.stored["articulation"]
        chosen = {code: native for code, native in known.items() if not args.languages or code in args.languages}
        accents = load_shipped(args.shipped, chosen, inputs.voices, inputs.load_pitch_axis(), args.clone_gain)
    else:
        starts = [Start(**each) for each in json.loads((args.folder / "starts.json").read_text())["starts"]]
        starts = [start for start in starts if not args.languages or start.row in args.languages]
        accents = Accents(starts, inputs.voices, inputs.load_pitch_axis())
    starts = accents.starts
    trainer = Trainer(inputs, accents, args.batch, args.naturalness, args.likeness, args.cloned)
    print(f"{time.time() - began:.0f} s: ready, {len(starts)} rows", flush=True)
    rows = [row for row, start in enumerate(starts) for _ in range(1 + args.often.count(start.row))]
    training, kept, steps = time.time(), time.time(), 0
    means: dict[str, float] = {}
    while (gone := time.time() - training) < args.seconds:
        trainer.rng.shuffle(rows)
        for name, each in trainer.step(rows, gone / args.seconds).items():
            means[name] = 0.9 * means.get(name, each) + 0.1 * each
        steps += 1
        if time.time() - kept > KEPT_EVERY or steps in (1, 5):
            kept = time.time()
            save(accents, args.folder / "accents.pt")
            print(f"{gone:.0f} s, {steps} steps:", *(f"{name} {each:.4f}" for name, each in means.items()), flush=True)
    save(accents, args.folder / "accents.pt")
    print(f"{time.time() - began:.0f} s: trained, {steps} steps", flush=True)
    if not args.validation:
        return
    chosen = select(accents, trainer.start, inputs, args.validation, 3 * args.batch, args.cloned)
    save(accents, args.folder / "accents.pt")
    (args.folder / "validation.json").write_text(json.dumps(chosen, indent=1))
    for row, (name, results) in chosen.items():
        print(row, name, results, flush=True)
    print(f"{time.time() - began:.0f} s: selected", flush=True)


if __name__ == "__main__":
    main()
