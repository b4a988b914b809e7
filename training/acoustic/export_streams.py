"""Exports the graphs that the service runs: the networks that work window by window are given every frame once.

    python -m acoustic.export_streams run ../src/svc/data    # run holds prosody.pt, decoder.pt, head.pt

Writes turbo-NAME.onnx for each of the six graphs, and turbo.sha256. Prosody and conditioning are those of
`acoustic.export`; the others have further inputs and outputs:

| graph | in | out |
|---|---|---|
| curves, text, decoder, head | state [1, blocks, k, C], tail [1, t, C] | next_state |
| head | hidden [1, h, 512]; f0, phase from the first frame of `hidden` on, which position counts | next_hidden |

For convolutions of 2 r + 1 taps, k is r where the sentence begins (zeros), then 2 r; t is r where it ends (zeros), else
0; h is 0, then 4. An output ends (blocks × r) frames earlier than its input, except at the end.
"""

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

import onnx
import torch
from torch import Tensor, nn

from acoustic import model, streaming
from acoustic.export import GRAPHS, OPSET, export, shrink

PREFIX = "turbo"
FRAMES = 40
HALF_FRAMES = ("f0", "energy", "features", "phase")
"""Inputs and outputs with two values a frame."""


def make_examples(prosody: model.Prosody, decoder: model.Decoder, head: model.Head) -> dict[str, dict[str, Tensor]]:
    """Inputs of each graph, of a window in the middle."""
    integers = torch.ones(1, FRAMES, dtype=torch.int64)
    places = {"place": 0 * integers, "duration": integers}
    curves = {"f0": torch.full((1, 2 * FRAMES), 150.0), "energy": torch.randn(1, 2 * FRAMES)}
    sources = 2 * FRAMES + streaming.HIDDEN + head.size.blocks * (head.size.kernel // 2)
    return {
        "curves": {"curve_text": torch.randn(1, FRAMES, prosody.size.width)}
        | places
        | {"film": torch.ones(1, prosody.size.frame_layers, 2, prosody.size.width)},
        "text": {"ids": torch.randint(1, model.SYMBOLS, (1, 17))},
        "decoder": {"text": torch.randn(1, FRAMES, decoder.size.text_width)}
        | places
        | curves
        | {"film": torch.ones(1, decoder.size.layers, 2, decoder.size.width)},
        "head": {
            "features": torch.randn(1, 2 * FRAMES, model.FEATURES),
            "f0": torch.full((1, sources), 150.0),
            "phase": torch.rand(1, sources),
            "film": torch.ones(1, head.size.blocks, 2, head.size.width),
            "position": torch.zeros(1, dtype=torch.int64),
            "mask_offset": torch.zeros(1, model.MASKS),
            "hidden": torch.randn(1, streaming.HIDDEN, head.size.width),
        },
    }


def export_stream(
    name: str, stream: streaming.Streamed, example: dict[str, Tensor], outputs: list[str], path: Path
) -> None:
    block = stream.blocks[0]
    width = block.scale.shape[0]
    example = example | {
        "state": torch.zeros(1, len(stream.blocks), 2 * block.reach, width),
        "tail": torch.zeros(1, block.reach, width),
    }
    counted = {"ids": "tokens", "hidden": "kept", "next_hidden": "left", "tail": "after", "wave": "samples"}
    counted |= dict.fromkeys(("text", "curve_text", "place", "duration"), "tokens" if "ids" in example else "frames")
    counted |= dict.fromkeys(HALF_FRAMES, "half_frames")
    if "hidden" in example:
        counted |= {"f0": "sources", "phase": "sources"}
    axes = {each: {1: counted[each]} for each in (*example, *outputs) if each in counted}
    torch.onnx.export(
        stream.eval(),
        tuple(example.values()),
        str(path),
        input_names=list(example),
        output_names=[*outputs, "next_state"],
        dynamic_axes=axes | {"state": {2: "state_frames"}, "next_state": {2: "next_state_frames"}},
        opset_version=OPSET,
        dynamo=False,
    )
    graph = onnx.load(path)
    shrink(name, graph)
    onnx.save(graph, path)


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()

    def load() -> list[nn.Module]:
        return [model.load(name, args.run, dense_transforms=True) for name in ("prosody", "decoder", "head")]

    export(*load(), args.folder, floats=False)
    paths = {name: args.folder / f"{PREFIX}-{name}.onnx" for name in GRAPHS}
    for name, path in paths.items():
        (args.folder / f"{name}.onnx").replace(path)
    prosody, decoder, head = load()
    examples = make_examples(prosody, decoder, head)
    streams = {
        "curves": (streaming.CurvesStream(prosody), ["f0", "energy"]),
        "text": (streaming.TextStream(decoder), ["text"]),
        "decoder": (streaming.DecoderStream(decoder), ["features"]),
        "head": (streaming.HeadStream(head), ["wave", "next_hidden"]),
    }
    for name, (stream, outputs) in streams.items():
        export_stream(name, stream, examples[name], outputs, paths[name])
    write_hashes(args.folder, PREFIX, GRAPHS)


def write_hashes(folder: Path, prefix: str, graphs: Sequence[str]) -> None:
    """The file by which the service checks the graphs."""
    paths = sorted(folder / f"{prefix}-{name}.onnx" for name in graphs)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths]
    (folder / f"{prefix}.sha256").write_text("".join(lines))


if __name__ == "__main__":
    main()
