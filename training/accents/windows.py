"""Windows of 30 s that Whisper listens to: several sentences of a language, each by a voice of its own."""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from accents.accents import Accents
from accents.speech import Clips, Synthesis, pad_texts
from accents.whisper import IGNORED

LENGTH = 30 * 16_000
GAP = 4_800
LEVEL = 0.06
"""Root mean square of each sentence."""
CODES = {"fil": "tl", "pt-br": "pt", "en-us": "en"}
"""What Whisper calls a language, where that is not its code."""
_BETWEEN_WORDS = re.compile(r"([\s,.;:!?…—()“”\"]+)")


def rewrite(phonemes: str, rules: Mapping[str, str]) -> str:
    """Applies regular expressions to each word in turn, as svc does (`clearer` in data/languages.toml)."""
    words = _BETWEEN_WORDS.split(phonemes)
    for pattern, replacement in rules.items():
        words[::2] = [re.sub(pattern, replacement, word) for word in words[::2]]
    return "".join(words)


@dataclass
class Text:
    text: str
    phonemes: str
    ids: list[int]
    tokens: list[int]
    seconds: float = 0.0


@dataclass
class Window:
    row: int
    language: int
    """Whisper's token."""
    texts: list[Text]
    voices: list[int]


class Texts:
    """The texts of a kind, by language, as phoneme ids and Whisper's tokens."""

    def __init__(self, path: Path, tokenizer_path: Path) -> None:
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(tokenizer_path))
        self.stored = json.loads(path.read_text())
        self.vocabulary: dict[str, int] = self.stored["vocabulary"]
        self.rules: dict[str, dict[str, str]] = {}
        """Of each language, applied to what is read."""

    def find_language(self, language: str) -> int:
        token = self.tokenizer.token_to_id(f"<|{CODES.get(language, language)}|>")
        assert token is not None
        return int(token)

    def read(self, kind: str, language: str) -> list[Text]:
        """Texts of one phrase."""
        rules = self.rules.get(language, {})
        return [
            self.make(text, rewrite(phrases[0], rules))
            for text, phrases in self.stored[kind][language]
            if len(phrases) == 1
        ]

    def make(self, text: str, phonemes: str) -> Text:
        ids = [self.vocabulary[symbol] for symbol in phonemes]
        return Text(text, phonemes, ids, self.tokenizer.encode(f" {text}", add_special_tokens=False).ids)


class WindowMaker:
    """Makes windows of the texts of each row, spoken by voices that have another language."""

    LONGEST, MOST_TOKENS = 27.0, 220

    def __init__(self, accents: Accents, texts: Texts, kind: str, cloned: float, seed: int = 0) -> None:
        """`cloned`: share of clones among the voices."""
        self.accents, self.cloned = accents, cloned
        self.rng = random.Random(seed)
        languages = {start.language for start in accents.starts}
        self.texts = {language: texts.read(kind, language) for language in languages}
        self.tokens = {language: texts.find_language(language) for language in languages}
        voices = accents.voices
        self.clones = range(len(voices.tables), int(voices.held_out))
        self.queues: dict[int, list[Text]] = {}

    def measure(self, synthesis: Synthesis) -> None:
        """Estimates how long each text is."""
        voices = self.accents.voices
        for texts in self.texts.values():
            for first in range(0, len(texts), 128):
                some = texts[first : first + 128]
                ids, mask = pad_texts([text.ids for text in some], synthesis.device)
                style = voices.mean_table[60:120, 128:].mean(dim=0).expand(len(some), -1)
                with torch.no_grad():
                    seconds = synthesis.predict_seconds(ids, mask, style)
                for text, each in zip(some, seconds.tolist(), strict=True):
                    text.seconds = each + GAP / 16_000

    def make(self, row: int) -> Window:
        start = self.accents.starts[row]
        window = Window(row, self.tokens[start.language], [], [])
        seconds, tokens = 0.0, 0
        while True:
            queue = self.queues.setdefault(row, [])
            if not queue:
                queue += self.rng.sample(self.texts[start.language], len(self.texts[start.language]))
            text = queue[-1]
            full = seconds + text.seconds > self.LONGEST or tokens + len(text.tokens) > self.MOST_TOKENS
            if full and window.texts:
                return window
            queue.pop()
            if not full:
                window.texts.append(text)
                window.voices.append(self.sample_voice(row))
                seconds, tokens = seconds + text.seconds, tokens + len(text.tokens)

    def sample_voice(self, row: int) -> int:
        start, voices = self.accents.starts[row], self.accents.voices
        if not start.for_natives and self.rng.random() < self.cloned:
            return self.rng.choice(self.clones)
        native = [language == start.language for language in voices.languages]
        return self.rng.choice([i for i, each in enumerate(native) if each == start.for_natives])


def speak(synthesis: Synthesis, accents: Accents, windows: Sequence[Window]) -> tuple[Clips, list[int]]:
    """The clips of all sentences, and the voice of each."""
    voices, device = accents.voices, synthesis.device
    texts = [text.ids for window in windows for text in window.texts]
    chosen = [voice for window in windows for voice in window.voices]
    row = torch.tensor([window.row for window in windows for _ in window.texts], device=device)
    voice = torch.tensor(chosen, device=device)
    style, timbre = accents(row, voice, torch.tensor([len(text) for text in texts], device=device))
    clips = synthesis(texts, style, timbre, voices, voice)
    return clips, chosen


def join(clips: Clips, windows: Sequence[Window]) -> tuple[Tensor, Tensor, Tensor]:
    """Waves [W, 30 s], tokens [W, n] and languages [W] of the windows. Sentences that have no room are left out."""
    waves, tokens, index = [], [], 0
    for window in windows:
        pieces, spoken, length = [], list[int](), 0
        for text in window.texts:
            clip = clips.cut(index)
            index += 1
            if length + len(clip) + GAP > LENGTH:
                continue
            level = clip.detach().square().mean().sqrt() + 1e-4
            pieces += [clip * (LEVEL / level), clip.new_zeros(GAP)]
            length += len(clip) + GAP
            spoken += text.tokens
        waves.append(torch.cat([*pieces, clips.wave.new_zeros(LENGTH - length)]))
        tokens.append(spoken)
    longest = max(map(len, tokens))
    padded = torch.tensor([each + [IGNORED] * (longest - len(each)) for each in tokens], device=clips.wave.device)
    languages = torch.tensor([window.language for window in windows], device=clips.wave.device)
    return torch.stack(waves), padded, languages
