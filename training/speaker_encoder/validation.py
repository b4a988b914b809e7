"""Validation: clones of speakers that are never trained on, speaking texts that are never trained on."""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from speaker_encoder.augmentation import compress, simulate_microphone, simulate_telephone
from speaker_encoder.encoder import Embeddings
from speaker_encoder.equalizer import equalize, measure_envelope
from speaker_encoder.features import log_mel, normalize_level, pitch
from speaker_encoder.feedback import SPOKEN, Feedback, overshoot
from speaker_encoder.frozen_losses import FrozenNetworks
from speaker_encoder.mapper import PredictedVoice, build_inputs
from speaker_encoder.phoneme_loss import PhonemeRecognizer
from speaker_encoder.speaker_bank import SpeakerTraits
from speaker_encoder.speakers import Clip
from speaker_encoder.synthesis import Lines, Synthesis
from speaker_encoder.texts import Texts
from speaker_encoder.voice_encoder import VoiceEncoder

FOREIGN = "efp"
NETWORKS = ("eres2net", "campplus", "dvector", "resemblyzer")


@dataclass(frozen=True)
class Scores:
    """Means over speakers and texts; "foreign" ones are of Spanish, French and Portuguese."""

    eres2net: float
    campplus: float
    dvector: float
    resemblyzer: float
    identified: float
    naturalness: float
    phonemes: float
    """Accuracy of the phoneme recogniser."""
    lowest: float
    """ERes2Net of the speaker with the lowest."""
    eres2net_foreign: float
    phonemes_foreign: float
    across: float
    """ERes2Net of a clone in English and the same in another language."""

    @property
    def total(self) -> float:
        english = self.eres2net + self.resemblyzer + self.phonemes + 0.2 * self.naturalness
        return english + 0.5 * (self.eres2net_foreign + self.phonemes_foreign)

    def __str__(self) -> str:
        return "  ".join(f"{f.name} {getattr(self, f.name):.3f}" for f in fields(self))


def add_noise(wave: Tensor) -> Tensor:
    """Noise that falls by 3 dB an octave, 10 dB below the speech."""
    noise = torch.randn(wave.shape, generator=torch.Generator().manual_seed(0)).to(wave.device)
    spectrum = torch.fft.rfft(noise)
    noise = torch.fft.irfft(
        spectrum / torch.arange(spectrum.shape[1], device=wave.device).clamp(min=20).sqrt(), wave.shape[1]
    )
    return wave + noise * (wave.square().mean() / noise.square().mean() / 10).sqrt()


CONDITIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "noise": add_noise,
    "telephone": simulate_telephone,
    "other channel": lambda wave: compress(simulate_microphone(wave)),
}


@dataclass
class References:
    """What clones are made from, a row per speaker."""

    waves: list[Tensor]
    traits: SpeakerTraits
    """As the frozen networks hear them."""
    heard: Embeddings
    """As the encoder hears them."""
    predicted: PredictedVoice


class Validation:
    """A speaker's longest clip is the reference; the clone is compared with the others."""

    TEXTS = 4
    FOREIGN_TEXTS = 2
    OTHERS = 3

    @torch.no_grad()
    def __init__(
        self,
        clips: list[Clip],
        frozen: FrozenNetworks,
        synthesis: Synthesis,
        recognizer: PhonemeRecognizer,
        texts: Texts,
        device: torch.device,
        count: int | None = None,
    ) -> None:
        self.frozen, self.synthesis, self.recognizer = frozen, synthesis, recognizer
        waves: dict[str, list[Tensor]] = {}
        for clip in clips:
            waves.setdefault(clip.speaker, []).append(normalize_level(clip.wave[None].to(device)))
        self.names = sorted(waves)[:count]
        self.clips = [sorted(waves[name], key=lambda wave: wave.shape[1]) for name in self.names]
        self.others = {
            name: [
                torch.cat([getattr(frozen, name)(wave) for wave in each[:-1][-self.OTHERS :]]) for each in self.clips
            ]
            for name in NETWORKS
        }
        english = texts.held_out("a", self.TEXTS + SPOKEN)
        self.lines, self.heard_lines = english[torch.arange(self.TEXTS)], english[torch.arange(SPOKEN) + self.TEXTS]
        self.foreign_lines = [
            texts.held_out(letter, self.FOREIGN_TEXTS) for letter in FOREIGN if letter in texts.letters
        ]
        self.rows: list[dict[str, float | str]] = []
        self.traits = self._measure([each[-1] for each in self.clips])

    @torch.no_grad()
    def listen(self, network: VoiceEncoder, change: Callable[[Tensor], Tensor] | None = None) -> References:
        """The references, perhaps degraded, and what the networks find in them."""
        torch.manual_seed(0)
        waves = [each[-1] for each in self.clips]
        if change:
            waves = [normalize_level(change(wave)) for wave in waves]
        traits = self._measure(waves) if change else self.traits
        heard = Embeddings.concatenate([network.encoder(log_mel(wave)) for wave in waves])
        pitches = torch.cat([pitch(wave) for wave in waves])
        return References(waves, traits, heard, self._predict(network, heard, pitches, traits.envelope))

    def _predict(self, network: VoiceEncoder, heard: Embeddings, pitches: Tensor, envelope: Tensor) -> PredictedVoice:
        """The mapper's second answer, as in the product."""
        inputs, count = build_inputs(heard, pitches), len(pitches)
        lines = [self.heard_lines[torch.full((count,), i)] for i in range(SPOKEN)]
        feedback = Feedback(self.synthesis, network.encoder)
        shortfall = feedback(network.mapper(inputs), lines, inputs, envelope, pitches[:, 0])
        return network.mapper(overshoot(inputs, shortfall))

    def _measure(self, waves: list[Tensor]) -> SpeakerTraits:
        truth = Embeddings.concatenate([self.frozen.embed(wave) for wave in waves])
        envelopes = torch.cat([measure_envelope(wave) for wave in waves])
        return SpeakerTraits(truth.joint, truth.dvector, envelopes, torch.cat([pitch(wave)[:, 0] for wave in waves]))

    def __call__(self, network: VoiceEncoder) -> Scores:
        """Of the voices that the encoder and the mapper predict from the references."""
        references = self.listen(network)
        return self.score(references.predicted, references.traits)

    @torch.no_grad()
    def score(self, predicted: PredictedVoice, traits: SpeakerTraits, foreign: bool = True) -> Scores:
        """Of parameters from anywhere, one set per speaker."""
        results, english = [], []
        for i in range(len(self.lines)):
            wave, row = self._score_text(self.lines[torch.tensor([i])], predicted, traits)
            english.append(self.frozen.eres2net(wave))
            results.append(row)
        means = {key: torch.stack([each[key] for each in results]).mean(dim=0) for key in results[0]}
        abroad = {"eres2net_foreign": [], "phonemes_foreign": [], "across": []}
        for lines in self.foreign_lines if foreign else []:
            for i in range(len(lines)):
                wave, accuracy = self._speak(lines[torch.tensor([i])], predicted, traits)
                embedding = self.frozen.eres2net(equalize(wave, traits.envelope))
                abroad["eres2net_foreign"].append(self._similarity("eres2net", embedding))
                abroad["phonemes_foreign"].append(accuracy)
                abroad["across"].append((self.frozen.eres2net(wave) * english[0]).sum(dim=1))
        zero = [torch.zeros(len(self.names))]
        means |= {key: torch.stack(values or zero).mean(dim=0) for key, values in abroad.items()}
        self.rows = [
            {"speaker": name, **{key: round(float(values[i]), 4) for key, values in means.items()}}
            for i, name in enumerate(self.names)
        ]
        lowest = float(means["eres2net"].min())
        return Scores(**{key: float(values.mean()) for key, values in means.items()}, lowest=lowest)

    def _speak(self, line: Lines, predicted: PredictedVoice, traits: SpeakerTraits) -> tuple[Tensor, Tensor]:
        lines = line[torch.zeros(len(self.names), dtype=torch.long)]
        voice = self.synthesis.pca.to_voice(predicted, traits.log_pitch, lines.language)
        speech = self.synthesis(lines, voice)
        return speech.wave, self.recognizer(speech.wave, speech.phonemes)[1]

    def _score_text(
        self, line: Lines, predicted: PredictedVoice, traits: SpeakerTraits
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The speech, and [speakers] for each measure."""
        wave, accuracy = self._speak(line, predicted, traits)
        scores = {"phonemes": accuracy}
        equalized = equalize(wave, traits.envelope)
        for name in NETWORKS:
            embedding = getattr(self.frozen, name)(equalized)
            scores[name] = self._similarity(name, embedding)
            if name == "resemblyzer":
                scores["identified"] = self._identify(embedding)
        scores["naturalness"] = self.frozen.naturalness(equalized)
        return wave, scores

    def _similarity(self, name: str, embedding: Tensor) -> Tensor:
        """Of each clone's speech to its speaker's other clips. [speakers]"""
        pairs = zip(embedding, self.others[name], strict=True)
        return torch.stack([(others @ each).mean() for each, others in pairs])

    def _identify(self, embedding: Tensor) -> Tensor:
        """1 where a clone is nearest to its own speaker. [speakers]"""
        centroids = F.normalize(torch.stack([each.mean(dim=0) for each in self.others["resemblyzer"]]), dim=1)
        nearest = (embedding @ centroids.T).argmax(dim=1)
        return (nearest == torch.arange(len(nearest), device=nearest.device)).float()

    @torch.no_grad()
    def compare_clips(self, network: VoiceEncoder, most: int = 3) -> dict[int, tuple[float, float, int]]:
        """ERes2Net and Resemblyzer with 1, 2, … clips as the reference, and how many speakers have enough.

        The clips are the next to longest ones; the comparison is with all others.
        """
        enough = [i for i, each in enumerate(self.clips) if len(each) > most + 1]
        found = {}
        for count in range(1, most + 1):
            rows = []
            for i in enough:
                *others, _ = self.clips[i]
                used, rest = others[-most:][-count:], others[:-most] or [self.clips[i][-1]]
                wave = normalize_level(torch.cat(used, dim=1))
                heard, log_pitch = network.encoder(log_mel(wave)), pitch(wave)
                predicted = self._predict(network, heard, log_pitch, measure_envelope(wave))
                lines = self.lines
                voice = self.synthesis.pca.to_voice(
                    PredictedVoice(*(value.expand(len(lines), *value.shape[1:]) for value in vars(predicted).values())),
                    log_pitch[:, 0].expand(len(lines)),
                    lines.language,
                )
                spoken = equalize(self.synthesis(lines, voice).wave, measure_envelope(wave).expand(len(lines), -1))
                row = []
                for name in ("eres2net", "resemblyzer"):
                    judge = getattr(self.frozen, name)
                    row.append(float((judge(spoken) @ torch.cat([judge(each) for each in rest]).T).mean()))
                rows.append(row)
            eres2net, resemblyzer = (sum(each) / len(rows) for each in zip(*rows, strict=True))
            found[count] = (round(eres2net, 4), round(resemblyzer, 4), len(rows))
        return found

    def report(self, network: VoiceEncoder, path: Path) -> None:
        """Prints the final scores; writes those of each speaker to the file."""
        scores = self(network)
        path.write_text(json.dumps(self.rows))
        print(scores, flush=True)
        worst = min(self.rows, key=lambda row: row["eres2net"])
        print(f"worst: {worst}", flush=True)
