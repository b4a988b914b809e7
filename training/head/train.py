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
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from head import discriminators, export
from head import model as heads
from head.discriminators import Discriminators
from head.spectral_loss import SpectralLoss
from head.teacher_cache import TeacherCache, synthesize
from teacher import corpus, port, voices
from teacher.kokoro import FRAME
from teacher.styles import StyleSampler

MARGIN = 8
"""Frames at a crop's edges that are left out of the loss: their context is missing."""
WEIGHTS = {"spectral": 1.0, "matching": 1.0, "adversarial": 1.2}
"""Of the losses' gradients, each scaled to norm one."""
HELD_OUT = 40
"""Texts that are used for validation and never for training."""


class GradientBalancer:
    """Adds the gradients of several losses in fixed proportions, whatever their scales.

    Each is divided by a running mean of its norm, or by its own norm where that is larger.
    """

    def __init__(self, weights: dict[str, float], device: torch.device) -> None:
        self.weights = {k: torch.tensor(v, device=device) for k, v in weights.items()}
        self.norms = {k: torch.zeros((), device=device) for k in weights}

    def __call__(self, gradients: dict[str, Tensor]) -> Tensor:
        total = 0.0
        for name, gradient in gradients.items():
            norm, mean = gradient.norm(), self.norms[name]
            mean.copy_(torch.where(mean == 0, norm, torch.lerp(mean, norm, 0.02)))
            total = total + gradient * (self.weights[name] / (torch.maximum(mean, norm) + 1e-12))
        return total


def create_optimizer(module: nn.Module, device: torch.device) -> torch.optim.AdamW:
    """The learning rate is a tensor, so that it can change between replays of a captured step."""
    gpu = device.type == "cuda"
    rate = torch.zeros((), device=device)
    return torch.optim.AdamW(
        module.parameters(), lr=rate, betas=(0.8, 0.99), weight_decay=1e-3, fused=gpu, capturable=gpu
    )


def apply_gradients(optimizer: torch.optim.AdamW, gradients: tuple[Tensor, ...]) -> None:
    parameters = optimizer.param_groups[0]["params"]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.contiguous()
    optimizer.step()


def autocast(device: torch.device) -> torch.autocast:
    # Without the cache: casts made while a graph is captured must not be reused outside it.
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda", cache_enabled=False)


def capture_graph(step: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """The step as a CUDA graph; the step itself without a GPU, or where the step cannot be captured."""
    if device.type != "cuda":
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            step()
    except RuntimeError as error:
        log(f"not captured, so slower: {error}")
        torch.cuda.synchronize()
        return step
    return graph.replay


def estimate_skill(hinge: Tensor) -> Tensor:
    """Of the discriminators, 0 to 1: a hinge loss of 2 is chance, 1.9 earns the full weight."""
    return ((2.0 - hinge) / 0.1).clamp(0.0, 1.0)


def cosine_rate(along: float) -> float:
    """Factor of the peak learning rate: a cosine that ends at 3 %."""
    return 0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * along))


class Trainer:
    def __init__(self, head: heads.Head, cache: TeacherCache, batch: int, length: int, device: torch.device) -> None:
        self.cache, self.batch, self.length, self.device = cache, batch, length, device
        self.starts = cache.find_starts(length)
        self.head = head.to(device)
        self.average = copy.deepcopy(self.head).requires_grad_(False)
        self.discriminators = Discriminators().to(device)
        self.spectral = SpectralLoss().to(device)
        self.balancer = GradientBalancer(dict(WEIGHTS), device)
        self.head_rate, self.discriminator_rate = 5e-4, 5e-4
        self.head_optimizer = create_optimizer(self.head, device)
        self.discriminator_optimizer = create_optimizer(self.discriminators, device)
        self.hinge = torch.full((), 2.0, device=device)
        names = ("spectral", "hinge", "matching", "adversarial")
        self.sums = {name: torch.zeros((), device=device) for name in names}

    def set_rate(self, factor: float) -> None:
        self.head_optimizer.param_groups[0]["lr"].fill_(self.head_rate * factor)
        rate = self.discriminator_rate * min(1.0, factor * 1.5)
        self.discriminator_optimizer.param_groups[0]["lr"].fill_(rate)

    def _weigh_discriminators(self, hinge: Tensor) -> None:
        """Weighs the discriminators by their skill.

        Gradients are scaled to one norm, so without this untrained discriminators would steer the head as strongly as
        trained ones.
        """
        self.hinge.lerp_(hinge.detach(), 0.01)
        skill = estimate_skill(self.hinge)
        for name in ("matching", "adversarial"):
            self.balancer.weights[name].copy_(WEIGHTS[name] * skill)

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
        loss = self.spectral(leaf, target)
        gradient = self.balancer({"spectral": torch.autograd.grad(loss, leaf)[0]})
        self._update_head(predicted, gradient)
        self.sums["spectral"] += loss.detach()

    def adversarial_step(self) -> None:
        """One step of the head and of the discriminators, from one forward pass of the latter."""
        predicted, leaf, target = self._predict()
        spectral = self.spectral(leaf, target)
        with autocast(self.device):
            outputs = self.discriminators(torch.cat([target, leaf]))
        hinge, adversarial, matching = discriminators.compute_losses(outputs)
        self._weigh_discriminators(hinge)
        hinge_gradients = torch.autograd.grad(hinge, list(self.discriminators.parameters()), retain_graph=True)
        gradients = {
            "spectral": torch.autograd.grad(spectral, leaf)[0],
            "matching": torch.autograd.grad(matching, leaf, retain_graph=True)[0],
            "adversarial": torch.autograd.grad(adversarial, leaf)[0],
        }
        apply_gradients(self.discriminator_optimizer, hinge_gradients)
        self._update_head(predicted, self.balancer(gradients))
        losses = {"spectral": spectral, "hinge": hinge, "matching": matching, "adversarial": adversarial}
        for name, loss in losses.items():
            self.sums[name] += loss.detach()

    @torch.no_grad()
    def validate(self, held_out: TeacherCache) -> float:
        length = 160
        starts = held_out.find_starts(length)
        inputs, target = held_out.crop(starts[:: max(1, len(starts) // 64)][:64], length)
        edge = MARGIN * FRAME
        return float(self.spectral(self.average(**inputs)[:, edge:-edge], target[:, edge:-edge]))

    def read_losses(self, steps: int) -> str:
        """The mean losses of the last steps; starts counting anew."""
        text = "  ".join(f"{name} {float(total) / steps:.4f}" for name, total in self.sums.items() if total != 0)
        for total in self.sums.values():
            total.zero_()
        return text

    def save(self, folder: Path) -> None:
        heads.save(self.average, folder / "head.pt")
        discriminators.save(self.discriminators, folder / "discriminators.pt")


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
        trainer.read_losses(1)
        reported_at = time.monotonic()
        for done in range(count):
            progress = done / count if step == trainer.adversarial_step else 0.0
            along = args.start + (args.end - args.start) * progress
            trainer.set_rate(cosine_rate(along) * min(1.0, (done + 1) / 300))
            replay()
            steps += 1
            if steps % args.report_every == 0:
                losses = trainer.read_losses(args.report_every)  # waits for the GPU
                speed = args.report_every / (time.monotonic() - reported_at)
                log(f"{steps:6d}  {speed:5.1f} steps/s  {losses}  held out {trainer.validate(held_out):.4f}")
                reported_at = time.monotonic()
            if steps % args.save_every == 0:
                trainer.save(args.out)
    trainer.save(args.out)
    log(f"done: {steps} steps, held out {trainer.validate(held_out):.4f}")


def log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def synthesize_caches(args: argparse.Namespace, device: torch.device) -> tuple[TeacherCache, TeacherCache]:
    """The training data, and the held-out data, which is the same for every seed."""
    teacher = port.load(args.teacher).to(device)
    clones = torch.load(args.clones) if args.clones else None
    styles = StyleSampler(voices.unpack(args.voices, device), clones)
    texts = corpus.read_shuffled(args.corpus, seed=0)
    held_out_texts, texts = texts[:HELD_OUT], texts[HELD_OUT:]
    set_seed(1)
    held_out = synthesize(teacher, styles, held_out_texts, math.inf, min(8, args.cache_batch))
    set_seed(args.seed)
    random.shuffle(texts)
    return synthesize(teacher, styles, texts, args.hours, args.cache_batch), held_out


def set_seed(value: int) -> None:
    random.seed(value)
    torch.manual_seed(value)


def load_head(folder: Path) -> heads.Head:
    """The head of a run's folder, or of one that has only the exported file."""
    saved = folder / "head.pt"
    return heads.load(saved) if saved.exists() else export.restore(folder / "head.onnx")


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
    parser.add_argument("--resume", type=Path, help="a folder with head.pt or head.onnx, and discriminators.pt")
    parser.add_argument("--clones", type=Path, help="parameters of cloned voices, a third of the data then")
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
    args.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    cache, held_out = synthesize_caches(args, device)
    log(f"{cache.hours:.2f} hours in {len(cache.style)} clips; held out {held_out.hours:.2f} hours")
    # From here on every shape repeats. Before, each text had its own, and benchmarking kernels would never end.
    torch.backends.cudnn.benchmark = True
    if args.resume:
        head = load_head(args.resume).train()
    else:
        head = heads.Head()
        measure_inputs(head, cache)
    trainer = Trainer(head, cache, args.batch, args.length, device)
    if args.resume and (args.resume / "discriminators.pt").exists():
        discriminators.load_weights(trainer.discriminators, args.resume / "discriminators.pt")
    run(trainer, held_out, args)


if __name__ == "__main__":
    main()
