"""How well voices are cloned whose speakers training never heard, on texts that it never spoke."""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from cloning.axes import LANGUAGES
from cloning.colour import colour, coloured
from cloning.ear import Heard
from cloning.encoder import Encoder
from cloning.judges import Judges
from cloning.listener import Listener
from cloning.mapper import ACCENTED, Guess, inputs
from cloning.reader import Reader, Spelled
from cloning.sound import level, log_mel, pitch
from cloning.speakers import Clip
from cloning.speech import Speech, Spoken
from cloning.texts import Text, Texts

Judge = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Scores:
    """Means over speakers and texts."""

    eres2net: float
    campplus: float
    dvector: float
    resemblyzer: float
    identified: float
    naturalness: float
    words: float
    """The share of phonemes that the listener hears right."""
    pitch_error: float
    eres2net_abroad: float
    """Speaking Spanish, French and Portuguese, as the next ones are."""
    words_abroad: float
    """The share of tokens that the reader reads right."""
    pitch_error_abroad: float

    @property
    def total(self) -> float:
        at_home = self.eres2net + self.resemblyzer + self.words + 0.2 * self.naturalness
        return at_home + 0.5 * (self.eres2net_abroad + self.words_abroad)

    def __str__(self) -> str:
        return "  ".join(f"{f.name} {getattr(self, f.name):.3f}" for f in fields(self))


class Validation:
    """The longest clip of a speaker is the reference; the others are what the clone is compared with."""

    TEXTS = 2
    TEXTS_ABROAD = 2
    PLAIN_TEXTS = 6
    OTHERS = 3

    @torch.no_grad()
    def __init__(
        self,
        clips: list[Clip],
        judges: Judges,
        speech: Speech,
        listener: Listener,
        reader: Reader,
        texts: Texts,
        device: torch.device,
        count: int | None = None,
    ) -> None:
        self.judges, self.speech, self.listener, self.reader, self.texts = judges, speech, listener, reader, texts
        self.by_name: dict[str, Judge] = {
            name: getattr(judges, name) for name in ("eres2net", "campplus", "dvector", "resemblyzer")
        }
        waves: dict[str, list[Tensor]] = {}
        for clip in clips:
            waves.setdefault(clip.speaker, []).append(level(clip.wave[None].to(device)))
        self.names = sorted(waves)[:count]
        ordered = [sorted(waves[name], key=lambda wave: wave.shape[1]) for name in self.names]
        self.references = [each[-1] for each in ordered]
        self.others = {
            name: [torch.cat([judge(wave) for wave in each[:-1][-self.OTHERS :]]) for each in ordered]
            for name, judge in self.by_name.items()
        }
        self.own = Heard.all([judges.hear(wave) for wave in self.references])
        self.colours = torch.cat([colour(wave) for wave in self.references])
        self.pitches = torch.cat([pitch(wave) for wave in self.references])
        self.rows: list[dict[str, float | str]] = []
        plain = {name: listener.plainly(speech, texts.held_out(name, self.PLAIN_TEXTS)) for name in LANGUAGES}
        self.plain_loss = {name: loss for name, (loss, _) in plain.items()}
        self.plainly = ", ".join(f"{name} {right:.0%}" for name, (_, right) in plain.items())
        self.abroad = [text for name in ACCENTED for text in texts.held_out(name, self.TEXTS_ABROAD)]
        natives = [self._read(speech(text.ids, speech.axes.built_in(text.language)), text) for text in self.abroad]
        self.plainly += f"; tokens read of Spanish, French and Portuguese {torch.cat(natives).mean():.0%}"

    @torch.no_grad()
    def __call__(self, encoder: Encoder) -> Scores:
        """Of the voices that the encoder hears in the references."""
        guesses = [encoder(log_mel(wave), pitch(wave))[1] for wave in self.references]
        merged = {name: torch.cat([getattr(guess, name) for guess in guesses]) for name in vars(guesses[0])}
        return self.score(Guess(**merged))

    @torch.no_grad()
    def told(self, encoder: Encoder) -> Scores:
        """The same if the mapper is given the networks' own embeddings: what a perfect ear would give."""
        return self.score(encoder.mapper(inputs(self.own, self.pitches)))

    def score(self, guess: Guess) -> Scores:
        """Of parameters from anywhere, one set a speaker."""
        home = [self._listen(text, guess) for text in self.texts.held_out("a", self.TEXTS)]
        abroad = [self._listen_abroad(text, guess) for text in self.abroad]
        means = {
            key: torch.stack([each[key] for each in spoken]).mean(dim=0).tolist()
            for spoken in (home, abroad)
            for key in spoken[0]
        }
        self.rows = [
            {"speaker": name, **{key: values[i] for key, values in means.items()}} for i, name in enumerate(self.names)
        ]
        return Scores(**{key: sum(values) / len(values) for key, values in means.items()})

    def _speak(self, text: Text, guess: Guess) -> Spoken:
        return self.speech(text.ids, self.speech.axes.voice(guess, self.pitches[:, 0], text.language))

    def _read(self, spoken: Spoken, text: Spelled) -> Tensor:
        """The share of tokens that the reader reads right. [voices]"""
        return self.reader(spoken.wave, torch.tensor(text.tokens, device=spoken.wave.device), text.language)[1]

    def _listen_abroad(self, text: Spelled, guess: Guess) -> dict[str, Tensor]:
        spoken = self._speak(text, guess)
        return {
            "eres2net_abroad": self._likeness("eres2net", self.judges.eres2net(spoken.wave)),
            "words_abroad": self._read(spoken, text),
            "pitch_error_abroad": (pitch(spoken.wave)[:, 0] - self.pitches[:, 0]).abs(),
        }

    def _listen(self, text: Text, guess: Guess) -> dict[str, Tensor]:
        """What is made of everybody's speech. [speakers] each"""
        found, spoken = {}, self._speak(text, guess)
        wave = coloured(spoken.wave, self.colours)
        for name, judge in self.by_name.items():
            mine = judge(wave)
            found[name] = self._likeness(name, mine)
            if name == "resemblyzer":
                found["identified"] = self._identified(mine)
        found["naturalness"] = self.judges.naturalness(spoken.wave)
        found["words"] = self.listener(spoken.wave, spoken.symbols[None])[1]
        found["pitch_error"] = (pitch(spoken.wave)[:, 0] - self.pitches[:, 0]).abs()
        return found

    def _likeness(self, name: str, embedding: Tensor) -> Tensor:
        """Of what everybody's clone said to their own recordings. [speakers]"""
        pairs = zip(embedding, self.others[name], strict=True)
        return torch.stack([(others @ each).mean() for each, others in pairs])

    def _identified(self, embedding: Tensor) -> Tensor:
        centroids = F.normalize(torch.stack([each.mean(dim=0) for each in self.others["resemblyzer"]]), dim=1)
        nearest = (embedding @ centroids.T).argmax(dim=1)
        return (nearest == torch.arange(len(nearest), device=nearest.device)).float()

    def keep(self, path: Path) -> None:
        path.write_text(json.dumps(self.rows))

    def finish(self, encoder: Encoder, folder: Path) -> None:
        """A table of how it ended, and the worst speakers."""
        scores = {"told the networks' embeddings": self.told(encoder), "with the ear": self(encoder)}
        self.keep(folder / "validation.json")
        names = [f.name for f in fields(Scores)]
        print(f"{'':32}" + "".join(f"{name:>20}" for name in names))
        for label, each in scores.items():
            print(f"{label:32}" + "".join(f"{getattr(each, name):20.3f}" for name in names))
        worst = min(self.rows, key=lambda row: row["eres2net"])
        label = f"worst ({worst['speaker']})"
        print(f"{label:32}" + "".join(f"{worst[name]:20.3f}" for name in names))
        print(f"phonemes understood of built-in voices: {self.plainly}", flush=True)
