"""Trains the speaker encoder.

    python -m speaker_encoder.train_encoder --frozen frozen --speakers speakers.pt --random-voices random_voices.pt \
        --out encoder

The encoder starts from CAM++'s weights. Every crop is augmented to sound like another speaker; the speaker networks
get it clean, the encoder gets it degraded and is trained to predict CAM++'s feature maps and all networks' embeddings.
`--out` gets encoder.pt, the best of the running means of the weights; `--resume` continues from one.
"""

import argparse
import copy
import random
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from speaker_encoder import speakers, voice_encoder
from speaker_encoder.augmentation import degrade, keep_clean, simulate_telephone, splice
from speaker_encoder.clip_buffer import ClipBuffer
from speaker_encoder.encoder import Embeddings, SpeakerEncoder
from speaker_encoder.features import HOP, RATE, WINDOW, log_mel, normalize_level
from speaker_encoder.frozen_losses import SpeakerNetworks
from speaker_encoder.schedule import Metrics, cosine_rate, log
from speaker_encoder.speakers import Clip
from speaker_encoder.targets import TargetLoss, compute_targets

LENGTHS = (300, 600)
"""Frames in a crop: two lengths only, because cuDNN benchmarks its kernels for each."""
GROUPS, RANDOM_VOICE_GROUPS = 5, 2
"""Parts of a batch that are augmented alike, and how many of them are random voices."""
LONGEST = 12 * RATE


class Evaluation:
    """Similarity of the encoder's embeddings to the networks', on speakers that it is not trained on."""

    @torch.no_grad()
    def __init__(
        self,
        clips: list[Clip],
        networks: SpeakerNetworks,
        device: torch.device,
        change: Callable[[Tensor], Tensor] = keep_clean,
    ) -> None:
        """`change` is applied to what the encoder gets, not to what the networks get."""
        longest: dict[str, Tensor] = {}
        for clip in clips:
            if len(clip.wave) > len(longest.get(clip.speaker, "")):
                longest[clip.speaker] = clip.wave
        waves = [normalize_level(wave[None, :LONGEST].to(device)) for wave in longest.values()]
        self.targets = Embeddings.concatenate([networks.embed(wave) for wave in waves])
        self.waves = [normalize_level(change(wave)) for wave in waves]

    @torch.no_grad()
    def __call__(self, encoder: SpeakerEncoder) -> Embeddings:
        return Embeddings.concatenate([encoder(log_mel(wave)) for wave in self.waves]).similarity(self.targets)


class EncoderTrainer:
    def __init__(self, args: argparse.Namespace, device: torch.device) -> None:
        self.args, self.device = args, device
        self.networks = SpeakerNetworks(args.frozen).to(device, memory_format=torch.channels_last)
        training, validation = speakers.load(args.speakers)
        held_out, training = speakers.split_held_out(training[: args.clips])
        self.evaluations = {
            "held out": Evaluation(held_out, self.networks, device),
            "telephone": Evaluation(held_out, self.networks, device, simulate_telephone),
            "validation": Evaluation(validation[: args.clips], self.networks, device),
        }
        self.recordings = ClipBuffer.from_clips(
            [clip.wave for clip in training], speakers.sampling_weights(training), device
        )
        self.random_voices = self.recordings
        if args.random_voices:
            waves = torch.load(args.random_voices)
            self.random_voices = ClipBuffer.from_clips(waves, [1.0] * len(waves), device)
        self.target_loss: TargetLoss | None = None
        self.encoder = SpeakerEncoder()
        self.encoder.load_campplus(self.networks.campplus.network)
        if args.resume:
            self.encoder = voice_encoder.load_encoder(args.resume)
        # A restored encoder has its norms folded into its weights: their statistics must not be measured again.
        self.encoder.train(not args.resume).to(device, memory_format=torch.channels_last)
        self.average = copy.deepcopy(self.encoder).requires_grad_(False).eval()
        self.parts = (
            (self.encoder.backbone, args.backbone_rate),
            (self.encoder.eres2net, args.rate),
            (self.encoder.dvector, args.dvector_rate),
        )
        for part, rate in self.parts:
            part.requires_grad_(rate > 0)
        groups = [{"params": list(part.parameters())} for part, _ in self.parts]
        self.optimizer = torch.optim.AdamW(groups, 0.0, weight_decay=0.02)
        self.steps, self.best = 0, 0.0
        self.metrics = Metrics()

    def _sample(self, count: int, samples: int) -> Tensor:
        buffers = [self.recordings] * (GROUPS - RANDOM_VOICE_GROUPS) + [self.random_voices] * RANDOM_VOICE_GROUPS
        return splice(torch.cat([buffer.crop_augmented(count // GROUPS, samples) for buffer in buffers]), 0.15)

    def step(self, rate: float) -> None:
        frames = random.choice(LENGTHS)
        count = max(GROUPS, round(self.args.batch * LENGTHS[0] / frames))
        with torch.no_grad():
            wave = self._sample(count, frames * HOP + WINDOW - HOP)
            mel = log_mel(normalize_level(degrade(wave, wave[:8].roll(1, dims=0))))
        targets = compute_targets(self.networks, wave)
        self.target_loss = self.target_loss or TargetLoss(targets)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            embeddings, maps = self.encoder.encode_with_maps(mel)
        errors = self.target_loss.compare(embeddings.float(), maps, targets)
        for group, (_, peak) in zip(self.optimizer.param_groups, self.parts, strict=True):
            group["lr"] = peak * rate * min(1.0, (self.steps + 1) / 100)
        self.optimizer.zero_grad()
        errors.loss(self.args.map_weight, self.args.mean_weight).backward()
        torch.nn.utils.clip_grad_norm_(self.encoder.parameters(), 3.0)
        self.optimizer.step()
        self.steps += 1
        self._update_average()
        self.metrics.add(**vars(errors.similarity), **errors.map_errors)
        self.metrics.add(mean=errors.mean_errors["out"])

    @torch.no_grad()
    def _update_average(self) -> None:
        share = max(1 - self.args.average, 9 / (self.steps + 9))
        means, values = self.average.state_dict().values(), self.encoder.state_dict().values()
        pairs = [(mean, value) for mean, value in zip(means, values, strict=True) if mean.is_floating_point()]
        torch._foreach_lerp_([mean for mean, _ in pairs], [value for _, value in pairs], share)

    def evaluate(self) -> None:
        """Saves the averaged encoder if it is the best so far on the held-out speakers, clean and by telephone."""
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=True):
            results = {name: evaluate(self.average) for name, evaluate in self.evaluations.items()}
        scores = {name: {key: float(x) for key, x in vars(result).items()} for name, result in results.items()}
        log("  " + "  ".join(f"{name} {key} {x:.3f}" for name, score in scores.items() for key, x in score.items()))
        score = sum(sum(scores[name].values()) for name in ("held out", "telephone"))
        if score > self.best:
            self.best = score
            voice_encoder.save_encoder(self.average, self.args.out / "encoder.pt")


def run(trainer: EncoderTrainer, args: argparse.Namespace) -> None:
    reported_at = time.monotonic()
    for step in range(1, args.steps + 1):
        trainer.step(cosine_rate(step - 1, args.steps, args.start))
        if step % args.report_every == 0:
            means, now = trainer.metrics.read(), time.monotonic()
            log(f"{step:6d}  {args.report_every / (now - reported_at):.2f} steps/s  {means}")
            reported_at = now
        if step % args.evaluate_every == 0 or step == args.steps:
            trainer.evaluate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("frozen", "speakers", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--random-voices", type=Path, help="two fifths of the crops; without it, recordings only")
    parser.add_argument("--resume", type=Path, help="an encoder.pt")
    parser.add_argument("--steps", type=int, default=1800)
    parser.add_argument(
        "--start", type=float, default=0.0, help="where on the learning rate's cosine to begin (0 to 1)"
    )
    parser.add_argument("--batch", type=int, default=128, help="crops of 3 s in a step, half as many of 6 s")
    parser.add_argument("--rate", type=float, default=2e-3, help="learning rate of ERes2Net's embedding head")
    parser.add_argument("--dvector-rate", type=float, default=2e-3, help="learning rate of the d-vector's head")
    parser.add_argument("--backbone-rate", type=float, default=4e-4, help="learning rate of the backbone")
    parser.add_argument("--map-weight", type=float, default=1.0, help="weight of the feature maps")
    parser.add_argument("--mean-weight", type=float, default=1.0, help="weight of the maps' means over time")
    parser.add_argument("--average", type=float, default=0.998, help="decay of the running mean of the weights, a step")
    parser.add_argument("--clips", type=int, default=None, help="only the first N recordings")
    parser.add_argument("--report-every", type=int, default=50, help="steps")
    parser.add_argument("--evaluate-every", type=int, default=100, help="steps")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    trainer = EncoderTrainer(args, device)
    recordings = trainer.recordings
    log(f"{len(recordings.wave) / RATE / 3600:.2f} hours in {len(recordings.first)} recordings")
    torch.backends.cudnn.benchmark = True
    run(trainer, args)


if __name__ == "__main__":
    main()
