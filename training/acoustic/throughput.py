"""Measures how much speech the networks synthesise in a second on a GPU, with a batch of different texts.

python -m acoustic.throughput run --corpus corpus.npz
"""

import argparse
import time
from pathlib import Path

import torch
from torch import Tensor

from acoustic import corpus, model
from acoustic.prosody_cache import pad_texts
from head.model import accumulate_phase
from head.train import autocast

RUNS = 10


class Networks:
    def __init__(self, run: Path, device: torch.device) -> None:
        self.device = device
        self.prosody, self.decoder, self.head = (
            model.load(name, run).to(device).requires_grad_(False) for name in ("prosody", "decoder", "head")
        )

    def synthesize(self, ids: Tensor, mask: Tensor, style: Tensor, timbre: Tensor) -> tuple[Tensor, Tensor]:
        """ids, mask [B, N], style [B, 128], timbre [B, 11, 128] → wave [B, S], how many frames of 25 ms [B]"""
        prosody, decoder, head = self.prosody, self.decoder, self.head
        with autocast(self.device):
            film = prosody.make_film(style)
            encoded = prosody.encode(ids, film, mask)
            durations = torch.round(prosody.predict_durations(encoded)).clamp(min=1).long() * mask
            frames = durations.sum(dim=1)
            count = int(frames.max())
            token, place = model.expand_tokens(durations, count)
            duration = durations.gather(1, token)
            present = torch.arange(count, device=self.device)[None] < frames[:, None]
            curves = prosody.predict_curves(encoded, token, place, duration, film, present)
            f0, energy = model.decode_curves(curves)
            half = present.repeat_interleave(2, dim=1)
            f0, energy = f0 * half, energy * half
            summary = model.summarise(ids, durations, prosody.predict_summary(encoded, durations))
            film, statistics = decoder.make_film(timbre, summary)
            text = decoder.text(ids, mask)
            text = text.gather(1, token[:, :, None].expand(-1, -1, text.shape[2]))
            features = decoder(text, place, duration, f0, energy, film, present)
            film = head.make_film(timbre[:, -1], statistics, None)
            position = torch.zeros(len(ids), dtype=torch.int64, device=self.device)
            return head(features, f0, accumulate_phase(f0), film, position, mask=half[..., None].float()), frames


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
            wave, frames = networks.synthesize(ids, mask, style, timbre)
            wave.to(torch.float16).cpu()
            times.append(time.perf_counter() - began)
        seconds = float(frames.sum()) / 40
        print(f"{batch:4d} at once: {seconds:7.1f} s of speech in {min(times):.4f} s, {seconds / min(times):8.0f} s/s")


if __name__ == "__main__":
    main()
