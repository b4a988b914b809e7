"""Times both training steps on random data: the first thing to run on a new card.

python rehearse.py --batch 32 40 64
"""

import argparse
import time

import torch

from bank import Bank
from head import Head
from train import Trainer


def random_bank(device: torch.device, clips: int = 40, frames: int = 200) -> Bank:
    total = clips * frames
    return Bank(
        features=torch.randn(total, 512, device=device).half(),
        wave=(0.1 * torch.randn(total, 300, device=device)).half(),
        f0=150 + 50 * torch.rand(total, device=device),
        phase=torch.rand(total, device=device),
        clip=torch.arange(clips, device=device).repeat_interleave(frames),
        style=torch.randn(clips, 128, device=device),
        stats=torch.rand(clips, 1024, device=device),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--length", type=int, default=56)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    finish = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    bank = random_bank(device)
    for batch in args.batch:
        trainer = Trainer(Head(), bank, batch, args.length, device)
        for step in (trainer.reconstruct, trainer.contend):
            trainer.set_rate(0.1)
            began = time.monotonic()
            replay = trainer.capture(step)
            finish()
            captured = time.monotonic() - began
            began = time.monotonic()
            for _ in range(args.steps):
                replay()
            finish()
            rate = args.steps / (time.monotonic() - began)
            print(
                f"batch {batch:3d}  {step.__name__:11s}  {rate:6.1f} steps/s  captured in {captured:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
