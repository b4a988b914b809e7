"""Trains the head against the teacher: spectra first, then against discriminators, until the time is up.

    python train.py --teacher kokoro.pt --voices voices.pt --corpus corpus.json --out run --seconds 1400
    python train.py ... --resume run --seed 2 --start 0.35    # a later stretch: new data, a lower rate

Everything follows the clock: the learning rate falls along a cosine over `--seconds`, and a checkpoint is
written to `--out` every `--save-every` seconds. On a GPU each step is one captured CUDA graph.
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

import bank as banks
import discriminators
import export
import head as heads
import port
import voices
from spectral import SpectralLoss

MARGIN = 8
"""Frames at a crop's edges that carry no loss: their neighbours are missing."""
WEIGHTS = {"spectral": 1.0, "matching": 1.0, "adversarial": 1.2}
"""Of the losses' gradients, once each has norm one."""
HELD_OUT = 40
"""Texts that validation uses and training never sees."""


class Balance:
    """Adds gradients of several losses in fixed proportions, whatever their scales.

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


class Trainer:
    def __init__(self, head: heads.Head, bank: banks.Bank, batch: int, length: int, device: torch.device) -> None:
        self.bank, self.batch, self.length, self.device = bank, batch, length, device
        self.starts = bank.starts(length)
        self.head = head.to(device)
        self.average = copy.deepcopy(self.head).requires_grad_(False)
        self.judges = discriminators.Discriminators().to(device)
        self.spectral = SpectralLoss().to(device)
        self.balance = Balance(dict(WEIGHTS), device)
        self.head_rate, self.judge_rate = 5e-4, 5e-4
        self.head_optimiser = self._optimiser(self.head)
        self.judge_optimiser = self._optimiser(self.judges)
        self.hinge = torch.full((), 2.0, device=device)
        names = ("spectral", "hinge", "matching", "adversarial")
        self.sums = {name: torch.zeros((), device=device) for name in names}

    def _optimiser(self, module: nn.Module) -> torch.optim.AdamW:
        gpu = self.device.type == "cuda"
        rate = torch.zeros((), device=self.device)
        return torch.optim.AdamW(
            module.parameters(), lr=rate, betas=(0.8, 0.99), weight_decay=1e-3, fused=gpu, capturable=gpu
        )

    def set_rate(self, factor: float) -> None:
        self.head_optimiser.param_groups[0]["lr"].fill_(self.head_rate * factor)
        self.judge_optimiser.param_groups[0]["lr"].fill_(self.judge_rate * min(1.0, factor * 1.5))

    def _heed_judges(self, hinge: Tensor) -> None:
        """Weighs the discriminators by what they know: a hinge loss of 2 is guessing, 1.9 earns the full weight.

        Gradients are brought to one norm, so without this a discriminator that knows nothing would steer the
        head as strongly as one that does.
        """
        self.hinge.lerp_(hinge.detach(), 0.01)
        knowledge = ((2.0 - self.hinge) / 0.1).clamp(0.0, 1.0)
        for name in ("matching", "adversarial"):
            self.balance.weights[name].copy_(WEIGHTS[name] * knowledge)

    def _make(self) -> tuple[Tensor, Tensor, Tensor]:
        """The head's wave, the same cut off from the graph, and the wave wanted; all without margins."""
        pick = torch.randint(len(self.starts), (self.batch,), device=self.device)
        inputs, wanted = self.bank.crop(self.starts[pick], self.length)
        with self._autocast():
            made = self.head(**inputs)
        edge = MARGIN * banks.FRAME
        made, wanted = made[:, edge:-edge], wanted[:, edge:-edge]
        return made, made.detach().requires_grad_(), wanted

    def _autocast(self) -> torch.autocast:
        # Without the cache: casts made while a graph is captured must not be reused outside it.
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda", cache_enabled=False)

    def _update(self, optimiser: torch.optim.AdamW, gradients: tuple[Tensor, ...]) -> None:
        parameters = optimiser.param_groups[0]["params"]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient.contiguous()
        optimiser.step()

    def _update_head(self, made: Tensor, gradient: Tensor) -> None:
        self._update(self.head_optimiser, torch.autograd.grad(made, list(self.head.parameters()), gradient))
        torch._foreach_lerp_(list(self.average.parameters()), list(self.head.parameters()), 0.001)

    def reconstruct(self) -> None:
        made, leaf, wanted = self._make()
        loss = self.spectral(leaf, wanted)
        gradient = self.balance({"spectral": torch.autograd.grad(loss, leaf)[0]})
        self._update_head(made, gradient)
        self.sums["spectral"] += loss.detach()

    def contend(self) -> None:
        """One step of head and discriminators together, from one judgement of the same clips."""
        made, leaf, wanted = self._make()
        spectral = self.spectral(leaf, wanted)
        with self._autocast():
            judged = self.judges(torch.cat([wanted, leaf]))
        hinge, adversarial, matching = discriminators.losses(judged)
        self._heed_judges(hinge)
        judge_gradients = torch.autograd.grad(hinge, list(self.judges.parameters()), retain_graph=True)
        gradients = {
            "spectral": torch.autograd.grad(spectral, leaf)[0],
            "matching": torch.autograd.grad(matching, leaf, retain_graph=True)[0],
            "adversarial": torch.autograd.grad(adversarial, leaf)[0],
        }
        self._update(self.judge_optimiser, judge_gradients)
        self._update_head(made, self.balance(gradients))
        losses = {"spectral": spectral, "hinge": hinge, "matching": matching, "adversarial": adversarial}
        for name, loss in losses.items():
            self.sums[name] += loss.detach()

    def capture(self, step: Callable[[], None]) -> Callable[[], None]:
        """The step as a CUDA graph, which costs the CPU nothing; as it is where there is no GPU."""
        if self.device.type != "cuda":
            return step
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(4):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph.replay

    @torch.no_grad()
    def validate(self, held_out: banks.Bank) -> float:
        length = 160
        starts = held_out.starts(length)
        inputs, wanted = held_out.crop(starts[:: max(1, len(starts) // 64)][:64], length)
        edge = MARGIN * banks.FRAME
        return float(self.spectral(self.average(**inputs)[:, edge:-edge], wanted[:, edge:-edge]))

    def take_sums(self, steps: int) -> str:
        text = "  ".join(f"{name} {float(total) / steps:.4f}" for name, total in self.sums.items() if total != 0)
        for total in self.sums.values():
            total.zero_()
        return text

    def save(self, folder: Path) -> None:
        heads.save(self.average, folder / "head.pt")
        torch.save({k: v.half() for k, v in self.judges.state_dict().items()}, folder / "judges.pt")


def run(trainer: Trainer, held_out: banks.Bank, args: argparse.Namespace) -> None:
    """Reconstruction for the first `--spectral-seconds`, contention for the rest."""
    log = Log()
    phases = [(trainer.reconstruct, args.spectral_seconds), (trainer.contend, args.seconds)]
    began, last_save, steps = time.monotonic(), time.monotonic(), 0
    for step, until in phases:
        elapsed = time.monotonic() - began
        if elapsed >= until:
            continue
        trainer.set_rate(0.01)
        replay = trainer.capture(step)
        log(f"{step.__name__}: captured in {time.monotonic() - began - elapsed:.1f} s")
        trainer.take_sums(1)
        phase_steps, reported, reported_at = 0, 0, time.monotonic()
        while (elapsed := time.monotonic() - began) < until:
            along = args.start + (1 - args.start) * elapsed / args.seconds
            falling = 0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * along))
            trainer.set_rate(falling * min(1.0, (phase_steps + 1) / 300))
            for _ in range(20):
                replay()
            phase_steps, steps = phase_steps + 20, steps + 20
            if trainer.device.type == "cuda":
                torch.cuda.synchronize()
            now = time.monotonic()
            if now - reported_at > args.report_every:
                rate = (phase_steps - reported) / (now - reported_at)
                line = trainer.take_sums(phase_steps - reported)
                log(f"{steps:6d}  {rate:5.1f} steps/s  {line}  held out {trainer.validate(held_out):.4f}")
                reported, reported_at = phase_steps, time.monotonic()
            if now - last_save > args.save_every:
                trainer.save(args.out)
                last_save = now
    trainer.save(args.out)
    log(f"done: {steps} steps, held out {trainer.validate(held_out):.4f}")


class Log:
    def __init__(self) -> None:
        self.began = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"{time.monotonic() - self.began:7.1f} s  {text}", flush=True)


def make_banks(args: argparse.Namespace, device: torch.device) -> tuple[banks.Bank, banks.Bank]:
    """The training bank and the held-out one, which is the same for every seed."""
    teacher = port.load(args.teacher).to(device)
    clones = torch.load(args.clones) if args.clones else None
    styles = banks.Styles(voices.unpack(args.voices, device), clones)
    everything = banks.texts(args.corpus, seed=0)
    held_out_texts, texts = everything[:HELD_OUT], everything[HELD_OUT:]
    seed(1)
    held_out = banks.make(teacher, styles, held_out_texts, seconds=60, batch=min(8, args.bank_batch))
    seed(args.seed)
    random.shuffle(texts)
    return banks.make(teacher, styles, texts, args.bank_seconds, args.bank_batch), held_out


def seed(value: int) -> None:
    random.seed(value)
    torch.manual_seed(value)


def resume(folder: Path) -> heads.Head:
    """The head of a run's folder, or of one that keeps only the export."""
    saved = folder / "head.pt"
    return heads.load(saved) if saved.exists() else export.restore(folder / "head.onnx")


def measure_inputs(head: heads.Head, bank: banks.Bank) -> None:
    """Sets the head's input scales from the data."""
    some = bank.features[:: max(1, len(bank.features) // 200_000)].float()
    head.feature_mean.copy_(some.mean(dim=0))
    head.feature_scale.copy_(some.std(dim=0).clamp(min=1e-3))
    head.style_mean.copy_(bank.style.mean(dim=0))
    head.style_scale.copy_(bank.style.std(dim=0).clamp(min=1e-3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("teacher", "voices", "corpus", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="a folder with head.pt or head.onnx, and judges.pt")
    parser.add_argument("--clones", type=Path, help="parameters of cloned voices, a third of the data then")
    parser.add_argument("--seconds", type=float, default=1400, help="of training, the making of data not counted")
    parser.add_argument("--spectral-seconds", type=float, default=180)
    parser.add_argument("--start", type=float, default=0.0, help="where on the learning rate's cosine to begin")
    parser.add_argument("--bank-seconds", type=float, default=75)
    parser.add_argument("--bank-batch", type=int, default=24)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--length", type=int, default=56, help="frames in a crop")
    parser.add_argument("--report-every", type=float, default=20)
    parser.add_argument("--save-every", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    log = Log()
    bank, held_out = make_banks(args, device)
    log(f"bank: {bank.hours:.2f} hours in {len(bank.style)} clips; held out {held_out.hours:.2f} hours")
    # On from here: every shape repeats. Off before, where each text has its own and tuning would never end.
    torch.backends.cudnn.benchmark = True
    if args.resume:
        head = resume(args.resume).train()
    else:
        head = heads.Head()
        measure_inputs(head, bank)
    trainer = Trainer(head, bank, args.batch, args.length, device)
    if args.resume and (args.resume / "judges.pt").exists():
        judges = torch.load(args.resume / "judges.pt", map_location=device)
        trainer.judges.load_state_dict({k: v.float() for k, v in judges.items()})
    run(trainer, held_out, args)


if __name__ == "__main__":
    main()
