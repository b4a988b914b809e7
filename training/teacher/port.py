"""Ports Kokoro from its fp32 ONNX file to torch and checks the port against ONNX Runtime.

    python -m teacher.port kokoro-fp32.onnx voices/ kokoro.pt

The weights are saved in fp16 (163 MB); the check runs on the saved weights.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper

from teacher.kokoro import Kokoro

FEATURES = "/decoder/decoder/decode.3/Div_4_output_0"
F0 = "/decoder/decoder/Unsqueeze_output_0"
DURATIONS = "/encoder/Clip_output_0"
SOURCE = "/decoder/decoder/generator/Concat_3_output_0"
PROBE_IDS = [50, 83, 54, 156, 31, 16, 81, 156, 86, 123, 3, 16, 81, 102, 61, 16, 102, 68, 16, 70, 16, 131, 156]
PROBE_IDS += [76, 123, 62, 16, 62, 156, 86, 61, 62, 16, 138, 64, 16, 81, 83, 16, 62, 156, 51, 133, 83, 123, 4]
"""Hello there, this is a short test of the teacher."""


def to_module_name(onnx_name: str) -> str:
    """The torch name of an ONNX parameter or node: one leading `encoder.` or `decoder.` less."""
    name = onnx_name.replace("/", ".").strip(".")
    for part in ("F0.", "N.", "shared"):
        if name.startswith(f"encoder.{part}"):
            name = name.replace("encoder.", "encoder.predictor.", 1)
    return name.split(".", 1)[1] if name.startswith(("encoder.", "decoder.")) else name


def convert_lstm(name: str, packed: list[np.ndarray]) -> dict[str, np.ndarray]:
    """ONNX stacks the gates as input, output, forget, cell; torch as input, forget, cell, output."""
    weights, recurrent, bias = packed
    size = recurrent.shape[2]
    order = np.concatenate([np.arange(size) + gate * size for gate in (0, 2, 3, 1)])
    named = {}
    for direction, suffix in enumerate(("", "_reverse")):
        named[f"{name}.weight_ih_l0{suffix}"] = weights[direction][order]
        named[f"{name}.weight_hh_l0{suffix}"] = recurrent[direction][order]
        named[f"{name}.bias_ih_l0{suffix}"] = bias[direction][: 4 * size][order]
        named[f"{name}.bias_hh_l0{suffix}"] = bias[direction][4 * size :][order]
    return named


def read_weights(graph: onnx.GraphProto, names: set[str]) -> dict[str, np.ndarray]:
    initializers = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    found = {to_module_name(n): a for n, a in initializers.items() if to_module_name(n) in names}
    for node in graph.node:
        if node.op_type in ("Conv", "ConvTranspose") and node.input[1] in initializers:
            named_by_bias = len(node.input) > 2 and node.input[2] in initializers
            owner = node.input[2] if named_by_bias else node.name
            separator = "." if named_by_bias else "/"
            name = to_module_name(owner.rsplit(separator, 1)[0]) + ".weight"
            found.setdefault(name, initializers[node.input[1]])
        elif node.op_type == "MatMul" and node.input[1] in initializers:
            found.setdefault(to_module_name(node.name.rsplit("/", 1)[0]) + ".weight", initializers[node.input[1]].T)
        elif node.op_type == "LSTM":
            name = to_module_name(node.name.rsplit("/", 1)[0])
            found.update(convert_lstm(name, [initializers[i] for i in node.input[1:4]]))
    found["decoder.generator.inverse_basis"] = initializers["decoder.decoder.generator.stft.istft.stft.inverse_basis"]
    return {name: array for name, array in found.items() if name in names}


def load(path: Path | str) -> Kokoro:
    model = Kokoro()
    model.load_state_dict({k: v.float() for k, v in torch.load(path, map_location="cpu").items()})
    # Not eval(): cuDNN's LSTM refuses a backward pass there, and the model has no dropout.
    return model.requires_grad_(False)


def run_reference(model: onnx.ModelProto, style: np.ndarray) -> dict[str, np.ndarray]:
    """ONNX Runtime's outputs for the probe phonemes, at the generator's input and at the end."""
    names = ["waveform", FEATURES, F0, DURATIONS, SOURCE]
    for name in names[1:]:
        model.graph.output.append(onnx.ValueInfoProto(name=name))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feed = {"input_ids": np.array([[0, *PROBE_IDS, 0]]), "style": style, "speed": np.ones(1, np.float32)}
    return dict(zip(names, session.run(names, feed), strict=True))


def log_spectrum(wave: torch.Tensor) -> torch.Tensor:
    spectrum = torch.stft(wave, 1024, 256, window=torch.hann_window(1024), return_complex=True).abs()
    return 20 * torch.log10(spectrum + 1e-3)


def check(model: Kokoro, expected: dict[str, np.ndarray], style: torch.Tensor) -> None:
    ids = torch.tensor([[0, *PROBE_IDS, 0]])
    features, f0, frames = model.acoustic_features(ids, style)
    wave = model.decoder.generator(features, f0, style[:, :128])
    outputs = {k: torch.tensor(v) for k, v in expected.items()}
    from_their_features = model.decoder.generator(outputs[FEATURES], outputs[F0][:, 0], style[:, :128])
    durations_equal = bool((frames == outputs[DURATIONS].long().ravel()).all())
    rows = {
        "durations equal": durations_equal,
        "features, relative error": float((features - outputs[FEATURES]).norm() / outputs[FEATURES].norm()),
        "F0, largest difference in Hz": float((f0 - outputs[F0][:, 0]).abs().max()),
        "wave from ONNX Runtime's features, relative error": float(
            (from_their_features - outputs["waveform"]).norm() / outputs["waveform"].norm()
        ),
        "log spectrum, mean difference in dB": float(
            (log_spectrum(from_their_features) - log_spectrum(outputs["waveform"])).abs().mean()
        ),
        "gain": float(wave.norm() / outputs["waveform"].norm()),
    }
    for name, value in rows.items():
        print(f"{name:48s} {value if isinstance(value, bool) else format(value, '.2e')}")
    if not durations_equal or rows["log spectrum, mean difference in dB"] > 1.5:
        raise SystemExit("the port does not match ONNX Runtime")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onnx", type=Path)
    parser.add_argument("voices", type=Path)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    style = np.fromfile(args.voices / "af_heart.bin", np.float32).reshape(510, 1, 256)[len(PROBE_IDS)]
    graph_model = onnx.load(args.onnx)
    model = Kokoro()
    weights = read_weights(graph_model.graph, set(model.state_dict()))
    expected = run_reference(graph_model, style)
    # The first frame of the probe is silent, so its source is constant.
    weights["decoder.generator.silent_angles"] = expected[SOURCE][0, 11:, 2].copy()
    missing = set(model.state_dict()) - set(weights)
    if missing:
        raise SystemExit(f"not found in the ONNX file: {sorted(missing)}")
    half = {k: torch.tensor(np.array(v)).half() for k, v in weights.items()}
    torch.save(half, args.output)
    with torch.no_grad():
        check(load(args.output), expected, torch.tensor(style))


if __name__ == "__main__":
    main()
