"""One step: its gradients, its optimizer, its rate, and a CUDA graph of it."""

import argparse
import math
import random
import time
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn


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


class LossSums:
    """Losses since they were last read. They stay on the GPU until then, so that a captured step can add to them."""

    def __init__(self, names: Iterable[str], device: torch.device) -> None:
        self._sums = {name: torch.zeros((), device=device) for name in names}

    def add(self, **losses: Tensor) -> None:
        for name, loss in losses.items():
            self._sums[name] += loss.detach()

    def read(self, steps: int) -> str:
        """The means over so many steps, without those that are zero; starts counting anew."""
        text = "  ".join(f"{name} {float(total) / steps:.4f}" for name, total in self._sums.items() if total != 0)
        for total in self._sums.values():
            total.zero_()
        return text


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


def cosine_rate(along: float) -> float:
    """Factor of the peak learning rate: a cosine that ends at 3 %."""
    return 0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * along))


def begin(args: argparse.Namespace) -> torch.device:
    """Makes the folder `--out`, and says where to train: on a GPU if there is one, with TF32."""
    args.out.mkdir(parents=True, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def set_seed(value: int) -> None:
    random.seed(value)
    torch.manual_seed(value)


def log(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)
