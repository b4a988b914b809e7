"""Refines the validation speakers in many ways and measures each; what further people are worth to a mapper.

    python -m speaker_encoder.compare_refinement --run acoustic/run --voices voices.pt --accents accents.npz \
        --frozen frozen --speakers speakers.pt --encoder encoder.pt --mapper mapper.pt --dvector small_dvector.pt \
        --judge judge.pt --whisper base.pt --tokenizer tokenizer.json --sentences ../src/svc/data/refinement.npz \
        --out OUT

A variant takes ten seconds on an H200. Rates and pulls are those of `refine_speakers.py`.
"""

import argparse
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from accents import whisper
from speaker_encoder import refinement_judge, small_dvector, speakers, voice_encoder
from speaker_encoder import synthesis as syntheses
from speaker_encoder.equalizer import equalize, measure_envelope
from speaker_encoder.features import log_mel, normalize_level, pitch
from speaker_encoder.feedback import SPOKEN, Feedback, overshoot
from speaker_encoder.frozen_losses import FrozenNetworks, mixed_precision
from speaker_encoder.mapper import MASKS, STYLE, PredictedVoice, build_inputs
from speaker_encoder.refine_speakers import PULLS, RATES
from speaker_encoder.refinement_judge import measure_phoneme_loss
from speaker_encoder.schedule import log
from speaker_encoder.speakers import Clip
from speaker_encoder.synthesis import Lines
from speaker_encoder.voice_pca import VoicePca
from teacher import voices

NETWORKS = ("eres2net", "campplus", "dvector", "resemblyzer")
MOVING = ("residual", "layer_offsets", "vocoder_embedding", "mask_offset")
SLOW = ("residual", "layer_offsets")
NATURAL_ENOUGH = 4.6
HIDDEN = 512
ENTRY_RATE, OUT_PULL = 0.2, 0.05
ENGLISH_IN_WHISPER, SAMPLES_OF_WHISPER = 50259, 480_000
STRENGTHS = (0.3, 1, 3, 10, 30, 100)


@dataclass(frozen=True)
class Variant:
    name: str
    steps: int = 80
    sentences: int | None = None
    rank: int = 0
    """Of the change of the head's mask layer."""
    slow: float = 1.0
    """Timbre and layers, times the rate."""
    moving: tuple[str, ...] = MOVING
    weights: dict[str, float] = field(
        default_factory=lambda: {"eres2net": 1, "campplus": 0.6, "dvector": 1, "naturalness": 0.25, "phonemes": 1}
    )
    """`judged`: the judge's naturalness instead of DistillMOS."""


JUDGED = {"eres2net": 1, "campplus": 0.6, "dvector": 1, "judged": 0.5, "phonemes": 1}
VARIANTS = (
    Variant("DistillMOS"),
    Variant("DistillMOS, timbre and layers slow", slow=0.3),
    Variant("DistillMOS, eight sentences", sentences=8),
    Variant("judge", weights=JUDGED),
    Variant("rank 8", rank=8),
    Variant("rank 8, timbre and layers slow", rank=8, slow=0.3),
    Variant("rank 8, mask and vocoder embedding alone", rank=8, moving=("vocoder_embedding", "mask_offset")),
)

Change = tuple[Tensor, Tensor]
"""Of the mask layer: [B, rank, 512], [B, 2408, rank]."""


class ChangedMasks(nn.Module):
    """The head's mask layer, with a change of low rank for each voice."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.layer, self.change = layer, None

    def forward(self, hidden: Tensor) -> Tensor:
        masks = self.layer(hidden)
        if self.change:
            entry, out = self.change
            masks = masks + (hidden @ entry.mT) @ out.mT
        return masks


@dataclass
class People:
    inputs: Tensor  # [N, 643], of the mapper
    targets: dict[str, Tensor]
    """Embeddings of the references, as refinement in the service hears them."""
    envelope: Tensor
    log_pitch: Tensor
    start: PredictedVoice
    others: list[dict[str, Tensor]]
    """Embeddings of each person's other clips; empty where nobody is compared."""

    def __getitem__(self, index: Tensor) -> "People":
        targets = {name: value[index] for name, value in self.targets.items()}
        start = PredictedVoice(*(value[index] for value in vars(self.start).values()))
        return People(self.inputs[index], targets, self.envelope[index], self.log_pitch[index], start, [])


class Comparison:
    def __init__(self, args: argparse.Namespace, device: torch.device) -> None:
        self.device = device
        self.frozen = FrozenNetworks(args.frozen).to(device)
        self.network = voice_encoder.load(args.encoder, args.mapper).to(device).requires_grad_(False)
        pca = VoicePca.from_tables(voices.unpack(args.voices), args.accents)
        pca.load_state_dict(self.network.pca.state_dict())
        self.synthesis = syntheses.load(args.run, pca).to(device)
        self.synthesis.head.masks = ChangedMasks(self.synthesis.head.masks)
        self.dvector = small_dvector.load(args.dvector).to(device)
        self.judge = refinement_judge.load(args.judge).to(device)
        self.whisper = whisper.load(args.whisper, "base").to(device)
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(args.tokenizer))
        self.lines, self.clear = self._read_sentences(args.sentences)
        rows = [row.split("\t") for row in Path(__file__).with_name("judged_sentences.tsv").read_text().splitlines()]
        self.texts = [text for text, _ in rows]
        self.judged = [self._make_line([int(each) for each in ids.split()]) for _, ids in rows]

    def _read_sentences(self, path: Path) -> tuple[Lines, Tensor]:
        with np.load(path) as stored:
            arrays = {name: torch.tensor(stored[name]) for name in stored.files}
        arrays = {k: (v.float() if v.is_floating_point() else v.long()).to(self.device) for k, v in arrays.items()}
        row = torch.cdist(arrays["style"], self.synthesis.pca.centre[:, :STYLE]).argmin(dim=1)
        names = ("text", "place", "duration", "f0", "energy", "summary", "phonemes")
        lines = Lines(torch.zeros_like(row), row, *(arrays[name] for name in names), arrays["place"])
        return lines, arrays["clear"]

    def _make_line(self, ids: list[int]) -> Lines:
        """As long as it is."""
        tokens = torch.tensor([[0, *ids, 0]], device=self.device)
        film = self.synthesis.prosody.make_film(self.synthesis.pca.centre[len(ids) - 1, STYLE:][None])
        durations = self.synthesis.prosody.predict_durations(self.synthesis.prosody.encode(tokens, film, None))
        usual = syntheses.LEAST_FRAMES, syntheses.FRAMES
        syntheses.LEAST_FRAMES, syntheses.FRAMES = 0, int(durations.round().clamp(min=1).sum())
        try:
            return self.synthesis.make_lines([("a", ids)])
        finally:
            syntheses.LEAST_FRAMES, syntheses.FRAMES = usual

    @torch.no_grad()
    def listen(self, clips: list[list[Clip]]) -> People:
        """To each person's longest clip; the others are what clones are compared with."""
        rows: list[dict[str, Tensor]] = []
        others = []
        for each in clips:
            longest, *rest = sorted(each, key=lambda clip: -len(clip.wave))
            wave = normalize_level(longest.wave[None].to(self.device))
            heard, found = self.network.encoder(log_mel(wave)), pitch(wave)
            row = {"eres2net": heard.eres2net, "campplus": heard.campplus, "dvector": self.dvector(wave)}
            row |= {"envelope": measure_envelope(wave), "log_pitch": found[:, 0], "inputs": build_inputs(heard, found)}
            rows.append(row)
            waves = [normalize_level(clip.wave[None].to(self.device)) for clip in rest[:3]]
            heard_in = {name: [getattr(self.frozen, name)(other) for other in waves] for name in NETWORKS}
            others.append({name: torch.cat(found) for name, found in heard_in.items() if found})
        together = {name: torch.cat([row[name] for row in rows]) for name in rows[0]}
        inputs, envelope, log_pitch = (together.pop(name) for name in ("inputs", "envelope", "log_pitch"))
        return People(inputs, together, envelope, log_pitch, self.answer(inputs, envelope, log_pitch), others)

    @torch.no_grad()
    def answer(self, inputs: Tensor, envelope: Tensor, log_pitch: Tensor) -> PredictedVoice:
        """The mapper's second answer."""
        count, feedback = len(inputs), Feedback(self.synthesis, self.network.encoder)
        lines = [self.lines[torch.full((count,), -1 - number)] for number in range(SPOKEN)]
        shortfall = feedback(self.network.mapper(inputs), lines, inputs, envelope, log_pitch)
        return self.network.mapper(overshoot(inputs, shortfall))

    def speak(self, line: Lines, voice: PredictedVoice, change: Change | None, people: People) -> Tensor:
        """Behind the equalizer, at the usual level."""
        lines = line[torch.zeros(len(people.log_pitch), dtype=torch.long)]
        self.synthesis.head.masks.change = change
        wave = self.synthesis(lines, self.synthesis.pca.to_voice(voice, people.log_pitch, lines.language)).wave
        self.synthesis.head.masks.change = None
        return normalize_level(equalize(wave, people.envelope))

    def unlikeness(self, speech: Tensor, number: int, people: People, weights: dict[str, float]) -> Tensor:
        mel = log_mel(speech)
        with mixed_precision(speech):
            heard, judgement = self.network.encoder(mel), self.judge(mel)
        found = {"eres2net": heard.eres2net, "campplus": heard.campplus, "dvector": self.dvector(speech)}
        likeness = [weights[name] * (each.float() * people.targets[name]).sum(dim=1) for name, each in found.items()]
        spoken = self.lines.phonemes[number : number + 1].expand(len(speech), -1)
        unclear = measure_phoneme_loss(judgement.phonemes.float(), spoken) - self.clear[number]
        loss = weights["phonemes"] * F.relu(unclear) - sum(likeness)
        if "judged" in weights:
            return loss + weights["judged"] * F.relu(4.7 - judgement.naturalness.float())
        return loss + weights["naturalness"] * F.relu(NATURAL_ENOUGH - self.frozen.naturalness(speech))

    def refine(self, people: People, variant: Variant) -> tuple[PredictedVoice, Change | None]:
        count, start = len(people.log_pitch), people.start
        moved = {name: torch.zeros_like(getattr(start, name)) for name in variant.moving}
        rates = {name: RATES[name] * (variant.slow if name in SLOW else 1.0) for name in moved}
        pulls = {name: PULLS[name] for name in moved}
        if variant.rank:
            moved["entry"] = torch.randn(count, variant.rank, HIDDEN, device=self.device) / HIDDEN**0.5
            moved["out"] = torch.zeros(count, MASKS, variant.rank, device=self.device)
            rates |= {"entry": ENTRY_RATE, "out": 1.0}
            pulls |= {"entry": 0.0, "out": OUT_PULL}
        groups = [{"params": [each.requires_grad_()], "rate": 0.02 * rates[name]} for name, each in moved.items()]
        optimizer = torch.optim.Adam(groups, lr=0.0, betas=(0.9, 0.95))

        def current() -> tuple[PredictedVoice, Change | None]:
            voice = replace(start, **{name: getattr(start, name) + moved[name] for name in variant.moving})
            return voice, (moved["entry"], moved["out"]) if variant.rank else None

        spoken = variant.sentences or len(self.lines) - SPOKEN
        for step in range(variant.steps):
            for group in optimizer.param_groups:
                group["lr"] = group["rate"] * min(1.0, 2 * (1 - step / variant.steps)) * min(1.0, (step + 1) / 2)
            number = step % spoken
            speech = self.speak(self.lines[torch.tensor([number])], *current(), people)
            loss = self.unlikeness(speech, number, people, variant.weights).sum()
            pulled = sum(pulls[name] * each.square().sum() for name, each in moved.items())
            optimizer.zero_grad()
            (loss + 0.02 * pulled).backward()
            for each in moved.values():
                each.grad.nan_to_num_(0, 0, 0)
            optimizer.step()
        for each in moved.values():
            each.requires_grad_(False)
        return current()

    @torch.no_grad()
    def measure(
        self, name: str, people: People, voice: PredictedVoice, change: Change | None = None
    ) -> dict[str, object]:
        waves = [self.speak(line, voice, change, people) for line in self.judged]
        row: dict[str, object] = {"name": name}
        for network in NETWORKS:
            heard = torch.stack([getattr(self.frozen, network)(wave) for wave in waves], dim=1)
            similar = torch.stack([(heard @ other[network].T).mean(dim=(1, 2)) for other in people.others], dim=1)
            own = similar.diag()
            row |= {network: float(own.mean()), f"{network} lowest": float(own.min())}
            row[f"{network} identified"] = float((similar.argmax(dim=1).cpu() == torch.arange(len(own))).float().mean())
        natural = torch.stack([self.frozen.naturalness(wave) for wave in waves], dim=1).mean(dim=1)
        row |= {"naturalness": float(natural.mean()), "naturalness lowest": float(natural.min())}
        row["words wrong"] = sum(self.count_wrong(wave, text) for wave, text in zip(waves, self.texts, strict=True))
        log(", ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{v}" for k, v in row.items()))
        return row

    def count_wrong(self, wave: Tensor, text: str) -> int:
        language = torch.full((len(wave),), ENGLISH_IN_WHISPER, device=self.device)
        window = F.pad(2 * wave, (0, SAMPLES_OF_WHISPER - wave.shape[1]))
        heard = self.whisper.transcribe(window, language, 1, [])
        return sum(count_errors(to_words(text), to_words(self.tokenizer.decode(each))) for each in heard)


def to_words(text: str) -> list[str]:
    return re.sub(r"[^a-z' ]", " ", text.lower().replace("-", " ")).split()


def count_errors(expected: list[str], heard: list[str]) -> int:
    """Levenshtein's distance."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(expected):
        before, row[0] = row[0], i + 1
        for j, other in enumerate(heard):
            before, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, before + (word != other))
    return row[-1]


def regress(inputs: Tensor, moves: Tensor, asked: Tensor, strength: float) -> Tensor:
    """Ridge regression: what the people of `asked` would be moved by."""
    mean, middle = inputs.mean(dim=0), moves.mean(dim=0)
    known = inputs - mean
    damped = known @ known.T + strength * len(known) * torch.eye(len(known), device=known.device)
    return middle + (asked - mean) @ known.T @ torch.linalg.solve(damped, moves - middle)


def explained(found: Tensor, moves: Tensor) -> float:
    return 1 - float((moves - found).square().sum() / moves.square().sum())


def measure_worth(inputs: Tensor, moves: Tensor, asked: Tensor, truth: Tensor) -> dict[str, float]:
    """Of a quarter, half and all of these people, for others: the share of their moves that is explained."""
    found = {}
    for share in (0.25, 0.5, 1.0):
        some = slice(0, round(share * len(inputs)))
        x, y = inputs[some], moves[some]
        fold = torch.arange(len(x), device=x.device) % 4

        def validate(strength: float, x: Tensor = x, y: Tensor = y, fold: Tensor = fold) -> float:
            parts = [regress(x[fold != i], y[fold != i], x[fold == i], strength) for i in range(4)]
            return explained(torch.cat(parts), torch.cat([y[fold == i] for i in range(4)]))

        found[f"{len(x)} people"] = explained(regress(x, y, asked, max(STRENGTHS, key=validate)), truth)
    return found


def group_clips(clips: list[Clip]) -> list[list[Clip]]:
    people: dict[str, list[Clip]] = {}
    for clip in clips:
        people.setdefault(clip.speaker, []).append(clip)
    return [people[name] for name in sorted(people)]


def flatten(voice: PredictedVoice, names: tuple[str, ...], scale: Callable[[str], float]) -> Tensor:
    return torch.cat([getattr(voice, name).flatten(1) / scale(name) for name in names], dim=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = "run voices accents frozen speakers encoder mapper dvector judge whisper tokenizer sentences out"
    for name in names.split():
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.manual_seed(0)
    comparison = Comparison(args, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    training, validation = speakers.load(args.speakers)
    people = comparison.listen(group_clips(validation))
    rows = [comparison.measure("one pass", people, people.start)]
    for variant in VARIANTS:
        rows.append(comparison.measure(variant.name, people, *comparison.refine(people, variant)))
        (args.out / "refinement.json").write_text(json.dumps(rows))
    everybody, moves = comparison.listen([each[:1] for each in group_clips(training)]), []
    for some in torch.arange(len(everybody.log_pitch)).split(160):
        part = everybody[some]
        refined, _ = comparison.refine(part, Variant("training", steps=36))
        moves.append(flatten(refined, MOVING, RATES.__getitem__) - flatten(part.start, MOVING, RATES.__getitem__))
    refined, _ = comparison.refine(people, Variant("validation", steps=36))
    truth = flatten(refined, MOVING, RATES.__getitem__) - flatten(people.start, MOVING, RATES.__getitem__)
    spread = everybody.inputs.std(dim=0) + 1e-6
    order = torch.randperm(len(everybody.inputs))
    known = (everybody.inputs / spread)[order], torch.cat(moves)[order]
    log(f"explained of validation's moves: {measure_worth(*known, people.inputs / spread, truth)}")


if __name__ == "__main__":
    main()
