"""DistillMOS in the graph of refinement: how natural a sentence is, with its gradient to the speech.

    python -m speaker_encoder.naturalness_graph --frozen frozen ../src/svc/data

adds it to `refinement.onnx`. It is traced by itself, hears the speech behind the equalizer, and its gradient is added
to that of the speaker networks. The network hears 7.68 s: what follows the sentence is silence, whose features are
known, so its convolutions see the sentence alone.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from speaker_encoder import export_refinement
from speaker_encoder.features import BANDS, RATE
from speaker_encoder.synthesis import FRAMES

SAMPLES = FRAMES * RATE // 40
TAPS = 401
"""Of the equalizer's filter."""
WINDOW, HOP = 320, 160
POSITIONS = 384
"""Of the transformer, 20 ms each."""
FAINT = 1e-7
"""Added to powers, whose roots have no gradient at zero."""
NATURAL_ENOUGH = 4.6
NATURALNESS = 3
"""Its place among the weights of the loss."""
PREFIX = "naturalness "


class Naturalness(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        transform = torch.fft.rfft(torch.eye(WINDOW) * torch.hann_window(WINDOW))
        self.register_buffer("kernels", torch.cat([transform.real, transform.imag], dim=1).T[:, None].contiguous())
        self.register_buffer("response", make_response())
        with torch.no_grad():
            silence = network.cnn.cnn(torch.zeros(1, 2, WINDOW // 2 + 1, 64)).flatten(1, 2)
        self.register_buffer("silence", silence[:, :, 16:17])
        self.requires_grad_(False).eval()

    def forward(self, wave: Tensor, gains: Tensor) -> Tensor:
        """16 kHz [1, SAMPLES]; `gains` [80] of the equalizer, in dB → DistillMOS [1, 1]"""
        kernel = torch.exp(gains * (math.log(10) / 20)) @ self.response
        wave = F.conv1d(wave[:, None], kernel[None, None], padding=TAPS // 2)
        wave = wave / wave.abs().amax(dim=2, keepdim=True).detach()
        bins = F.conv1d(wave, self.kernels, stride=HOP, padding=(WINDOW - HOP) // 2)
        bins = bins.unflatten(1, (2, -1))
        power = bins.square().sum(dim=1, keepdim=True) + FAINT
        heard = self.network.cnn.cnn(bins * torch.exp(torch.log(power) * -0.35)).flatten(1, 2)
        rest = self.silence.expand(-1, -1, POSITIONS - heard.shape[2])
        return 1 + 4 * self.network.transformer_pool_attn(torch.cat([heard, rest], dim=2).transpose(1, 2))


def make_response() -> Tensor:
    """From amplitudes in the mel bands to the taps of a symmetric filter. [80, TAPS]"""
    bins = 2 * TAPS
    hertz = torch.arange(bins // 2 + 1) * (RATE / bins)
    lowest, highest = (math.log1p(edge / 700) for edge in (20.0, RATE / 2))
    place = (torch.log1p(hertz / 700) - lowest) / (highest - lowest) * BANDS - 0.5
    distance = (place.clamp(0, BANDS - 1) - torch.arange(BANDS)[:, None]).abs()
    taps = torch.fft.irfft((1 - distance).clamp(min=0), bins)
    return taps.roll(TAPS // 2, 1)[:, :TAPS] * torch.hann_window(TAPS, periodic=False)


def load(frozen: Path) -> Naturalness:
    sys.path.insert(0, str(frozen))
    from distillmos.sqa import ConvTransformerSQAModel

    network = ConvTransformerSQAModel(load_weights=False)
    network.load_state_dict({k: v.float() for k, v in torch.load(frozen / "distillmos.pt", map_location="cpu").items()})
    return Naturalness(network)


def export(naturalness: Naturalness, path: Path, folder: Path) -> onnx.ModelProto:
    """A graph of its own, from speech and gains to DistillMOS and its gradient to the speech."""
    example = 0.05 * torch.randn(1, SAMPLES), torch.zeros(BANDS)

    def step(wave: Tensor, gains: Tensor) -> tuple[Tensor, Tensor]:
        free = wave.detach().requires_grad_()
        found = naturalness(free, gains)
        return found, torch.autograd.grad(found.sum(), free)[0]

    with sdpa_kernel(SDPBackend.MATH):
        graph = export_refinement.trace_step(step, example)
    torch.onnx.export(graph, example, dynamo=True, optimize=False, verbose=False).save(str(path))
    model = export_refinement.simplify(path)
    export_refinement.rename(model, ["wave", "gains"], ["naturalness", "gradient"])
    export_refinement.share_weights(model, folder, naturalness)
    return model


def graft(model: onnx.ModelProto, added: onnx.ModelProto) -> None:
    """The judge's naturalness is no longer asked: its place in the loss, and its weight, are DistillMOS's."""
    graph = model.graph
    makers = {name: node for node in graph.node for name in node.output}
    first = next(node for node in graph.node if node.op_type == "Conv" and _stride(node) == [HOP])
    wave = makers[first.input[0]].input[0]
    backward = [node.output[0] for node in graph.node if node.op_type == "ConvTranspose" and _stride(node) == [HOP]]
    squeezed = {node.output[0] for node in graph.node if node.input and node.input[0] in backward}
    total = next(node for node in graph.node if node.op_type == "Add" and set(node.input) == squeezed)
    names = {each.name: PREFIX + each.name for each in added.graph.initializer}
    names |= {name: PREFIX + name for node in added.graph.node for name in node.output}
    names |= {"wave": wave}
    for node in added.graph.node:
        node.name = PREFIX + node.name
        for values in (node.input, node.output):
            values[:] = [names.get(each, each) for each in values]
    for each in added.graph.initializer:
        each.name = names[each.name]
    found, gradient = (names[name] for name in ("naturalness", "gradient"))

    def store(name: str, values: np.ndarray) -> str:
        graph.initializer.append(numpy_helper.from_array(values, PREFIX + name))
        return PREFIX + name

    def make(operator: str, *inputs: str, output: str) -> onnx.NodeProto:
        return helper.make_node(operator, list(inputs), [output])

    others = np.ones(len(export_refinement.MEASURES), np.float32)
    others[NATURALNESS] = 0
    for node in graph.node:
        node.input[:] = ["judge weights" if each == "weights" else each for each in node.input]
    gradient_to_wave = total.output[0]
    total.output[0], makers["loss"].output[0] = "speaker gradient", "other loss"
    value, weight, shortfall, share = (PREFIX + each for each in ("value", "weight", "shortfall", "share"))
    nodes = [
        make("Mul", "weights", store("others", others), output="judge weights"),
        make("Gather", "weights", store("place", np.array(NATURALNESS)), output=weight),
        make("Reshape", found, store("scalar", np.array([], np.int64)), output=value),
        make("Sub", store("enough", np.array(NATURAL_ENOUGH, np.float32)), value, output=f"{value} lacking"),
        make("Relu", f"{value} lacking", output=shortfall),
        make("Mul", weight, shortfall, output=f"{shortfall} weighted"),
        make("Add", "other loss", f"{shortfall} weighted", output="loss"),
        make("Sign", shortfall, output=f"{shortfall} sign"),
        make("Mul", weight, f"{shortfall} sign", output=share),
        make("Mul", share, gradient, output=f"{gradient} weighted"),
        make("Sub", "speaker gradient", f"{gradient} weighted", output=gradient_to_wave),
    ]
    graph.initializer.extend(added.graph.initializer)
    graph.node.extend([*added.graph.node, *nodes])
    export_refinement.sort_nodes(graph)


def _stride(node: onnx.NodeProto) -> list[int]:
    return next((list(each.ints) for each in node.attribute if each.name == "strides"), [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frozen", type=Path, required=True)
    parser.add_argument("data", type=Path, help="src/svc/data")
    args = parser.parse_args()
    path = args.data / "refinement.onnx"
    model = onnx.load(path, load_external_data=False)
    graft(model, export(load(args.frozen), path.with_suffix(".naturalness.onnx"), args.data))
    onnx.save(model, path)
    print(f"{path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
