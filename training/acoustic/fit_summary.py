"""Fits the summary of the curves in a prosody that was trained without it, to the curves it predicts itself.

    python -m acoustic.fit_summary run --voices voices.pt --clones clones.npz --corpus corpus.npz

Needs no GPU: only two small layers are trained, all else in prosody.pt stays as it is. A training that starts anew
learns the summary with the rest.
"""

import argparse
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from acoustic import corpus, model
from acoustic.prosody_cache import pad_texts
from acoustic.voice_sampler import VoiceSampler
from head.train import log, set_seed
from teacher import voices

BATCH = 16


@torch.no_grad()
def collect(prosody: model.Prosody, sampler: VoiceSampler, texts: list[np.ndarray]) -> tuple[Tensor, Tensor]:
    """The mean encoding of each text in some voice at some speed, and the summary of its curves."""
    pooled, summaries = [], []
    texts = sorted(texts, key=len)
    for start in range(0, len(texts), BATCH):
        ids, lengths = pad_texts(texts[start : start + BATCH], sampler.device)
        mask = torch.arange(ids.shape[1])[None] < lengths[:, None]
        film = prosody.make_film(sampler.sample_for(lengths - 2).prosody)
        encoded = prosody.encode(ids, film, mask)
        speed = torch.empty(len(ids), 1).uniform_(0.7, 1.4)
        durations = torch.round(prosody.predict_durations(encoded) / speed).clamp(min=1).long() * mask
        frames = durations.sum(dim=1)
        token, place = model.expand_tokens(durations, int(frames.max()))
        present = torch.arange(token.shape[1])[None] < frames[:, None]
        curves = prosody.predict_curves(encoded, token, place, durations.gather(1, token), film, present)
        summaries.append(model.summarise_curves(*model.decode_curves(curves), present.repeat_interleave(2, dim=1)))
        weights = durations[:, :, None].float()
        pooled.append((encoded * weights).sum(dim=1) / weights.sum(dim=1))
    return torch.cat(pooled), torch.cat(summaries)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    for name in ("voices", "clones", "corpus"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=6000)
    parser.add_argument("--steps", type=int, default=2000)
    args = parser.parse_args()
    set_seed(1)
    prosody = model.load("prosody", args.run)
    sampler = VoiceSampler(voices.unpack(args.voices), args.clones)
    held_out_texts, texts = corpus.read_texts(args.corpus)
    random.shuffle(texts)
    held_out, held_out_target = collect(prosody, sampler, held_out_texts)
    pooled, target = collect(prosody, sampler, texts[: args.texts])
    log(f"{len(pooled)} texts")
    prosody.summary_norm.measure(target)
    scale = prosody.summary_norm.scale
    layers = torch.nn.ModuleList([prosody.summary_entry, prosody.summary_exit])
    optimizer = torch.optim.AdamW(layers.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)

    def error(encoded: Tensor, summary: Tensor) -> Tensor:
        predicted = prosody.summary_exit(F.silu(prosody.summary_entry(encoded)))
        return ((predicted * scale + prosody.summary_norm.mean - summary) / scale).abs().mean(dim=0)

    for _ in range(args.steps):
        chosen = torch.randint(len(pooled), (512,))
        optimizer.zero_grad(set_to_none=True)
        error(pooled[chosen], target[chosen]).mean().backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        found = [f"{value:.3f}" for value in error(held_out, held_out_target).tolist()]
    log(f"held out, in standard deviations: {', '.join(found)}; one is {', '.join(f'{s:.3f}' for s in scale.tolist())}")
    model.save("prosody", prosody, args.run)


if __name__ == "__main__":
    main()
