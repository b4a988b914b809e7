"""Scores of clips: naturalness (DistillMOS), words misheard (Whisper), similarity of the speaker (ERes2Net)."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import soundfile
import torch

WHISPER = {"a": "en", "b": "en", "e": "es", "f": "fr", "h": "hi", "i": "it", "j": "ja", "p": "pt", "z": "zh"}
"""Whisper's names of Kokoro's languages."""


def split_units(text: str, language: str) -> list[str]:
    """The units that errors are counted in: words in English, characters elsewhere."""
    if language not in "ab":
        return [c for c in text.lower() if c.isalnum()]
    from num2words import num2words

    text = re.sub(r"\d+", lambda match: f" {num2words(int(match.group()))} ", text.lower())
    return re.sub(r"[^a-z' ]+", " ", text.replace("’", "'")).split()


def count_edits(reference: list[str], hypothesis: list[str]) -> int:
    """Insertions, deletions and replacements between two sentences."""
    row = list(range(len(hypothesis) + 1))
    for i, expected in enumerate(reference, 1):
        diagonal, row[0] = row[0], i
        for j, found in enumerate(hypothesis, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (expected != found))
    return row[-1]


class Scorer:
    """DistillMOS always; word errors and speaker similarity where their models' folders are given."""

    def __init__(self, whisper: Path | None, eres2net: Path | None) -> None:
        import distillmos

        self.mos = distillmos.ConvTransformerSQAModel().eval()
        self.whisper = self.speaker = None
        if whisper:
            from faster_whisper import WhisperModel

            self.whisper = WhisperModel(str(whisper), device="cpu", compute_type="int8")
        if eres2net:
            sys.path.insert(0, str(eres2net))
            from speakerlab.models.eres2net.ERes2Net import ERes2Net

            self.speaker = ERes2Net(feat_dim=80, embedding_size=192).eval()
            checkpoint = torch.load(eres2net / "pretrained_eres2net.ckpt", map_location="cpu")
            self.speaker.load_state_dict(checkpoint)

    @staticmethod
    def load(path: Path) -> np.ndarray:
        import librosa

        audio, rate = soundfile.read(path, dtype="float32")
        return librosa.resample(audio, orig_sr=rate, target_sr=16000)

    def naturalness(self, audio: np.ndarray) -> float:
        with torch.no_grad():
            return self.mos(torch.from_numpy(audio)[None]).item()

    def count_errors(self, audio: np.ndarray, text: str, language: str) -> int:
        segments, _ = self.whisper.transcribe(audio, language=WHISPER[language], beam_size=5)
        transcript = " ".join(segment.text for segment in segments)
        return count_edits(split_units(text, language), split_units(transcript, language))

    def similarity(self, one: np.ndarray, other: np.ndarray) -> float:
        import torchaudio.compliance.kaldi as kaldi

        embeddings = []
        for audio in (one, other):
            clip = torch.from_numpy(audio)[None]
            bands = kaldi.fbank(clip, num_mel_bins=80, sample_frequency=16000, dither=0.0)
            with torch.no_grad():
                embeddings.append(self.speaker((bands - bands.mean(0, keepdim=True))[None])[0])
        return float(torch.cosine_similarity(*embeddings, dim=0))


class CachedScorer:
    """Keeps the scores of a clip beside it, with the time of its last change."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def score(self, wave: Path, reference: Path | None, text: str, language: str) -> dict[str, float]:
        changed = wave.stat().st_mtime
        path = wave.with_suffix(".json")
        kept = json.loads(path.read_text()) if path.exists() else {}
        if kept.get("changed") != changed:
            kept = {"changed": changed}
        wanted = {"mos"}
        if self.scorer.speaker and reference:
            wanted.add("similarity")
        if self.scorer.whisper:
            wanted.add("errors")
        if wanted - set(kept):
            clip = self.scorer.load(wave)
            if "mos" not in kept:
                kept["mos"] = self.scorer.naturalness(clip)
            if "similarity" in wanted - set(kept):
                # Less than a second says nothing about the speaker.
                long_enough = len(clip) > 16000
                kept["similarity"] = self.scorer.similarity(self.scorer.load(reference), clip) if long_enough else None
            if "errors" in wanted - set(kept):
                kept["errors"] = self.scorer.count_errors(clip, text, language)
            path.write_text(json.dumps(kept))
        return {name: value for name, value in kept.items() if name != "changed" and value is not None}
