"""Measures what the exported graphs cost: CPU time of one thread for a second of speech, least of twelve runs.

python -m acoustic.cost exported
"""

import argparse
import time
from pathlib import Path

import numpy as np
import onnxruntime

from acoustic.export import GRAPHS
from acoustic.exported import ExportedNetworks

SECONDS = 5.0
TOKENS = 75
FRAMES = int(SECONDS * 40)


def make_feed(session: onnxruntime.InferenceSession) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    f0 = (150 + 40 * np.sin(np.arange(2 * FRAMES) / 20))[None]
    known = {
        "ids": rng.integers(1, 178, (1, TOKENS)),
        "speed": np.ones(1),
        "place": np.zeros((1, FRAMES)),
        "duration": np.full((1, FRAMES), 3),
        "f0": f0,
        "phase": np.cumsum(f0 / 80, axis=1) % 1,
        "position": np.zeros(1),
    }
    feed = {}
    for each in session.get_inputs():
        shape = [{"frames": FRAMES, "half_frames": 2 * FRAMES}.get(size, size) for size in each.shape]
        value = known[each.name] if each.name in known else rng.standard_normal(shape)
        feed[each.name] = value.astype(np.int64 if "int64" in each.type else np.float32)
    return feed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exported", type=Path)
    args = parser.parse_args()
    networks = ExportedNetworks(args.exported)
    total = 0.0
    for name in GRAPHS:
        session = networks.sessions[name]
        feed = make_feed(session)
        times = []
        for _ in range(12):
            start = time.process_time()
            outputs = session.run(None, feed)
            times.append(time.process_time() - start)
        # The prosody decides itself how long the sentence is.
        seconds = outputs[1].shape[1] / 80 if name == "prosody" else SECONDS
        cost = 1000 * min(times) / seconds
        total += cost
        print(f"{name:12s} {cost:6.2f} ms for a second of speech")
    print(f"{'together':12s} {total:6.2f} ms")


if __name__ == "__main__":
    main()
