"""Measures how much speech the networks synthesise in a second on a GPU, with a batch of different texts.

python -m acoustic.throughput run --corpus corpus.npz
"""

import argparse
import time
from pathlib import Path

import torch

from acoustic import corpus, model
from acoustic.prosody_cache import pad_texts
from acoustic.synthesis import Networks

RUNS = 10


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 16, 64, 256], help="utterances at once")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    networks = Networks(args.run, device)
    texts = [text for text in corpus.read_texts(args.corpus)[0] if 50 <= len(text) <= 130]
    for batch in args.batches:
        ids, lengths = pad_texts((texts * (batch // len(texts) + 1))[:batch], device)
        mask = (torch.arange(ids.shape[1])[None] < lengths[:, None]).to(device)
        style = networks.prosody.style.mean.expand(batch, -1)
        timbre = networks.decoder.style.mean.expand(batch, model.LAYERS, -1)
        times = []
        for _ in range(RUNS):
            began = time.perf_counter()
            speech = networks.synthesize(ids, mask, style, timbre)
            speech.wave.to(torch.float16).cpu()
            times.append(time.perf_counter() - began)
        seconds = float(speech.frames.sum()) / 40
        print(f"{batch:4d} at once: {seconds:7.1f} s of speech in {min(times):.4f} s, {seconds / min(times):8.0f} s/s")


if __name__ == "__main__":
    main()
