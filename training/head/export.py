"""Exports a head to ONNX and checks it: against torch, and a clip synthesised in windows against a whole one.

python -m head.export head.pt head.onnx
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper

from head import model as heads

INPUTS = ("features", "f0", "phase", "style", "stats", "position", "grain")
"""Names in the exported graph, in the order of `Head.forward`: "grain" is the vocoder embedding."""


def make_example(frames: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(1, heads.FEATURES, frames, generator=generator)
    f0 = 180 + 60 * torch.sin(torch.arange(frames) / 20)[None]
    f0[:, 40:60] = 0.3
    return {
        "features": features,
        "f0": f0,
        "phase": heads.accumulate_phase(f0),
        "style": 0.2 * torch.randn(1, 128, generator=generator),
        "statistics": heads.utterance_statistics(features),
        "position": torch.zeros(1, dtype=torch.int64),
        "vocoder_embedding": 0.1 * torch.randn(1, heads.HeadSize.condition, generator=generator),
    }


def export(head: heads.Head, path: Path) -> None:
    torch.onnx.export(
        head,
        tuple(make_example(96).values()),
        str(path),
        input_names=list(INPUTS),
        output_names=["wave"],
        dynamic_axes={
            "features": {2: "frames"},
            "f0": {1: "frames"},
            "phase": {1: "frames"},
            "wave": {1: "samples"},
        },
        opset_version=20,
        dynamo=False,
    )


def name_weights(model: onnx.ModelProto) -> None:
    """Gives the matrices of linear layers, which the exporter transposes and renumbers, their module names."""
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        owner = node.name.strip("/").rpartition("/")[0].replace("/", ".")
        if node.op_type == "MatMul" and owner and node.input[1] in weights:
            weights[node.input[1]].name = node.input[1] = f"{owner}.weight.T"


def store_as_fp16(model: onnx.ModelProto) -> None:
    """Stores large weights as fp16 with a cast to fp32, which ONNX Runtime folds when it loads the file."""
    casts = []
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        # Not the steps of int8 weights, which can be too small for fp16.
        if array.dtype == np.float32 and array.size > 1000 and not tensor.name.endswith((".steps", ".scales")):
            name = tensor.name
            tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float16), f"{name}.half"))
            casts.append(helper.make_node("Cast", [f"{name}.half"], [name], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def finish(path: Path, size: heads.HeadSize) -> None:
    model = onnx.load(path)
    name_weights(model)
    store_as_fp16(model)
    helper.set_model_props(model, {"size": json.dumps(asdict(size))})
    onnx.checker.check_model(model)
    onnx.save(model, path)


def restore(path: Path) -> heads.Head:
    """Reads an exported file back into torch."""
    model = onnx.load(path)
    stored = {tensor.name.removesuffix(".half"): tensor for tensor in model.graph.initializer}
    arrays = {name: numpy_helper.to_array(tensor) for name, tensor in stored.items()}
    arrays |= {name.removesuffix(".T"): array.T for name, array in arrays.items() if name.endswith(".T")}
    head = heads.Head(heads.HeadSize(**json.loads(model.metadata_props[0].value)))
    head.load_state_dict({name: torch.tensor(arrays[name].astype(np.float32)) for name in head.state_dict()})
    return head.eval()


def run_windowed(session: onnxruntime.InferenceSession, feed: dict, context: int, length: int) -> np.ndarray:
    """The clip synthesised in windows of `length` frames, each with `context` frames of its neighbours around it."""
    total, windows = feed["f0"].shape[1], []
    for start in range(0, total, length):
        end = min(start + length, total)
        left, right = max(0, start - context), min(total, end + context)
        window = feed | {name: feed[name][..., left:right] for name in ("features", "f0", "phase")}
        window["position"] = np.array([left])
        wave = session.run(None, window)[0]
        windows.append(wave[:, (start - left) * 300 : (end - left) * 300])
    return np.concatenate(windows, axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("head", type=Path)
    parser.add_argument("onnx", type=Path)
    args = parser.parse_args()
    head = heads.load(args.head, dense_transforms=True)
    export(head, args.onnx)
    finish(args.onnx, head.size)
    session = onnxruntime.InferenceSession(args.onnx)
    inputs = make_example(333)
    feed = {name: value.numpy() for name, value in zip(INPUTS, inputs.values(), strict=True)}
    whole = session.run(None, feed)[0]
    with torch.no_grad():
        from_torch = heads.load(args.head)(**inputs).numpy()
        from_restored = restore(args.onnx)(**inputs).numpy()
    level = np.abs(whole).max()
    against_torch = np.abs(whole - from_torch).max() / level
    against_windows = np.abs(whole - run_windowed(session, feed, head.context, 50)).max() / level
    print(f"{args.onnx.stat().st_size / 1e6:.1f} MB; largest difference, relative to the peak:")
    print(f"  from torch      {against_torch:.1e}\n  from windows    {against_windows:.1e}")
    if max(against_torch, against_windows) > 1e-3 or not np.allclose(from_torch, from_restored, atol=1e-5):
        raise SystemExit("the export differs")


if __name__ == "__main__":
    main()
