"""Trains the head against the teacher: with a spectral loss first, then with discriminators too.

    python -m head.train --teacher kokoro.pt --voices voices.pt --corpus corpus.json --out run
    python -m head.train ... --resume run --seed 2 --start 0.35    # continue: new data, a lower rate

The learning rate is constant in the spectral phase and follows a cosine in the adversarial one. `--out` gets head.pt (a
running mean of the weights) and discriminators.pt. On a GPU each step is one captured CUDA graph.
"""

import argparse
import copy
import math
import random
import time
from pathlib import Path

import torch
from torch import Tensor

from head import model as heads
from head.teacher_cache import TeacherCache, synthesize
from steps import discriminators
from steps.discriminators import Discriminators
from steps.optimisation import (
    LossSums,
    apply_gradients,
    autocast,
    begin,
    capture_graph,
    cosine_rate,
    create_optimizer,
    log,
    set_seed,
)
from steps.wave_loss import WaveLoss
from teacher import corpus, port, voices
from teacher.kokoro import FRAME
from teacher.styles import StyleSampler

MARGIN = 8
"""Frames at a crop's edges that are left out of the loss: their context is missing."""
HELD_OUT = 40
"""Texts that are used for validation and never for training."""


class Trainer:
    def __init__(
        self,
        head: heads.Head,
        critics: Discriminators,
        cache: TeacherCache,
        batch: int,
        length: int,
        device: torch.device,
    ) -> None:
        self.cache, self.batch, self.length, self.device = cache, batch, length, device
        self.starts = cache.find_starts(length)
        self.head = head.to(device)
        self.average = copy.deepcopy(self.head).requires_grad_(False)
        self.loss = WaveLoss(critics, device, trained=False)
        self.head_rate, self.discriminator_rate = 5e-4, 5e-4
        self.head_optimizer = create_optimizer(self.head, device)
        self.discriminator_optimizer = create_optimizer(critics, device)
        self.sums = LossSums(("spectral", "hinge", "matching", "adversarial"), device)

    def set_rate(self, factor: float) -> None:
        self.head_optimizer.param_groups[0]["lr"].fill_(self.head_rate * factor)
        rate = self.discriminator_rate * min(1.0, factor * 1.5)
        self.discriminator_optimizer.param_groups[0]["lr"].fill_(rate)

    def _predict(self) -> tuple[Tensor, Tensor, Tensor]:
        """The head's wave, the same detached from the graph, and the target; all without margins."""
        pick = torch.randint(len(self.starts), (self.batch,), device=self.device)
        inputs, target = self.cache.crop(self.starts[pick], self.length)
        with autocast(self.device):
            predicted = self.head(**inputs)
        edge = MARGIN * FRAME
        predicted, target = predicted[:, edge:-edge], target[:, edge:-edge]
        return predicted, predicted.detach().requires_grad_(), target

    def _update_head(self, predicted: Tensor, gradient: Tensor) -> None:
        apply_gradients(self.head_optimizer, torch.autograd.grad(predicted, list(self.head.parameters()), gradient))
        torch._foreach_lerp_(list(self.average.parameters()), list(self.head.parameters()), 0.001)

    def spectral_step(self) -> None:
        predicted, leaf, target = self._predict()
        gradient, losses = self.loss.compare(leaf, target)
        self._update_head(predicted, gradient)
        self.sums.add(**losses)

    def adversarial_step(self) -> None:
        """One step of the head and of the discriminators, from one forward pass of the latter."""
        predicted, leaf, target = self._predict()
        gradient, hinge_gradients, losses = self.loss.judge(leaf, target)
        apply_gradients(self.discriminator_optimizer, hinge_gradients)
        self._update_head(predicted, gradient)
        self.sums.add(**losses)

    @torch.no_grad()
    def validate(self, held_out: TeacherCache) -> float:
        length = 160
        starts = held_out.find_starts(length)
        inputs, target = held_out.crop(starts[:: max(1, len(starts) // 64)][:64], length)
        edge = MARGIN * FRAME
        return float(self.loss.spectral(self.average(**inputs)[:, edge:-edge], target[:, edge:-edge]))

    def save(self, folder: Path) -> None:
        heads.save(self.average, folder / "head.pt")
        discriminators.save(self.loss.discriminators, folder / "discriminators.pt")


def run(trainer: Trainer, held_out: TeacherCache, args: argparse.Namespace) -> None:
    """Spectral loss alone for `--spectral-steps`, then the discriminators too for `--adversarial-steps`."""
    steps = 0
    for step, count in (
        (trainer.spectral_step, args.spectral_steps),
        (trainer.adversarial_step, args.adversarial_steps),
    ):
        if count == 0:
            continue
        trainer.set_rate(0.01)
        replay = capture_graph(step, trainer.device)
        trainer.sums.read(1)
        reported_at = time.monotonic()
        for done in range(count):
            progress = done / count if step == trainer.adversarial_step else 0.0
            along = args.start + (args.end - args.start) * progress
            trainer.set_rate(cosine_rate(along) * min(1.0, (done + 1) / 300))
            replay()
            steps += 1
            if steps % args.report_every == 0:
                losses = trainer.sums.read(args.report_every)  # waits for the GPU
                speed = args.report_every / (time.monotonic() - reported_at)
                log(f"{steps:6d}  {speed:5.1f} steps/s  {losses}  held out {trainer.validate(held_out):.4f}")
                reported_at = time.monotonic()
            if steps % args.save_every == 0:
                trainer.save(args.out)
    trainer.save(args.out)
    log(f"done: {steps} steps, held out {trainer.validate(held_out):.4f}")


def synthesize_caches(args: argparse.Namespace, device: torch.device) -> tuple[TeacherCache, TeacherCache]:
    """The training data, and the held-out data, which is the same for every seed."""
    teacher = port.load(args.teacher).to(device)
    styles = StyleSampler(voices.unpack(args.voices, device))
    texts = corpus.read_shuffled(args.corpus, seed=0)
    held_out_texts, texts = texts[:HELD_OUT], texts[HELD_OUT:]
    set_seed(1)
    held_out = synthesize(teacher, styles, held_out_texts, math.inf, min(8, args.cache_batch))
    set_seed(args.seed)
    random.shuffle(texts)
    return synthesize(teacher, styles, texts, args.hours, args.cache_batch), held_out


def measure_inputs(head: heads.Head, cache: TeacherCache) -> None:
    """Sets the head's input normalisation from the data."""
    some = cache.features[:: max(1, len(cache.features) // 200_000)].float()
    head.feature_mean.copy_(some.mean(dim=0))
    head.feature_scale.copy_(some.std(dim=0).clamp(min=1e-3))
    head.style_mean.copy_(cache.style.mean(dim=0))
    head.style_scale.copy_(cache.style.std(dim=0).clamp(min=1e-3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("teacher", "voices", "corpus", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="a folder with head.pt, and discriminators.pt if they go on, too")
    parser.add_argument("--spectral-steps", type=int, default=19_000)
    parser.add_argument("--adversarial-steps", type=int, default=39_000)
    parser.add_argument(
        "--start", type=float, default=0.0, help="where on the learning rate's cosine to begin (0 to 1)"
    )
    parser.add_argument("--end", type=float, default=1.0, help="where on the learning rate's cosine to end")
    parser.add_argument("--hours", type=float, default=16, help="of speech that the teacher synthesises")
    parser.add_argument("--cache-batch", type=int, default=24, help="voices that the teacher speaks each text with")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=56, help="frames in a crop")
    parser.add_argument("--report-every", type=int, default=500, help="steps")
    parser.add_argument("--save-every", type=int, default=2000, help="steps")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    device = begin(args)
    cache, held_out = synthesize_caches(args, device)
    log(f"{cache.hours:.2f} hours in {len(cache.style)} clips; held out {held_out.hours:.2f} hours")
    # From here on every shape repeats. Before, each text had its own, and benchmarking kernels would never end.
    torch.backends.cudnn.benchmark = True
    if args.resume:
        head = heads.load(args.resume / "head.pt").train()
    else:
        head = heads.Head()
        measure_inputs(head, cache)
    critics = Discriminators()
    if args.resume and (args.resume / "discriminators.pt").exists():
        discriminators.load_weights(critics, args.resume / "discriminators.pt")
    trainer = Trainer(head, critics, cache, args.batch, args.length, device)
    run(trainer, held_out, args)


if __name__ == "__main__":
    main()
