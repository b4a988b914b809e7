"""The phoneme loss: a small phoneme recogniser, so that clones are trained to be intelligible.

The engine knows which phoneme it speaks when, so the recogniser is trained on random voices in a minute.
"""

import random

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from speaker_encoder.features import BANDS, log_mel, normalize_level
from speaker_encoder.mapper import STYLE
from speaker_encoder.schedule import log
from speaker_encoder.speaker_bank import sample_voices
from speaker_encoder.synthesis import PHONEME_FRAME, Speech, Synthesis
from speaker_encoder.texts import Text, Texts
from speaker_encoder.voice_pca import ENGLISH, Voice, VoicePca, default_accent

PHONEMES = 178
EXCERPT = 60
"""Phoneme frames, of 25 ms each, in a training excerpt."""
BATCH = 12
"""Texts in a training step."""


class PhonemeRecognizer(nn.Module):
    def __init__(self, width: int = 320, dilations: tuple[int, ...] = (1, 2, 3, 1, 2, 3, 1, 2)) -> None:
        super().__init__()
        self.entry = nn.Conv1d(BANDS, width, 5, padding=2)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.GroupNorm(1, width), nn.GELU(), nn.Conv1d(width, width, 5, padding=2 * d, dilation=d))
            for d in dilations
        )
        self.phonemes = nn.Sequential(nn.GroupNorm(1, width), nn.GELU(), nn.Conv1d(width, PHONEMES, 3, padding=1))

    def forward(self, wave: Tensor, phonemes: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy and accuracy of each voice. [B, samples], [B or 1, frames] → [B], [B]"""
        mel = log_mel(normalize_level(wave))
        x = self.entry((mel - mel.mean(dim=1, keepdim=True)).transpose(1, 2) / 3)
        for block in self.blocks:
            x = x + block(x)
        x = self.phonemes(F.interpolate(x, size=phonemes.shape[1], mode="linear"))
        target = phonemes.expand(len(x), -1)
        loss = F.cross_entropy(x, target, reduction="none").mean(dim=1)
        return loss, (x.argmax(dim=1) == target).float().mean(dim=1)

    def evaluate_built_in(self, synthesis: Synthesis, texts: list[Text]) -> tuple[float, float]:
        """Mean loss and accuracy on the built-in voices of the texts' language."""
        results = []
        for text in texts:
            speech = synthesis(text.ids, synthesis.pca.built_in_voices(text.language))
            loss, accuracy = self(speech.wave, speech.phonemes[None])
            results.append((float(loss.mean()), float(accuracy.mean())))
        losses, accuracies = zip(*results, strict=True)
        return sum(losses) / len(losses), sum(accuracies) / len(accuracies)


def sample_clear_voices(pca: VoicePca, language: str, count: int) -> Voice:
    """Random voices with zero layer offsets; in other languages than English between them and the native voices."""
    voice = sample_voices(pca, count)
    if language not in ENGLISH:
        native = pca.native_offsets(language)[:, :STYLE]
        native = native[torch.randint(len(native), (count,), device=native.device)]
        voice.timbre = torch.lerp(voice.timbre, native, torch.rand(count, 1, device=native.device))
    return pca.apply_accent(voice, language, default_accent(language, voice.timbre.device))


@torch.no_grad()
def _synthesize(synthesis: Synthesis, texts: Texts, count: int, voices: int) -> list[Speech]:
    clips: list[Speech] = []
    while len(clips) < count:
        text = texts.draw()
        voice = sample_clear_voices(synthesis.pca, text.language, voices)
        speech = synthesis(text.ids, voice, random.randrange(len(voice.melody)))
        if len(speech.phonemes) > EXCERPT:
            clips.append(Speech(speech.wave.half(), speech.f0, speech.phonemes))
    return clips


def _cut_excerpt(speech: Speech) -> tuple[Tensor, Tensor]:
    start = random.randrange(len(speech.phonemes) - EXCERPT)
    wave = speech.wave[:, start * PHONEME_FRAME : (start + EXCERPT) * PHONEME_FRAME]
    return wave, speech.phonemes[start : start + EXCERPT].expand(len(wave), -1)


def train(synthesis: Synthesis, texts: Texts, steps: int, count: int, voices: int) -> PhonemeRecognizer:
    """Trains on `count` texts in `voices` voices each; returns it frozen."""
    recognizer = PhonemeRecognizer().to(synthesis.pca.offsets.device)
    optimizer = torch.optim.AdamW(recognizer.parameters(), 1e-3, weight_decay=0.01)
    clips = _synthesize(synthesis, texts, count, voices)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 1e-3 * max(0.02, 1 - step / steps) * min(1.0, (step + 1) / 100)
        waves, phonemes = zip(*map(_cut_excerpt, random.choices(clips, k=BATCH)), strict=True)
        optimizer.zero_grad()
        recognizer(torch.cat(waves).float(), torch.cat(phonemes))[0].mean().backward()
        torch.nn.utils.clip_grad_norm_(recognizer.parameters(), 1.0)
        optimizer.step()
    log(f"phoneme recogniser: {steps} steps on {len(clips)} texts")
    return recognizer.eval().requires_grad_(False)
