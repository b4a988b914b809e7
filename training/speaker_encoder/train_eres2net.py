"""Trains a copy of ERes2Net to hear through noise, rooms, codecs and telephones.

    python -m speaker_encoder.train_eres2net --frozen frozen --speakers speakers.pt eres2net.pt

The copy starts from ERes2Net's weights. It gets crops degraded and learns what the network itself says of them clean:
its embedding, and the map that it is computed from. Its norms keep their statistics.
"""

import argparse
import copy
import random
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from speaker_encoder import eres2net, speakers
from speaker_encoder.augmentation import add_noise, degrade, keep_clean, simulate_telephone
from speaker_encoder.clip_buffer import ClipBuffer
from speaker_encoder.features import HOP, RATE, WINDOW, log_mel, normalize_level
from speaker_encoder.schedule import Metrics, cosine_rate, log
from speaker_encoder.speakers import Clip

LENGTHS = (300, 600)
"""Frames in a crop."""
GROUPS = 4
"""Parts of a batch that are augmented alike."""
LONGEST = 12 * RATE
CONDITIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "clean": keep_clean,
    "noise": lambda wave: add_noise(wave, wave),
    "telephone": simulate_telephone,
}


class Trainer:
    def __init__(self, args: argparse.Namespace, device: torch.device) -> None:
        self.args, self.device = args, device
        original = eres2net.load_original(args.frozen / "eres2net.pt")
        self.original = original.to(device, memory_format=torch.channels_last)
        self.network = copy.deepcopy(self.original).requires_grad_()
        self.average = copy.deepcopy(self.original)
        self.held_out, training = speakers.split_held_out(speakers.load(args.speakers)[0])
        waves = [clip.wave for clip in training]
        self.recordings = ClipBuffer.from_clips(waves, speakers.sampling_weights(training), device)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), args.rate, weight_decay=0.01)
        self.steps, self.metrics = 0, Metrics()

    def step(self, rate: float) -> None:
        frames = random.choice(LENGTHS)
        count = round(self.args.batch * LENGTHS[0] / frames / GROUPS)
        samples = frames * HOP + WINDOW - HOP
        with torch.no_grad():
            clean = torch.cat([self.recordings.crop_augmented(count, samples) for _ in range(GROUPS)])
            degraded = normalize_level(degrade(clean, clean[:8].roll(1, dims=0)))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            with torch.no_grad():
                target, target_map = self.original.embed_with_map(log_mel(clean))
            heard, heard_map = self.network.embed_with_map(log_mel(degraded))
        similarity = (heard.float() * target.float()).sum(dim=1).mean()
        target_map = target_map.float()
        missing = (heard_map.float() - target_map).square().mean() / target_map.var()
        for group in self.optimizer.param_groups:
            group["lr"] = self.args.rate * rate * min(1.0, (self.steps + 1) / 20)
        self.optimizer.zero_grad()
        (4 * (1 - similarity) + missing).backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 3.0)
        self.optimizer.step()
        self.steps += 1
        self._update_average()
        self.metrics.add(similarity=similarity, missing=missing)

    @torch.no_grad()
    def _update_average(self) -> None:
        share = max(1 - self.args.average, 9 / (self.steps + 9))
        pairs = list(zip(self.average.parameters(), self.network.parameters(), strict=True))
        torch._foreach_lerp_([mean for mean, _ in pairs], [value for _, value in pairs], share)

    @torch.no_grad()
    def evaluate(self) -> None:
        """Similarity to what the network itself says of a clean recording, of speakers that are not trained on."""
        longest: dict[str, Clip] = {}
        for clip in sorted(self.held_out, key=lambda clip: len(clip.wave)):
            longest[clip.speaker] = clip
        waves = [normalize_level(clip.wave[None, :LONGEST].to(self.device)) for clip in longest.values()]
        targets = [self.original(log_mel(wave)) for wave in waves]
        found = []
        for name, change in CONDITIONS.items():
            torch.manual_seed(0)
            heard = [self.average(log_mel(normalize_level(change(wave)))) for wave in waves]
            cosines = [(a * b).sum() for a, b in zip(heard, targets, strict=True)]
            found.append(f"{name} {torch.stack(cosines).mean():.3f}")
        log(f"  held out: {'  '.join(found)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("frozen", "speakers"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=560)
    parser.add_argument("--batch", type=int, default=128, help="crops of 3 s in a step, half as many of 6 s")
    parser.add_argument("--rate", type=float, default=2e-4, help="learning rate")
    parser.add_argument("--average", type=float, default=0.99, help="decay of the running mean of the weights, a step")
    parser.add_argument("--evaluate-every", type=int, default=140, help="steps")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("output", type=Path)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = device.type == "cuda"
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    trainer = Trainer(args, device)
    for step in range(1, args.steps + 1):
        trainer.step(cosine_rate(step - 1, args.steps))
        if step % args.evaluate_every == 0 or step == args.steps:
            log(f"{step:6d}  {trainer.metrics.read()}")
            eres2net.save(trainer.average, args.output)
            with torch.backends.cudnn.flags(benchmark=False, allow_tf32=True):
                trainer.evaluate()


if __name__ == "__main__":
    main()
