"""Exports refinement: forward and backward through decoder, head and judges as one ONNX graph, and its sentences.

    python -m speaker_encoder.export_refinement --run acoustic/run --judge judge.pt --dvector small_dvector.pt \
        ../src/svc/data

The sentences are those of `refinement.npz` there (`refinement_sentences.py`).

The graph gives the loss and its gradients to the parameters of a voice, for one sentence of three seconds; ONNX Runtime
runs it, without torch. Its shapes are fixed. A convolution's gradient to its input is a convolution too, Fourier
transforms are products or convolutions, and the equalizer is a gain in each mel band: so ONNX has every operator.

Decoder, head and encoder are part of the product already. Where their weights lie in its files, the graph points there
(as external data). The judge of naturalness and clarity is stored with it, as int8 with a scale for each row. A second
graph finds in a recording what the loss compares with; the small d-vector, which both need, lies there.

The d-vector is an LSTM, which is not traced: its part of both graphs is written by hand (`dvector_graph`). The traced
part gives its frames and takes its similarity and the gradient to these frames.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import permutations
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
import torchaudio
from onnx import helper, numpy_helper
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from acoustic import model as acoustic
from head.model import accumulate_phase
from speaker_encoder import dvector_graph, refinement_judge, restore, rounding, small_dvector
from speaker_encoder import encoder as encoders
from speaker_encoder.dvector_graph import DVectorGraph
from speaker_encoder.encoder import SpeakerEncoder
from speaker_encoder.features import BANDS, HOP, N_FFT, RATE, WINDOW, _filters, _window, normalize_level
from speaker_encoder.frozen_losses import DVector
from speaker_encoder.mapper import MASKS, STYLE, VOCODER_EMBEDDING
from speaker_encoder.refine_speakers import NATURAL_ENOUGH
from speaker_encoder.refinement_judge import RefinementJudge, measure_phoneme_loss, resample_phonemes
from speaker_encoder.small_dvector import SmallDVector
from speaker_encoder.synthesis import FRAMES, Lines, Synthesis
from speaker_encoder.voice_pca import pad_layers
from teacher.kokoro import SAMPLE_RATE

OWN_LAYERS = 6
MOVING = {"timbre": (STYLE,), "layers": (OWN_LAYERS, STYLE), "grain": (VOCODER_EMBEDDING,), "mask": (MASKS,)}
"""The parameters that have a gradient, as the voice encoder's outputs are called, and their shapes."""
SENTENCE = ("text", "place", "duration", "f0", "energy", "phase", "summary", "style", "phonemes")
TARGETS = {"eres2net": (192,), "campplus": (192,), "dvector": (256,)}
DVECTOR_FRAMES = FRAMES * RATE // 40 // DVector.HOP + 1
MEASURES = ("eres2net", "campplus", "dvector", "naturalness", "phonemes")
"""What the loss is made of, each with a weight that is an input of the graph."""
OUTPUTS = ("loss", *(f"{name} gradient" for name in MOVING), "mel", "measures", "dvector mel")
FROM_DVECTOR = ("dvector similarity", "dvector gradient")
"""What the traced part takes from the d-vector."""
SHIPPED = ("turbo-batch-speech.onnx", "voice-encoder.onnx")
"""Files of the product that hold weights of the graph."""
LEAST_SHARED = 1024
"""Smaller weights are stored with the graph."""
LEAST_QUANTIZED = 4096
HALF_OR_SINGLE = (onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT)


class LogMel(nn.Module):
    """`features.log_mel` as one convolution: mean, pre-emphasis, window and transform are linear."""

    def __init__(self) -> None:
        super().__init__()
        unit = torch.eye(WINDOW)
        frames = unit - unit.mean(dim=1, keepdim=True)
        frames = frames - 0.97 * torch.cat([frames[:, :1], frames[:, :-1]], dim=1)
        spectrum = torch.fft.rfft(frames * _window(unit.device), N_FFT)
        self.register_buffer("kernels", torch.cat([spectrum.real, spectrum.imag], dim=1).T[:, None].contiguous())
        self.register_buffer("filters", _filters(unit.device))

    def forward(self, wave: Tensor) -> Tensor:
        real, imaginary = F.conv1d(wave[:, None], self.kernels, stride=HOP).chunk(2, dim=1)
        power = (real.square() + imaginary.square()).transpose(1, 2)
        return torch.log((power @ self.filters).clamp(min=1.1920929e-07))


class DVectorMel(nn.Module):
    """The d-vector's log-mel frames of the speech behind the equalizer, at the usual level."""

    def __init__(self) -> None:
        super().__init__()
        window = F.pad(torch.hann_window(DVector.WINDOW), [(DVector.N_FFT - DVector.WINDOW) // 2] * 2)
        spectrum = torch.fft.rfft(torch.eye(DVector.N_FFT) * window)
        self.register_buffer("kernels", torch.cat([spectrum.real, spectrum.imag], dim=1).T[:, None].contiguous())
        self.register_buffer("filters", DVector().filters)
        hertz = torch.arange(DVector.N_FFT // 2 + 1) * (RATE / DVector.N_FFT)
        lowest, highest = (math.log1p(edge / 700) for edge in (20.0, RATE / 2))
        place = (torch.log1p(hertz / 700) - lowest) / (highest - lowest) * BANDS - 0.5
        distance = (place.clamp(0, BANDS - 1) - torch.arange(BANDS)[:, None]).abs()
        self.register_buffer("interpolation", (1 - distance).clamp(min=0))

    def forward(self, wave: Tensor, gains: Tensor | None = None) -> Tensor:
        """16 kHz [1, samples] at the usual level; `gains` [80], in dB → [1, frames, 40]"""
        half = DVector.N_FFT // 2
        real, imaginary = F.conv1d(wave[:, None], self.kernels, stride=DVector.HOP, padding=half).chunk(2, dim=1)
        power = (real.square() + imaginary.square()).transpose(1, 2)
        if gains is not None:
            equalized = power * torch.exp((gains * (math.log(10) / 10)) @ self.interpolation)
            power = equalized * (power.sum() / equalized.sum())
        return torch.log(power @ self.filters + 1e-6) / math.log(10)


class RefinementLoss(nn.Module):
    """How unlike a person a voice is that speaks one sentence, and how unnatural and unclear."""

    def __init__(
        self,
        decoder: acoustic.Decoder,
        head: acoustic.Head,
        encoder: SpeakerEncoder,
        judge: RefinementJudge,
    ) -> None:
        super().__init__()
        self.decoder, self.head, self.encoder, self.judge = decoder, head, encoder, judge
        self.log_mel, self.dvector_mel = LogMel(), DVectorMel()
        self.resample = torchaudio.transforms.Resample(SAMPLE_RATE, RATE)
        self.requires_grad_(False).eval()

    def forward(self, moving: dict[str, Tensor], given: dict[str, Tensor]) -> tuple[Tensor, ...]:
        """The loss, log-mel frames [T, 80] of the speech before the equalizer, `MEASURES`, and the d-vector's frames.

        `given`: the sentence, and how clear it has to be (`clear`, a phoneme loss); `gains` [80], in dB, of the
        equalizer; the person's embeddings (`TARGETS`); `weights`; what the d-vector says (`FROM_DVECTOR`).
        """
        timbre = (given["style"] + moving["timbre"])[:, None] + pad_layers(moving["layers"])
        film, statistics = self.decoder.make_film(timbre, given["summary"])
        curves = (given["f0"], given["energy"])
        features = self.decoder(given["text"], given["place"], given["duration"], *curves, film, None)
        head_film = self.head.make_film(timbre[:, -1], statistics, moving["grain"])
        position = torch.zeros(1, dtype=torch.long)
        wave = self.resample(self.head(features, given["f0"], given["phase"], head_film, position, moving["mask"]))
        wave = wave * (0.05 / (wave.square().mean(dim=1, keepdim=True).sqrt() + 1e-6))
        mel, dvector_mel = self.log_mel(wave), self.dvector_mel(wave, given["gains"])
        equalized = mel + given["gains"] * (math.log(10) / 10)
        heard, judgement = self.encoder(equalized), self.judge(equalized)
        similarity, gradient = (given[name] for name in FROM_DVECTOR)
        # Its value is the similarity, and its gradient is the one that is given.
        by_dvector = similarity + (gradient * (dvector_mel - dvector_mel.detach())).sum()
        by_encoder = [
            (found * given[name]).sum() for found, name in ((heard.eres2net, "eres2net"), (heard.campplus, "campplus"))
        ]
        likeness = torch.stack([*by_encoder, by_dvector])
        naturalness = judgement.naturalness[0]
        unclear = measure_phoneme_loss(judgement.phonemes, given["phonemes"])[0] - given["clear"]
        weights = given["weights"]
        loss = weights[3] * F.relu(NATURAL_ENOUGH - naturalness) + weights[4] * F.relu(unclear)
        loss = loss - (weights[:3] * likeness).sum()
        return loss, mel[0], torch.cat([likeness, naturalness[None], unclear[None]]), dvector_mel


class Targets(nn.Module):
    """Two embeddings of a recording and the d-vector's frames, from log-mel frames [1, T, 80] and the wave itself."""

    def __init__(self, encoder: SpeakerEncoder) -> None:
        super().__init__()
        self.encoder, self.dvector_mel = encoder, DVectorMel()

    def forward(self, mel: Tensor, wave: Tensor) -> tuple[Tensor, ...]:
        heard = self.encoder(mel)
        return heard.eres2net, heard.campplus, self.dvector_mel(normalize_level(wave))


def fix_context(frames: int) -> None:
    """The encoder's means over segments as a product: pooling that rounds up has no gradient in ONNX."""
    segment = torch.arange(frames) // encoders.CONTEXT
    same = (segment[:, None] == segment).float()
    means = same / same.sum(dim=0) + 1 / frames
    encoders.context_mean = lambda x, segment: x @ means


def input_gradient(grad, x, weight, _bias, stride, padding, dilation, transposed, _out, groups, wanted):  # type: ignore[no-untyped-def]
    """A convolution's gradient to its input.

    Without a stride it is a convolution with turned weights, which ONNX Runtime computes twice as fast as a transposed
    one.
    """
    assert not any(wanted[1:])
    convolve, none = torch.ops.aten.convolution, [0] * len(stride)
    if transposed:
        return convolve(grad, weight, None, stride, padding, dilation, False, none, groups), None, None
    if set(stride) == {1} and groups in (1, len(weight)):
        turned = weight.transpose(0, 1) if groups == 1 else weight
        if set(weight.shape[2:]) != {1}:
            turned = turned.flip(list(range(2, weight.dim())))
        outer = [d * (k - 1) - p for d, k, p in zip(dilation, weight.shape[2:], padding, strict=True)]
        return convolve(grad, turned, None, stride, outer, dilation, False, none, groups), None, None
    sizes = zip(x.shape[2:], grad.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    rest = [a - ((b - 1) * s - 2 * p + d * (k - 1) + 1) for a, b, k, s, p, d in sizes]
    return convolve(grad, weight, None, stride, padding, dilation, True, rest, groups), None, None


def trace(loss: RefinementLoss, moving: dict[str, Tensor], given: dict[str, Tensor]) -> torch.fx.GraphModule:
    """Forward and backward in core ATen operators."""

    def step(*values: Tensor) -> tuple[Tensor, ...]:
        free = {name: value.detach().requires_grad_() for name, value in zip(MOVING, values, strict=False)}
        fixed = dict(zip(given, values[len(MOVING) :], strict=True))
        found, *more = loss(free, fixed)
        return found, *torch.autograd.grad(found, list(free.values())), *more

    return trace_step(step, (*moving.values(), *given.values()))


def trace_step(step: Callable[..., tuple[Tensor, ...]], example: tuple[Tensor, ...]) -> torch.fx.GraphModule:
    """What `step` computes, in core ATen operators."""
    from torch._decomp import core_aten_decompositions, get_decompositions
    from torch.fx.experimental.proxy_tensor import make_fx

    aten = torch.ops.aten
    names = (
        "native_batch_norm_backward native_layer_norm_backward gelu_backward leaky_relu_backward threshold_backward "
        "sigmoid_backward _native_batch_norm_legit native_batch_norm _native_batch_norm_legit_no_training "
        "select_backward slice_backward"
    )
    table = {**core_aten_decompositions(), aten.convolution_backward.default: input_gradient}
    table |= get_decompositions([getattr(aten, name) for name in names.split()])

    graph = make_fx(step, decomposition_table=table)(*example)
    for node in list(graph.graph.nodes):
        if node.target in (aten.detach.default, aten.alias.default):
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph


@dataclass(frozen=True)
class Place:
    """Where the values of a weight lie in a file of the product."""

    file: str
    offset: int
    stored: np.ndarray
    scale: np.ndarray | None = None
    """Of weights that are rounded to int8."""

    @property
    def values(self) -> np.ndarray:
        return self.stored if self.scale is None else self.stored * self.scale


def find_places(folder: Path) -> dict[tuple[int, float], list[Place]]:
    """The weights in the product's files, by their number and largest value."""
    places: dict[tuple[int, float], list[Place]] = {}
    for file in SHIPPED:
        content = (folder / file).read_bytes()
        graph, start = onnx.load(folder / file).graph, 0
        scales = {name: scale for name, (_, scale) in rounding.read_scales(graph).items()}
        attributes = [node.attribute[0].t for node in graph.node if node.op_type == "Constant"]
        for tensor in (*graph.initializer, *attributes):
            whole = tensor.data_type in HALF_OR_SINGLE
            if len(tensor.raw_data) < 2 * LEAST_SHARED or not (whole or tensor.name in scales):
                continue
            start = content.find(tensor.raw_data)
            place = Place(file, start, numpy_helper.to_array(tensor), scales.get(tensor.name))
            key = place.stored.size, float(np.abs(place.values).max())
            places.setdefault(key, []).append(place)
    return places


def share_weights(model: onnx.ModelProto, folder: Path, rounded: nn.Module | None = None) -> None:
    """Replaces weights by pointers into the product's files; others are stored in fp16, those of `rounded` as int8."""
    places, graph = find_places(folder), model.graph
    coarse = {(value.numel(), float(value.abs().max())) for value in rounded.parameters()} if rounded else set()
    nodes: list[onnx.NodeProto] = []
    kept: list[onnx.TensorProto] = []
    before: dict[tuple[int, float], list[tuple[str, np.ndarray]]] = {}
    shared = own = 0
    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.size < LEAST_SHARED:
            kept.append(tensor)
            continue
        found = _find(values, places)
        stored, key = f"{tensor.name}.stored", (values.size, float(np.abs(values).max()))
        if found is None and values.ndim == 2:
            same = [name for name, each in before.get(key, []) if np.array_equal(each.T, values)]
            if same:  # forward and backward use it, each its own way
                nodes.append(helper.make_node("Transpose", same[:1], [tensor.name], perm=[1, 0]))
                continue
            before.setdefault(key, []).append((tensor.name, values))
        if found is None and key in coarse and values.size >= LEAST_QUANTIZED:
            own += values.size
            tensors, made = rounding.store(values, tensor.name, int(np.argmax(values.shape)) if values.ndim == 2 else 0)
            kept += tensors
            nodes += made
            continue
        if found is None:
            own += values.size
            kept.append(numpy_helper.from_array(values.astype(np.float16), stored))
            nodes.append(helper.make_node("Cast", [stored], [tensor.name], to=onnx.TensorProto.FLOAT))
            continue
        shared += values.size
        tensors, made = _follow(found, values.shape, tensor.name)
        kept += tensors
        nodes += made
    print(f"{shared / 1e6:.2f} million weights are shared, {own / 1e6:.2f} million are the graph's own")
    rest = list(graph.node)
    for node in rest:
        node.ClearField("doc_string")
        node.ClearField("metadata_props")
        node.ClearField("name")
    del graph.initializer[:], graph.node[:], graph.value_info[:]
    graph.initializer.extend(kept)
    graph.node.extend([*nodes, *rest])


@dataclass(frozen=True)
class Found:
    place: Place
    axes: list[int]
    """The order in which the stored ones are needed."""
    backward: bool
    """Whether the taps of kernels are needed in reverse, as in a convolution's gradient."""


def _find(values: np.ndarray, places: dict[tuple[int, float], list[Place]]) -> Found | None:
    """Where these values are stored, perhaps with other axes or another order of them."""
    taps = tuple(range(2, values.ndim))
    for place in places.get((values.size, float(np.abs(values).max())), []):
        for axes in permutations(range(place.stored.ndim)):
            stored = place.values.transpose(axes).ravel().astype(np.float32)
            for backward in (False, True):
                if np.array_equal(stored, np.flip(values, taps if backward else ()).ravel()):
                    return Found(place, list(axes), backward)
    return None


def _follow(found: Found, shape: tuple[int, ...], name: str) -> tuple[list[onnx.TensorProto], list[onnx.NodeProto]]:
    """A pointer to stored values, and nodes that make the weight of them."""
    place, stored = found.place, f"{name}.stored"
    tensors: list[onnx.TensorProto] = [_make_pointer(place, stored)]
    nodes: list[onnx.NodeProto] = []

    def add(operator: str, *inputs: np.ndarray, **attributes: object) -> None:
        names = [f"{stored}.{len(tensors) + i}" for i in range(len(inputs))]
        tensors.extend(numpy_helper.from_array(each, to) for each, to in zip(inputs, names, strict=True))
        last = nodes[-1].output[0] if nodes else stored
        made = f"{stored} {len(nodes)}"
        nodes.append(helper.make_node(operator, [last, *names], [made], **attributes))

    if place.stored.dtype != np.float32:
        add("Cast", to=onnx.TensorProto.FLOAT)
    if place.scale is not None:
        add("Mul", place.scale)
    if found.axes != sorted(found.axes):
        add("Transpose", perm=found.axes)
    add("Reshape", np.array(shape, np.int64))
    if found.backward:
        taps = np.arange(2, len(shape))
        add("Slice", *(np.full_like(taps, each) for each in (-1, np.iinfo(np.int64).min)), taps, np.full_like(taps, -1))
    nodes[-1].output[0] = name
    return tensors, nodes


def _make_pointer(place: Place, name: str) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, dims=place.stored.shape)
    tensor.data_type = helper.np_dtype_to_tensor_dtype(place.stored.dtype)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", place.file), ("offset", place.offset), ("length", place.stored.nbytes)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def rename(model: onnx.ModelProto, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """The graph's inputs and outputs by name."""
    graph = model.graph
    names = dict(zip([each.name for each in graph.input], inputs, strict=True))
    names |= dict(zip([each.name for each in graph.output], outputs, strict=True))
    for node in graph.node:
        node.input[:] = [names.get(each, each) for each in node.input]
        node.output[:] = [names.get(each, each) for each in node.output]
    for each in (*graph.input, *graph.output):
        each.name = names[each.name]


def add_dvector(model: onnx.ModelProto, dvector: DVectorGraph, outputs: dict[str, str]) -> None:
    """Adds nodes, whose outputs (by their names there) get these names in the model."""
    graph, added = model.graph, dvector.graph
    graph.node.extend([*added.nodes, *(helper.make_node("Identity", [a], [b]) for a, b in outputs.items())])
    sort_nodes(graph)
    graph.initializer.extend(added.weights)
    for each in [value for value in graph.input if value.name in outputs.values()]:
        graph.input.remove(each)
    for each in [value for value in graph.output if value.name == "dvector mel"]:
        graph.output.remove(each)


def sort_nodes(graph: onnx.GraphProto) -> None:
    """Each behind those whose outputs it needs."""
    nodes = list(graph.node)
    makers = {name: i for i, node in enumerate(nodes) for name in node.output}
    needs = {i: {makers[name] for name in node.input if name in makers} for i, node in enumerate(nodes)}
    order = list(TopologicalSorter(needs).static_order())
    del graph.node[:]
    graph.node.extend(nodes[i] for i in order)


def point_to(model: onnx.ModelProto, path: Path) -> None:
    """The d-vector's weights are stored there."""
    content = path.read_bytes()
    for tensor in model.graph.initializer:
        if tensor.name.startswith(dvector_graph.PREFIX) and len(tensor.raw_data) >= LEAST_SHARED:
            values = numpy_helper.to_array(tensor)
            tensor.CopyFrom(_make_pointer(Place(path.name, content.index(tensor.raw_data), values), tensor.name))


def describe_sentences(synthesis: Synthesis, lines: Lines) -> dict[str, np.ndarray]:
    """What the graph needs of each sentence, at the pitch of the mean voice."""
    arrays = {name: getattr(lines, name) for name in ("text", "place", "duration", "f0", "energy", "summary")}
    arrays["style"] = synthesis.pca.centre[lines.row, :STYLE]
    arrays["phonemes"] = resample_phonemes(lines.phonemes, count_frames() // 2)
    whole = ("place", "duration", "phonemes")
    kinds = dict.fromkeys(whole, np.int16) | {"f0": np.float32, "summary": np.float32}
    return {name: value.numpy().astype(kinds.get(name, np.float16)) for name, value in arrays.items()}


def make_example(sentences: dict[str, np.ndarray], number: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Random parameters and a person, to trace and to check with."""
    torch.manual_seed(number)
    moving = {name: 0.1 * torch.randn(1, *shape) for name, shape in MOVING.items()}
    moving["layers"] *= 0.3
    given = {name: torch.tensor(sentences[name][number : number + 1]) for name in SENTENCE if name in sentences}
    given = {k: v.long() if v.dtype == torch.int16 else v.float() for k, v in given.items()}
    given["phase"] = accumulate_phase(given["f0"])
    given = {name: given[name] for name in SENTENCE}
    given["clear"] = torch.tensor(sentences["clear"][number])
    given["gains"] = torch.randn(BANDS)
    given |= {name: F.normalize(torch.randn(1, *shape), dim=1) for name, shape in TARGETS.items()}
    given["weights"] = torch.tensor([1.0, 0.6, 1.0, 0.5, 1.0])
    given |= dict(zip(FROM_DVECTOR, (torch.zeros(()), 0.01 * torch.randn(1, DVECTOR_FRAMES, 40)), strict=True))
    return moving, given


def count_frames() -> int:
    """Log-mel frames of a sentence; even, so that the encoder and the judge halve them alike."""
    return (FRAMES * RATE // 40 - WINDOW) // HOP + 1


def export_targets(encoder: SpeakerEncoder, dvector: SmallDVector, path: Path, folder: Path) -> None:
    torch.onnx.export(
        Targets(encoder).eval(),
        (torch.randn(1, 500, BANDS), torch.randn(1, 5 * RATE)),
        str(path),
        input_names=["mel", "wave"],
        output_names=["eres2net", "campplus", "dvector mel"],
        dynamic_axes={"mel": {1: "frames"}, "wave": {1: "samples"}},
        opset_version=20,
        dynamo=False,
    )
    model = onnx.load(path)
    share_weights(model, folder)
    added = DVectorGraph(dvector)
    add_dvector(model, added, {added.embed("dvector mel"): "dvector"})
    model.graph.output.append(
        helper.make_tensor_value_info("dvector", onnx.TensorProto.FLOAT, [1, *TARGETS["dvector"]])
    )
    onnx.save(model, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("run", "judge", "dvector"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("data", type=Path, help="src/svc/data")
    args = parser.parse_args()
    with np.load(args.data / "refinement.npz") as stored:
        sentences = dict(stored)
    encoder = restore.restore(args.data, rescale=False).encoder
    restore.fold_norms(encoder.backbone)
    dvector = small_dvector.load(args.dvector)
    export_targets(encoder, dvector, args.data / "refinement-targets.onnx", args.data)
    decoder, head = acoustic.load("decoder", args.run), acoustic.load("head", args.run, dense_transforms=True)
    loss = RefinementLoss(decoder, head, encoder, refinement_judge.load(args.judge))
    export_loss(loss, dvector, sentences, args.data / "refinement.onnx")
    check(args.data, loss, dvector, sentences)


def export_loss(loss: RefinementLoss, dvector: SmallDVector, sentences: dict[str, np.ndarray], path: Path) -> None:
    fix_context(-(-count_frames() // 2))
    moving, given = make_example(sentences, 0)
    with sdpa_kernel(SDPBackend.MATH):
        graph = trace(loss, moving, given)
    # The exporter's own optimizer takes a quarter of an hour for a graph of this size.
    values = (*moving.values(), *given.values())
    torch.onnx.export(graph, values, dynamo=True, optimize=False, verbose=False).save(str(path))
    model = simplify(path)
    rename(model, [*moving, *given], OUTPUTS)
    share_weights(model, path.parent, loss.judge)
    added = DVectorGraph(dvector)
    add_dvector(model, added, dict(zip(added.compare("dvector mel", "dvector"), FROM_DVECTOR, strict=True)))
    point_to(model, path.with_name("refinement-targets.onnx"))
    onnx.save(model, path)


def simplify(path: Path) -> onnx.ModelProto:
    """With all constants computed, also transposed weights: the service need not do it whenever it loads the graph."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    simplified = path.with_suffix(".simple.onnx")
    options.optimized_model_filepath = str(simplified)
    onnxruntime.InferenceSession(path, options)
    model = onnx.load(simplified)
    simplified.unlink()
    return model


def check(folder: Path, loss: RefinementLoss, dvector: SmallDVector, sentences: dict[str, np.ndarray]) -> None:
    """Against torch, which has unrounded weights: gradients must point the same way."""
    path = folder / "refinement.onnx"
    session = onnxruntime.InferenceSession(path)
    worst = 1.0
    for number in (1, 2):
        moving, given = make_example(sentences, number)
        for name in FROM_DVECTOR:
            del given[name]
        outputs = session.run(list(OUTPUTS[:-1]), {k: v.numpy() for k, v in {**moving, **given}.items()})
        free = {name: value.requires_grad_() for name, value in moving.items()}
        found = loss(free, given | compare_in_torch(loss, dvector, moving, given))[0]
        expected = torch.autograd.grad(found, list(free.values()))
        pairs = list(zip(outputs[1:], expected, strict=False))
        cosines = [float(F.cosine_similarity(torch.tensor(a).flatten(), b.flatten(), dim=0)) for a, b in pairs]
        print(f"loss {float(outputs[0]):.4f}, torch {float(found):.4f}; cosines of the gradients {cosines}")
        worst = min(worst, *cosines)
    print(f"{path.stat().st_size / 1e6:.1f} MB")
    if worst < 0.97:
        raise SystemExit("the export differs from torch")


def compare_in_torch(
    loss: RefinementLoss, dvector: SmallDVector, moving: dict[str, Tensor], given: dict[str, Tensor]
) -> dict[str, Tensor]:
    """`FROM_DVECTOR`, as its part of the graph finds them."""
    nothing = dict(zip(FROM_DVECTOR, (torch.zeros(()), torch.zeros(1, DVECTOR_FRAMES, 40)), strict=True))
    with torch.no_grad():
        mel = loss(moving, given | nothing)[-1]
    mel.requires_grad_()
    similarity = (dvector.embed(mel) * given["dvector"]).sum()
    return dict(zip(FROM_DVECTOR, (similarity.detach(), *torch.autograd.grad(similarity, mel)), strict=True))


if __name__ == "__main__":
    main()
