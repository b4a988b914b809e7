"""Trains the voice encoder until the time is up.

    python -m cloning.train --front front.pt --head head.onnx --voices voices.pt --corpus corpus.json \
        --judges judges --speakers speakers.pt --out run --seconds 1000

Three things are learnt, in this order and then together. The trunk hears what ERes2Net and CAM++ hear, frame by frame
and clip by clip, from clips spoilt in all the ways that uploads are. The mapper learns which parameters give a random
voice its embeddings. Then both go through the synthesis: a text is spoken with the guessed parameters, and the
gradient of the speech's likeness to the speaker flows back through our head and Kokoro's front.

`--resume FOLDER` goes on from a folder's encoder.pt. `encoder.pt` (a running mean of the weights) and `best.pt` (the
best on validation speakers) are written to `--out` every two minutes.
"""

import argparse
import copy
import json
import math
import random
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

import bank as banks
import export
import voices
from cloning import encoder as encoders
from cloning import shelf as shelves
from cloning import speakers
from cloning.damage import damaged
from cloning.encoder import EMBEDDING, Encoder, Heard
from cloning.judges import Judges
from cloning.shelf import Shelf, colour, unit_halves
from cloning.sound import level, log_mel, pitch
from cloning.speech import Axes, Speech, median_pitch, unpack
from cloning.validation import Validation

HELD_OUT = 40
"""Texts that validation uses and training never sees."""


EXCERPT = 48_000


@dataclass(frozen=True)
class Weights:
    campplus: float = 0.6
    naturalness: float = 0.15
    natural_enough: float = 4.6
    axes: float = 0.01
    free: float = 0.02
    layers: float = 0.02
    pitch: float = 3.0
    colour: float = 0.1
    known: float = 0.05


@dataclass
class Lesson:
    """Who is to be spoken like: the mapper's inputs, and what is wanted of the speech."""

    inputs: Tensor
    embedding: Tensor  # [B, 384]
    log_pitch: Tensor  # [B]
    colour: Tensor  # [B, 80]
    axes: Tensor  # [B, 106], NaN where unknown

    def mixed(self, share: float) -> "Lesson":
        """Some of the speakers crossed with others: there are many more people than recordings of them."""
        count, device = len(self.inputs), self.inputs.device
        other = torch.randperm(count, device=device)
        part = 0.5 + 0.5 * torch.rand(count, 1, device=device)
        part = torch.where(torch.rand(count, 1, device=device) < share, part, 1.0)

        def cross(x: Tensor) -> Tensor:
            return part * x + (1 - part) * x[other]

        return Lesson(
            cross(self.inputs),
            unit_halves(cross(self.embedding)),
            cross(self.log_pitch[:, None]).squeeze(1),
            cross(self.colour),
            torch.where(part < 1, torch.nan, self.axes),
        )


def excerpt(wave: Tensor) -> Tensor:
    """Three seconds, the sound repeated if it is shorter: the judges are fastest when all shapes are one."""
    wave = wave.repeat(1, -(-EXCERPT // wave.shape[1]))
    start = random.randint(0, wave.shape[1] - EXCERPT)
    return wave[:, start : start + EXCERPT]


class Trainer:
    def __init__(self, args: argparse.Namespace, device: torch.device) -> None:
        self.args, self.device, self.weights = args, device, Weights()
        self.judges = Judges(args.judges).to(device)
        axes = Axes(voices.unpack(args.voices))
        self.speech = Speech(unpack(args.front), export.restore(args.head), axes).to(device)
        everything = [ids for ids in banks.texts(args.corpus, seed=0) if 24 <= len(ids) <= args.longest]
        english = set(map(tuple, json.loads(args.corpus.read_text())["a"]))
        mother = [ids for ids in everything if tuple(ids) in english]
        self.texts = everything[HELD_OUT:] + 4 * mother[HELD_OUT:]
        self.encoder = Encoder().to(device).train()
        self.average = copy.deepcopy(self.encoder).requires_grad_(False).eval()
        self.optimiser = torch.optim.AdamW(
            [
                {"params": list(self.encoder.trunk.parameters()), "peak": 1e-3},
                {"params": list(self.encoder.mapper.parameters()), "peak": 5e-4},
            ],
            weight_decay=0.02,
        )
        self.trunk_time = 0.0
        self.sums: dict[str, Tensor] = {}
        self.counts: dict[str, int] = {}
        training, held_back = speakers.load(args.speakers)
        training = training[: args.clips]
        self.validation = Validation(held_back, self.judges, self.speech, mother[:HELD_OUT], device, args.validated)
        filling = shelves.Filling(self.judges)
        filling.recordings(training, device)
        filling.random_voices(self.speech, random.sample(self.texts, args.random_texts), args.batch)
        self.shelf: Shelf = filling.done()
        self.wanted, self.wanted_pitch = self.shelf.speakers()
        self.recorded = self.shelf.recorded.nonzero().squeeze(1)
        clips_of = torch.bincount(self.shelf.speaker)[self.shelf.speaker[self.recorded]]
        self.chance = clips_of.float().rsqrt()
        self.spoken = (~self.shelf.recorded).nonzero().squeeze(1)
        some = self.shelf.frames[torch.randint(len(self.shelf.frames), (20_000,), device=device)].float()
        self.frame_mean, self.frame_scale = some.mean(dim=0), some.std(dim=0) + 1e-3

    def pick(self, count: int, recorded: float) -> Tensor:
        """Clips, that share of them recordings; of whom there are many, each is taken less often."""
        first = round(count * recorded)
        real = self.recorded[torch.multinomial(self.chance, count, replacement=True)[:first]]
        made = self.spoken[torch.randint(len(self.spoken), (count - first,), device=self.device)]
        return torch.cat([real, made])

    def hear(self, clip: Tensor, cells: int) -> tuple[Heard, Tensor, Tensor]:
        """The trunk's opinion of spoilt clips, the spoilt clips, and the frame-wise targets."""
        wave, frames = self.shelf.crop(clip, cells)
        others, _ = self.shelf.crop(self.pick(8, 1.0), cells)
        with torch.no_grad():
            wave = level(damaged(wave, others))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            heard = self.encoder.trunk(log_mel(wave))
        return heard.float(), wave, frames

    def distillation(self, heard: Heard, clip: Tensor, frames: Tensor) -> Tensor:
        """How far the trunk is from the two networks, which heard the unspoilt clip."""
        own, wanted = torch.cat([heard.eres2net, heard.campplus], dim=1), self.shelf.embedding[clip]
        likeness = (own * wanted).unflatten(1, (2, EMBEDDING)).sum(dim=2).mean(dim=0)
        wanted_frames = (frames - self.frame_mean) / self.frame_scale
        off = F.mse_loss(heard.frames[:, : frames.shape[1]], wanted_frames)
        self.note(trunk_e=likeness[0], trunk_c=likeness[1], frames=off)
        return (1 - likeness).sum() + 0.5 * off

    def lesson(self, clip: Tensor, inputs: Tensor) -> Lesson:
        speaker = self.shelf.speaker[clip]
        return Lesson(
            inputs, self.wanted[speaker], self.wanted_pitch[speaker], self.shelf.colour[clip], self.shelf.axes[clip]
        )

    def told(self, clip: Tensor) -> Tensor:
        """The mapper's inputs as the two networks would give them, with the trunk's errors made up."""
        embedding = self.shelf.embedding[clip]
        noise = F.normalize(torch.randn_like(embedding).unflatten(1, (2, EMBEDDING)), dim=2).flatten(1)
        embedding = unit_halves(embedding + torch.rand(len(clip), 1, device=self.device) * 1.2 * noise)
        eres2net, campplus = embedding.chunk(2, dim=1)
        balance = self.shelf.balance[clip] + 0.7 * torch.randn(len(clip), 80, device=self.device)
        heard = Heard(eres2net, campplus, eres2net, balance)
        measured = self.shelf.pitch[clip] + torch.tensor([0.03, 0.02, 0.05], device=self.device) * torch.randn(
            len(clip), 3, device=self.device
        )
        return self.encoder.mapper.inputs(heard, measured)

    def known(self, guess: encoders.Guess, lesson: Lesson) -> Tensor:
        """The distance from the true parameters, where there are any."""
        off = (guess.axes - torch.nan_to_num(lesson.axes).clamp(-4, 4)).square().mean(dim=1)
        return off * ~lesson.axes[:, 0].isnan()

    def imitate(self, lesson: Lesson, judge_naturalness: bool) -> Tensor:
        """Speaks like the lesson's speakers, and tells how unlike them it was."""
        weights = self.weights
        guess = self.encoder.mapper(lesson.inputs)
        voice = self.speech.axes.voice(guess)
        wave, f0 = self.speech(random.choice(self.texts), voice)
        part = excerpt(wave)
        likeness_e = (self.judges.eres2net(part) * lesson.embedding[:, :EMBEDDING]).sum(dim=1)
        likeness_c = (self.judges.campplus(part) * lesson.embedding[:, EMBEDDING:]).sum(dim=1)
        curve = median_pitch(f0)
        off = curve + (pitch(wave.detach())[:, 0] - curve).detach() - lesson.log_pitch
        coloured = (colour(log_mel(level(wave))) - lesson.colour).abs().mean(dim=1)
        free = guess.timbre.square().sum(dim=1) + guess.melody.square().sum(dim=1)
        loss = (
            -likeness_e
            - weights.campplus * likeness_c
            + weights.axes * guess.axes.square().mean(dim=1)
            + weights.free * free
            + weights.layers * guess.layers.square().sum(dim=(1, 2)) / 11
            + weights.pitch * F.huber_loss(off, torch.zeros_like(off), reduction="none", delta=0.15)
            + weights.colour * coloured
            + weights.known * self.known(guess, lesson)
        ).mean()
        if judge_naturalness:
            some = wave[torch.randperm(len(wave), device=self.device)[: self.args.judged]]
            natural = self.judges.naturalness(some)
            loss = loss + 2 * weights.naturalness * F.relu(weights.natural_enough - natural).mean()
            self.note(mos=natural.mean())
        self.note(e=likeness_e.mean(), c=likeness_c.mean(), pitch=off.abs().mean(), colour=coloured.mean())
        self.note(axes=guess.axes.square().mean().sqrt(), layers=guess.layers.square().sum(dim=2).mean().sqrt())
        return loss

    def step(self, loss: Tensor, rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = group["peak"] * rate
        self.optimiser.zero_grad()
        loss.backward()
        norms = [torch.nn.utils.clip_grad_norm_(group["params"], 1.0) for group in self.optimiser.param_groups]
        if not torch.isfinite(sum(norms)):
            self.note(lost=torch.ones(()))
            return
        self.optimiser.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.parameters()), list(self.encoder.parameters()), 1 - self.args.keep)
            for mean, value in zip(self.average.buffers(), self.encoder.buffers(), strict=True):
                mean.copy_(value)

    def note(self, **values: Tensor) -> None:
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value.detach()
            self.counts[name] = self.counts.get(name, 0) + 1

    def notes(self) -> str:
        text = "  ".join(f"{name} {float(total) / self.counts[name]:.3f}" for name, total in self.sums.items())
        self.sums, self.counts = {}, {}
        return text

    def resume(self) -> None:
        if self.args.resume:
            self.encoder.load_state_dict(encoders.load(self.args.resume / "encoder.pt").state_dict())
            self.average.load_state_dict(self.encoder.state_dict())

    def take_trunk(self) -> bool:
        """The trunk that the process beside this one trains, if it has saved another since."""
        path = self.args.trunk / "encoder.pt"
        if not path.exists() or path.stat().st_mtime == self.trunk_time:
            return False
        self.trunk_time = path.stat().st_mtime
        trunk = encoders.load(path).trunk.state_dict()
        for mine in (self.encoder.trunk, self.average.trunk):
            mine.load_state_dict(trunk)
            mine.eval().requires_grad_(False)
        return True

    def warm_up(self, seconds: float) -> None:
        """The mapper learns the parameters of random voices from their embeddings, without any synthesis."""
        began, mapper = time.monotonic(), self.encoder.mapper
        optimiser = torch.optim.AdamW(mapper.parameters(), 5e-4, weight_decay=0.05)
        while (elapsed := time.monotonic() - began) < seconds:
            optimiser.param_groups[0]["lr"] = 5e-4 * (1 - elapsed / seconds)
            clip = self.pick(512, 0.0)
            guess = mapper(self.told(clip))
            off = (guess.axes - self.shelf.axes[clip].clamp(-4, 4)).square().mean()
            loss = off + 5 * (guess.log_pitch_scale - self.shelf.log_pitch_scale[clip]).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            self.note(warm_up=off)
        self.average.load_state_dict(self.encoder.state_dict())

    def cells(self) -> int:
        return random.choice((25, 40, 60))

    def listen(self, rate: float) -> None:
        """The trunk by itself."""
        clip = self.pick(self.args.crops, 0.75)
        heard, _, frames = self.hear(clip, self.cells())
        self.step(self.distillation(heard, clip, frames), rate)

    def alone(self, rate: float) -> None:
        """Trunk and mapper each by itself."""
        for _ in range(self.args.trunk_steps):
            self.listen(rate)
        clip = self.pick(self.args.batch, 0.75)
        lesson = self.lesson(clip, self.told(clip)).mixed(0.3)
        self.step(self.imitate(lesson, random.random() < 0.5), rate)

    def together(self, rate: float) -> None:
        """From the spoilt clip to the speech. The trunk learns too, unless it is another process's."""
        clip = self.pick(self.args.batch, 0.85)
        heard, wave, frames = self.hear(clip, self.cells())
        inputs = self.encoder.mapper.inputs(heard, pitch(wave))
        lesson = self.lesson(clip, inputs).mixed(0.3)
        loss = self.imitate(lesson, random.random() < 0.5)
        distance = self.distillation(heard, clip, frames)
        self.step(loss if self.args.trunk else loss + distance, rate)


def run(trainer: Trainer, args: argparse.Namespace, log: "Log") -> None:
    trainer.resume()
    if args.warm_up:
        trainer.warm_up(args.warm_up)
        log(f"mapper warmed up: {trainer.notes()}")
    began = time.monotonic()
    seconds = args.until - time.time() if args.until else args.seconds
    saved = reported = validated = looked = began
    steps, best, last_steps, joined = 0, -1.0, 0, False
    while (elapsed := time.monotonic() - began) < seconds:
        along = args.start + (1 - args.start) * elapsed / seconds
        rate = min(1.0, (steps + 1) / 30) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * along)))
        now = time.monotonic()
        joined = joined or elapsed > args.alone * seconds
        if joined and args.trunk and now - looked > 10:
            looked = now
            if trainer.take_trunk():
                log("a new trunk")
        step = trainer.listen if args.only_trunk else trainer.together if joined else trainer.alone
        step(rate)
        steps += 1
        now = time.monotonic()
        if now - reported > args.report_every:
            log(f"{steps:5d}  {(steps - last_steps) / (now - reported):.2f}/s  {trainer.notes()}")
            reported, last_steps = now, steps
        if now - validated > args.validate_every:
            scores = trainer.validation(trainer.average)
            log(f"  {scores}")
            if scores.total > best:
                best = scores.total
                encoders.save(trainer.average, args.out / "best.pt")
            validated = time.monotonic()
            if trainer.device.type == "cuda":
                torch.cuda.empty_cache()  # every length of text leaves its own blocks behind
        if now - saved > args.save_every:
            encoders.save(trainer.average, args.out / "encoder.pt")
            saved = now
    encoders.save(trainer.average, args.out / "encoder.pt")
    log(f"done: {steps} steps\n  {trainer.validation(trainer.average)}")
    trainer.validation.keep(args.out / "validation.json")


class Log:
    def __init__(self) -> None:
        self.began = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"{time.monotonic() - self.began:7.1f} s  {text}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("front", "head", "voices", "corpus", "judges", "speakers", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="a folder with encoder.pt")
    parser.add_argument("--trunk", type=Path, help="a folder whose encoder.pt has the trunk to join with")
    parser.add_argument("--only-trunk", action="store_true", help="for a process beside the main one")
    parser.add_argument("--seconds", type=float, default=1000, help="of training, the making of data not counted")
    parser.add_argument("--alone", type=float, default=0.5, help="share of the time before trunk and mapper are joined")
    parser.add_argument("--until", type=float, help="an end by the clock (seconds since 1970), instead of --seconds")
    parser.add_argument("--start", type=float, default=0.0, help="where on the learning rate's cosine to begin")
    parser.add_argument("--warm-up", type=float, default=15)
    parser.add_argument("--batch", type=int, default=64, help="voices that speak a text")
    parser.add_argument("--crops", type=int, default=96, help="clips that the trunk alone hears in a step")
    parser.add_argument("--trunk-steps", type=int, default=3)
    parser.add_argument("--judged", type=int, default=16, help="clips of a batch that DistillMOS hears")
    parser.add_argument("--random-texts", type=int, default=60)
    parser.add_argument("--longest", type=int, default=48, help="phonemes in a text")
    parser.add_argument("--clips", type=int, default=None, help="only so many recordings")
    parser.add_argument("--validated", type=int, default=None, help="only so many validation speakers")
    parser.add_argument("--keep", type=float, default=0.99, help="of the running mean, a step")
    parser.add_argument("--report-every", type=float, default=15)
    parser.add_argument("--validate-every", type=float, default=75)
    parser.add_argument("--save-every", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    log = Log()
    trainer = Trainer(args, device)
    seconds = len(trainer.shelf.wave) * shelves.CELL / 16_000
    log(f"{seconds / 3600:.2f} hours, {len(trainer.recorded)} recorded and {len(trainer.spoken)} spoken clips")
    run(trainer, args, log)


if __name__ == "__main__":
    main()
