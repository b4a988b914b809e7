"""Trains the mapper through the synthesis.

    python -m speaker_encoder.train_mapper --teacher kokoro.pt --head head.onnx --voices voices.pt \
        --corpus corpus.json --frozen frozen --whisper whisper.pt --speakers speakers.pt \
        --encoder encoder/encoder.pt --out mapper

A text is synthesised with the predicted parameters at the speaker's pitch, and the gradients of speaker similarity,
naturalness and intelligibility flow back through the head and Kokoro's decoder. The d-vector gets the speech after the
product's equalizer. The inputs come from the speaker bank, with the errors that the encoder makes on held-out speakers.
A new mapper first learns the timbres of random voices from their embeddings, without any synthesis.

`--out` gets mapper.pt (a running mean of the weights), best.pt (the best on the validation speakers), validation.json
and clones.pt (cloned voices, for `head.train --clones`). `--resume` continues from a mapper.pt.
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

from speaker_encoder import phoneme_loss, speakers, voice_encoder, whisper_loss
from speaker_encoder import synthesis as syntheses
from speaker_encoder.encoder import EMBEDDING
from speaker_encoder.equalizer import equalize
from speaker_encoder.features import RATE
from speaker_encoder.frozen_losses import FrozenNetworks
from speaker_encoder.mapper import DROPOUT, Mapper, PredictedVoice
from speaker_encoder.mapper_data import EncoderErrors, MapperData
from speaker_encoder.schedule import Metrics, cosine_rate, log
from speaker_encoder.speaker_bank import SpeakerBank, SpeakerBankBuilder, SpeakerTraits, synthesize_random_voices
from speaker_encoder.synthesis import Speech
from speaker_encoder.texts import Text, Texts
from speaker_encoder.validation import Validation
from speaker_encoder.voice_encoder import VoiceEncoder
from speaker_encoder.voice_pca import ENGLISH, VoicePca, mean_square_offset
from speaker_encoder.whisper_loss import SpelledText
from teacher import voices

EXCERPT = 3 * RATE


@dataclass(frozen=True)
class LossWeights:
    """Beside ERes2Net's similarity, whose weight is 1."""

    campplus: float = 0.6
    dvector: float = 1.0
    naturalness: float = 0.25
    phonemes: float = 0.5
    foreign_phonemes: float = 1.0
    whisper: float = 0.3
    coordinates: float = 0.004
    residual: float = 0.008
    layer_offsets: float = 0.01
    vocoder_embedding: float = 0.01


NATURAL_ENOUGH = 4.6
"""DistillMOS above which naturalness is no longer rewarded."""


def cut_excerpt(wave: Tensor) -> Tensor:
    """Three seconds, shorter speech repeated: the frozen networks are fastest with one shape."""
    wave = wave.repeat(1, -(-EXCERPT // wave.shape[1]))
    start = random.randint(0, wave.shape[1] - EXCERPT)
    return wave[:, start : start + EXCERPT]


class MapperTrainer:
    def __init__(self, args: argparse.Namespace, device: torch.device) -> None:
        self.args, self.device, self.metrics = args, device, Metrics()
        self.weights = LossWeights(dvector=args.dvector_weight, whisper=args.whisper_weight)
        self.frozen = FrozenNetworks(args.frozen).to(device)
        encoder = voice_encoder.load_encoder(args.encoder).to(device).requires_grad_(False)
        pca = VoicePca.from_tables(voices.unpack(args.voices))
        mapper = Mapper()
        if args.resume:
            resumed = voice_encoder.load_mapper(args.resume)
            mapper = resumed.mapper
            pca.load_state_dict(resumed.pca.state_dict())
        self.synthesis = syntheses.load(args.teacher, args.head, pca).to(device)
        whisper, spelled = whisper_loss.load(args.whisper)
        self.whisper = whisper.to(device)
        self.texts = Texts(args.corpus, args.longest, spelled)
        training, validation = speakers.load(args.speakers)
        training = training[: args.clips]
        errors = EncoderErrors(speakers.split_held_out(training)[0], self.frozen, encoder, device)
        log(f"the encoder on held-out speakers, similarity to the networks: {errors.description}")
        self.data = MapperData(self._build_bank(training), errors)
        log(f"{len(self.data.recorded)} recorded and {len(self.data.synthesized)} synthesised clips")
        self.recognizer = phoneme_loss.train(
            self.synthesis, self.texts, args.phoneme_steps, args.phoneme_texts, args.phoneme_voices
        )
        self.validation = Validation(
            validation, self.frozen, self.synthesis, self.recognizer, self.whisper, self.texts, device, args.validated
        )
        log(f"built-in voices: {self.validation.built_in_accuracy}")
        self.mapper = mapper.to(device).train()
        for module in self.mapper.modules():
            if isinstance(module, nn.Dropout):
                module.p = args.dropout
        self.average = VoiceEncoder(encoder, copy.deepcopy(self.mapper), pca).to(device).requires_grad_(False).eval()
        self.optimizer = torch.optim.AdamW(self.mapper.parameters(), 0.0, weight_decay=args.decay)
        self.steps = 0

    def _build_bank(self, training: list[speakers.Clip]) -> SpeakerBank:
        builder = SpeakerBankBuilder(self.frozen)
        texts = [self.texts.draw().ids for _ in range(self.args.random_texts)]
        for wave, voice in synthesize_random_voices(self.synthesis, texts, self.args.batch):
            builder.add_voices(wave, self.synthesis.pca.project(voice.timbre))
        builder.add_recordings(training, self.device)
        return builder.build()

    def regularization(self, predicted: PredictedVoice, language: str) -> Tensor:
        """Keeps voices near what the engine was trained on. [B]"""
        weights = self.weights
        return (
            weights.coordinates * predicted.coordinates.square().mean(dim=1)
            + weights.residual * predicted.residual.square().sum(dim=1)
            + weights.layer_offsets * mean_square_offset(predicted, language)
            + weights.vocoder_embedding * predicted.vocoder_embedding.square().sum(dim=1)
        )

    def synthesis_loss(self, predicted: PredictedVoice, traits: SpeakerTraits, with_naturalness: bool) -> Tensor:
        """Synthesises a text in the predicted voices and compares them with the speakers."""
        weights, text = self.weights, self.texts.draw()
        speech = self.synthesis(text.ids, self.synthesis.pca.to_voice(predicted, traits.log_pitch, text.language))
        excerpt = cut_excerpt(speech.wave)
        eres2net = (self.frozen.eres2net(excerpt) * traits.embedding[:, :EMBEDDING]).sum(dim=1)
        campplus = (self.frozen.campplus(excerpt) * traits.embedding[:, EMBEDDING:]).sum(dim=1)
        dvector = (self.frozen.dvector(equalize(excerpt, traits.envelope)) * traits.dvector).sum(dim=1)
        loss = (
            -eres2net
            - weights.campplus * campplus
            - weights.dvector * dvector
            + self.intelligibility_loss(speech, text)
            + self.regularization(predicted, text.language)
        ).mean()
        if with_naturalness:
            some = torch.randperm(len(speech.wave), device=self.device)[: self.args.naturalness_clips]
            naturalness = self.frozen.naturalness(speech.wave[some])
            loss = loss + 2 * weights.naturalness * F.relu(NATURAL_ENOUGH - naturalness).mean()
            self.metrics.add(mos=naturalness.mean())
        foreign = "" if text.language in ENGLISH else "_foreign"
        means = {"eres2net": eres2net, "campplus": campplus, "dvector": dvector}
        self.metrics.add(**{name + foreign: value.mean() for name, value in means.items()})
        self._add_sizes(predicted)
        return loss

    def _add_sizes(self, predicted: PredictedVoice) -> None:
        """How large the predicted parameters are: root mean squares."""
        self.metrics.add(
            coordinates=predicted.coordinates.square().mean().sqrt(),
            layer_offsets=predicted.layer_offsets.square().sum(dim=2).mean().sqrt(),
            foreign_layer_offsets=predicted.foreign_layer_offsets.square().sum(dim=2).mean().sqrt(),
            vocoder_embedding=predicted.vocoder_embedding.square().sum(dim=1).mean().sqrt(),
            accent_offsets=predicted.accent_offsets.square().sum(dim=3).mean().sqrt(),
            accent_shares=predicted.accent_shares.std(),
        )

    def intelligibility_loss(self, speech: Speech, text: Text) -> Tensor:
        """Phoneme loss beyond that of the built-in voices, and Whisper's where the text has a spelling. [B]"""
        weights, language = self.weights, text.language
        phonemes, accuracy = self.recognizer(speech.wave, speech.phonemes[None])
        phonemes = F.relu(phonemes - self.validation.built_in_loss[language])
        if language in ENGLISH:
            self.metrics.add(phonemes=accuracy.mean())
            return weights.phonemes * phonemes
        self.metrics.add(phonemes_foreign=accuracy.mean())
        if not isinstance(text, SpelledText):
            return weights.foreign_phonemes * phonemes
        some = torch.randperm(len(speech.wave), device=self.device)[: self.args.whisper_clips]
        tokens, accuracy = self.whisper(speech.wave[some], torch.tensor(text.tokens, device=self.device), language)
        self.metrics.add(**{f"whisper_{language}": accuracy.mean()})
        weight = 2 * weights.whisper if language == "f" else weights.whisper  # French is the least intelligible
        return weights.foreign_phonemes * phonemes + weight * tokens.mean()

    def step(self, rate: float) -> None:
        clip = self.data.pick_clips(self.args.batch, self.args.recorded)
        batch = self.data.make_batch(clip).blend(self.args.blended)
        loss = self.synthesis_loss(self.mapper(batch.inputs), batch.speakers, random.random() < 0.5)
        self.optimizer.param_groups[0]["lr"] = self.args.rate * rate * min(1.0, (self.steps + 1) / 30)
        self.optimizer.zero_grad()
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

    @torch.no_grad()
    def clone_speakers(self, count: int) -> dict[str, Tensor]:
        """Parameters of that many real and augmented speakers, as `teacher.styles.StyleSampler` takes them."""
        clip = self.data.pick_clips(count, 1.0)
        predicted = self.average.mapper(self.data.true_inputs(clip))
        voice = self.synthesis.pca.to_voice(predicted, self.data.bank.pitch[clip, 0])
        voice.melody = voice.melody.expand(count, -1)
        return {name: value.half().cpu().contiguous() for name, value in vars(voice).items()}


def run(trainer: MapperTrainer, args: argparse.Namespace) -> None:
    if not args.resume:
        trainer.warm_up(args.warm_up_steps)
        log(f"warmed up: {trainer.metrics.read()}")
    best, reported_at = -1.0, time.monotonic()
    for step in range(1, args.steps + 1):
        trainer.step(cosine_rate(step - 1, args.steps, args.start))
        if step % args.report_every == 0:
            means, now = trainer.metrics.read(), time.monotonic()
            log(f"{step:6d}  {args.report_every / (now - reported_at):.2f} steps/s  {means}")
            reported_at = now
        if step % args.validate_every == 0:
            scores = trainer.validation(trainer.average)
            log(f"  {scores}")
            voice_encoder.save_mapper(trainer.average, args.out / "mapper.pt")
            if scores.total > best:
                best = scores.total
                voice_encoder.save_mapper(trainer.average, args.out / "best.pt")
            if trainer.device.type == "cuda":
                torch.cuda.empty_cache()  # every length of text leaves its own blocks behind
    voice_encoder.save_mapper(trainer.average, args.out / "mapper.pt")
    torch.save(trainer.clone_speakers(args.clones), args.out / "clones.pt")
    trainer.validation.report(trainer.average, args.out / "validation.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("teacher", "head", "voices", "corpus", "frozen", "whisper", "speakers", "encoder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="a mapper.pt")
    parser.add_argument("--steps", type=int, default=3300)
    parser.add_argument(
        "--start", type=float, default=0.0, help="where on the learning rate's cosine to begin (0 to 1)"
    )
    parser.add_argument("--warm-up-steps", type=int, default=3000, help="of a new mapper")
    parser.add_argument("--phoneme-steps", type=int, default=2000, help="of the phoneme recogniser")
    parser.add_argument("--phoneme-texts", type=int, default=800, help="that the recogniser is trained on")
    parser.add_argument("--phoneme-voices", type=int, default=24, help="that speak each of them")
    parser.add_argument("--batch", type=int, default=96, help="voices that speak a text")
    parser.add_argument("--rate", type=float, default=8e-4, help="learning rate")
    parser.add_argument("--recorded", type=float, default=0.6, help="share of real and augmented speakers")
    parser.add_argument("--blended", type=float, default=0.6, help="share of speakers that are blended with others")
    parser.add_argument("--dropout", type=float, default=DROPOUT)
    parser.add_argument("--decay", type=float, default=0.1, help="weight decay")
    parser.add_argument("--dvector-weight", type=float, default=LossWeights.dvector)
    parser.add_argument("--whisper-weight", type=float, default=LossWeights.whisper, help="twice that in French")
    parser.add_argument("--naturalness-clips", type=int, default=16, help="clips of a batch that DistillMOS scores")
    parser.add_argument("--whisper-clips", type=int, default=32, help="clips of a batch that Whisper scores")
    parser.add_argument("--random-texts", type=int, default=150, help="of the random voices in the speaker bank")
    parser.add_argument("--longest", type=int, default=48, help="phonemes in a text")
    parser.add_argument("--clips", type=int, default=None, help="only the first N recordings")
    parser.add_argument("--clones", type=int, default=2000, help="cloned voices to save at the end")
    parser.add_argument("--validated", type=int, default=None, help="only the first N validation speakers")
    parser.add_argument("--average", type=float, default=0.995, help="decay of the running mean of the weights, a step")
    parser.add_argument("--report-every", type=int, default=50, help="steps")
    parser.add_argument("--validate-every", type=int, default=300, help="steps")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    run(MapperTrainer(args, device), args)


if __name__ == "__main__":
    main()
