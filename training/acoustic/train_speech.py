"""Trains decoder and head: from phonemes, durations, F0, energy and a voice to samples.

    python -m acoustic.train_speech --teacher kokoro.pt --head head.onnx --discriminators discriminators.pt \\
        --voices voices.pt --clones clones.npz --corpus corpus.npz --out run

First the decoder learns the teacher's features, and the head, which starts from `--head`, to do with predicted
statistics and fewer blocks. Then both are trained together, through the head, with discriminators. These start from
`--discriminators`, or anew: then they count once they can tell speech apart, after some 3,000 steps. `--out` gets
decoder.pt and head.pt (running means of the weights) and discriminators.pt; `--resume run` continues from them. On a
GPU each step is one captured CUDA graph.
"""

import argparse
import copy
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from acoustic import corpus, model
from acoustic.speech_cache import SpeechCache, synthesize
from acoustic.voice_sampler import VoiceSampler
from head.export import restore
from steps import discriminators
from steps.discriminators import Discriminators
from steps.optimisation import (
    LossSums,
    apply_gradients,
    autocast,
    begin,
    capture_graph,
    cosine_rate,
    create_optimizer,
    log,
    set_seed,
)
from steps.wave_loss import WaveLoss
from teacher import port, voices
from teacher.kokoro import FRAME

CROP = 52
"""Frames of 25 ms that the decoder sees."""
MARGIN = 14
"""Frames that a crop may reach beyond its clip: edges of clips must be learned, too."""
LEAST_STARTS = 60
"""Crops of a clip that are drawn at least as often as those of one with so many places to begin."""
SUMMARY_NOISE = 0.15
"""Added to the summary of the curves, in standard deviations: when speaking, it is a prediction."""
WAIT_EVERY = 20
"""Steps."""
VALIDATED = 96
"""Crops."""
VOCODED = slice(20, 84)
"""Which of the decoder's frames, at 80 Hz, the head works on."""
SCORED = slice(8, 56)
"""Which of the head's frames the losses see. Those nearer to an edge lack context."""


class Trainer:
    def __init__(
        self,
        decoder: model.Decoder,
        head: model.Head,
        loss: WaveLoss,
        cache: SpeechCache,
        batch: int,
        device: torch.device,
        train_head: bool = True,
    ) -> None:
        """`train_head`: in the regression, too."""
        self.batch, self.device, self.train_head = batch, device, train_head
        self.set_data(cache)
        self.decoder, self.head, self.loss = decoder.to(device), head.to(device), loss
        self.modules: dict[str, nn.Module] = {
            "decoder": self.decoder,
            "head": self.head,
            "discriminators": loss.discriminators,
        }
        self.averages = {name: copy.deepcopy(self.modules[name]).requires_grad_(False) for name in ("decoder", "head")}
        self.optimizers = {name: create_optimizer(module, device) for name, module in self.modules.items()}
        self.regression_share = torch.ones((), device=device)
        """Norm of the regression's gradient at the features, relative to that of the losses on the wave."""
        names = ("features", "statistics", "spectral", "hinge", "matching", "adversarial")
        self.sums = LossSums(names, device)

    def set_data(self, cache: SpeechCache) -> None:
        """Before a step is captured: a captured one keeps the data that it began with."""
        self.cache = cache
        self.starts, self.clips = cache.find_starts(CROP, MARGIN, LEAST_STARTS)

    def set_rates(self, **rates: float) -> None:
        for name, rate in rates.items():
            self.optimizers[name].param_groups[0]["lr"].fill_(rate)

    def _sample(self) -> dict[str, Tensor]:
        pick = torch.randint(len(self.starts), (self.batch,), device=self.device)
        return self.cache.crop(self.starts[pick], self.clips[pick], CROP, self.decoder.text.context)

    @staticmethod
    def _decode(decoder: model.Decoder, crop: dict[str, Tensor], noise: float = SUMMARY_NOISE) -> tuple[Tensor, Tensor]:
        """Features [B, 2 CROP, 512] and statistics."""
        summary = crop["summary"].clone()
        curves = slice(model.SYMBOLS, model.SYMBOLS + model.CURVE_SUMMARY)
        summary[:, curves] += noise * decoder.summary.scale[curves] * torch.randn_like(summary[:, curves])
        film, statistics = decoder.make_film(crop["timbre"], summary)
        text = decoder.text(crop["ids"], crop["token_mask"])
        text = text.gather(1, crop["token"][:, :, None].expand(-1, -1, text.shape[2]))
        features = decoder(text, crop["place"], crop["duration"], crop["f0"], crop["energy"], film, crop["mask"])
        return features, statistics

    def _vocode(self, head: model.Head, crop: dict[str, Tensor], features: Tensor, statistics: Tensor) -> Tensor:
        position = torch.randint(model.NOISE_FRAMES, (len(features),), device=self.device)
        mask = crop["mask"].repeat_interleave(2, dim=1)[:, VOCODED, None]
        film = head.make_film(crop["timbre"][:, -1], statistics, crop["vocoder_embedding"])
        f0, phase = crop["f0"][:, VOCODED], crop["phase"][:, VOCODED]
        wave = head(features[:, VOCODED], f0, phase, film, position, mask=mask.float())
        wave = wave.unflatten(1, (-1, FRAME)) * mask
        return wave[:, SCORED].flatten(1)

    @staticmethod
    def _target_wave(crop: dict[str, Tensor]) -> Tensor:
        return crop["wave"].unflatten(1, (-1, FRAME))[:, VOCODED][:, SCORED].flatten(1)

    @staticmethod
    def _compute_distances(crop: dict[str, Tensor], features: Tensor, statistics: Tensor) -> tuple[Tensor, Tensor]:
        """Mean distances of features and statistics from the teacher's, both in standard deviations."""
        mask = crop["mask"].repeat_interleave(2, dim=1)[:, VOCODED, None].float()
        distance = (features.float() - crop["features"])[:, VOCODED].abs() * mask
        feature_distance = distance.sum() / (mask.sum() * model.FEATURES + 1)
        return feature_distance, (statistics.float() - crop["statistics"]).abs().mean()

    def _update(self, name: str, gradients: tuple[Tensor, ...]) -> None:
        apply_gradients(self.optimizers[name], gradients)
        if name in self.averages:
            torch._foreach_lerp_(list(self.averages[name].parameters()), list(self.modules[name].parameters()), 0.001)

    def regression_step(self) -> None:
        """The decoder on the teacher's features; the head, with a spectral loss, from the teacher's features."""
        crop = self._sample()
        with autocast(self.device):
            features, statistics = self._decode(self.decoder, crop)
        distance, statistics_distance = self._compute_distances(crop, features, statistics)
        loss = distance + 0.3 * statistics_distance
        self._update("decoder", torch.autograd.grad(loss, list(self.decoder.parameters())))
        self.sums.add(features=distance, statistics=statistics_distance)
        if not self.train_head:
            return
        with autocast(self.device):
            predicted = self._vocode(self.head, crop, crop["features"], statistics.detach().float())
        leaf = predicted.detach().requires_grad_()
        gradient, losses = self.loss.compare(leaf, self._target_wave(crop))
        self._update("head", torch.autograd.grad(predicted, list(self.head.parameters()), gradient))
        self.sums.add(**losses)

    def adversarial_step(self) -> None:
        """Decoder, head and discriminators, from one forward pass of the last."""
        crop = self._sample()
        with autocast(self.device):
            features, statistics = self._decode(self.decoder, crop)
            # The graph is cut between decoder and head, where the gradients of wave and features are balanced.
            feature_leaf = features.detach().float().requires_grad_()
            statistics_leaf = statistics.detach().float().requires_grad_()
            predicted = self._vocode(self.head, crop, feature_leaf, statistics_leaf)
        leaf = predicted.detach().requires_grad_()
        gradient, hinge_gradients, losses = self.loss.judge(leaf, self._target_wave(crop))
        self._update("discriminators", hinge_gradients)
        at_features, at_statistics, *head_gradients = torch.autograd.grad(
            predicted, [feature_leaf, statistics_leaf, *self.head.parameters()], gradient
        )
        distance, statistics_distance = self._compute_distances(crop, features, statistics)
        pull = torch.autograd.grad(distance, features, retain_graph=True)[0].float()
        statistics_pull = torch.autograd.grad(statistics_distance, statistics, retain_graph=True)[0].float()
        total = at_features + self._scale_to(at_features, pull)
        statistics_total = at_statistics + self._scale_to(at_statistics, statistics_pull)
        decoder_gradients = torch.autograd.grad(
            [features, statistics],
            list(self.decoder.parameters()),
            [total.to(features.dtype), statistics_total.to(statistics.dtype)],
        )
        self._update("decoder", decoder_gradients)
        self._update("head", tuple(head_gradients))
        self.sums.add(features=distance, statistics=statistics_distance, **losses)

    def _scale_to(self, reference: Tensor, gradient: Tensor) -> Tensor:
        return gradient * (self.regression_share * reference.norm() / (gradient.norm() + 1e-12))

    @torch.no_grad()
    def validate(self, held_out: SpeechCache) -> str:
        starts, clips = held_out.find_starts(CROP, margin=0)
        pick = torch.linspace(0, len(starts) - 1, VALIDATED, device=self.device).long()
        crop = held_out.crop(starts[pick], clips[pick], CROP, self.decoder.text.context)
        decoder, head = self.averages["decoder"], self.averages["head"]
        features, statistics = self._decode(decoder, crop, noise=0.0)
        distance, _ = self._compute_distances(crop, features, statistics)
        target = self._target_wave(crop)
        whole = self.loss.spectral(self._vocode(head, crop, features, statistics), target)
        head_alone = self.loss.spectral(self._vocode(head, crop, crop["features"], statistics), target)
        return f"features {distance:.4f}, spectral {whole:.4f} ({head_alone:.4f} from the teacher's features)"

    def save(self, folder: Path) -> None:
        for name, average in self.averages.items():
            model.save(name, average, folder)
        discriminators.save(self.loss.discriminators, folder / "discriminators.pt")


def rehearse(trainer: Trainer, args: argparse.Namespace) -> None:
    """A few steps of both kinds that change nothing: what fails on a GPU should fail before the data are made."""
    trainer.set_rates(decoder=0.0, head=0.0, discriminators=0.0)
    for step, batch in ((trainer.regression_step, args.regression_batch), (trainer.adversarial_step, args.batch)):
        trainer.batch = batch
        prepare(step, trainer.device, args.capture)()
    trainer.sums.read(1)


def prepare(step: Callable[[], None], device: torch.device, capture: bool) -> Callable[[], None]:
    # Every shape of a step repeats; those of the teacher's texts do not, and benchmarking them would never end.
    torch.backends.cudnn.benchmark = True
    prepared = capture_graph(step, device) if capture else step
    torch.backends.cudnn.benchmark = not capture
    return prepared


def run(
    trainer: Trainer, held_out: SpeechCache, renew: Callable[[], SpeechCache] | None, args: argparse.Namespace
) -> None:
    """The regression for `--regression-steps`; then, with new data, the discriminators for `--adversarial-steps`."""
    log(f"at the start: {trainer.validate(held_out)}")
    steps = 0
    for step, count, batch in (
        (trainer.regression_step, args.regression_steps, args.regression_batch),
        (trainer.adversarial_step, args.adversarial_steps, args.batch),
    ):
        if count == 0:
            continue
        regression = step == trainer.regression_step
        if steps and renew:
            trainer.set_data(renew())
        trainer.batch = batch
        trainer.set_rates(decoder=1e-6, head=1e-6, discriminators=1e-6)
        replay = prepare(step, trainer.device, args.capture)
        trainer.sums.read(1)
        reported_at, reported = time.monotonic(), steps
        for done in range(count):
            warm_up = min(1.0, (done + 1) / (1000 if regression else 300))
            if regression:
                trainer.set_rates(decoder=args.regression_rate * warm_up, head=args.head_rate * warm_up)
            else:
                along = args.start + (1 - args.start) * done / count
                rate = cosine_rate(along)
                trainer.set_rates(
                    decoder=args.decoder_rate * rate * warm_up,
                    head=args.head_rate * rate * warm_up,
                    discriminators=args.discriminator_rate * min(1.0, rate * 1.5) * warm_up,
                )
                trainer.regression_share.fill_(max(args.least_share, 1.0 - 1.5 * along))
            replay()
            steps += 1
            if steps % WAIT_EVERY == 0 and trainer.device.type == "cuda":
                # The reports must not run ahead of the GPU.
                torch.cuda.synchronize()
            if time.monotonic() - reported_at > args.report_every:
                losses = trainer.sums.read(steps - reported)  # waits for the GPU
                speed = (steps - reported) / (time.monotonic() - reported_at)
                log(f"{steps:6d}  {speed:5.1f} steps/s  {losses}  held out: {trainer.validate(held_out)}")
                trainer.save(args.out)
                reported_at, reported = time.monotonic(), steps
    trainer.save(args.out)
    log(f"done: {steps} steps, held out: {trainer.validate(held_out)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("teacher", "head", "voices", "clones", "corpus", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--discriminators", type=Path, help="those of the head; default: new ones")
    parser.add_argument("--resume", type=Path, help="a folder with decoder.pt and head.pt")
    parser.add_argument("--regression-steps", type=int, default=13_000)
    parser.add_argument("--adversarial-steps", type=int, default=10_000)
    parser.add_argument("--start", type=float, default=0.27, help="where on the rate's cosine discriminators begin")
    parser.add_argument("--texts", type=int, default=16_000, help="that the teacher speaks, each in another voice")
    parser.add_argument(
        "--new-texts", type=int, default=24_000, help="that it speaks when discriminators begin; 0: the same"
    )
    parser.add_argument("--cache-tokens", type=int, default=4500, help="that the teacher speaks at once")
    parser.add_argument("--batch", type=int, default=32, help="crops")
    parser.add_argument("--regression-batch", type=int, default=32, help="crops")
    parser.add_argument("--no-capture", dest="capture", action="store_false", help="steps are no CUDA graphs")
    parser.add_argument("--regression-rate", type=float, default=1e-3)
    parser.add_argument("--decoder-rate", type=float, default=6e-4)
    parser.add_argument("--head-rate", type=float, default=3e-4)
    parser.add_argument("--discriminator-rate", type=float, default=4e-4)
    parser.add_argument("--least-share", type=float, default=0.2, help="of the regression's gradient at the end")
    parser.add_argument("--held-out", type=int, default=240, help="texts for validation")
    parser.add_argument("--report-every", type=float, default=30, help="seconds")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    device = begin(args)
    teacher = port.load(args.teacher).to(device)
    shipped_head = restore(args.head).to(device).requires_grad_(False)
    sampler = VoiceSampler(voices.unpack(args.voices, device), args.clones)
    held_out_texts, texts = corpus.read_texts(args.corpus)

    def speak(texts: list[np.ndarray]) -> SpeechCache:
        torch.backends.cudnn.benchmark = False
        cache = synthesize(teacher, shipped_head, sampler, texts, args.cache_tokens)
        log(f"{cache.hours:.2f} hours in {len(cache.frames)} clips")
        return cache

    set_seed(0)
    held_out = speak([text for text in held_out_texts if len(text) > 25][: args.held_out])
    set_seed(args.seed)
    random.shuffle(texts)
    if args.resume:
        decoder, head = model.load("decoder", args.resume), model.load("head", args.resume)
    else:
        decoder, head = model.Decoder(), model.Head()
        head.start_from(shipped_head)
        decoder.style.mean.copy_(head.style_mean)
        decoder.style.scale.copy_(head.style_scale)
    critics = Discriminators()
    if args.discriminators:
        discriminators.load_weights(critics, args.discriminators)
    loss = WaveLoss(critics, device, trained=args.discriminators is not None)
    # A head that is trained already would only lose what it learned from the discriminators.
    trainer = Trainer(decoder.train(), head.train(), loss, held_out, args.batch, device, train_head=not args.resume)
    rehearse(trainer, args)
    cache = speak(texts[: args.texts])
    if not args.resume:
        decoder.summary.measure(cache.summary)
        decoder.energy.measure(cache.energy[::50, :1])
        for name in ("summary", "energy"):
            getattr(trainer.averages["decoder"], name).load_state_dict(getattr(decoder, name).state_dict())
    trainer.set_data(cache)
    renew = (lambda: speak(texts[args.texts :][: args.new_texts])) if args.new_texts else None
    run(trainer, held_out, renew, args)


if __name__ == "__main__":
    main()
