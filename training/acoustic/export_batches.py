"""Exports the graph that the service runs on a GPU: floats, a batch of whole utterances.

    python -m acoustic.export_batches run floats    # run holds prosody.pt, decoder.pt, head.pt

Writes turbo-batch-speech.onnx. `acoustic.batching` says what it is given; the first axis of every input and output is
the batch. Weights are stored as fp16, as they were trained; `acoustic.share_weights` points to those in int8 instead.
"""

import argparse
from pathlib import Path

import onnx
import torch

from acoustic import model
from acoustic.batching import SpeechGraph
from acoustic.export_streams import PREFIX
from head.export import store_as_fp16

NAME = "batch-speech"
OPSET = 18
"""The newest for which ONNX Runtime has CUDA kernels of all that is needed: what it computes on the CPU is copied there
and back."""
TOKENS = 17


@torch.no_grad()
def export(run: Path, folder: Path) -> Path:
    networks = [model.load(name, run, dense_transforms=True) for name in ("prosody", "decoder", "head")]
    example = {
        "ids": torch.randint(1, model.SYMBOLS, (2, TOKENS)),
        "present": torch.ones(2, TOKENS),
        "style": torch.randn(2, 128),
        "timbre": torch.randn(2, model.LAYERS, 128),
        "vocoder_embedding": torch.zeros(2, model.VOCODER_EMBEDDING),
        "mask_offset": torch.zeros(2, model.MASKS),
        **{name: torch.ones(2) for name in ("speed", "pitch_scale", "pitch_range")},
    }
    path = folder / f"{PREFIX}-{NAME}.onnx"
    tokens = {name: {1: "tokens"} for name in ("ids", "present", "durations")} | {"wave": {1: "samples"}}
    outputs = ["durations", "wave"]
    torch.onnx.export(
        SpeechGraph(*networks).eval(),
        tuple(example.values()),
        str(path),
        input_names=list(example),
        output_names=outputs,
        dynamic_axes={name: {0: "batch"} | tokens.get(name, {}) for name in (*example, *outputs)},
        opset_version=OPSET,
        custom_opsets={"com.microsoft": 1},
        dynamo=False,
    )
    graph = onnx.load(path)
    store_as_fp16(graph)
    onnx.save(graph, path)
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {len(graph.graph.node)} nodes")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    export(args.run, args.folder)


if __name__ == "__main__":
    main()
