"""Trains the ear until the time is up.

    python -m cloning.hearing --judges judges --speakers speakers.pt --out ear --seconds 1500

The ear starts as CAM++. Every clip is cut anew, disguised as somebody else and heard by the speaker networks; the ear
hears it spoilt, as uploads are, and is asked for CAM++'s inner maps and for what all of them say. Speech of random
voices comes from `--spoken`, a file that the training of the mapper writes, as soon as it is there. `--out` gets
ear.pt, the best of the weights' running means, from which `--resume` goes on.
"""

import argparse
import copy
import random
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from cloning import encoder as encoders
from cloning import speakers
from cloning.clock import Clock, Notes, parts_of_time, say
from cloning.damage import as_recorded, damaged, telephone
from cloning.ear import Ear, Heard
from cloning.judges import Networks
from cloning.lecture import Lecture, teach
from cloning.sound import HOP, RATE, WINDOW, level, log_mel
from cloning.speakers import Clip
from cloning.tape import Tape, spliced

LENGTHS = (300, 600)
"""Frames in a crop: few, since a card is fastest with shapes it knows."""
GROUPS, SPOKEN = 5, 2
"""Parts of a batch that are disguised each in its own way; so many of them are random voices, as soon as there are."""
LONGEST = 12 * RATE


class Exam:
    """How like the networks an ear hears people it never learned from, in recordings that may be changed first."""

    @torch.no_grad()
    def __init__(
        self,
        clips: list[Clip],
        networks: Networks,
        device: torch.device,
        change: Callable[[Tensor], Tensor] = as_recorded,
    ) -> None:
        longest: dict[str, Tensor] = {}
        for clip in clips:
            if len(clip.wave) > len(longest.get(clip.speaker, "")):
                longest[clip.speaker] = clip.wave
        waves = [level(wave[None, :LONGEST].to(device)) for wave in longest.values()]
        self.wanted = Heard.all([networks.hear(wave) for wave in waves])
        self.waves = [level(change(wave)) for wave in waves]

    @torch.no_grad()
    def __call__(self, ear: Ear) -> Heard:
        """The likeness of each opinion."""
        return Heard.all([ear(log_mel(wave)) for wave in self.waves]).likeness(self.wanted)


class Hearing:
    def __init__(self, args: argparse.Namespace, device: torch.device) -> None:
        self.args, self.device = args, device
        self.networks = Networks(args.judges).to(device, memory_format=torch.channels_last)
        training, validation = speakers.load(args.speakers)
        apart, training = speakers.apart(training[: args.clips])
        self.exams = {
            "apart": Exam(apart, self.networks, device),
            "by telephone": Exam(apart, self.networks, device, telephone),
            "validation": Exam(validation[: args.clips], self.networks, device),
        }
        self.recorded = Tape.of([clip.wave for clip in training], speakers.chances(training), device)
        self.spoken: Tape | None = None
        self.lecture: Lecture | None = None
        self.ear = Ear()
        self.ear.inherit(self.networks.campplus.network)
        if args.resume:
            self.ear = encoders.load_ear(args.resume / "ear.pt")
        # An ear that was taken out of an exported file has its norms worked into its weights: they must not count anew.
        self.ear.train(not args.resume).to(device, memory_format=torch.channels_last)
        self.average = copy.deepcopy(self.ear).requires_grad_(False).eval()
        self.parts = (
            (self.ear.body, args.body_rate),
            (self.ear.eres2net, args.rate),
            (self.ear.dvector, args.dvector_rate),
        )
        for part, rate in self.parts:
            part.requires_grad_(rate > 0)
        groups = [{"params": list(part.parameters())} for part, _ in self.parts]
        self.optimiser = torch.optim.AdamW(groups, 0.0, weight_decay=0.02)
        self.steps = 0
        self.notes = Notes()

    def look_for_speech(self) -> bool:
        """Takes the speech of random voices, once it is there."""
        if self.spoken is None and self.args.spoken and self.args.spoken.exists():
            waves = list(torch.load(self.args.spoken))
            self.spoken = Tape.of(waves, [1.0] * len(waves), self.device)
            return True
        return False

    def batch(self, count: int, samples: int) -> Tensor:
        tapes = [self.recorded] * (GROUPS - SPOKEN) + [self.spoken or self.recorded] * SPOKEN
        return spliced(torch.cat([tape.disguised(count // GROUPS, samples) for tape in tapes]), 0.15)

    @torch.no_grad()
    def rounding(self) -> float:
        """How like the networks' embeddings in fp32 are those that are taught."""
        wave = self.recorded.crop(GROUPS, 4 * RATE)
        alike = teach(self.networks, wave).heard.likeness(self.networks.hear(wave))
        return min(map(float, vars(alike).values()))

    def step(self, rate: float) -> None:
        frames = random.choice(LENGTHS)
        count = max(GROUPS, round(self.args.batch * LENGTHS[0] / frames))
        with torch.no_grad():
            wave = self.batch(count, frames * HOP + WINDOW - HOP)
            mel = log_mel(level(damaged(wave, wave[:8].roll(1, dims=0))))
        taught = teach(self.networks, wave)
        self.lecture = self.lecture or Lecture(taught)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            heard, maps = self.ear.listen(mel)
        marks = self.lecture.mark(heard.float(), maps, taught)
        for group, (_, peak) in zip(self.optimiser.param_groups, self.parts, strict=True):
            group["lr"] = peak * rate * min(1.0, (self.steps + 1) / 100)
        self.optimiser.zero_grad()
        marks.loss(self.args.inner, self.args.steady).backward()
        torch.nn.utils.clip_grad_norm_(self.ear.parameters(), 3.0)
        self.optimiser.step()
        self.steps += 1
        self._remember()
        self.notes.add(**vars(marks.likeness), **marks.unexplained)
        self.notes.add(mean=marks.confused["out"])

    @torch.no_grad()
    def _remember(self) -> None:
        share = max(1 - self.args.keep, 9 / (self.steps + 9))
        means, values = self.average.state_dict().values(), self.ear.state_dict().values()
        pairs = [(mean, value) for mean, value in zip(means, values, strict=True) if mean.is_floating_point()]
        torch._foreach_lerp_([mean for mean, _ in pairs], [value for _, value in pairs], share)

    def examine(self) -> tuple[float, str]:
        """How good the ear is on people set apart, by telephone too, and all about it in words."""
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=True):
            results = {name: exam(self.average) for name, exam in self.exams.items()}
        scores = {name: {who: float(x) for who, x in vars(result).items()} for name, result in results.items()}
        words = "  ".join(f"{name} {who} {x:.3f}" for name, score in scores.items() for who, x in score.items())
        return sum(sum(scores[name].values()) for name in ("apart", "by telephone")), words


def run(hearing: Hearing, args: argparse.Namespace) -> None:
    clock = Clock(args)
    report, examine = clock.every(15), clock.every(args.examine_every)
    last, best = (0, time.monotonic()), 0.0

    def keep_the_best() -> None:
        nonlocal best
        score, words = hearing.examine()
        say(f"  {words}")
        if score > best:
            best = score
            encoders.save_ear(hearing.average, args.out / "ear.pt")

    while clock.running:
        hearing.step(clock.rate)
        if report():
            steps, now = hearing.steps, time.monotonic()
            say(f"{steps:6d}  {(steps - last[0]) / (now - last[1]):.2f}/s  {hearing.notes}")
            last = (steps, now)
            if hearing.look_for_speech():
                say("the speech of random voices is there")
        if examine():
            keep_the_best()
    keep_the_best()
    say(f"done: {hearing.steps} steps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("judges", "speakers", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--spoken", type=Path, help="a file of speech that may come later")
    parser.add_argument("--resume", type=Path, help="a folder with ear.pt")
    parts_of_time(parser)
    parser.add_argument("--batch", type=int, default=128, help="crops of 3 s in a step, half as many of 6 s")
    parser.add_argument("--rate", type=float, default=2e-3, help="of learning, for what ERes2Net would say")
    parser.add_argument("--dvector-rate", type=float, default=2e-3, help="of learning, for the d-vector")
    parser.add_argument("--body-rate", type=float, default=4e-4, help="of learning, for what is inherited")
    parser.add_argument("--inner", type=float, default=1.0, help="weight of the inner maps")
    parser.add_argument("--steady", type=float, default=1.0, help="weight of the maps' means over time")
    parser.add_argument("--keep", type=float, default=0.998, help="of the running mean, a step")
    parser.add_argument("--clips", type=int, default=None, help="only so many recordings")
    parser.add_argument("--examine-every", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    hearing = Hearing(args, device)
    say(f"{len(hearing.recorded.wave) / RATE / 3600:.2f} hours in {len(hearing.recorded.first)} recordings")
    torch.backends.cudnn.benchmark = True
    say(f"bf16 against fp32: {hearing.rounding():.4f}")
    run(hearing, args)


if __name__ == "__main__":
    main()
