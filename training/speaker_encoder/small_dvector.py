"""A smaller copy of VoiceFilter's d-vector, for the loss of refinement in the service.

    python -m speaker_encoder.small_dvector --frozen frozen --speakers speakers.pt --random-voices random_voices.pt \
        small_dvector.pt

Each large matrix becomes a product of two narrow ones: the product that is nearest to it where inputs are large in
speech, and where the similarity to somebody depends on the outputs. A network of another shape that learns to say what
the d-vector says has its embeddings, but not its gradients; this one has both. Nothing is trained.
"""

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from speaker_encoder import speakers
from speaker_encoder.features import RATE, normalize_level
from speaker_encoder.frozen_losses import DVector, load_dvector
from speaker_encoder.synthesis import FRAMES

HIDDEN, LAYERS = 768, 3
SAMPLES = FRAMES * RATE // 40
DAMPING = 1e-3
"""Added to the variances, as a share of their mean: directions without any must not become infinite."""


class Factored(nn.Module):
    """One layer of the LSTM: `ih` multiplies what comes from the layer before, `hh` its own past."""

    def __init__(self, inputs: int, rank: int) -> None:
        super().__init__()
        narrow = inputs > rank
        self.ih_down = nn.Parameter(torch.empty(rank, inputs)) if narrow else None
        self.ih_up = nn.Parameter(torch.empty(4 * HIDDEN, rank if narrow else inputs))
        self.hh_down = nn.Parameter(torch.empty(rank, HIDDEN))
        self.hh_up = nn.Parameter(torch.empty(4 * HIDDEN, rank))
        self.bias = nn.Parameter(torch.empty(4 * HIDDEN))

    def forward(self, x: Tensor) -> Tensor:
        """The hidden states. [B, T, inputs] → [B, T, 768]"""
        ih = self.ih_up if self.ih_down is None else self.ih_up @ self.ih_down
        weights = [ih, self.hh_up @ self.hh_down, self.bias, torch.zeros_like(self.bias)]
        zero = x.new_zeros(1, len(x), HIDDEN)
        return torch._VF.lstm(x, (zero, zero), weights, True, 1, 0.0, True, False, True)[0]


class SmallDVector(DVector):
    def __init__(self, rank: int) -> None:
        super().__init__()
        self.lstm = nn.ModuleList(Factored(self.lstm.input_size if i == 0 else HIDDEN, rank) for i in range(LAYERS))

    def run(self, windows: Tensor) -> Tensor:
        for layer in self.lstm:
            windows = layer(windows)
        return windows


@dataclass
class Activity:
    """Of one layer, over frames of speech: second moments of its hidden states, and of the gradients to its gates."""

    states: Tensor  # [768, 768]
    gates: Tensor  # [3072, 3072]


def measure_activity(network: DVector, mel: Tensor, targets: Tensor) -> list[Activity]:
    """In frames [B, T, 40] that are compared with these embeddings [B, 256]."""
    x = network.cut_windows(mel).requires_grad_()
    layers = []
    for ih, hh, *biases in network.lstm.all_weights:
        given = x @ ih.T + sum(biases)
        hidden = cell = x.new_zeros(len(x), HIDDEN)
        gates, states = [], []
        for row in given.unbind(1):
            gates.append(row + hidden @ hh.T)
            gates[-1].retain_grad()
            entry, forget, candidate, output = gates[-1].chunk(4, dim=1)
            cell = forget.sigmoid() * cell + entry.sigmoid() * candidate.tanh()
            hidden = output.sigmoid() * cell.tanh()
            states.append(hidden)
        x = torch.stack(states, dim=1)
        layers.append((x, gates))
    (network.pool(x, len(mel)) * targets).sum().backward()
    flat = [(states.detach().flatten(0, 1), torch.cat([each.grad for each in gates])) for states, gates in layers]
    return [Activity(*(each.T @ each / len(each) for each in pair)) for pair in flat]


@torch.no_grad()
def factor(network: DVector, activity: list[Activity], rank: int) -> SmallDVector:
    small = SmallDVector(rank)
    small.linear.load_state_dict(network.linear.state_dict())
    for i, (layer, weights) in enumerate(zip(small.lstm, network.lstm.all_weights, strict=True)):
        ih, hh, *biases = weights
        layer.bias.copy_(sum(biases))
        if layer.ih_down is None:
            layer.ih_up.copy_(ih)
        else:
            _factor(ih, activity[i - 1].states, activity[i].gates, layer.ih_down, layer.ih_up)
        _factor(hh, activity[i].states, activity[i].gates, layer.hh_down, layer.hh_up)
    return small.requires_grad_(False)


def _factor(matrix: Tensor, inputs: Tensor, outputs: Tensor, down: Tensor, up: Tensor) -> None:
    (left, left_inverse), (right, right_inverse) = _take_root(outputs), _take_root(inputs)
    u, s, v = torch.linalg.svd(left @ matrix @ right, full_matrices=False)
    half = s[: len(down)].sqrt()
    up.copy_(left_inverse @ (u[:, : len(down)] * half))
    down.copy_((half[:, None] * v[: len(down)]) @ right_inverse)


def _take_root(moments: Tensor) -> tuple[Tensor, Tensor]:
    """The square root of a symmetric matrix, and its inverse."""
    values, axes = torch.linalg.eigh(moments)
    spread = (values.clamp(min=0) + DAMPING * values.mean()).sqrt()
    return (axes * spread) @ axes.T, (axes / spread) @ axes.T


class Speech:
    """Pieces of three seconds: recordings, and what random voices say."""

    def __init__(self, recordings: list[Tensor], synthesized: list[Tensor]) -> None:
        self._kinds = [wave for wave in recordings if len(wave) >= SAMPLES], synthesized

    def draw(self, count: int) -> Tensor:
        pieces = []
        for _ in range(count):
            wave = random.choice(random.choice(self._kinds))
            first = random.randint(0, len(wave) - SAMPLES)
            pieces.append(wave[first : first + SAMPLES].float())
        return normalize_level(torch.stack(pieces))


def compare(network: DVector, small: SmallDVector, speech: Tensor, targets: Tensor) -> str:
    """How alike embeddings are, and gradients of the similarity to somebody."""
    found = []
    for each in (network, small):
        wave = speech.clone().requires_grad_()
        embedding = each(wave)
        found.append((embedding.detach(), torch.autograd.grad((embedding * targets).sum(), wave)[0]))
    cosines = [F.cosine_similarity(a, b, dim=1).mean().item() for a, b in zip(*found, strict=True)]
    return f"cosine of embeddings {cosines[0]:.4f}, of gradients {cosines[1]:.3f}"


def load(path: Path) -> SmallDVector:
    weights = {name: value.float() for name, value in torch.load(path, map_location="cpu").items()}
    small = SmallDVector(len(weights["lstm.0.hh_down"]))
    small.load_state_dict(weights)
    return small.requires_grad_(False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("frozen", "speakers", "random-voices"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--rank", type=int, default=384)
    parser.add_argument("--batches", type=int, default=8, help="of speech whose activity is measured")
    parser.add_argument("--batch", type=int, default=8, help="pieces of three seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    training, validation = speakers.load(args.speakers)
    synthesized = torch.load(args.random_voices)
    held_out = len(synthesized) // 10
    speech = Speech([clip.wave for clip in training], synthesized[held_out:])
    others = Speech([clip.wave for clip in validation], synthesized[:held_out])
    network = load_dvector(args.frozen).train().requires_grad_(False)
    batches = []
    for _ in range(args.batches):
        mel, targets = network.log_mel(speech.draw(args.batch)), network(speech.draw(args.batch))
        batches.append(measure_activity(network, mel, targets))
    activity = [
        Activity(sum(each.states for each in layer) / len(layer), sum(each.gates for each in layer) / len(layer))
        for layer in zip(*batches, strict=True)
    ]
    small = factor(network, activity, args.rank)
    torch.save({name: value.half() for name, value in small.state_dict().items()}, args.output)
    print(f"{args.output.stat().st_size / 2e6:.1f} million weights")
    print(compare(network, small, others.draw(24), network(others.draw(24))))


if __name__ == "__main__":
    main()
