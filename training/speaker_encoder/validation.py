"""Validation: clones of speakers that are never trained on, speaking texts that are never trained on."""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from speaker_encoder.encoder import Embeddings
from speaker_encoder.equalizer import equalize, measure_envelope
from speaker_encoder.features import log_mel, normalize_level, pitch
from speaker_encoder.frozen_losses import FrozenNetworks
from speaker_encoder.mapper import ACCENT_LANGUAGES, PredictedVoice, build_inputs
from speaker_encoder.phoneme_loss import PhonemeRecognizer
from speaker_encoder.speakers import Clip
from speaker_encoder.synthesis import Speech, Synthesis
from speaker_encoder.texts import Text, Texts
from speaker_encoder.voice_encoder import VoiceEncoder
from speaker_encoder.voice_pca import LANGUAGES
from speaker_encoder.whisper_loss import SpelledText, WhisperLoss

Network = Callable[[Tensor], Tensor]


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
    pitch_error: float
    eres2net_foreign: float
    whisper_foreign: float
    """The share of tokens that Whisper predicts right."""
    pitch_error_foreign: float

    @property
    def total(self) -> float:
        english = self.eres2net + self.resemblyzer + self.phonemes + 0.2 * self.naturalness
        return english + 0.5 * (self.eres2net_foreign + self.whisper_foreign)

    def __str__(self) -> str:
        return "  ".join(f"{f.name} {getattr(self, f.name):.3f}" for f in fields(self))


class Validation:
    """A speaker's longest clip is the reference; the clone is compared with the others."""

    TEXTS = 2
    BUILT_IN_TEXTS = 6
    OTHERS = 3

    @torch.no_grad()
    def __init__(
        self,
        clips: list[Clip],
        frozen: FrozenNetworks,
        synthesis: Synthesis,
        recognizer: PhonemeRecognizer,
        whisper: WhisperLoss,
        texts: Texts,
        device: torch.device,
        count: int | None = None,
    ) -> None:
        self.frozen, self.synthesis, self.recognizer, self.whisper = frozen, synthesis, recognizer, whisper
        self.networks: dict[str, Network] = {
            name: getattr(frozen, name) for name in ("eres2net", "campplus", "dvector", "resemblyzer")
        }
        waves: dict[str, list[Tensor]] = {}
        for clip in clips:
            waves.setdefault(clip.speaker, []).append(normalize_level(clip.wave[None].to(device)))
        self.names = sorted(waves)[:count]
        ordered = [sorted(waves[name], key=lambda wave: wave.shape[1]) for name in self.names]
        self.references = [each[-1] for each in ordered]
        self.others = {
            name: [torch.cat([network(wave) for wave in each[:-1][-self.OTHERS :]]) for each in ordered]
            for name, network in self.networks.items()
        }
        self.true_embeddings = Embeddings.concatenate([frozen.embed(wave) for wave in self.references])
        self.envelopes = torch.cat([measure_envelope(wave) for wave in self.references])
        self.pitches = torch.cat([pitch(wave) for wave in self.references])
        self.texts = texts.held_out("a", self.TEXTS)
        self.foreign_texts = [text for name in ACCENT_LANGUAGES for text in texts.held_out(name, self.TEXTS)]
        self.rows: list[dict[str, float | str]] = []
        self._measure_built_in(texts)

    def _measure_built_in(self, texts: Texts) -> None:
        """Intelligibility of the built-in voices of each language, which clones are compared with."""
        results = {
            language: self.recognizer.evaluate_built_in(self.synthesis, texts.held_out(language, self.BUILT_IN_TEXTS))
            for language in LANGUAGES
        }
        self.built_in_loss = {language: loss for language, (loss, _) in results.items()}
        native = [
            self._whisper_accuracy(self.synthesis(text.ids, self.synthesis.pca.built_in_voices(text.language)), text)
            for text in self.foreign_texts
        ]
        phonemes = ", ".join(f"{language} {accuracy:.0%}" for language, (_, accuracy) in results.items())
        self.built_in_accuracy = f"phonemes {phonemes}; Whisper's tokens {torch.cat(native).mean():.0%}"

    @torch.no_grad()
    def __call__(self, network: VoiceEncoder) -> Scores:
        """Of the voices that the encoder and the mapper predict from the references."""
        predictions = [network(log_mel(wave), pitch(wave))[1] for wave in self.references]
        merged = {name: torch.cat([getattr(each, name) for each in predictions]) for name in vars(predictions[0])}
        return self.score(PredictedVoice(**merged))

    @torch.no_grad()
    def with_true_embeddings(self, network: VoiceEncoder) -> Scores:
        """The same if the mapper gets the networks' own embeddings: what a perfect encoder would give."""
        return self.score(network.mapper(build_inputs(self.true_embeddings, self.pitches)))

    def score(self, predicted: PredictedVoice) -> Scores:
        """Of parameters from anywhere, one set per speaker."""
        english = [self._score_text(text, predicted) for text in self.texts]
        foreign = [self._score_foreign_text(text, predicted) for text in self.foreign_texts]
        means = {
            key: torch.stack([each[key] for each in results]).mean(dim=0).tolist()
            for results in (english, foreign)
            for key in results[0]
        }
        self.rows = [
            {"speaker": name, **{key: values[i] for key, values in means.items()}} for i, name in enumerate(self.names)
        ]
        return Scores(**{key: sum(values) / len(values) for key, values in means.items()})

    def _synthesize(self, text: Text, predicted: PredictedVoice) -> Speech:
        voice = self.synthesis.pca.to_voice(predicted, self.pitches[:, 0], text.language)
        return self.synthesis(text.ids, voice)

    def _whisper_accuracy(self, speech: Speech, text: SpelledText) -> Tensor:
        """[voices]"""
        return self.whisper(speech.wave, torch.tensor(text.tokens, device=speech.wave.device), text.language)[1]

    def _score_foreign_text(self, text: SpelledText, predicted: PredictedVoice) -> dict[str, Tensor]:
        """[speakers] each"""
        speech = self._synthesize(text, predicted)
        return {
            "eres2net_foreign": self._similarity("eres2net", self.frozen.eres2net(speech.wave)),
            "whisper_foreign": self._whisper_accuracy(speech, text),
            "pitch_error_foreign": (pitch(speech.wave)[:, 0] - self.pitches[:, 0]).abs(),
        }

    def _score_text(self, text: Text, predicted: PredictedVoice) -> dict[str, Tensor]:
        """[speakers] each"""
        scores, speech = {}, self._synthesize(text, predicted)
        equalized = equalize(speech.wave, self.envelopes)
        for name, network in self.networks.items():
            embedding = network(equalized)
            scores[name] = self._similarity(name, embedding)
            if name == "resemblyzer":
                scores["identified"] = self._identify(embedding)
        scores["naturalness"] = self.frozen.naturalness(speech.wave)
        scores["phonemes"] = self.recognizer(speech.wave, speech.phonemes[None])[1]
        scores["pitch_error"] = (pitch(speech.wave)[:, 0] - self.pitches[:, 0]).abs()
        return scores

    def _similarity(self, name: str, embedding: Tensor) -> Tensor:
        """Of each clone's speech to its speaker's other clips. [speakers]"""
        pairs = zip(embedding, self.others[name], strict=True)
        return torch.stack([(others @ each).mean() for each, others in pairs])

    def _identify(self, embedding: Tensor) -> Tensor:
        """1 where a clone is nearest to its own speaker. [speakers]"""
        centroids = F.normalize(torch.stack([each.mean(dim=0) for each in self.others["resemblyzer"]]), dim=1)
        nearest = (embedding @ centroids.T).argmax(dim=1)
        return (nearest == torch.arange(len(nearest), device=nearest.device)).float()

    def report(self, network: VoiceEncoder, path: Path) -> None:
        """Prints a table of the final scores; writes those of each speaker to the file."""
        scores = {
            "with the networks' embeddings": self.with_true_embeddings(network),
            "with the encoder": self(network),
        }
        path.write_text(json.dumps(self.rows))
        names = [f.name for f in fields(Scores)]
        print(f"{'':32}" + "".join(f"{name:>20}" for name in names))
        for label, each in scores.items():
            print(f"{label:32}" + "".join(f"{getattr(each, name):20.3f}" for name in names))
        worst = min(self.rows, key=lambda row: row["eres2net"])
        label = f"worst ({worst['speaker']})"
        print(f"{label:32}" + "".join(f"{worst[name]:20.3f}" for name in names), flush=True)
