"""Trains the mapper through the synthesis.

    python -m speaker_encoder.train_mapper --run acoustic/run --voices voices.pt --accents accents.npz \
        --corpus corpus.npz --frozen frozen --speakers speakers.pt --encoder encoder/encoder.pt --out mapper

Texts are synthesised with the predicted parameters at the speaker's pitch, and the gradients of speaker similarity,
naturalness and intelligibility flow back through svc-turbo 2's head and decoder. The d-vector gets the speech after the
product's equalizer. The inputs come from the speaker bank, with the errors that the encoder makes on held-out speakers.
A new mapper first learns the timbres of random voices from their embeddings, without any synthesis.

Before that the training speakers are refined by gradients (`refine_speakers.py`). The principal axes of their masks are
what the mapper's masks consist of, and their coordinates its first targets.

With `--asked-again` the voices of that share of a batch are those of the second answer: the mapper also gets what the
speech of its first answer lacks.

`--out` gets mapper.pt (a running mean of the weights), best.pt (the best on the validation speakers), refined.pt and
validation.json. `--resume` continues from a mapper.pt.
"""

import argparse
import copy
import random
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from speaker_encoder import phoneme_loss, speakers, voice_encoder
from speaker_encoder import synthesis as syntheses
from speaker_encoder.encoder import EMBEDDING, Embeddings
from speaker_encoder.equalizer import equalize
from speaker_encoder.feedback import SPOKEN, Feedback
from speaker_encoder.frozen_losses import FrozenNetworks, mixed_precision
from speaker_encoder.mapper import DROPOUT, Mapper, PredictedVoice
from speaker_encoder.mapper_data import EncoderErrors, MapperBatch, MapperData
from speaker_encoder.refine_speakers import Refinement, Refiner, search_algorithms
from speaker_encoder.schedule import Metrics, cosine_rate, log
from speaker_encoder.speaker_bank import (
    SpeakerBank,
    SpeakerBankBuilder,
    SpeakerTraits,
    recombine,
    synthesize_random_voices,
)
from speaker_encoder.texts import Texts
from speaker_encoder.validation import Validation
from speaker_encoder.voice_encoder import VoiceEncoder
from speaker_encoder.voice_pca import ENGLISH, VoicePca, mean_square_offset
from teacher import voices

REFINEMENT = Refinement(
    "training speakers",
    {"eres2net": 1.0, "campplus": 1.0, "dvector": 1.0, "naturalness": 0.25, "phonemes": 0.5},
    steps=60,
)


@dataclass(frozen=True)
class LossWeights:
    """Beside ERes2Net's similarity, whose weight is 1."""

    campplus: float = 0.6
    dvector: float = 1.5
    naturalness: float = 0.25
    phonemes: float = 0.5
    foreign_phonemes: float = 1.0
    coordinates: float = 0.004
    residual: float = 0.008
    layer_offsets: float = 0.01
    vocoder_embedding: float = 0.01
    mask: float = 0.01


class MapperTrainer:
    def __init__(self, args: argparse.Namespace, device: torch.device) -> None:
        self.args, self.device, self.metrics = args, device, Metrics()
        self.weights = LossWeights(dvector=args.dvector_weight, phonemes=args.phonemes_weight)
        self.frozen = FrozenNetworks(args.frozen).to(device)
        encoder = voice_encoder.load_encoder(args.encoder, args.eres2net).to(device).requires_grad_(False)
        pca = VoicePca.from_tables(voices.unpack(args.voices), args.accents)
        mapper = Mapper()
        if args.resume:
            resumed = voice_encoder.load_mapper(args.resume)
            mapper = resumed.mapper
            pca.load_state_dict(resumed.pca.state_dict())
        self.synthesis = syntheses.load(args.run, pca).to(device)
        self.texts = Texts(args.corpus, self.synthesis, args.texts)
        log(f"texts of three seconds: {self.texts}")
        training, validation = speakers.load(args.speakers)
        training = training[: args.clips]
        self.errors = EncoderErrors(speakers.split_held_out(training)[0], self.frozen, encoder, device)
        log(f"the encoder on held-out speakers, similarity to the networks: {self.errors.description}")
        self.mapper = mapper.to(device)
        self.data = MapperData(self._build_bank(training), self.errors)
        log(f"{len(self.data.recorded)} recorded and {len(self.data.synthesized)} synthesised clips")
        self.recognizer = phoneme_loss.train(self.synthesis, self.texts, args.phoneme_steps, args.batch)
        self.plain, accuracy = self.recognizer.evaluate_built_in(self.synthesis, self.texts)
        log(f"built-in voices, phonemes: {[round(float(each), 3) for each in accuracy]}")
        self.validation = Validation(
            validation, self.frozen, self.synthesis, self.recognizer, self.texts, device, args.validated
        )
        self.mapper.train()
        for module in self.mapper.modules():
            if isinstance(module, nn.Dropout):
                module.p = args.dropout
        self.average = VoiceEncoder(encoder, copy.deepcopy(self.mapper), pca).to(device).requires_grad_(False).eval()
        self.feedback = Feedback(self.synthesis, encoder)
        self.refiner = Refiner(
            self.synthesis,
            self.frozen,
            encoder,
            self.recognizer,
            self.texts.draw(24, "a"),
            float(self.plain[: len(ENGLISH)].mean()),
        )
        self.optimizer = torch.optim.AdamW(self.mapper.parameters(), 0.0, weight_decay=args.decay)
        self.steps = 0

    @torch.no_grad()
    def _build_bank(self, training: list[speakers.Clip]) -> SpeakerBank:
        if self.args.bank and self.args.bank.exists():
            return SpeakerBank(**torch.load(self.args.bank, map_location=self.device))
        builder = SpeakerBankBuilder(self.frozen)
        builder.add_recordings(training, self.args.rounds, self.device)
        for wave, voice in synthesize_random_voices(
            self.synthesis, self.texts, self.args.random_texts, self.args.batch
        ):
            builder.add_voices(wave, self.synthesis.pca.project(voice.timbre))
        if self.args.resume:
            self._add_recombined_voices(builder)
        bank = builder.build()
        if self.args.bank:
            torch.save(vars(bank), self.args.bank)
        return bank

    def _add_recombined_voices(self, builder: SpeakerBankBuilder) -> None:
        """Random voices of another kind: parts of different clones together."""
        mapper, recorded = self.mapper.eval(), MapperData(builder.build(), self.errors)
        for _ in range(self.args.recombined_texts):
            clip, lines = recorded.pick_clips(self.args.batch, 1.0), self.texts.draw(self.args.batch, "a")
            predicted = recombine(mapper(recorded.true_inputs(clip)))
            log_pitch = recorded.bank.pitch[clip, 0]
            voice = self.synthesis.pca.to_voice(predicted, log_pitch, lines.language)
            builder.add_voices(self.synthesis(lines, voice).wave, self.synthesis.pca.project(voice.timbre))

    def refine_training_speakers(self) -> None:
        """Sets the basis of the masks, and trains the mapper's masks on what was found."""
        clip = self.data.first_clips()[: self.args.refined]
        traits = self.data.speakers[self.data.bank.speaker[clip]]
        heard = Embeddings(*traits.embedding.split(EMBEDDING, dim=1), traits.dvector)
        with torch.no_grad():
            start = self.average.mapper(self.data.true_inputs(clip))
        config = Refinement(REFINEMENT.name, REFINEMENT.losses, steps=self.args.refinement_steps, texts=24)
        refined = self.refiner.refine(start, traits, heard, config, self.mapper.mask_axes)
        torch.save({name: value.half().cpu() for name, value in vars(refined).items()}, self.args.out / "refined.pt")
        for mapper in (self.mapper, self.average.mapper):
            mapper.set_mask_basis(refined.mask_offset)
        log(f"refined {len(clip)} training speakers: {self.metrics.read()}")
        self._regress_masks(clip, refined.mask_offset)

    def _regress_masks(self, clip: Tensor, masks: Tensor) -> None:
        """The first targets of the masks' layer: the coordinates of the refined speakers."""
        axes, layer = self.mapper.mask_axes, self.mapper.mask_coordinates
        targets = (masks - self.mapper.mask_mean) @ axes.T / axes.square().sum(dim=1).clamp(min=1e-9)
        optimizer = torch.optim.AdamW(layer.parameters(), 1e-3, weight_decay=0.1)
        for step in range(self.args.mask_steps):
            optimizer.param_groups[0]["lr"] = 1e-3 * (1 - step / self.args.mask_steps)
            some = torch.randint(len(clip), (256,), device=self.device)
            inputs = self.data.errors.apply(self.data.true_inputs(clip[some]))
            error = (self.mapper(inputs).mask_coordinates - targets[some]).square().mean()
            self.mapper.zero_grad()
            error.backward()
            optimizer.step()
            self.metrics.add(masks=error.detach())
        self.mapper.zero_grad()
        self.average.mapper.load_state_dict(self.mapper.state_dict())

    def regularization(self, predicted: PredictedVoice) -> Tensor:
        """Keeps voices near what the engine was trained on. [B]"""
        weights = self.weights
        return (
            weights.coordinates * predicted.coordinates.square().mean(dim=1)
            + weights.residual * predicted.residual.square().sum(dim=1)
            + weights.layer_offsets * mean_square_offset(predicted)
            + weights.vocoder_embedding * predicted.vocoder_embedding.square().sum(dim=1)
            + weights.mask * predicted.mask_coordinates.square().mean(dim=1)
        )

    def synthesis_loss(self, predicted: PredictedVoice, traits: SpeakerTraits, with_naturalness: bool) -> Tensor:
        """Synthesises texts in the predicted voices and compares them with the speakers."""
        weights, lines = self.weights, self.texts.draw(len(traits.log_pitch))
        speech = self.synthesis(lines, self.synthesis.pca.to_voice(predicted, traits.log_pitch, lines.language))
        eres2net = (self.frozen.eres2net(speech.wave) * traits.embedding[:, :EMBEDDING]).sum(dim=1)
        campplus = (self.frozen.campplus(speech.wave) * traits.embedding[:, EMBEDDING:]).sum(dim=1)
        equalized = equalize(speech.wave, traits.envelope)
        dvector = (self.frozen.dvector(equalized) * traits.dvector).sum(dim=1)
        english = lines.language < len(ENGLISH)
        with mixed_precision(speech.wave):
            phonemes, accuracy = self.recognizer(speech.wave, speech.phonemes)
        weight = torch.where(english, weights.phonemes, weights.foreign_phonemes)
        loss = (
            -eres2net
            - weights.campplus * campplus
            - weights.dvector * dvector
            + weight * F.relu(phonemes.float() - self.plain[lines.language])
            + self.args.regularization * self.regularization(predicted)
        ).mean()
        if with_naturalness:
            some = torch.randperm(len(equalized), device=self.device)[: self.args.naturalness_clips]
            naturalness = self.frozen.naturalness(equalized[some])
            loss = loss + 2 * weights.naturalness * F.relu(self.args.natural_enough - naturalness).mean()
            self.metrics.add(mos=naturalness.mean())
        means = {"eres2net": eres2net, "campplus": campplus, "dvector": dvector, "phonemes": accuracy}
        share = english.float()
        for name, value in means.items():
            self.metrics.add(**{name: (value * share).sum() / share.sum().clamp(min=1)})
        self._add_sizes(predicted)
        return loss

    def _add_sizes(self, predicted: PredictedVoice) -> None:
        """How large the predicted parameters are: root mean squares."""
        self.metrics.add(
            coordinates=predicted.coordinates.square().mean().sqrt(),
            layer_offsets=predicted.layer_offsets.square().sum(dim=2).mean().sqrt(),
            foreign_layer_offsets=predicted.foreign_layer_offsets.square().sum(dim=2).mean().sqrt(),
            vocoder_embedding=predicted.vocoder_embedding.square().sum(dim=1).mean().sqrt(),
            mask=predicted.mask_offset.square().sum(dim=1).mean().sqrt(),
        )

    def find_shortfall(self, batch: MapperBatch) -> Tensor | None:
        """Of the mean mapper's first answers [B, 640]; zero for the speakers whom the mapper is asked for once."""
        if not self.args.asked_again:
            return None
        count, traits = len(batch.inputs), batch.speakers
        lines = [self.texts.draw(count, "a") for _ in range(SPOKEN)]
        first = self.average.mapper(batch.inputs)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            shortfall = self.feedback(first, lines, batch.inputs, traits.envelope, traits.log_pitch)
        self.metrics.add(shortfall=shortfall.square().mean().sqrt())
        return shortfall * (torch.rand(count, 1, device=self.device) < self.args.asked_again)

    def step(self, rate: float) -> None:
        clip = self.data.pick_clips(self.args.batch, self.args.recorded)
        batch = self.data.make_batch(clip).blend(self.args.blended)
        self.optimizer.param_groups[0]["lr"] = self.args.rate * rate * min(1.0, (self.steps + 1) / 30)
        self.optimizer.zero_grad()
        with search_algorithms():
            predicted = self.mapper(batch.inputs, self.find_shortfall(batch))
            loss = self.synthesis_loss(predicted, batch.speakers, random.random() < 0.5)
            loss.backward()
        self.steps += 1
        if not torch.isfinite(torch.nn.utils.clip_grad_norm_(self.mapper.parameters(), 1.0)):
            self.metrics.add(skipped=torch.ones(()))  # about one in 150: DistillMOS has no gradient at silence
            return
        self.optimizer.step()
        means, values = list(self.average.mapper.parameters()), list(self.mapper.parameters())
        with torch.no_grad():
            torch._foreach_lerp_(means, values, max(1 - self.args.average, 1 / (self.steps + 1)))

    def warm_up(self, steps: int) -> None:
        """Regression: the timbres of random voices from their embeddings, without synthesis."""
        optimizer = torch.optim.AdamW(self.mapper.parameters(), 5e-4, weight_decay=0.05)
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = 5e-4 * (1 - step / steps)
            clip = self.data.pick_clips(512, 0.0)
            predicted = self.mapper(self.data.make_batch(clip).inputs)
            error = (predicted.coordinates - self.data.bank.coordinates[clip].clamp(-4, 4)).square().mean()
            optimizer.zero_grad()
            error.backward()
            optimizer.step()
            self.metrics.add(warm_up=error)
        self.average.mapper.load_state_dict(self.mapper.state_dict())


def run(trainer: MapperTrainer, args: argparse.Namespace) -> None:
    if not args.resume:
        trainer.warm_up(args.warm_up_steps)
        log(f"warmed up: {trainer.metrics.read()}")
    log(f"before: {trainer.validation(trainer.average)}")
    if args.masks and not trainer.mapper.mask_axes.any():
        trainer.refine_training_speakers()
        log(f"with masks: {trainer.validation(trainer.average)}")
    train(trainer, args)
    trainer.validation.report(trainer.average, args.out / "validation.json")


def train(trainer: MapperTrainer, args: argparse.Namespace) -> None:
    """For so many steps or, with `--until`, until that time."""
    best, began = -1.0, time.time()
    reported_at, step, along = time.monotonic(), 0, 0.0
    while along < 1:
        along = (time.time() - began) / max(args.until - began, 1e-6) if args.until else step / args.steps
        trainer.step(cosine_rate(min(along, 1.0), 1, args.start))
        step += 1
        if step % args.report_every == 0:
            means, now = trainer.metrics.read(), time.monotonic()
            log(f"{step:6d}  {args.report_every / (now - reported_at):.2f} steps/s  {means}")
            reported_at = now
        if step % args.validate_every == 0 or along >= 1:
            scores = trainer.validation(trainer.average)
            log(f"  {scores}")
            voice_encoder.save_mapper(trainer.average, args.out / "mapper.pt")
            if scores.total > best:
                best = scores.total
                voice_encoder.save_mapper(trainer.average, args.out / "best.pt")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("run", "voices", "accents", "corpus", "frozen", "speakers", "encoder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--eres2net", type=Path, help="the copy of ERes2Net, if the encoder has none")
    parser.add_argument("--resume", type=Path, help="a mapper.pt")
    parser.add_argument("--steps", type=int, default=3300)
    parser.add_argument("--until", type=float, help="the time, in seconds since 1970, instead of steps")
    parser.add_argument(
        "--start", type=float, default=0.0, help="where on the learning rate's cosine to begin (0 to 1)"
    )
    parser.add_argument("--texts", type=int, default=1500, help="of each language, of which some last three seconds")
    parser.add_argument("--warm-up-steps", type=int, default=3000, help="of a new mapper")
    parser.add_argument("--phoneme-steps", type=int, default=1000, help="of the phoneme recogniser")
    parser.add_argument("--masks", action=argparse.BooleanOptionalAction, default=True, help="predict mask offsets")
    parser.add_argument("--refined", type=int, default=None, help="only the first N training speakers")
    parser.add_argument("--refinement-steps", type=int, default=REFINEMENT.steps)
    parser.add_argument("--mask-steps", type=int, default=400, help="of the regression on the refined masks")
    parser.add_argument("--batch", type=int, default=96, help="voices in a step")
    parser.add_argument("--rate", type=float, default=8e-4, help="learning rate")
    parser.add_argument("--asked-again", type=float, default=0.0, help="share of voices that are second answers")
    parser.add_argument("--recorded", type=float, default=0.7, help="share of real and augmented speakers")
    parser.add_argument("--blended", type=float, default=0.5, help="share of speakers that are blended with others")
    parser.add_argument("--dropout", type=float, default=DROPOUT)
    parser.add_argument("--decay", type=float, default=0.1, help="weight decay")
    parser.add_argument("--dvector-weight", type=float, default=LossWeights.dvector)
    parser.add_argument("--phonemes-weight", type=float, default=LossWeights.phonemes, help="in English")
    parser.add_argument("--regularization", type=float, default=1.0, help="times the weights that are in the code")
    parser.add_argument(
        "--natural-enough", type=float, default=4.6, help="DistillMOS above which naturalness is no longer rewarded"
    )
    parser.add_argument("--naturalness-clips", type=int, default=16, help="clips of a batch that DistillMOS scores")
    parser.add_argument("--random-texts", type=int, default=60, help="batches of random voices in the speaker bank")
    parser.add_argument("--recombined-texts", type=int, default=60, help="batches of voices of parts of several clones")
    parser.add_argument("--rounds", type=int, default=60, help="other speakers that each real one is changed into")
    parser.add_argument("--bank", type=Path, help="a file to keep the speaker bank in, and to read it from")
    parser.add_argument("--clips", type=int, default=None, help="only the first N recordings")
    parser.add_argument("--validated", type=int, default=None, help="only the first N validation speakers")
    parser.add_argument("--average", type=float, default=0.995, help="decay of the running mean of the weights, a step")
    parser.add_argument("--report-every", type=int, default=50, help="steps")
    parser.add_argument("--validate-every", type=int, default=300, help="steps")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def start(args: argparse.Namespace) -> MapperTrainer:
    args.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    return MapperTrainer(args, device)


def main() -> None:
    args = parse_arguments()
    run(start(args), args)


if __name__ == "__main__":
    main()
