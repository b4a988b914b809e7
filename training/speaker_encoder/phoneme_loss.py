"""The phoneme loss: a small phoneme recogniser, so that clones are trained to be intelligible.

The engine knows which phoneme it speaks when, so the recogniser is trained on random voices in a minute.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from speaker_encoder.features import BANDS, log_mel, normalize_level
from speaker_encoder.mapper import STYLE
from speaker_encoder.schedule import log
from speaker_encoder.speaker_bank import sample_voices
from speaker_encoder.synthesis import Synthesis
from speaker_encoder.texts import Texts
from speaker_encoder.voice_pca import ENGLISH, LETTERS, Voice, VoicePca

PHONEMES = 178
BUILT_IN_TEXTS = 6
"""That each built-in voice of a language speaks, to measure how well they are understood."""


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
        """Cross-entropy and accuracy of each voice. [B, samples], [B, frames] → [B], [B]"""
        mel = log_mel(normalize_level(wave))
        x = self.entry((mel - mel.mean(dim=1, keepdim=True)).transpose(1, 2) / 3)
        for block in self.blocks:
            x = x + block(x)
        x = self.phonemes(F.interpolate(x, size=phonemes.shape[1], mode="linear"))
        loss = F.cross_entropy(x, phonemes, reduction="none").mean(dim=1)
        return loss, (x.argmax(dim=1) == phonemes).float().mean(dim=1)

    @torch.no_grad()
    def evaluate_built_in(self, synthesis: Synthesis, texts: Texts, letters: str = LETTERS) -> tuple[Tensor, Tensor]:
        """Mean loss and accuracy of the built-in voices of each of these languages. [9], [9]"""
        results = []
        for letter in letters:
            voice, lines = synthesis.pca.built_in_voices(letter), texts.held_out(letter, BUILT_IN_TEXTS)
            voices = torch.arange(len(voice.timbre)).repeat(len(lines))
            speech = synthesis(lines[torch.arange(len(lines)).repeat_interleave(len(voice.timbre))], voice[voices])
            results.append(torch.stack([each.mean() for each in self(speech.wave, speech.phonemes)]))
        loss, accuracy = torch.stack(results).unbind(1)
        return loss, accuracy


def sample_clear_voices(pca: VoicePca, language: Tensor) -> Voice:
    """Random voices with zero layer offsets; in other languages than English between them and the native voices."""
    voice = sample_voices(pca, len(language))
    english = (language < len(ENGLISH))[:, None]
    share = torch.where(english, 0.0, torch.rand(len(language), 1, device=language.device))
    voice.timbre = torch.lerp(voice.timbre, pca.native[language, :STYLE], share)
    voice.layer_offsets = pca.articulate(voice.timbre, voice.layer_offsets, language)
    return voice


def train(synthesis: Synthesis, texts: Texts, steps: int, batch: int) -> PhonemeRecognizer:
    """Trains on random voices; returns it frozen."""
    recognizer = PhonemeRecognizer().to(synthesis.pca.offsets.device)
    optimizer = torch.optim.AdamW(recognizer.parameters(), 1e-3, weight_decay=0.01)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 1e-3 * max(0.02, 1 - step / steps) * min(1.0, (step + 1) / 100)
        lines = texts.draw(batch)
        optimizer.zero_grad()
        with torch.autocast(lines.text.device.type, torch.bfloat16, enabled=lines.text.is_cuda):
            with torch.no_grad():
                speech = synthesis(lines, sample_clear_voices(synthesis.pca, lines.language))
            loss = recognizer(speech.wave, speech.phonemes)[0].mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(recognizer.parameters(), 1.0)
        optimizer.step()
    log(f"phoneme recogniser: {steps} steps, loss {loss.item():.3f}")
    return recognizer.eval().requires_grad_(False)
