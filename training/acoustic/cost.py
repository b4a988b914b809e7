"""Measures what the exported graphs cost in CPU time of one thread: for a second of speech, and until the first audio.

python -m acoustic.cost exported
"""

import argparse
import time
from pathlib import Path

import numpy as np
import onnxruntime

from acoustic.export import GRAPHS
from acoustic.exported import TEXT_CONTEXT, ExportedNetworks

SECONDS = 5.0
TOKENS = 75
FRAMES = int(SECONDS * 40)
FIRST_AUDIO = (35, 110)
"""Tokens: seven words, 22 words."""
FIRST_WINDOW = 12
"""Frames of 25 ms, as the context of each network."""
HEAD_CONTEXT, DECODER_CONTEXT, CURVES_CONTEXT = 7, 12, 24


def make_feed(session: onnxruntime.InferenceSession, tokens: int, frames: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    f0 = (150 + 40 * np.sin(np.arange(2 * frames) / 20))[None]
    known = {
        "ids": rng.integers(1, 178, (1, tokens)),
        "speed": np.ones(1),
        "place": np.zeros((1, frames)),
        "duration": np.full((1, frames), 3),
        "f0": f0,
        "phase": np.cumsum(f0 / 80, axis=1) % 1,
        "position": np.zeros(1),
    }
    feed = {}
    for each in session.get_inputs():
        shape = [{"frames": frames, "half_frames": 2 * frames}.get(size, size) for size in each.shape]
        value = known[each.name] if each.name in known else rng.standard_normal(shape)
        feed[each.name] = value.astype(np.int64 if "int64" in each.type else np.float32)
    return feed


def measure(session: onnxruntime.InferenceSession, tokens: int, frames: int) -> float:
    """CPU time in ms, least of twelve runs."""
    feed = make_feed(session, tokens, frames)
    times = []
    for _ in range(12):
        start = time.process_time()
        session.run(None, feed)
        times.append(time.process_time() - start)
    return 1000 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exported", type=Path)
    args = parser.parse_args()
    start = time.process_time()
    sessions = ExportedNetworks(args.exported).sessions
    print(f"loaded in {time.process_time() - start:.2f} s of CPU time")
    total = 0.0
    for name in GRAPHS:
        cost = measure(sessions[name], TOKENS, FRAMES) / SECONDS
        total += cost
        print(f"{name:12s} {cost:6.2f} ms for a second of speech")
    print(f"{'together':12s} {total:6.2f} ms")
    for tokens in FIRST_AUDIO:
        parts = {name: measure(sessions[name], tokens, 0) for name in ("prosody", "conditioning")}
        # What a window needs beside itself: frames to either side (on the left there are none) and tokens.
        spoken = FIRST_WINDOW + HEAD_CONTEXT
        parts["head"] = measure(sessions["head"], 0, spoken)
        parts["decoder"] = measure(sessions["decoder"], 0, spoken + DECODER_CONTEXT)
        spoken += DECODER_CONTEXT
        parts["text"] = measure(sessions["text"], min(tokens, round(spoken * TOKENS / FRAMES) + TEXT_CONTEXT), 0)
        parts["curves"] = measure(sessions["curves"], 0, spoken + CURVES_CONTEXT)
        each = ", ".join(f"{name} {value:.1f}" for name, value in parts.items())
        print(f"first audio, {tokens} tokens: {sum(parts.values()):.1f} ms ({each})")


if __name__ == "__main__":
    main()
