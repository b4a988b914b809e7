"""Trains the prosody: durations of phonemes, F0 and energy of frames, as the teacher predicts them.

    python -m acoustic.train_prosody --teacher kokoro.pt --voices voices.pt --clones clones.npz --corpus corpus.npz \\
        --out run

`--out` gets prosody.pt, a running mean of the weights. `--resume run --start 0.5` continues: new data, a lower rate.
"""

import argparse
import copy
import math
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from acoustic import corpus, model
from acoustic.prosody_cache import ProsodyCache, synthesize
from acoustic.voice_sampler import VoiceSampler
from steps.optimisation import autocast, begin, cosine_rate, log, set_seed
from teacher import port, voices

WARM_UP = 500
"""Steps."""


def predict(prosody: model.Prosody, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Durations [B, N]; outputs for the curves [B, 2 T, 3] and their summary, at the teacher's durations."""
    film = prosody.make_film(batch["style"])
    encoded = prosody.encode(batch["ids"], film, batch["mask"])
    spoken = batch["spoken"]
    token, place = model.expand_tokens(spoken, batch["frame_mask"].shape[1])
    curves = prosody.predict_curves(encoded, token, place, spoken.gather(1, token), film, batch["frame_mask"])
    return prosody.predict_durations(encoded).float(), curves, prosody.predict_summary(encoded, spoken)


def summarise_target(batch: dict[str, Tensor]) -> Tensor:
    return model.summarise_curves(batch["f0"], batch["energy"], batch["frame_mask"].repeat_interleave(2, dim=1))


def compute_losses(
    durations: Tensor, curves: Tensor, summary: Tensor, batch: dict[str, Tensor], summary_scale: Tensor
) -> dict[str, Tensor]:
    """Height and voicing have losses of their own.

    A loss on F0 alone, their product, has a dead end: where voicing is zero, height has no gradient.
    """
    mask, target = batch["mask"].float(), batch["durations"]
    duration = (durations - target).abs() + 2 * (torch.log(durations + 0.5) - torch.log(target + 0.5)).abs()
    frame_mask = batch["frame_mask"].repeat_interleave(2, dim=1).float()
    target_f0 = batch["f0"]
    f0, energy = model.decode_curves(curves, soft=True)
    # Relative where voiced, so that low voices count as much as high ones; against 60 Hz where not.
    relative = (f0 - target_f0) / (target_f0.clamp(min=0) + 60)
    voiced = ((target_f0 > 50) & (frame_mask > 0)).float()
    both = voiced[:, 1:] * voiced[:, :-1]
    height = curves[..., 0].clamp(-2.5, 2.5) + math.log(150)
    height_error = (height - torch.log(target_f0.clamp(min=50))).abs()
    voicing = F.binary_cross_entropy_with_logits(4 * curves[..., 1], (target_f0 / 80).clamp(0, 1), reduction="none")
    slope_error = torch.diff(height, dim=1) - torch.diff(torch.log(target_f0.clamp(min=20)), dim=1)
    energy_error = (energy - batch["energy"]).abs() / 5
    count = frame_mask.sum()
    return {
        "duration": (duration * mask).sum() / mask.sum(),
        "height": 10 * (height_error * voiced).sum() / (voiced.sum() + 1),
        "voicing": (voicing * frame_mask).sum() / count,
        "f0": 2 * (relative.abs() * frame_mask).sum() / count,
        "slope": 10 * (slope_error.abs() * both).sum() / (both.sum() + 1),
        "energy": 2 * (energy_error * frame_mask).sum() / count,
        "summary": 0.5 * ((summary - summarise_target(batch)) / summary_scale).abs().mean(),
    }


@torch.no_grad()
def validate(prosody: model.Prosody, cache: ProsodyCache) -> str:
    """On held-out texts in built-in voices: error of the durations, correlation of the F0 curve with the teacher's."""
    errors, correlations, cents, summaries = [], [], [], []
    for chosen in cache.order.split(50):
        batch = cache.make_batch(chosen)
        durations, curves, summary = predict(prosody, batch)
        summaries.append(((summary - summarise_target(batch)) / prosody.summary_norm.scale).abs())
        f0, _ = model.decode_curves(curves)
        errors.append(25 * (torch.round(durations).clamp(min=1) - batch["spoken"]).abs()[batch["mask"]])
        frame_mask = batch["frame_mask"].repeat_interleave(2, dim=1)
        for i in range(len(f0)):
            both = frame_mask[i] & (batch["f0"][i] > 50) & (f0[i] > 50)
            if both.sum() > 20:
                pair = torch.stack([batch["f0"][i][both], f0[i][both]])
                correlations.append(torch.corrcoef(pair)[0, 1])
                cents.append(1200 * torch.log2(pair[1] / pair[0]).abs().mean())
    text = f"durations {torch.cat(errors).mean():.2f} ms, summary {torch.cat(summaries).mean():.3f}"
    if not correlations:
        return f"{text}, no voiced frames"
    lowest = torch.stack(correlations).sort().values[: max(1, len(correlations) // 10)]
    return (
        f"{text}, F0 {torch.stack(correlations).mean():.4f} (lowest tenth {lowest.mean():.3f}), "
        f"{torch.stack(cents).mean():.0f} cents"
    )


def measure_summaries(cache: ProsodyCache, count: int = 4000) -> Tensor:
    chosen = cache.order[:: max(1, len(cache.order) // count)]
    return torch.cat([summarise_target(cache.make_batch(some)) for some in chosen.split(200)]).cpu()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("teacher", "voices", "clones", "corpus", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="a folder with prosody.pt")
    parser.add_argument("--steps", type=int, default=8_750)
    parser.add_argument("--start", type=float, default=0.0, help="where on the learning rate's cosine to begin")
    parser.add_argument("--hours", type=float, default=175, help="that the teacher speaks at the start")
    parser.add_argument("--refreshes", type=int, default=2, help="how often the data are replaced")
    parser.add_argument("--refresh-hours", type=float, default=47, help="that the teacher speaks each time")
    parser.add_argument("--cache-batch", type=int, default=256, help="texts that the teacher speaks at once")
    parser.add_argument("--frames", type=int, default=24_000, help="of 25 ms in a batch")
    parser.add_argument("--rate", type=float, default=1.2e-3)
    parser.add_argument("--held-out", type=int, default=corpus.HELD_OUT, help="texts for validation")
    parser.add_argument("--report-every", type=int, default=250, help="steps")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    device = begin(args)
    teacher = port.load(args.teacher).to(device)
    sampler = VoiceSampler(voices.unpack(args.voices, device), args.clones)
    held_out_texts, texts = corpus.read_texts(args.corpus)
    set_seed(0)
    held_out = synthesize(teacher, sampler, held_out_texts[: args.held_out], batch=50, built_in=True)
    set_seed(args.seed)
    cache = synthesize(teacher, sampler, texts, args.hours, args.cache_batch)
    log(f"{cache.hours:.2f} hours in {len(cache.frames)} utterances")
    if args.resume:
        prosody = model.load("prosody", args.resume)
    else:
        prosody = model.Prosody()
        prosody.style.measure(cache.style[:20_000].cpu())
    if not args.resume or prosody.summary_norm.scale.eq(1).all():
        prosody.summary_norm.measure(measure_summaries(cache))
    prosody = prosody.to(device).train()
    average = copy.deepcopy(prosody).requires_grad_(False)
    parameters = list(prosody.parameters())
    optimizer = torch.optim.AdamW(
        parameters, lr=args.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=device.type == "cuda"
    )
    refreshed = 0
    sums: dict[str, Tensor] = {}
    reported_at = time.monotonic()
    for step in range(1, args.steps + 1):
        done = (step - 1) / args.steps
        along = args.start + (1 - args.start) * done
        optimizer.param_groups[0]["lr"] = args.rate * cosine_rate(along) * min(1.0, step / WARM_UP)
        batch = cache.sample(args.frames)
        with autocast(device):
            durations, curves, summary = predict(prosody, batch)
        losses = compute_losses(durations, curves, summary, batch, prosody.summary_norm.scale)
        optimizer.zero_grad(set_to_none=True)
        sum(losses.values()).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        # A plain mean at first, so that the random start is forgotten.
        share = 0.001 if args.resume else min(0.5, max(0.001, 1 / step))
        torch._foreach_lerp_(list(average.parameters()), parameters, share)
        for name, value in losses.items():
            sums[name] = sums.get(name, 0.0) + value.detach()
        if step % args.report_every == 0:
            line = "  ".join(f"{name} {float(total) / args.report_every:.4f}" for name, total in sums.items())
            speed = args.report_every / (time.monotonic() - reported_at)
            log(f"{step:6d}  {speed:.1f} steps/s  {line}  held out: {validate(average, held_out)}")
            model.save("prosody", average, args.out)
            sums, reported_at = {}, time.monotonic()
        if done >= (refreshed + 1) / (args.refreshes + 1):
            refreshed += 1
            # The cache is small beside what the teacher can say: other texts, in other voices.
            cache = synthesize(teacher, sampler, texts, args.refresh_hours, args.cache_batch)
            log(f"new data: {cache.hours:.2f} hours in {len(cache.frames)} utterances")
    model.save("prosody", average, args.out)
    log(f"done: {args.steps} steps, held out: {validate(average, held_out)}")


if __name__ == "__main__":
    main()
