"""The small d-vector in ONNX: embeddings of a recording, and the similarity of speech to one, with its gradient.

ONNX has no gradient of an LSTM. Its steps are written out here in two loops (Scan): one forward, which keeps what the
other needs, and one back. A window of 0.8 s is a row of the batch, so that the loops have 80 steps each.
"""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from speaker_encoder.rounding import round_rows
from speaker_encoder.small_dvector import HIDDEN, Factored, SmallDVector

STEPS, STEP = SmallDVector.FRAMES, SmallDVector.STEP
PREFIX = "small dvector "


class Graph:
    """Nodes and weights; values are known by their names."""

    def __init__(self, prefix: str = PREFIX) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._prefix, self._named = prefix, 0

    def name(self) -> str:
        """A new one."""
        self._named += 1
        return f"{self._prefix}{self._named}"

    def __call__(self, operator: str, *inputs: str, **attributes: object) -> str:
        return self.run(operator, inputs, 1, **attributes)[0]

    def run(self, operator: str, inputs: Sequence[str], outputs: int, **attributes: object) -> list[str]:
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def store(self, values: np.ndarray) -> str:
        name = f"{PREFIX}weight {len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def store_rounded(self, matrix: np.ndarray) -> str:
        """As int8 with a scale for each column."""
        rounded, scale = round_rows(matrix, axis=1)
        return self("Mul", self("Cast", self.store(rounded), to=TensorProto.FLOAT), self.store(scale))

    def number(self, *values: float) -> str:
        return self.store(np.array(values, np.float32))

    def numbers(self, *values: int) -> str:
        return self.store(np.array(values, np.int64))

    def scan(self, body: "Loop", states: list[str], sequences: list[str], *, backward: bool = False) -> list[str]:
        """What the body keeps of each step: [steps, …] each."""
        direction = int(backward)
        outputs = self.run(
            "Scan",
            [*states, *sequences],
            len(body.states) + len(body.kept),
            body=body.make(),
            num_scan_inputs=len(sequences),
            scan_input_directions=[direction] * len(sequences),
            scan_output_directions=[direction] * len(body.kept),
        )
        return outputs[len(body.states) :]


class Loop(Graph):
    """A body: gets states and a row of each sequence, gives the next states and what is kept of this step."""

    def __init__(self, outer: Graph, inputs: int) -> None:
        super().__init__(f"{outer.name()} ")
        self.inputs = [self.name() for _ in range(inputs)]
        self.states: list[str] = []
        self.kept: list[str] = []

    def make(self) -> onnx.GraphProto:
        # Every output of a body is a value of its own, also where a state is kept.
        outputs = [self("Identity", name) for name in (*self.states, *self.kept)]
        values = [
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None]) for name in names]
            for names in (self.inputs, outputs)
        ]
        return helper.make_graph(self.nodes, self.name(), *values)


class Layer:
    """The weights of one layer of the LSTM, as products with rows need them."""

    def __init__(self, graph: Graph, layer: Factored) -> None:
        self.graph = graph
        narrow = [] if layer.ih_down is None else [layer.ih_down]
        self.entry = [graph.store_rounded(each.detach().numpy().T) for each in (*narrow, layer.ih_up)]
        self.past = [graph.store_rounded(each.detach().numpy().T) for each in (layer.hh_down, layer.hh_up)]
        self.bias = graph.store(layer.bias.detach().numpy())

    def multiply(self, graph: Graph, x: str, weights: list[str]) -> str:
        for weight in weights:
            x = graph("MatMul", x, weight)
        return x

    def transpose(self, weights: list[str]) -> list[str]:
        return [self.graph("Transpose", weight, perm=[1, 0]) for weight in reversed(weights)]


def run_forward(graph: Graph, layer: Layer, x: str, zero: str) -> list[str]:
    """Hidden states, gates (input, forget, cell, output), cells and their tanh: [80, windows, 768] each."""
    given = graph("Add", layer.multiply(graph, x, layer.entry), layer.bias)
    body = Loop(graph, 3)
    hidden, cell, row = body.inputs
    total = body("Add", layer.multiply(body, hidden, layer.past), row)
    parts = body.run("Split", [total], 4, axis=1, num_outputs=4)
    gates = [body("Tanh" if i == 2 else "Sigmoid", part) for i, part in enumerate(parts)]
    entry, forget, candidate, output = gates
    cell = body("Add", body("Mul", forget, cell), body("Mul", entry, candidate))
    bent = body("Tanh", cell)
    hidden = body("Mul", output, bent)
    body.states, body.kept = [hidden, cell], [hidden, *gates, cell, bent]
    return graph.scan(body, [zero, zero], [given])


def run_backward(graph: Graph, layer: Layer, forward: list[str], gradient: str, zero: str) -> str:
    """The gradient to the layer's inputs, from that to its hidden states. [80, windows, …]"""
    _, entry, forget, candidate, output, cell, bent = forward
    one = graph.number(1.0)

    def bend(gate: str) -> str:
        """Of a sigmoid's value to its argument."""
        return graph("Mul", gate, graph("Sub", one, gate))

    def bend_tanh(value: str) -> str:
        return graph("Sub", one, graph("Mul", value, value))

    first = graph("Unsqueeze", zero, graph.numbers(0))
    rows = [graph.numbers(each) for each in (0, STEPS - 1, 0)]
    before = graph("Concat", first, graph("Slice", cell, *rows), axis=0)
    to_cell = [
        graph("Mul", candidate, bend(entry)),
        graph("Mul", before, bend(forget)),
        graph("Mul", entry, bend_tanh(candidate)),
    ]
    sequences = [
        gradient,
        graph("Mul", output, bend_tanh(bent)),
        graph("Concat", *to_cell, axis=2),
        graph("Mul", bent, bend(output)),
        forget,
    ]
    body = Loop(graph, 2 + len(sequences))
    of_hidden, of_cell, given, through_output, through_cell, to_output, forget = body.inputs
    of_hidden = body("Add", of_hidden, given)
    of_cell = body("Add", of_cell, body("Mul", of_hidden, through_output))
    thrice = body("Concat", of_cell, of_cell, of_cell, axis=1)
    of_gates = body("Concat", body("Mul", thrice, through_cell), body("Mul", of_hidden, to_output), axis=1)
    past = layer.multiply(body, of_gates, layer.transpose(layer.past))
    body.states, body.kept = [past, body("Mul", of_cell, forget)], [of_gates]
    (of_all_gates,) = graph.scan(body, [zero, zero], sequences, backward=True)
    return layer.multiply(graph, of_all_gates, layer.transpose(layer.entry))


class DVectorGraph:
    """Adds nodes to a graph: from log-mel frames [1, T, 40] to embeddings, and back."""

    def __init__(self, network: SmallDVector) -> None:
        self.graph = graph = Graph()
        self._layers = [Layer(graph, layer) for layer in network.lstm]
        self._weight = graph.store_rounded(network.linear.weight.detach().numpy().T)
        self._bias = graph.store(network.linear.bias.detach().numpy())

    def _normalize(self, x: str) -> tuple[str, str]:
        length = self.graph("ReduceL2", x, self.graph.numbers(1), keepdims=1)
        return self.graph("Div", x, length), length

    def _unbend(self, gradient: str, unit: str, length: str) -> str:
        """The gradient to a vector from that to its direction."""
        graph = self.graph
        along = graph("ReduceSum", graph("Mul", gradient, unit), graph.numbers(1), keepdims=1)
        return graph("Div", graph("Sub", gradient, graph("Mul", along, unit)), length)

    def embed(self, mel: str) -> str:
        """For any number of frames. [1, 256]"""
        graph = self.graph
        self._frames = graph("Squeeze", mel, graph.numbers(0))
        count = graph("Shape", self._frames, start=0, end=1)
        last = graph("Squeeze", graph("Sub", count, graph.numbers(STEPS - 1)))
        zero, step = (graph.store(np.array(each, np.int64)) for each in (0, STEP))
        starts = graph("Range", zero, last, step)
        place = graph.store(np.arange(STEPS)[:, None])
        self._place = graph("Add", place, starts)
        x = graph("Gather", self._frames, self._place, axis=0)
        shape = graph("Concat", graph("Shape", starts), graph.numbers(HIDDEN), axis=0)
        self._zero = graph("ConstantOfShape", shape)
        self._forward = []
        for layer in self._layers:
            self._forward.append(run_forward(graph, layer, x, self._zero))
            x = self._forward[-1][0]
        last_row = graph("Gather", x, graph.store(np.array(STEPS - 1)), axis=0)
        each = graph("Add", graph("MatMul", last_row, self._weight), self._bias)
        self._units, self._lengths = self._normalize(each)
        mean = graph("ReduceMean", self._units, graph.numbers(0), keepdims=1)
        self._embedding, self._length = self._normalize(mean)
        return self._embedding

    def compare(self, mel: str, target: str) -> tuple[str, str]:
        """The similarity to a unit vector [1, 256], and its gradient to the frames."""
        graph = self.graph
        self.embed(mel)
        similarity = graph("ReduceSum", graph("Mul", self._embedding, target), graph.numbers(0, 1), keepdims=0)
        count = graph("Cast", graph("Shape", self._units, start=0, end=1), to=TensorProto.FLOAT)
        of_units = graph("Div", self._unbend(target, self._embedding, self._length), count)
        gradient = self._unbend(of_units, self._units, self._lengths)
        last = graph("MatMul", gradient, graph("Transpose", self._weight, perm=[1, 0]))
        earlier = graph("Mul", graph.store(np.zeros((STEPS - 1, 1, 1), np.float32)), self._zero)
        gradient = graph("Concat", earlier, graph("Unsqueeze", last, graph.numbers(0)), axis=0)
        for layer, forward in zip(reversed(self._layers), reversed(self._forward), strict=True):
            gradient = run_backward(graph, layer, forward, gradient, self._zero)
        nothing = graph("Mul", self._frames, graph.number(0.0))
        place = graph("Unsqueeze", self._place, graph.numbers(2))
        found = graph("ScatterND", nothing, place, gradient, reduction="add")  # windows overlap
        return similarity, graph("Unsqueeze", found, graph.numbers(0))
