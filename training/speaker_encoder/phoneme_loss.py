"""Understands svc's own speech, phoneme by phoneme, so that a clone's words can be asked for.

The engine knows which phoneme it speaks when, so a minute of speech in random voices is all that it takes.
"""

import random
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cloning.axes import ENGLISH, Axes, Voice, rule
from cloning.clock import say
from cloning.mapper import STYLE
from cloning.shelf import random_voice
from cloning.sound import BANDS, level, log_mel
from cloning.speech import SYMBOL, Speech, Spoken
from cloning.texts import Text, Texts

SYMBOLS = 178
EXCERPT = 60
"""Symbols, of 25 ms each, that it learns from at once."""


class Listener(nn.Module):
    def __init__(self, width: int = 320, dilations: tuple[int, ...] = (1, 2, 3, 1, 2, 3, 1, 2)) -> None:
        super().__init__()
        self.entry = nn.Conv1d(BANDS, width, 5, padding=2)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.GroupNorm(1, width), nn.GELU(), nn.Conv1d(width, width, 5, padding=2 * d, dilation=d))
            for d in dilations
        )
        self.symbols = nn.Sequential(nn.GroupNorm(1, width), nn.GELU(), nn.Conv1d(width, SYMBOLS, 3, padding=1))

    def forward(self, wave: Tensor, symbols: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy and the share of right phonemes, for each voice. [B, samples], [B or 1, symbols] → [B], [B]"""
        mel = log_mel(level(wave))
        x = self.entry((mel - mel.mean(dim=1, keepdim=True)).transpose(1, 2) / 3)
        for block in self.blocks:
            x = x + block(x)
        x = self.symbols(F.interpolate(x, size=symbols.shape[1], mode="linear"))
        wanted = symbols.expand(len(x), -1)
        loss = F.cross_entropy(x, wanted, reduction="none").mean(dim=1)
        return loss, (x.argmax(dim=1) == wanted).float().mean(dim=1)

    def plainly(self, speech: Speech, texts: list[Text]) -> tuple[float, float]:
        """What it makes of the built-in voices of the texts' language: its mean loss, and the share of phonemes."""
        found = []
        for text in texts:
            spoken = speech(text.ids, speech.axes.built_in(text.language))
            loss, right = self(spoken.wave, spoken.symbols[None])
            found.append((float(loss.mean()), float(right.mean())))
        losses, rights = zip(*found, strict=True)
        return sum(losses) / len(losses), sum(rights) / len(rights)


def clear_voice(axes: Axes, language: str, count: int) -> Voice:
    """Random voices that speak clearly: no layer strays, and abroad they are on the way to those who live there."""
    voice = random_voice(axes, count)
    if language not in ENGLISH:
        native = axes.natives(language)[:, :STYLE]
        native = native[torch.randint(len(native), (count,), device=native.device)]
        voice.timbre = torch.lerp(voice.timbre, native, torch.rand(count, 1, device=native.device))
    return axes.accented(voice, language, rule(language, voice.timbre.device))


@torch.no_grad()
def _speech(speech: Speech, texts: Texts, count: int, voices: int) -> list[Spoken]:
    found: list[Spoken] = []
    while len(found) < count:
        text = texts.draw()
        voice = clear_voice(speech.axes, text.language, voices)
        spoken = speech(text.ids, voice, random.randrange(len(voice.melody)))
        if len(spoken.symbols) > EXCERPT:
            found.append(Spoken(spoken.wave.half(), spoken.f0, spoken.symbols))
    return found


def _excerpt(spoken: Spoken) -> tuple[Tensor, Tensor]:
    start = random.randrange(len(spoken.symbols) - EXCERPT)
    wave = spoken.wave[:, start * SYMBOL : (start + EXCERPT) * SYMBOL]
    return wave, spoken.symbols[start : start + EXCERPT].expand(len(wave), -1)


def train(speech: Speech, texts: Texts, seconds: float, count: int, voices: int) -> Listener:
    """Learns from so many texts in that many voices each. It is frozen then."""
    device = speech.axes.offsets.device
    listener = Listener().to(device)
    optimiser = torch.optim.AdamW(listener.parameters(), 1e-3, weight_decay=0.01)
    heard = _speech(speech, texts, count, voices)
    began, steps = time.monotonic(), 0
    while (elapsed := time.monotonic() - began) < seconds:
        optimiser.param_groups[0]["lr"] = 1e-3 * max(0.02, 1 - elapsed / seconds) * min(1.0, (steps + 1) / 100)
        waves, symbols = zip(*map(_excerpt, random.choices(heard, k=12)), strict=True)
        optimiser.zero_grad()
        listener(torch.cat(waves).float(), torch.cat(symbols))[0].mean().backward()
        torch.nn.utils.clip_grad_norm_(listener.parameters(), 1.0)
        optimiser.step()
        steps += 1
    say(f"the listener learned for {steps} steps from {len(heard)} texts")
    return listener.eval().requires_grad_(False)
