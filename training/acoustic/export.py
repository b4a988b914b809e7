"""Exports the networks as six ONNX graphs, for one utterance at a time on a CPU, with large products in int8.

    python -m acoustic.export run exported              # run holds prosody.pt, decoder.pt, head.pt
    python -m acoustic.export run exported --floats

| graph | in | out | runs |
|---|---|---|---|
| prosody | ids, style (its prosody half), speed | durations, curve_text, curve_film, curve_summary | once a sentence |
| curves | curve_text, place, duration of a window; curve_film as film | f0, energy | for each window |
| text | ids of a window | text | for each window |
| conditioning | timbre of 11 layers, summary, vocoder_embedding | film, head_film | once a sentence |
| decoder | text, place, duration, f0, energy of a window; film | features | for each window |
| head | features, f0, phase of a window; head_film as film, position, mask_offset | wave | for each window |

Weights that are not in int8 are stored as fp16, which ONNX Runtime makes floats of when it loads them.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper
from torch import Tensor, nn

from acoustic import model, rewrite
from head.export import store_as_fp16

GRAPHS = ("prosody", "curves", "text", "conditioning", "decoder", "head")
OPSET = 20
LEAST_WEIGHTS = 60_000
"""Smaller matrices stay in floats: quantising their inputs costs more than it saves."""


class ProsodyGraph(nn.Module):
    """All that needs the whole sentence, at the rate of phonemes."""

    def __init__(self, prosody: model.Prosody) -> None:
        super().__init__()
        self.prosody = prosody

    def forward(self, ids: Tensor, style: Tensor, speed: Tensor) -> tuple[Tensor, ...]:
        film = self.prosody.make_film(style)
        encoded = self.prosody.encode(ids, film, None)
        durations = torch.round(self.prosody.predict_durations(encoded) / speed[:, None]).clamp(min=1)
        summary = self.prosody.predict_summary(encoded, durations)
        frame_film = stack_film(film[2 * self.prosody.size.layers :])
        return durations.long(), self.prosody.entry(encoded), frame_film, summary


class CurvesGraph(nn.Module):
    def __init__(self, prosody: model.Prosody) -> None:
        super().__init__()
        self.prosody = prosody

    def forward(self, curve_text: Tensor, place: Tensor, duration: Tensor, film: Tensor) -> tuple[Tensor, ...]:
        return model.decode_curves(self.prosody.finish_curves(curve_text, place, duration, split_film(film), None))


class ConditioningGraph(nn.Module):
    """All that depends on the voice and the sentence, not on the frame."""

    def __init__(self, decoder: model.Decoder, head: model.Head) -> None:
        super().__init__()
        self.decoder, self.head = decoder, head

    def forward(self, timbre: Tensor, summary: Tensor, vocoder_embedding: Tensor) -> tuple[Tensor, Tensor]:
        film, statistics = self.decoder.make_film(timbre, summary)
        return stack_film(film), stack_film(self.head.make_film(timbre[:, -1], statistics, vocoder_embedding))


class DecoderGraph(nn.Module):
    def __init__(self, decoder: model.Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(
        self, text: Tensor, place: Tensor, duration: Tensor, f0: Tensor, energy: Tensor, film: Tensor
    ) -> Tensor:
        return self.decoder(text, place, duration, f0, energy, split_film(film), None)


class HeadGraph(nn.Module):
    def __init__(self, head: model.Head) -> None:
        super().__init__()
        self.head = head

    def forward(
        self, features: Tensor, f0: Tensor, phase: Tensor, film: Tensor, position: Tensor, mask_offset: Tensor
    ) -> Tensor:
        return self.head(features, f0, phase, split_film(film), position, mask_offset)


def stack_film(film: model.Film) -> Tensor:
    """[B, blocks, 2, C]"""
    return torch.stack([torch.cat(pair, dim=1) for pair in film], dim=1)


def split_film(film: Tensor) -> model.Film:
    return [(film[:, i, 0:1], film[:, i, 1:2]) for i in range(film.shape[1])]


class FoldedBlock(model.MaskedBlock):
    """A block for one utterance: its scale is in the weights, and gain and offset are the layer norm's own."""

    def __init__(self, block: model.MaskedBlock) -> None:
        width, inner = block.contract.weight.shape
        super().__init__(width, inner, block.depthwise.kernel_size[0])
        self.load_state_dict(block.state_dict())
        with torch.no_grad():
            self.contract.weight.mul_(self.scale[:, None])
            self.contract.bias.mul_(self.scale)
            self.scale.fill_(1.0)

    def forward(self, x: Tensor, gain: Tensor | None, offset: Tensor | None, mask: Tensor | None) -> Tensor:
        y = self.depthwise(x.transpose(1, 2)).transpose(1, 2)
        weights = (None, None) if gain is None else (gain.reshape(-1), offset.reshape(-1))
        y = F.layer_norm(y, self.scale.shape, *weights)
        return x + self.contract(F.gelu(self.expand(y), approximate="tanh"))


def fold_blocks(network: nn.Module) -> None:
    for blocks in network.modules():
        if isinstance(blocks, nn.ModuleList):
            for i, block in enumerate(blocks):
                if isinstance(block, model.MaskedBlock):
                    blocks[i] = FoldedBlock(block)


def quantise(graph: onnx.ModelProto) -> int:
    """Computes products with large constant matrices in int8, in place; returns how many.

    Each row of the input has a scale of its own, so that a frame's result does not depend on the frames beside it and
    windows equal the whole. The head's Fourier transforms stay in floats (the exporter makes them constant nodes, not
    initializers): their rounding would be heard as noise below quiet sounds.
    """
    constants = {tensor.name: tensor for tensor in graph.graph.initializer}
    nodes: list[onnx.NodeProto] = []
    added: list[onnx.TensorProto] = []
    replaced: set[str] = set()

    def add_constant(name: str, value: np.ndarray) -> str:
        added.append(numpy_helper.from_array(value, name))
        return name

    def add_node(kind: str, inputs: list[str], output: str, domain: str | None = None) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], f"{output}.node", domain=domain))
        return output

    add_constant("row.step", np.float32(1 / 127))
    add_constant("row.axis", np.array([-1]))
    add_constant("row.others", np.array([0, 2]))
    add_constant("row.least", np.float32(1e-6))
    add_constant("row.middle", np.float32(128))
    add_constant("row.one", np.float32(1))
    add_constant("row.zero", np.uint8(128))
    count = 0
    for node in graph.graph.node:
        weight = constants.get(node.input[1]) if node.op_type == "MatMul" else None
        if weight is None or np.prod(weight.dims) < LEAST_WEIGHTS:
            nodes.append(node)
            continue
        matrix = numpy_helper.to_array(weight).astype(np.float32)
        steps = np.abs(matrix).max(axis=0).clip(1e-8) / 127
        name = f"q{count}"
        count += 1
        replaced.add(node.input[1])
        magnitude = add_node("Abs", [node.input[0]], f"{name}.magnitude")
        largest = add_node("ReduceMax", [magnitude, "row.axis"], f"{name}.largest")
        largest = add_node("Max", [largest, "row.least"], f"{name}.range")
        scale = add_node("Mul", [largest, "row.step"], f"{name}.scale")
        rows = add_node("Squeeze", [scale, "row.others"], f"{name}.rows")
        # A zero point for each row, too: the quantiser takes as many as scales. All are 128: x86 processors multiply
        # unsigned inputs by signed weights.
        middles = add_node("Clip", [rows, "row.middle", "row.middle"], f"{name}.middles")
        nodes.append(helper.make_node("Cast", [middles], [f"{name}.zeros"], to=onnx.TensorProto.UINT8))
        quantised = f"{name}.quantised"
        nodes.append(helper.make_node("QuantizeLinear", [node.input[0], rows, f"{name}.zeros"], [quantised], axis=1))
        inputs = [
            quantised,
            add_constant(f"{name}.int8", np.round(matrix / steps).astype(np.int8)),
            "row.one",
            add_constant(f"{name}.steps", steps.astype(np.float32)),
            "row.zero",
        ]
        product = add_node("MatMulIntegerToFloat", inputs, f"{name}.product", "com.microsoft")
        add_node("Mul", [product, scale], node.output[0])
    del graph.graph.node[:]
    graph.graph.node.extend(nodes)
    kept = [tensor for tensor in graph.graph.initializer if tensor.name not in replaced]
    del graph.graph.initializer[:]
    graph.graph.initializer.extend([*kept, *added])
    graph.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return count


def export_graph(module: nn.Module, example: dict[str, Tensor], outputs: dict[str, str], path: Path) -> None:
    """`outputs`: their names, and what their second axis counts ("" if its length is fixed)."""
    axes = {"ids": "tokens", "text": "frames", "curve_text": "frames", "place": "frames", "duration": "frames"}
    axes |= {"f0": "half_frames", "energy": "half_frames", "phase": "half_frames", "features": "half_frames"}
    axes = {name: axes[name] for name in example if name in axes} | {n: axis for n, axis in outputs.items() if axis}
    torch.onnx.export(
        module.eval(),
        tuple(example.values()),
        str(path),
        input_names=list(example),
        output_names=list(outputs),
        dynamic_axes={name: {1: axis} for name, axis in axes.items()},
        opset_version=OPSET,
        dynamo=False,
    )


@torch.no_grad()
def export(prosody: model.Prosody, decoder: model.Decoder, head: model.Head, folder: Path, floats: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for network in (prosody, decoder, head):
        fold_blocks(network)
    frames = 40
    integers = torch.ones(1, frames, dtype=torch.int64)
    f0 = torch.full((1, 2 * frames), 150.0)
    ids = torch.randint(1, model.SYMBOLS, (1, 17))
    export_graph(
        ProsodyGraph(prosody),
        {"ids": ids, "style": torch.randn(1, 128), "speed": torch.ones(1)},
        {"durations": "tokens", "curve_text": "tokens", "curve_film": "", "curve_summary": ""},
        folder / "prosody.onnx",
    )
    export_graph(
        CurvesGraph(prosody),
        {
            "curve_text": torch.randn(1, frames, prosody.size.width),
            "place": 0 * integers,
            "duration": integers,
            "film": torch.ones(1, prosody.size.frame_layers, 2, prosody.size.width),
        },
        {"f0": "half_frames", "energy": "half_frames"},
        folder / "curves.onnx",
    )
    export_graph(decoder.text, {"ids": ids}, {"text": "tokens"}, folder / "text.onnx")
    export_graph(
        ConditioningGraph(decoder, head),
        {
            "timbre": torch.randn(1, model.LAYERS, 128),
            "summary": torch.rand(1, model.SUMMARY),
            "vocoder_embedding": torch.zeros(1, model.VOCODER_EMBEDDING),
        },
        {"film": "", "head_film": ""},
        folder / "conditioning.onnx",
    )
    export_graph(
        DecoderGraph(decoder),
        {
            "text": torch.randn(1, frames, decoder.size.text_width),
            "place": 0 * integers,
            "duration": integers,
            "f0": f0,
            "energy": torch.randn(1, 2 * frames),
            "film": torch.ones(1, decoder.size.layers, 2, decoder.size.width),
        },
        {"features": "half_frames"},
        folder / "decoder.onnx",
    )
    export_graph(
        HeadGraph(head),
        {
            "features": torch.randn(1, 2 * frames, model.FEATURES),
            "f0": f0,
            "phase": torch.rand(1, 2 * frames),
            "film": torch.ones(1, head.size.blocks, 2, head.size.width),
            "position": torch.zeros(1, dtype=torch.int64),
            "mask_offset": torch.zeros(1, model.MASKS),
        },
        {"wave": "samples"},
        folder / "head.onnx",
    )
    for name in GRAPHS:
        path = folder / f"{name}.onnx"
        graph = onnx.load(path)
        count = 0 if floats else shrink(name, graph)
        onnx.save(graph, path)
        print(f"{name}: {path.stat().st_size / 1e6:.1f} MB, {count} products in int8")


def shrink(name: str, graph: onnx.ModelProto) -> int:
    """Makes a graph small and fast, in place; returns how many products are in int8."""
    if name == "conditioning":
        # A hundredth of the time, but in floats a third of the memory. Blocks of 32 have scales of their own, because
        # its errors are in every frame.
        count = rewrite.shrink_weights(graph, LEAST_WEIGHTS)
    else:
        count = quantise(graph)
        rewrite.split_norms(graph)
    store_as_fp16(graph)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("exported", type=Path)
    parser.add_argument("--floats", action="store_true", help="without int8, to compare with")
    args = parser.parse_args()
    networks = [model.load(name, args.run, dense_transforms=True) for name in ("prosody", "decoder", "head")]
    export(*networks, args.exported, args.floats)


if __name__ == "__main__":
    main()
