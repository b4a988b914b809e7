"""Trains the judge of refinement on what refinement makes of voices, and measures refinement on validation speakers.

    python -m speaker_encoder.train_refinement_judge --run acoustic/run --voices voices.pt --accents accents.npz \
        --corpus corpus.npz --frozen frozen --speakers speakers.pt --encoder encoder.pt --mapper mapper.pt --out FOLDER

A judge that is trained on ordinary speech is soon satisfied by refinement with speech that no network has heard before.
So training speakers are refined while it learns, with the judge as it is in the loss, and the networks that it stands
in for tell it in every step what it should have said. The variants of refinement that the end compares, speak to
validation speakers only.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from acoustic.model import SYMBOLS
from speaker_encoder import refinement_judge, speakers, voice_encoder
from speaker_encoder import synthesis as syntheses
from speaker_encoder.encoder import Embeddings
from speaker_encoder.features import HOP, RATE, WINDOW, log_mel, normalize_level
from speaker_encoder.frozen_losses import FrozenNetworks
from speaker_encoder.mapper import PredictedVoice
from speaker_encoder.phoneme_loss import PhonemeRecognizer, sample_clear_voices
from speaker_encoder.refine_speakers import Refinement, Refiner
from speaker_encoder.refinement_judge import RefinementJudge, measure_phoneme_loss, resample_phonemes
from speaker_encoder.schedule import Metrics, cosine_rate, log
from speaker_encoder.speakers import Clip
from speaker_encoder.synthesis import FRAMES, Lines, Synthesis
from speaker_encoder.texts import Texts
from speaker_encoder.validation import References, Validation
from speaker_encoder.voice_pca import VoicePca
from teacher import voices

SECONDS = FRAMES / 40
MEL_FRAMES = (int(SECONDS * RATE) - WINDOW) // HOP + 1
SILENT = SYMBOLS
"""Instead of phonemes, where nobody knows them."""
EAR = {"ear_eres2net": 1.0, "ear_campplus": 0.6, "ear_dvector": 1.0}
JUDGE = {"judge_campplus": 1.0, "judge_dvector": 1.0}
GUARDS = {"judge_naturalness": 0.25, "judge_phonemes": 0.5}


@dataclass
class Examples:
    """Speech with what the networks say about it."""

    mel: Tensor  # [N, frames, 80]
    campplus: Tensor  # [N, 192]
    dvector: Tensor  # [N, 256]
    naturalness: Tensor  # [N]
    phonemes: Tensor  # [N, frames / 2]

    def __getitem__(self, index: Tensor) -> "Examples":
        return Examples(*(value[index] for value in vars(self).values()))

    @classmethod
    def concatenate(cls, parts: list["Examples"]) -> "Examples":
        return cls(*(torch.cat([getattr(part, name) for part in parts]) for name in vars(parts[0])))


class ReplayBuffer:
    """The last examples, on the GPU."""

    def __init__(self, capacity: int) -> None:
        self._capacity, self._count, self._stored = capacity, 0, None

    def add(self, examples: Examples) -> None:
        if self._stored is None:
            self._stored = Examples(*(v.new_zeros(self._capacity, *v.shape[1:]) for v in vars(examples).values()))
        place = (self._count + torch.arange(len(examples.mel))) % self._capacity
        for name, value in vars(examples).items():
            getattr(self._stored, name)[place] = value
        self._count += len(place)

    def draw(self, count: int) -> Examples:
        return self._stored[torch.randint(min(self._count, self._capacity), (count,))]


class JudgeTrainer:
    def __init__(self, args: argparse.Namespace, device: torch.device) -> None:
        self.args, self.device, self.metrics = args, device, Metrics()
        pca = VoicePca.from_tables(voices.unpack(args.voices), args.accents)
        self.synthesis: Synthesis = syntheses.load(args.run, pca).to(device)
        self.texts = Texts(args.corpus, self.synthesis, args.texts, letters="a")
        self.frozen = FrozenNetworks(args.frozen).to(device)
        self.network = voice_encoder.load(args.encoder, args.mapper).to(device).requires_grad_(False)
        self.recognizer = PhonemeRecognizer().to(device)
        self.judge = RefinementJudge().to(device)
        self.refined_with = RefinementJudge().to(device).eval().requires_grad_(False)
        self.buffer = ReplayBuffer(args.capacity)
        self.optimizer = torch.optim.AdamW(self.judge.parameters(), args.rate, weight_decay=0.02)
        training, validation = speakers.load(args.speakers)
        longest = longest_clips(training)[: args.people]
        self.people, self.recordings = self._listen(longest), self._label_recordings(longest)
        self.validation_clips = validation
        log(f"{len(self.people.waves)} speakers, {len(self.recordings.mel)} recordings, texts {self.texts}")

    def _listen(self, clips: list[Clip]) -> References:
        listener = Validation.__new__(Validation)
        listener.frozen, listener.clips = self.frozen, [[normalize_level(c.wave[None].to(self.device))] for c in clips]
        listener.traits = listener._measure([each[-1] for each in listener.clips])
        return listener.listen(self.network)

    @torch.no_grad()
    def label(self, speech: Tensor, mel: Tensor, phonemes: Tensor) -> Examples:
        """16 kHz [B, samples], log-mel frames of it and its phonemes [B, frames / 2]."""
        naturalness = self.frozen.naturalness(speech)
        return Examples(mel.half(), self.frozen.campplus(speech), self.frozen.dvector(speech), naturalness, phonemes)

    def _label_recordings(self, clips: list[Clip]) -> Examples:
        length, labelled = int(SECONDS * RATE), []
        waves = [clip.wave[:length] for clip in clips if len(clip.wave) >= length]
        for first in range(0, len(waves), self.args.batch):
            speech = normalize_level(torch.stack(waves[first : first + self.args.batch]).to(self.device))
            mel = log_mel(speech)
            unknown = torch.full((len(speech), -(-mel.shape[1] // 2)), SILENT, device=self.device)
            labelled.append(self.label(speech, mel, unknown))
        return Examples.concatenate(labelled)

    def learn(self, current: Examples, along: float) -> None:
        """A step of the judge: on this speech, on earlier speech and on recordings."""
        some = torch.randint(len(self.recordings.mel), (self.args.batch // 4,))
        batch = Examples.concatenate([current, self.buffer.draw(2 * self.args.batch), self.recordings[some]])
        self.buffer.add(current)
        self.optimizer.param_groups[0]["lr"] = self.args.rate * cosine_rate(along, 1)
        self.optimizer.zero_grad()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            found = self.judge.train()(batch.mel.float())
        known = (batch.phonemes[:, 0] != SILENT).float()
        campplus = 1 - (found.campplus.float() * batch.campplus).sum(dim=1).mean()
        dvector = 1 - (found.dvector.float() * batch.dvector).sum(dim=1).mean()
        naturalness = F.smooth_l1_loss(found.naturalness.float(), batch.naturalness, beta=0.2)
        phonemes = (known * measure_phoneme_loss(found.phonemes.float(), batch.phonemes)).sum() / known.sum()
        (3 * campplus + 3 * dvector + naturalness + 0.5 * phonemes).backward()
        torch.nn.utils.clip_grad_norm_(self.judge.parameters(), 1.0)
        self.optimizer.step()
        self.metrics.add(campplus=campplus, dvector=dvector, naturalness=naturalness, phonemes=phonemes)

    def warm_up(self, until: float) -> None:
        """Judge and phoneme recogniser learn from random voices; only the judge goes on afterwards."""
        optimizer = torch.optim.AdamW(self.recognizer.parameters(), 1e-3, weight_decay=0.01)
        began, steps = time.time(), 0
        while (now := time.time()) < until:
            left = (until - now) / (until - began)
            optimizer.param_groups[0]["lr"] = 1e-3 * max(0.02, left) * min(1.0, (steps + 1) / 50)
            lines = self.texts.draw(self.args.batch, "a")
            with torch.no_grad():
                voice = sample_clear_voices(self.synthesis.pca, lines.language)
                voice.mask_offset = self.people.predicted.mask_offset[self._draw_people(len(lines))]
                speech = normalize_level(self.synthesis(lines, voice).wave)
                mel = log_mel(speech)
            optimizer.zero_grad()
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
                loss = self.recognizer(speech, lines.phonemes)[0].mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.recognizer.parameters(), 1.0)
            optimizer.step()
            labelled = self.label(speech, mel, resample_phonemes(lines.phonemes, -(-mel.shape[1] // 2)))
            if steps == 0:
                self.buffer.add(labelled)
            self.learn(labelled, 0.0)
            steps += 1
        self.recognizer.eval().requires_grad_(False)
        self.plain = float(self.recognizer.evaluate_built_in(self.synthesis, self.texts, "a")[0])
        log(f"warmed up: {steps} steps, recogniser {loss.item():.3f}; {self.metrics.read()}")

    def _draw_people(self, count: int) -> Tensor:
        return torch.randint(len(self.people.waves), (count,), device=self.device)

    def train(self, until: float) -> None:
        """Refines training speakers, again and again, and the judge hears all of it."""
        began, steps = time.time(), 0

        def hear(speech: Tensor, mel: Tensor, lines: Lines) -> None:
            nonlocal steps
            along = min((time.time() - began) / (until - began), 1.0)
            self.learn(self.label(speech, mel, resample_phonemes(lines.phonemes, -(-mel.shape[1] // 2))), along)
            if steps % 4 == 0:
                self._publish()
            steps += 1

        self.set_clear_enough()
        for config in draw_refinements(self.args.steps):
            if time.time() > until:
                break
            lines = self.texts.draw(config.texts, "a")
            refiner = self.make_refiner(lines, hear=hear)
            chosen = self._draw_people(self.args.batch)
            people = self.people
            heard = Embeddings(*(value[chosen] for value in vars(people.heard).values()))
            start = PredictedVoice(*(value[chosen] for value in vars(people.predicted).values()))
            refiner.refine(start, people.traits[chosen], heard, config, self.network.mapper.mask_axes)
            log(f"{steps:5d}  {self.metrics.read()}")
        self._publish()
        self.set_clear_enough()

    def _publish(self) -> None:
        """The judge that refinement asks: that of a few steps ago, which stays as it is during a step."""
        self.refined_with.load_state_dict(self.judge.state_dict())

    @torch.no_grad()
    def set_clear_enough(self) -> None:
        """The judge's phoneme loss of clones before refinement."""
        losses = []
        for _ in range(4):
            lines, chosen = self.texts.draw(self.args.batch, "a"), self._draw_people(self.args.batch)
            predicted = PredictedVoice(*(value[chosen] for value in vars(self.people.predicted).values()))
            voice = self.synthesis.pca.to_voice(predicted, self.people.traits.log_pitch[chosen], lines.language)
            found = self.judge.eval()(log_mel(normalize_level(self.synthesis(lines, voice).wave)))
            spoken = resample_phonemes(lines.phonemes, found.phonemes.shape[1])
            losses.append(measure_phoneme_loss(found.phonemes, spoken))
        for judge in (self.judge, self.refined_with):
            judge.clear_enough.copy_(torch.cat(losses).mean())
        log(f"phoneme loss of clones {float(self.judge.clear_enough):.3f}")

    def make_refiner(self, lines: Lines, **more: object) -> Refiner:
        networks = (self.synthesis, self.frozen, self.network.encoder, self.recognizer)
        return Refiner(*networks, lines, self.plain, judge=self.refined_with, **more)


def longest_clips(clips: list[Clip]) -> list[Clip]:
    """Of each speaker."""
    longest: dict[str, Clip] = {}
    for clip in clips:
        if clip.speaker not in longest or len(clip.wave) > len(longest[clip.speaker].wave):
            longest[clip.speaker] = clip
    return list(longest.values())


def draw_refinements(steps: int) -> Iterator[Refinement]:
    """With weak, usual and strong guards: the judge has to know what speech becomes without them."""
    while True:
        guard, ear = random.choice((0.0, 0.5, 1.0, 1.0, 2.0)), random.choice((0.5, 1.0, 1.0))
        losses = {name: ear * weight for name, weight in EAR.items()}
        losses |= JUDGE | {name: guard * weight for name, weight in GUARDS.items()}
        yield Refinement("training", losses, steps=steps, rate=random.choice((0.01, 0.02, 0.04)), measured=())


ALL = ("residual", "layer_offsets", "vocoder_embedding", "mask_offset")
NETWORKS = {"campplus": 1.0, "dvector": 1.0, "naturalness": 0.25, "phonemes": 0.5}


def guard(factor: float) -> dict[str, float]:
    return {name: factor * weight for name, weight in GUARDS.items()}


VARIANTS = (
    Refinement("ear + judge, guards", EAR | JUDGE | GUARDS, measured=(10, 20, 40), steps=40),
    Refinement("ear + judge, double guards", EAR | JUDGE | guard(2), measured=(20, 40), steps=40),
    Refinement("ear, without guards", EAR, measured=(20, 40), steps=40),
    Refinement("ear + networks, their guards", EAR | NETWORKS, measured=(20, 40), steps=40),
    Refinement("ear + judge, guards, 24 at 0.04", EAR | JUDGE | GUARDS, measured=(24,), steps=24, rate=0.04),
    Refinement("… no pull", EAR | JUDGE | GUARDS, measured=(24,), steps=24, rate=0.04, pull=0.0),
    Refinement("… double guards", EAR | JUDGE | guard(2), measured=(24,), steps=24, rate=0.04),
    Refinement("… mask alone", EAR | JUDGE | GUARDS, ("mask_offset",), measured=(24,), steps=24, rate=0.04),
    Refinement(
        "… mask and vocoder embedding",
        EAR | JUDGE | GUARDS,
        ("mask_offset", "vocoder_embedding"),
        measured=(24,),
        steps=24,
        rate=0.04,
    ),
    Refinement("… eight texts", EAR | JUDGE | GUARDS, measured=(24,), steps=24, rate=0.04, texts=8),
    Refinement("judge, guards", JUDGE | GUARDS, measured=(24,), steps=24, rate=0.04),
    Refinement(
        "half ear + judge, guards",
        {k: v / 2 for k, v in EAR.items()} | JUDGE | GUARDS,
        measured=(24,),
        steps=24,
        rate=0.04,
    ),
    Refinement("ear + judge, four guards, 24 at 0.04", EAR | JUDGE | guard(4), measured=(24,), steps=24, rate=0.04),
    Refinement("ear + judge, guards, 16 at 0.06", EAR | JUDGE | GUARDS, measured=(16,), steps=16, rate=0.06),
    Refinement("ear + judge, guards, 80 at 0.02", EAR | JUDGE | GUARDS, measured=(80,), steps=80),
    Refinement("ear + judge, double guards, no pull, 40", EAR | JUDGE | guard(2), measured=(40,), steps=40, pull=0.0),
)


def compare(trainer: JudgeTrainer, until: float, output: Path) -> None:
    """Refines the validation speakers in all ways and measures each."""
    validation = Validation(
        trainer.validation_clips,
        trainer.frozen,
        trainer.synthesis,
        trainer.recognizer,
        trainer.texts,
        trainer.device,
        trainer.args.validated,
    )
    references = validation.listen(trainer.network)
    # The last held-out texts: validation speaks the first ones.
    lines = trainer.texts.held_out("a", 24)[torch.arange(8, 8 + 8)]
    rows = []

    def measure(name: str, step: int, predicted: PredictedVoice) -> None:
        scores = validation.score(predicted, references.traits, foreign=False)
        rows.append({"name": name, "step": step, **vars(scores), "people": validation.rows})
        log(f"{name}, {step}: {scores}")
        output.write_text(json.dumps(rows))

    measure("start", 0, references.predicted)
    for config in VARIANTS[: trainer.args.variants]:
        if time.time() > until:
            break
        if trainer.args.steps < 10:
            config = Refinement(config.name, config.losses, config.moving, steps=2, measured=(2,))
        refiner = trainer.make_refiner(lines)
        refiner.refine(
            references.predicted,
            references.traits,
            references.heard,
            config,
            trainer.network.mapper.mask_axes,
            lambda step, predicted, name=config.name: measure(name, step, predicted),
        )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("run", "voices", "accents", "corpus", "frozen", "speakers", "encoder", "mapper", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=900, help="of which some last three seconds")
    parser.add_argument("--people", type=int, default=None, help="only the first N training speakers")
    parser.add_argument("--batch", type=int, default=88, help="speakers that are refined at once")
    parser.add_argument("--capacity", type=int, default=40_000, help="examples that are kept")
    parser.add_argument("--rate", type=float, default=6e-4, help="learning rate of the judge")
    parser.add_argument("--steps", type=int, default=28, help="of a refinement in training")
    parser.add_argument("--warm-up-seconds", type=float, default=45)
    parser.add_argument("--seconds", type=float, default=160, help="of training after the warm-up")
    parser.add_argument("--compare-seconds", type=float, default=150)
    parser.add_argument("--validated", type=int, default=None, help="only the first N validation speakers")
    parser.add_argument("--variants", type=int, default=None, help="only the first N ways of refinement")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    trainer = JudgeTrainer(args, device)
    trainer.warm_up(time.time() + args.warm_up_seconds)
    trainer.train(time.time() + args.seconds)
    refinement_judge.save(trainer.judge, args.out / "judge.pt")
    compare(trainer, time.time() + args.compare_seconds, args.out / "refinement.json")


if __name__ == "__main__":
    main()
