"""Trains the mapper until the time is up, beside the training of the ear.

    python -m cloning.imitation --front front.pt --head head.onnx --voices voices.pt --corpus corpus.json \
        --judges judges --reader reader.pt --speakers speakers.pt --ear ear --out run --seconds 1300

A text is spoken with the guessed timbre, at the speaker's pitch, and the gradient of the speech's likeness to the
speaker, its naturalness and its words flows back through our head and Kokoro's decoder. Those who hear the colour of a
voice hear it as the product puts it right. The people come from a shelf,
with the errors of the newest ear in `--ear`. First the mapper learns random voices' timbres from their embeddings.

`--resume FOLDER` goes on from a folder's ear.pt and mapper.pt. `mapper.pt` (a running mean of the weights) and
`best.pt` (the best on validation speakers) are written to `--out`, the random voices' speech to `--spoken`, for the
ear.
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

import export
import voices
from cloning import encoder as encoders
from cloning import listener as listeners
from cloning import reader as readers
from cloning import shelf as shelves
from cloning import speakers
from cloning.axes import ENGLISH, Axes, straying
from cloning.clock import Clock, Notes, parts_of_time, say
from cloning.colour import coloured
from cloning.ear import EMBEDDING, Ear
from cloning.encoder import Encoder
from cloning.judges import Judges
from cloning.lessons import Errors, Lesson, Lessons
from cloning.mapper import DROPOUT, Guess, Mapper
from cloning.reader import Spelled
from cloning.sound import RATE
from cloning.speech import Speech, Spoken, unpack
from cloning.texts import Text, Texts
from cloning.validation import Validation

EXCERPT = 3 * RATE


@dataclass(frozen=True)
class Weights:
    campplus: float = 0.6
    dvector: float = 1.0
    naturalness: float = 0.25
    natural_enough: float = 4.6
    words: float = 0.5
    words_abroad: float = 1.0
    reading: float = 0.3
    axes: float = 0.004
    free: float = 0.008
    layers: float = 0.01
    grain: float = 0.01


def excerpt(wave: Tensor) -> Tensor:
    """Three seconds, the sound repeated if it is shorter: the judges are fastest when all shapes are one."""
    wave = wave.repeat(1, -(-EXCERPT // wave.shape[1]))
    start = random.randint(0, wave.shape[1] - EXCERPT)
    return wave[:, start : start + EXCERPT]


class Imitation:
    def __init__(self, args: argparse.Namespace, device: torch.device) -> None:
        self.args, self.device, self.notes = args, device, Notes()
        self.weights = Weights(dvector=args.dvector, reading=args.reading)
        self.judges = Judges(args.judges).to(device)
        resumed = encoders.load(args.resume / "ear.pt", args.resume / "mapper.pt") if args.resume else None
        axes = Axes.measured(voices.unpack(args.voices))
        if resumed:
            axes.load_state_dict(resumed.axes.state_dict())
        self.speech = Speech(unpack(args.front), export.restore(args.head), axes).to(device)
        reader, spelled = readers.load(args.reader)
        self.reader = reader.to(device)
        self.texts = Texts(args.corpus, args.longest, spelled)
        training, held_back = speakers.load(args.speakers)
        training = training[: args.clips]
        self.lessons = Lessons(self._shelf(training))
        say(f"{len(self.lessons.recorded)} recorded and {len(self.lessons.spoken)} spoken people")
        self.listener = listeners.train(
            self.speech, self.texts, args.listener_seconds, args.listener_texts, args.listener_voices
        )
        self.validation = Validation(
            held_back, self.judges, self.speech, self.listener, self.reader, self.texts, device, args.validated
        )
        say(f"phonemes understood of built-in voices: {self.validation.plainly}")
        self.errors = Errors(speakers.apart(training)[0], self.judges, device)
        self.mapper = (resumed.mapper if resumed else Mapper()).to(device).train()
        for module in self.mapper.modules():
            if isinstance(module, nn.Dropout):
                module.p = args.dropout
        self.average = Encoder(Ear(), copy.deepcopy(self.mapper), axes).to(device).requires_grad_(False).eval()
        self.ear_time = 0.0
        self.optimiser = torch.optim.AdamW(self.mapper.parameters(), 0.0, weight_decay=args.decay)
        self.steps = 0

    def _shelf(self, training: list[speakers.Clip]) -> shelves.Shelf:
        filling, waves = shelves.Filling(self.judges), []
        texts = [self.texts.draw().ids for _ in range(self.args.random_texts)]
        for wave, voice in shelves.random_voices(self.speech, texts, self.args.batch):
            filling.voices(wave, self.speech.axes.coordinates(voice.timbre))
            waves += list(wave.half().cpu())
        if self.args.spoken:
            torch.save(waves, self.args.spoken.with_suffix(".new"))
            self.args.spoken.with_suffix(".new").replace(self.args.spoken)
        say(f"{len(waves)} random voices")
        filling.recordings(training, self.device)
        return filling.done()

    def modesty(self, guess: Guess, language: str) -> Tensor:
        """How far a voice strays from what the engine was made for."""
        weights = self.weights
        return (
            weights.axes * guess.axes.square().mean(dim=1)
            + weights.free * guess.free.square().sum(dim=1)
            + weights.layers * straying(guess, language)
            + weights.grain * guess.grain.square().sum(dim=1)
        )

    def unlikeness(self, guess: Guess, lesson: Lesson, judge_naturalness: bool) -> Tensor:
        """Speaks like the lesson's speakers, and tells how unlike them it was."""
        weights, text, people = self.weights, self.texts.draw(), lesson.people
        spoken = self.speech(text.ids, self.speech.axes.voice(guess, people.log_pitch, text.language))
        wave, part = spoken.wave, excerpt(spoken.wave)
        likeness_e = (self.judges.eres2net(part) * people.embedding[:, :EMBEDDING]).sum(dim=1)
        likeness_c = (self.judges.campplus(part) * people.embedding[:, EMBEDDING:]).sum(dim=1)
        likeness_d = (self.judges.dvector(coloured(part, people.colour)) * people.dvector).sum(dim=1)
        loss = (
            -likeness_e
            - weights.campplus * likeness_c
            - weights.dvector * likeness_d
            + self.unclearness(spoken, text)
            + self.modesty(guess, text.language)
        ).mean()
        if judge_naturalness:
            natural = self.judges.naturalness(wave[torch.randperm(len(wave), device=self.device)[: self.args.judged]])
            loss = loss + 2 * weights.naturalness * F.relu(weights.natural_enough - natural).mean()
            self.notes.add(mos=natural.mean())
        if text.language in ENGLISH:
            self.notes.add(e=likeness_e.mean(), c=likeness_c.mean(), d=likeness_d.mean())
        else:
            self.notes.add(e_abroad=likeness_e.mean(), d_abroad=likeness_d.mean())
        self.notes.add(axes=guess.axes.square().mean().sqrt(), layers=guess.layers.square().sum(dim=2).mean().sqrt())
        self.notes.add(
            abroad=guess.abroad.square().sum(dim=2).mean().sqrt(), grain=guess.grain.square().sum(dim=1).mean().sqrt()
        )
        self.notes.add(accents=guess.accents.square().sum(dim=3).mean().sqrt(), shares=guess.shares.std())
        return loss

    def unclearness(self, spoken: Spoken, text: Text) -> Tensor:
        """How badly the words are understood, beside built-in voices', and read, where they are spelled. [B]"""
        weights, language = self.weights, text.language
        misheard, right = self.listener(spoken.wave, spoken.symbols[None])
        unclear = F.relu(misheard - self.validation.plain_loss[language])
        if language in ENGLISH:
            self.notes.add(words=right.mean())
            return weights.words * unclear
        self.notes.add(words_abroad=right.mean())
        if not isinstance(text, Spelled):
            return weights.words_abroad * unclear
        some = torch.randperm(len(spoken.wave), device=self.device)[: self.args.read]
        misread, read = self.reader(spoken.wave[some], torch.tensor(text.tokens, device=self.device), language)
        self.notes.add(**{f"read_{language}": read.mean()})
        reading = 2 * weights.reading if language == "f" else weights.reading  # French is the hardest to understand
        return weights.words_abroad * unclear + reading * misread.mean()

    def step(self, rate: float) -> None:
        clip = self.lessons.pick(self.args.batch, self.args.recorded)
        lesson = self.lessons.draw(clip, self.errors).mixed(self.args.mixed)
        loss = self.unlikeness(self.mapper(lesson.inputs), lesson, random.random() < 0.5)
        self.optimiser.param_groups[0]["lr"] = self.args.rate * rate * min(1.0, (self.steps + 1) / 30)
        self.optimiser.zero_grad()
        loss.backward()
        self.steps += 1
        if not torch.isfinite(torch.nn.utils.clip_grad_norm_(self.mapper.parameters(), 1.0)):
            self.notes.add(lost=torch.ones(()))
            return
        self.optimiser.step()
        means, values = list(self.average.mapper.parameters()), list(self.mapper.parameters())
        with torch.no_grad():
            torch._foreach_lerp_(means, values, max(1 - self.args.keep, 1 / (self.steps + 1)))

    def warm_up(self, seconds: float) -> None:
        """The mapper learns the timbres of random voices from their embeddings, without any synthesis."""
        began, shelf = time.monotonic(), self.lessons.shelf
        optimiser = torch.optim.AdamW(self.mapper.parameters(), 5e-4, weight_decay=0.05)
        while (elapsed := time.monotonic() - began) < seconds:
            optimiser.param_groups[0]["lr"] = 5e-4 * (1 - elapsed / seconds)
            clip = self.lessons.pick(512, 0.0)
            guess = self.mapper(self.lessons.draw(clip, self.errors).inputs)
            off = (guess.axes - shelf.axes[clip].clamp(-4, 4)).square().mean()
            optimiser.zero_grad()
            off.backward()
            optimiser.step()
            self.notes.add(warm_up=off)

    def take_ear(self) -> None:
        """The newest ear of the process beside this one, and its errors."""
        path = self.args.ear / "ear.pt"
        while not path.exists():
            time.sleep(1)
        if path.stat().st_mtime == self.ear_time:
            return
        self.ear_time = path.stat().st_mtime
        self.average.ear = encoders.load_ear(path).to(self.device).requires_grad_(False)
        say(f"a new ear: {self.errors.measure(self.average.ear)} like the networks on people set apart")

    @torch.no_grad()
    def clones(self, count: int) -> dict[str, Tensor]:
        """Parameters of that many real and disguised speakers, as `bank.Styles` takes them."""
        clip = self.lessons.pick(count, 1.0)
        guess = self.average.mapper(self.lessons.truth(clip))
        voice = self.speech.axes.voice(guess, self.lessons.shelf.pitch[clip, 0])
        voice.melody = voice.melody.expand(count, -1)
        return {name: value.half().cpu().contiguous() for name, value in vars(voice).items()}

    def save(self, path: Path) -> None:
        encoders.save_mapper(self.average, path)


def run(imitation: Imitation, args: argparse.Namespace) -> None:
    imitation.take_ear()
    if not args.resume:
        imitation.warm_up(args.warm_up)
        say(f"warmed up: {imitation.notes}")
    clock, last, best = Clock(args), (0, time.monotonic()), -1.0
    report, save, validate = clock.every(15), clock.every(args.save_every), clock.every(args.validate_every)
    hear = clock.every(args.ear_every)
    while clock.running:
        imitation.step(clock.rate)
        if report():
            steps, now = imitation.steps, time.monotonic()
            say(f"{steps:6d}  {(steps - last[0]) / (now - last[1]):.2f}/s  {imitation.notes}")
            last = (steps, now)
        if hear():
            imitation.take_ear()
        if save():
            imitation.save(args.out / "mapper.pt")
        if validate():
            scores = imitation.validation(imitation.average)
            say(f"  {scores}")
            if scores.total > best:
                best = scores.total
                imitation.save(args.out / "best.pt")
                imitation.validation.keep(args.out / "validation.json")
            if imitation.device.type == "cuda":
                torch.cuda.empty_cache()  # every length of text leaves its own blocks behind
    imitation.take_ear()
    imitation.save(args.out / "mapper.pt")
    torch.save(imitation.clones(args.clones), args.out / "clones.pt")
    say(f"done: {imitation.steps} steps")
    imitation.validation.finish(imitation.average, args.out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("front", "head", "voices", "corpus", "judges", "reader", "speakers", "ear", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--spoken", type=Path, help="where to write the random voices' speech, for the ear")
    parser.add_argument("--resume", type=Path, help="a folder with ear.pt and mapper.pt")
    parts_of_time(parser)
    parser.add_argument("--warm-up", type=float, default=15, help="seconds")
    parser.add_argument("--listener-seconds", type=float, default=60)
    parser.add_argument("--listener-texts", type=int, default=800, help="that the listener learns from")
    parser.add_argument("--listener-voices", type=int, default=24, help="that speak each of them")
    parser.add_argument("--batch", type=int, default=96, help="voices that speak a text")
    parser.add_argument("--rate", type=float, default=8e-4, help="of learning")
    parser.add_argument("--recorded", type=float, default=0.6, help="share of the people who are real, or disguised")
    parser.add_argument("--mixed", type=float, default=0.6, help="share of the people who are crossed with others")
    parser.add_argument("--dropout", type=float, default=DROPOUT)
    parser.add_argument("--decay", type=float, default=0.1, help="of weights")
    parser.add_argument("--dvector", type=float, default=Weights.dvector, help="weight of the d-vector's opinion")
    parser.add_argument("--reading", type=float, default=Weights.reading, help="weight of reading; twice in French")
    parser.add_argument("--judged", type=int, default=16, help="clips of a batch that DistillMOS hears")
    parser.add_argument("--read", type=int, default=32, help="clips of a batch that the reader reads")
    parser.add_argument("--random-texts", type=int, default=150)
    parser.add_argument("--longest", type=int, default=48, help="phonemes in a text")
    parser.add_argument("--clips", type=int, default=None, help="only so many recordings")
    parser.add_argument("--clones", type=int, default=2000, help="voices to save at the end, for the head's data")
    parser.add_argument("--validated", type=int, default=None, help="only so many validation speakers")
    parser.add_argument("--keep", type=float, default=0.995, help="of the running mean, a step")
    parser.add_argument("--save-every", type=float, default=20)
    parser.add_argument("--ear-every", type=float, default=60)
    parser.add_argument("--validate-every", type=float, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    run(Imitation(args, device), args)


if __name__ == "__main__":
    main()
