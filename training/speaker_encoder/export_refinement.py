"""Exports refinement: forward and backward through decoder, head and the encoder as one ONNX graph, and its sentences.

    python -m speaker_encoder.export_refinement --run acoustic/run --voices voices.pt --accents accents.npz \
        --corpus corpus.npz --encoder encoder.pt refinement.onnx refinement.npz

The graph gives the loss and its gradients to the parameters of a voice, for one sentence of three seconds; ONNX Runtime
runs it, without torch. Its shapes are fixed. A convolution's gradient to its input is a convolution too, Fourier
transforms are products or convolutions, and the equalizer is a gain in each mel band: so ONNX has every operator.
Weights of products and convolutions are stored as int8 with a scale for each row, as those that are spoken with.
"""

import argparse
import math
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
import torchaudio
from onnx import helper, numpy_helper
from torch import Tensor, nn

from acoustic import model as acoustic
from head.model import accumulate_phase
from speaker_encoder import encoder as encoders
from speaker_encoder import synthesis as syntheses
from speaker_encoder import voice_encoder
from speaker_encoder.encoder import SpeakerEncoder
from speaker_encoder.features import BANDS, HOP, N_FFT, RATE, WINDOW, _filters, _window
from speaker_encoder.mapper import MASKS, STYLE, VOCODER_EMBEDDING
from speaker_encoder.synthesis import FRAMES, Lines, Synthesis
from speaker_encoder.texts import Texts
from speaker_encoder.voice_pca import VoicePca, pad_layers
from teacher import voices
from teacher.kokoro import SAMPLE_RATE

OWN_LAYERS = 6
MOVING = {"timbre": (STYLE,), "layers": (OWN_LAYERS, STYLE), "grain": (VOCODER_EMBEDDING,), "mask": (MASKS,)}
"""The parameters that have a gradient, as the voice encoder's outputs are called, and their shapes."""
SENTENCE = ("text", "place", "duration", "f0", "energy", "phase", "summary", "style")
TARGETS = {"eres2net": (192,), "campplus": (192,), "dvector": (256,)}
OUTPUTS = ("loss", *(f"{name} gradient" for name in MOVING), "mel")
WEIGHTS = {"eres2net": 1.0, "campplus": 0.6, "dvector": 1.0}
SENTENCES = 8
LEAST_QUANTIZED = 4096
"""Smaller weights stay as they are."""


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


class RefinementLoss(nn.Module):
    """How unlike a person a voice is that speaks one sentence, by the encoder's three embeddings."""

    def __init__(self, decoder: acoustic.Decoder, head: acoustic.Head, encoder: SpeakerEncoder) -> None:
        super().__init__()
        self.decoder, self.head, self.encoder, self.log_mel = decoder, head, encoder, LogMel()
        self.resample = torchaudio.transforms.Resample(SAMPLE_RATE, RATE)
        self.requires_grad_(False).eval()

    def forward(self, moving: dict[str, Tensor], given: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The loss, and log-mel frames [T, 80] of the speech before the equalizer.

        `given`: the sentence; `gains` [80], in dB, of the equalizer; the person's embeddings (`TARGETS`).
        """
        timbre = (given["style"] + moving["timbre"])[:, None] + pad_layers(moving["layers"])
        film, statistics = self.decoder.make_film(timbre, given["summary"])
        curves = (given["f0"], given["energy"])
        features = self.decoder(given["text"], given["place"], given["duration"], *curves, film, None)
        head_film = self.head.make_film(timbre[:, -1], statistics, moving["grain"])
        position = torch.zeros(1, dtype=torch.long)
        wave = self.resample(self.head(features, given["f0"], given["phase"], head_film, position, moving["mask"]))
        mel = self.log_mel(wave * (0.05 / (wave.square().mean(dim=1, keepdim=True).sqrt() + 1e-6)))
        equalized = mel + given["gains"] * (math.log(10) / 10)
        heard = self.encoder(equalized)
        return -sum(WEIGHTS[name] * (getattr(heard, name) * given[name]).sum() for name in TARGETS), mel[0]


def fix_context(frames: int) -> None:
    """The encoder's means over segments as a product: pooling that rounds up has no gradient in ONNX."""
    segment = torch.arange(frames) // encoders.CONTEXT
    same = (segment[:, None] == segment).float()
    means = same / same.sum(dim=0) + 1 / frames
    encoders.context_mean = lambda x, segment: x @ means


def input_gradient(grad, x, weight, _bias, stride, padding, dilation, transposed, _out, groups, wanted):  # type: ignore[no-untyped-def]
    """A convolution's gradient to its input."""
    assert not any(wanted[1:])
    convolve, none = torch.ops.aten.convolution, [0] * len(stride)
    if transposed:
        return convolve(grad, weight, None, stride, padding, dilation, False, none, groups), None, None
    sizes = zip(x.shape[2:], grad.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    rest = [a - ((b - 1) * s - 2 * p + d * (k - 1) + 1) for a, b, k, s, p, d in sizes]
    return convolve(grad, weight, None, stride, padding, dilation, True, rest, groups), None, None


def trace(loss: RefinementLoss, moving: dict[str, Tensor], given: dict[str, Tensor]) -> torch.fx.GraphModule:
    """Forward and backward in core ATen operators."""
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

    def step(*values: Tensor) -> tuple[Tensor, ...]:
        free = {name: value.detach().requires_grad_() for name, value in zip(MOVING, values, strict=False)}
        fixed = dict(zip(given, values[len(MOVING) :], strict=True))
        found, mel = loss(free, fixed)
        return found, *torch.autograd.grad(found, list(free.values())), mel

    graph = make_fx(step, decomposition_table=table)(*moving.values(), *given.values())
    for node in list(graph.graph.nodes):
        if node.target in (aten.detach.default, aten.alias.default):
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph


def quantize_weights(model: onnx.ModelProto) -> None:
    """Large weights as int8 with a scale for each row, dequantized when the graph is loaded."""
    graph, nodes, kept = model.graph, [], []
    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.size < LEAST_QUANTIZED or values.ndim < 2:
            kept.append(tensor)
            continue
        axis = int(np.argmax(values.shape)) if values.ndim == 2 else 0
        others = tuple(i for i in range(values.ndim) if i != axis)
        scale = np.maximum(np.abs(values).max(axis=others), 1e-12) / 127
        shape = [-1 if i == axis else 1 for i in range(values.ndim)]
        rounded = np.clip(np.round(values / scale.reshape(shape)), -127, 127).astype(np.int8)
        kept += [
            numpy_helper.from_array(rounded, f"{tensor.name}.int8"),
            numpy_helper.from_array(scale.astype(np.float32), f"{tensor.name}.scale"),
        ]
        inputs = [f"{tensor.name}.int8", f"{tensor.name}.scale"]
        nodes.append(helper.make_node("DequantizeLinear", inputs, [tensor.name], axis=axis))
    del graph.initializer[:]
    graph.initializer.extend(kept)
    others = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *others])


def rename(model: onnx.ModelProto, inputs: list[str]) -> None:
    """The graph's inputs and outputs by name."""
    graph = model.graph
    names = dict(zip([each.name for each in graph.input], inputs, strict=True))
    names |= dict(zip([each.name for each in graph.output], OUTPUTS, strict=True))
    for node in graph.node:
        node.input[:] = [names.get(each, each) for each in node.input]
        node.output[:] = [names.get(each, each) for each in node.output]
    for each in (*graph.input, *graph.output):
        each.name = names[each.name]


def describe_sentences(synthesis: Synthesis, lines: Lines) -> dict[str, np.ndarray]:
    """What the graph needs of each sentence, at the pitch of the mean voice."""
    arrays = {name: getattr(lines, name) for name in ("text", "place", "duration", "f0", "energy", "summary")}
    arrays["style"] = synthesis.pca.centre[lines.row, :STYLE]
    kinds = {"place": np.int16, "duration": np.int16, "f0": np.float32, "summary": np.float32}
    return {name: value.numpy().astype(kinds.get(name, np.float16)) for name, value in arrays.items()}


def make_example(sentences: dict[str, np.ndarray], number: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Random parameters and a person, to trace and to check with."""
    torch.manual_seed(number)
    moving = {name: 0.1 * torch.randn(1, *shape) for name, shape in MOVING.items()}
    moving["layers"] *= 0.3
    given = {name: torch.tensor(values[number : number + 1]) for name, values in sentences.items()}
    given = {k: v.long() if k in ("place", "duration") else v.float() for k, v in given.items()}
    given["phase"] = accumulate_phase(given["f0"])
    given = {name: given[name] for name in SENTENCE}
    given["gains"] = torch.randn(BANDS)
    given |= {name: F.normalize(torch.randn(1, *shape), dim=1) for name, shape in TARGETS.items()}
    return moving, given


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("run", "voices", "accents", "corpus", "encoder"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("onnx", type=Path)
    parser.add_argument("sentences", type=Path)
    args = parser.parse_args()
    synthesis = syntheses.load(args.run, VoicePca.from_tables(voices.unpack(args.voices), args.accents))
    texts = Texts(args.corpus, synthesis, 120, letters="a")
    sentences = describe_sentences(synthesis, texts.held_out("a", SENTENCES))
    np.savez_compressed(args.sentences, **sentences)
    decoder, head = acoustic.load("decoder", args.run), acoustic.load("head", args.run, dense_transforms=True)
    loss = RefinementLoss(decoder, head, voice_encoder.load_encoder(args.encoder))
    frames = (FRAMES * RATE // 40 - WINDOW) // HOP + 1
    fix_context(-(-frames // 2))
    moving, given = make_example(sentences, 0)
    graph = trace(loss, moving, given)
    values = (*moving.values(), *given.values())
    torch.onnx.export(graph, values, dynamo=True, optimize=True, verbose=False).save(str(args.onnx))
    model = onnx.load(args.onnx)
    rename(model, [*moving, *given])
    quantize_weights(model)
    onnx.save(model, args.onnx)
    check(args.onnx, loss, sentences)


def check(path: Path, loss: RefinementLoss, sentences: dict[str, np.ndarray]) -> None:
    """Against torch, which has unrounded weights: gradients must point the same way."""
    session = onnxruntime.InferenceSession(path)
    worst = 1.0
    for number in (1, 2):
        moving, given = make_example(sentences, number)
        outputs = session.run(list(OUTPUTS), {k: v.numpy() for k, v in {**moving, **given}.items()})
        free = {name: value.requires_grad_() for name, value in moving.items()}
        found, _ = loss(free, given)
        expected = torch.autograd.grad(found, list(free.values()))
        pairs = list(zip(outputs[1:], expected, strict=False))
        cosines = [float(F.cosine_similarity(torch.tensor(a).flatten(), b.flatten(), dim=0)) for a, b in pairs]
        print(f"loss {float(outputs[0]):.4f}, torch {float(found):.4f}; cosines of the gradients {cosines}")
        worst = min(worst, *cosines)
    print(f"{path.stat().st_size / 1e6:.1f} MB")
    if worst < 0.9:
        raise SystemExit("the export differs from torch")


if __name__ == "__main__":
    main()
