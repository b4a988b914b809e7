"""Exports the graphs that the service runs on a GPU: floats, windows of many sentences in one batch.

    python -m acoustic.export_batches run ../src/svc/data    # run holds prosody.pt, decoder.pt, head.pt

Writes turbo-batch-NAME.onnx for each of the six graphs, and turbo-batch.sha256. `acoustic.batching` says what they
are given; the first axis of every input and output is the batch. Weights are stored as fp16, as they were trained, and
ONNX Runtime makes floats of them when it loads them.
"""

import argparse
from pathlib import Path

import onnx
import torch
from torch import Tensor, nn

from acoustic import batching, model
from acoustic.export import GRAPHS, ConditioningGraph, store_as_fp16
from acoustic.export_streams import HALF_FRAMES, make_examples, write_hashes
from acoustic.streaming import HIDDEN

PREFIX = "turbo-batch"
OPSET = 18
"""The newest for which ONNX Runtime has CUDA kernels of all that is needed: what it computes on the CPU is copied there
and back."""


def widen(name: str, windows: batching.Windows, example: dict[str, Tensor]) -> dict[str, Tensor]:
    """Inputs of a window in the middle for two sentences, from those for one of `acoustic.export_streams`."""
    block = windows.blocks[0]
    width, context = block.scale.shape[0], len(windows.blocks) * block.reach
    frames = example["ids" if name == "text" else "features" if name == "head" else "place"].shape[1]
    example = {key: value.expand(2, *value.shape[1:]).contiguous() for key, value in example.items()}
    before = context + HIDDEN if name == "head" else context
    return example | {
        "state": torch.randn(2, len(windows.blocks), 2 * block.reach, width),
        "present": torch.ones(2, before + frames),
        "last": (frames + torch.arange(2 * block.reach)).expand(2, -1).contiguous(),
    }


def export_graph(graph: nn.Module, example: dict[str, Tensor], outputs: list[str], path: Path) -> None:
    counted = dict.fromkeys(("ids", "text", "curve_text", "place", "duration", "durations"), "frames")
    counted |= dict.fromkeys(HALF_FRAMES, "half_frames") | {"present": "around", "wave": "samples"}
    if "hidden" in example:
        counted |= dict.fromkeys(("f0", "phase", "present"), "sources")
    names = (*example, *outputs)
    torch.onnx.export(
        graph.eval(),
        tuple(example.values()),
        str(path),
        input_names=list(example),
        output_names=outputs,
        dynamic_axes={name: {0: "batch"} | ({1: counted[name]} if name in counted else {}) for name in names},
        opset_version=OPSET,
        custom_opsets={"com.microsoft": 1},
        dynamo=False,
    )
    exported = onnx.load(path)
    store_as_fp16(exported)
    onnx.save(exported, path)
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {len(exported.graph.node)} nodes")


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    prosody, decoder, head = (
        model.load(name, args.run, dense_transforms=True) for name in ("prosody", "decoder", "head")
    )
    examples = make_examples(prosody, decoder, head)
    paths = {name: args.folder / f"{PREFIX}-{name}.onnx" for name in GRAPHS}
    whole = {
        "timbre": torch.randn(2, model.LAYERS, 128),
        "summary": torch.rand(2, model.SUMMARY),
        "vocoder_embedding": torch.zeros(2, model.VOCODER_EMBEDDING),
    }
    export_graph(ConditioningGraph(decoder, head), whole, ["film", "head_film"], paths["conditioning"])
    whole = {"ids": torch.randint(1, model.SYMBOLS, (2, 17)), "style": torch.randn(2, 128), "speed": torch.ones(2)}
    outputs = ["durations", "curve_text", "curve_film", "curve_summary"]
    export_graph(batching.BatchedProsody(prosody), whole | {"present": torch.ones(2, 17)}, outputs, paths["prosody"])
    networks = {
        "curves": (batching.CurvesWindows(prosody), ["f0", "energy"]),
        "text": (batching.TextWindows(decoder), ["text"]),
        "decoder": (batching.DecoderWindows(decoder), ["features"]),
        "head": (batching.HeadWindows(head), ["wave", "next_hidden"]),
    }
    for name, (windows, outputs) in networks.items():
        export_graph(windows, widen(name, windows, examples[name]), [*outputs, "next_state"], paths[name])
    write_hashes(args.folder, PREFIX)


if __name__ == "__main__":
    main()
