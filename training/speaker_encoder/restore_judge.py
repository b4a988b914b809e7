"""Reads the judge of refinement back from the shipped graph: the other networks of it are exported without training.

    python -m speaker_encoder.restore_judge --run acoustic/run --dvector small_dvector.pt ../src/svc/data judge.pt

The exporter renames weights, so a graph with a random judge is exported, too: what has its values there is called the
same in the shipped graph. Of the judge's embeddings nothing is in the graph; they stay random.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from acoustic import model as acoustic
from speaker_encoder import export_refinement, refinement_judge, restore, rounding, small_dvector
from speaker_encoder.export_refinement import RefinementLoss
from speaker_encoder.refinement_judge import RefinementJudge

NEAR = 0.03
"""Random weights that are rounded to int8 differ by less."""


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """What is stored with the graph, as floats."""
    graph = onnx.load(path, load_external_data=False).graph
    stored = {each.name: each for each in graph.initializer if each.data_location != onnx.TensorProto.EXTERNAL}
    weights = {name: numpy_helper.to_array(each).astype(np.float32) for name, each in stored.items()}
    scales = rounding.read_scales(graph)
    return weights | {made: weights[name] * scale for name, (made, scale) in scales.items() if name in weights}


def find(value: Tensor, known: dict[str, np.ndarray], trained: dict[str, np.ndarray]) -> Tensor | None:
    """Where a random weight lies, perhaps transposed, the trained one lies, too."""
    wanted, least, best = value.numpy().ravel(), NEAR, None
    for name, array in known.items():
        if array.size != wanted.size:
            continue
        for turned, found in ((array, trained[name]), (array.T, trained[name].T)):
            if (error := np.abs(turned.ravel() - wanted).max()) < least:
                least, best = error, torch.tensor(found.reshape(value.shape))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--dvector", type=Path, required=True)
    parser.add_argument("data", type=Path, help="src/svc/data")
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    judge = RefinementJudge()
    for each in judge.parameters():
        torch.nn.init.normal_(each)
    encoder = restore.restore(args.data, rescale=False).encoder
    restore.fold_norms(encoder.backbone)
    decoder, head = acoustic.load("decoder", args.run), acoustic.load("head", args.run, dense_transforms=True)
    with np.load(args.data / "refinement.npz") as stored, tempfile.TemporaryDirectory() as folder:
        for name in (*export_refinement.SHIPPED, "refinement-targets.onnx"):
            shutil.copy(args.data / name, folder)
        path, dvector = Path(folder) / "refinement.onnx", small_dvector.load(args.dvector)
        loss = RefinementLoss(decoder, head, encoder, judge)
        export_refinement.export_loss(loss, dvector, dict(stored), path)
        known = read_weights(path)
    trained = read_weights(args.data / "refinement.onnx")
    assert known.keys() == trained.keys(), "another version of the graph"
    found = {name: find(value, known, trained) for name, value in judge.state_dict().items()}
    print(f"not in the graph: {[name for name, value in found.items() if value is None]}")
    judge.load_state_dict({name: value for name, value in found.items() if value is not None}, strict=False)
    refinement_judge.save(judge, args.output)


if __name__ == "__main__":
    main()
