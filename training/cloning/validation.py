"""How well voices are cloned whose speakers training never heard, on texts that it never spoke."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from cloning.encoder import Encoder, Guess, Heard, balance
from cloning.judges import Judges
from cloning.sound import level, log_mel, pitch
from cloning.speakers import Clip
from cloning.speech import Speech


@dataclass(frozen=True)
class Scores:
    eres2net: float
    campplus: float
    resemblyzer: float
    identified: float
    naturalness: float
    pitch_error: float
    trunk: float
    """Cosine of the trunk's idea of ERes2Net's embedding to the real one."""
    told: float
    """`eres2net` if the mapper is given the two networks' own embeddings (one text)."""

    @property
    def total(self) -> float:
        return self.eres2net + self.resemblyzer

    def __str__(self) -> str:
        return "validation  " + "  ".join(f"{name} {value:.3f}" for name, value in asdict(self).items())


class Validation:
    """The longest clip of a speaker is the reference; the others are what the clone is compared with."""

    TEXTS = 2

    @torch.no_grad()
    def __init__(
        self,
        clips: list[Clip],
        judges: Judges,
        speech: Speech,
        texts: list[list[int]],
        device: torch.device,
        count: int | None = None,
    ) -> None:
        self.judges, self.speech, self.texts = judges, speech, texts[: self.TEXTS]
        by_speaker: dict[str, list[Tensor]] = {}
        for clip in clips:
            by_speaker.setdefault(clip.speaker, []).append(level(clip.wave[None].to(device)))
        self.names = sorted(by_speaker)[:count]
        self.references, self.others = [], []
        for name in self.names:
            ordered = sorted(by_speaker[name], key=lambda wave: wave.shape[1])
            self.references.append(ordered[-1])
            self.others.append([self.embed(wave) for wave in ordered[:-1][-3:]])
        self.own = torch.cat([judges.eres2net(wave) for wave in self.references])
        self.own_campplus = torch.cat([judges.campplus(wave) for wave in self.references])
        self.pitches = torch.cat([pitch(wave) for wave in self.references])
        self.rows: list[dict[str, float]] = []

    def embed(self, wave: Tensor) -> dict[str, Tensor]:
        judges = self.judges
        return {
            "eres2net": judges.eres2net(wave),
            "campplus": judges.campplus(wave),
            "resemblyzer": judges.resemblyzer(wave),
        }

    @torch.no_grad()
    def __call__(self, encoder: Encoder) -> Scores:
        heard = [encoder(log_mel(wave), pitch(wave)) for wave in self.references]
        trunk = torch.cat([h.eres2net for h, _ in heard])
        guesses = [guess for _, guess in heard]
        guess = Guess(**{name: torch.cat([getattr(g, name) for g in guesses]) for name in Guess.__annotations__})
        return self.score(guess, float((trunk * self.own).sum(dim=1).mean()), self.told(encoder))

    def told(self, encoder: Encoder) -> float:
        mels = [log_mel(wave) for wave in self.references]
        heard = Heard(self.own, self.own_campplus, self.own, torch.cat([balance(mel) for mel in mels]))
        guess = encoder.mapper(encoder.mapper.inputs(heard, self.pitches))
        wave, _ = self.speech(self.texts[0], self.speech.axes.voice(guess))
        return float(torch.stack(self.likeness("eres2net", self.judges.eres2net(wave))).mean())

    def likeness(self, name: str, embedding: Tensor) -> list[Tensor]:
        """To each speaker's other clips, on average."""
        return [
            torch.stack([embedding[i] @ other[name][0] for other in others]).mean()
            for i, others in enumerate(self.others)
        ]

    @torch.no_grad()
    def score(self, guess: Guess, trunk: float = 0.0, told: float = 0.0) -> Scores:
        """Of parameters from anywhere, one set a speaker."""
        voice = self.speech.axes.voice(guess)
        found: dict[str, list[Tensor]] = {}
        natural, off, right = [], [], []
        for ids in self.texts:
            wave, _ = self.speech(ids, voice)
            mine = self.embed(wave)
            for name, embedding in mine.items():
                found.setdefault(name, []).append(torch.stack(self.likeness(name, embedding)))
            centroids = torch.stack(
                [torch.cat([o["resemblyzer"] for o in others]).mean(dim=0) for others in self.others]
            )
            nearest = (mine["resemblyzer"] @ torch.nn.functional.normalize(centroids, dim=1).T).argmax(dim=1)
            right.append((nearest == torch.arange(len(nearest), device=nearest.device)).float())
            natural.append(self.judges.naturalness(wave))
            off.append((pitch(wave)[:, 0] - self.pitches[:, 0]).abs())
        mean = {name: torch.stack(values).mean(dim=0) for name, values in found.items()}
        columns = mean | {"naturalness": torch.stack(natural).mean(dim=0), "identified": torch.stack(right).mean(dim=0)}
        self.rows = [
            {"speaker": name, **{key: float(value[i]) for key, value in columns.items()}}
            for i, name in enumerate(self.names)
        ]
        return Scores(
            *(float(mean[name].mean()) for name in ("eres2net", "campplus", "resemblyzer")),
            float(columns["identified"].mean()),
            float(columns["naturalness"].mean()),
            float(torch.stack(off).mean()),
            trunk,
            told,
        )

    def keep(self, path: Path) -> None:
        path.write_text(json.dumps(self.rows))
