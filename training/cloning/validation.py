"""How well voices are cloned whose speakers training never heard, on texts that it never spoke.

Each clone speaks alone, with its own durations, as in the product.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from cloning.ear import balance
from cloning.encoder import Encoder
from cloning.judges import Judges
from cloning.lessons import told
from cloning.listener import Listener
from cloning.mapper import LAYERS, STYLE, Guess
from cloning.sound import level, log_mel, pitch
from cloning.speakers import Clip
from cloning.speech import Speech

Judge = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Scores:
    """Means over speakers and texts."""

    eres2net: float
    campplus: float
    resemblyzer: float
    identified: float
    naturalness: float
    words: float
    """The share of phonemes that the listener hears right."""
    pace: float
    """How much slower or faster than the mean voice, in the logarithm."""
    pitch_error: float

    @property
    def total(self) -> float:
        return self.eres2net + self.resemblyzer + self.words

    def __str__(self) -> str:
        return "  ".join(f"{f.name} {getattr(self, f.name):.3f}" for f in fields(self))


class Validation:
    """The longest clip of a speaker is the reference; the others are what the clone is compared with."""

    TEXTS = 2
    OTHERS = 3

    @torch.no_grad()
    def __init__(
        self,
        clips: list[Clip],
        judges: Judges,
        speech: Speech,
        listener: Listener,
        texts: list[list[int]],
        device: torch.device,
        count: int | None = None,
    ) -> None:
        self.judges, self.speech, self.listener, self.texts = judges, speech, listener, texts[: self.TEXTS]
        self.by_name: dict[str, Judge] = {
            name: getattr(judges, name) for name in ("eres2net", "campplus", "resemblyzer")
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
        self.own = torch.cat([judges.embedding(wave) for wave in self.references])
        self.pitches = torch.cat([pitch(wave) for wave in self.references])
        self.balances = torch.cat([balance(log_mel(wave)) for wave in self.references])
        self.rows: list[dict[str, float | str]] = []
        self.plain_loss, self.plainly = self._built_in_voices()

    def _built_in_voices(self) -> tuple[float, str]:
        """What the listener makes of the built-in voices: its mean loss, and the share of right phonemes in words."""
        axes = self.speech.axes.coordinates(self.speech.axes.offsets)
        count, device = len(axes), axes.device
        nothing = torch.zeros(count, STYLE, device=device)
        layers = torch.zeros(count, LAYERS, STYLE, device=device)
        plain = Guess(axes, nothing, nothing, layers, torch.zeros(count, device=device))
        loss, right = self.listener(self.speech(self.texts[0], self.speech.axes.voice(plain)))
        return float(loss.mean()), f"{float(right.mean()):.1%}"

    @torch.no_grad()
    def __call__(self, encoder: Encoder) -> Scores:
        """Of the voices that the encoder hears in the references."""
        guesses = [encoder(log_mel(wave), pitch(wave))[1] for wave in self.references]
        merged = {name: torch.cat([getattr(guess, name) for guess in guesses]) for name in vars(guesses[0])}
        return self.score(Guess(**merged))

    @torch.no_grad()
    def told(self, encoder: Encoder) -> Scores:
        """The same if the mapper is given the networks' own embeddings: what a perfect ear would give."""
        return self.score(encoder.mapper(told(self.own, self.pitches, self.balances)))

    def _speak(self, guess: Guess, speaker: int) -> list[dict[str, Tensor]]:
        voice, rows = self.speech.axes.voice(guess[speaker : speaker + 1]), []
        for ids in self.texts:
            spoken = self.speech(ids, voice)
            row = {}
            for name, judge in self.by_name.items():
                mine = judge(spoken.wave)[0]
                row[name] = (self.others[name][speaker] @ mine).mean()
                if name == "resemblyzer":
                    row["identified"] = (self._nearest(mine) == speaker).float()
            row["naturalness"] = self.judges.naturalness(spoken.wave)[0]
            row["words"] = self.listener(spoken)[1][0]
            row["pace"] = spoken.pace[0].abs()
            row["pitch_error"] = (pitch(spoken.wave)[0, 0] - self.pitches[speaker, 0]).abs()
            rows.append(row)
        return rows

    def _nearest(self, embedding: Tensor) -> Tensor:
        centroids = torch.stack([each.mean(dim=0) for each in self.others["resemblyzer"]])
        return (F.normalize(centroids, dim=1) @ embedding).argmax()

    def score(self, guess: Guess) -> Scores:
        """Of parameters from anywhere, one set a speaker."""
        self.rows = []
        for i, name in enumerate(self.names):
            rows = self._speak(guess, i)
            means = {key: float(torch.stack([row[key] for row in rows]).mean()) for key in rows[0]}
            self.rows.append({"speaker": name, **means})
        return Scores(**{f.name: sum(row[f.name] for row in self.rows) / len(self.rows) for f in fields(Scores)})

    def keep(self, path: Path) -> None:
        path.write_text(json.dumps(self.rows))

    def finish(self, encoder: Encoder, folder: Path) -> None:
        """A table of how it ended, and the worst speakers."""
        scores = {"told the networks' embeddings": self.told(encoder), "with the ear": self(encoder)}
        self.keep(folder / "validation.json")
        names = [f.name for f in fields(Scores)]
        print(f"{'':32}" + "".join(f"{name:>13}" for name in names))
        for label, each in scores.items():
            print(f"{label:32}" + "".join(f"{getattr(each, name):13.3f}" for name in names))
        worst = min(self.rows, key=lambda row: row["eres2net"])
        label = f"worst ({worst['speaker']})"
        print(f"{label:32}" + "".join(f"{worst[name]:13.3f}" for name in names))
        print(f"phonemes understood of built-in voices: {self.plainly}", flush=True)
