"""Finds symbols of the vocabulary that are understood better than those a language has now.

    python -m accents.symbols FOLDER
    python -m accents.symbols FOLDER --shipped ../src/svc/data/accents.npz --languages ms fil --ideas ideas.json

For each symbol that a language uses, everywhere or only with stress, without it, or at the end of a word, the sentences
that have most of it are spoken with each alternative. What Whisper base understands better there is spoken again, by
other voices; what remains is tried all together on the validation texts. Ideas are further rules to try, by language.
Writes symbols.json: rules by language, regular expressions on the phonemes of a word and what to use instead.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from accents.accents import Accents, load_shipped
from accents.inputs import Inputs
from accents.train import load
from accents.windows import Text, Window, WindowMaker, join, rewrite, speak

# Near sounds, other spellings of the same sound, and nothing ("0").
ALTERNATIVES = {
    symbol: [each.replace("0", "") for each in alternatives.split()]
    for symbol, alternatives in {
        "a": "ɑ ɐ æ ʌ", "ɑ": "a ɐ ɔ ʌ", "ɐ": "a ə ʌ ɚ", "æ": "a ɛ e", "e": "ɛ ɪ ej", "ɛ": "e æ ə",
        "ə": "ɐ ᵊ ɛ e a ɨ ʌ", "i": "ɪ iː", "ɪ": "i e ᵻ", "o": "ɔ ʊ O ɒ", "ɔ": "o ɒ ɑ", "u": "ʊ uː ɯ", "ʊ": "u o ɔ",
        "y": "ju i u ø ɨ jʊ",
        "ø": "œ ə ɜ e ɚ", "œ": "ø ə ɜ ʌ", "ɨ": "i ɪ ə ᵻ ɯ y", "ɯ": "u ɨ ə ʊ ɪ", "ʌ": "a ɐ ə ɔ", "ɒ": "ɔ o ɑ a",
        "ɜ": "ɐ ə ɛ", "ɤ": "ə ʌ o", "r": "ɾ ɹ ʁ", "ɾ": "r ɹ ʁ", "ɹ": "r ɾ ʁ", "ʁ": "r ɾ ɹ x ɣ", "x": "h χ ç k",
        "χ": "x h ʁ", "h": "x χ 0", "ç": "ʃ ɕ x hj", "ɕ": "ʃ ç s", "ʃ": "ɕ ʂ ç", "ʂ": "ʃ s ɕ", "ʒ": "ʤ ʃ z ʝ",
        "z": "s ʣ", "s": "z ss", "ʨ": "ʧ ʦ tj tɕ", "ʥ": "ʤ ʣ dj", "ʧ": "ʨ ꭧ tʃ", "ʤ": "ʥ dʒ ʒ", "ʦ": "ts s ʧ",
        "ʣ": "dz z", "ɲ": "nj n ni", "ŋ": "n nɡ ɴ", "ʎ": "l lj j", "ɟ": "dj ʥ ʤ ɡ", "c": "tj kj ʨ k t", "l": "ʎ ɹ",
        "ɡ": "ɣ k", "ɣ": "ɡ ʁ h x", "β": "v b w", "v": "w ʋ β f", "ʋ": "v w", "w": "v ʋ u", "ð": "d z 0 j",
        "θ": "s t f",
        "j": "i ʝ ʲ", "ʝ": "j ɡ", "ʔ": "0 h", "ʰ": "0 h", "ʲ": "j 0", "ː": "0", "ˌ": "0 ˈ", "ˈ": "ˌ", "t": "tʰ ʈ d",
        "k": "kʰ q ɡ", "p": "pʰ b", "d": "ɖ t ð", "b": "p β", "q": "k ɡ x", "ɻ": "ɹ l ɾ r ʒ", "ɳ": "n", "ʈ": "t",
        "ɖ": "d", "ɽ": "ɾ r d", "A": "eɪ ej e", "I": "aɪ aj", "O": "oʊ ow o", "W": "aʊ aw", "Y": "ɔɪ ɔj", "Q": "əʊ ou",
        "→": "0 ↗ ↘ ↓", "↗": "0 → ↘ ↓", "↘": "0 → ↗ ↓", "↓": "0 → ↗ ↘", "\u0303": "0 n", "n": "nn ɲ", "m": "mm",
    }.items()
}  # fmt: skip
LEAST_SHARE = 0.004
"""Of the phonemes of a language, for a rule to be tried."""
FIRST_GAIN, SECOND_GAIN, THIRD_GAIN = 0.02, 0.015, 0.005
"""What each round asks for, in nats a token."""
PROMISING, RIVALS = 16, 2
"""Rules of a language, and among them rules about one symbol, that reach the second round."""

VOWELS = "AIOQWYaeiouyæɑɐɒɔəɚɛɜɤɨɪɯøœʊʌᵻ"

Candidate = tuple[int, str, str]
"""Row, pattern, replacement."""


def list_patterns(symbol: str) -> list[str]:
    """Where a symbol may be replaced."""
    if symbol in VOWELS:
        return [symbol, f"(?<=[ˈˌ]){symbol}", f"(?<![ˈˌ]){symbol}", f"{symbol}$"]
    return [symbol, f"{symbol}$", f"{symbol}(?=.)"] if symbol.isalpha() else [symbol]


def measure_share(pattern: str, words: str) -> float:
    """In how many places, of all symbols, a rule would change words, which are on a line each."""
    return len(re.findall(pattern, words, re.MULTILINE)) / len(words)


def list_words(phonemes: str) -> str:
    """On a line each, so that patterns find where they end."""
    return re.sub(r"[\s,.;:!?…—()“”\"]+", "\n", phonemes)


class Tester:
    def __init__(self, inputs: Inputs, accents: Accents, batch: int) -> None:
        self.inputs, self.accents, self.batch = inputs, accents, batch
        self.maker = WindowMaker(accents, inputs.texts, "training", cloned=0.2, seed=5)
        self.maker.measure(inputs.synthesis)

    def change(self, window: Window, table: Mapping[str, str]) -> Window:
        texts = []
        for text in window.texts:
            changed = self.inputs.texts.make(text.text, rewrite(text.phonemes, table))
            changed.seconds = text.seconds
            texts.append(changed)
        return Window(window.row, window.language, texts, window.voices)

    def fill(self, row: int, texts: Sequence[Text]) -> Window:
        """One window of the first of the texts that fit."""
        window, seconds, tokens = Window(row, self.maker.tokens[self.accents.starts[row].language], [], []), 0.0, 0
        for text in texts:
            if seconds + text.seconds <= WindowMaker.LONGEST and tokens + len(text.tokens) <= WindowMaker.MOST_TOKENS:
                window.texts.append(text)
                window.voices.append(self.maker.sample_voice(row))
                seconds, tokens = seconds + text.seconds, tokens + len(text.tokens)
        return window

    def find_dense(self, row: int, pattern: str, first: int, count: int) -> list[Window]:
        """Windows of sentences in which a rule changes much, each window with other sentences."""
        texts = self.maker.texts[self.accents.starts[row].language]
        ranked = sorted(texts, key=lambda text: -measure_share(pattern, list_words(text.phonemes)))
        return [self.fill(row, ranked[each::6]) for each in range(first, first + count)]

    @torch.no_grad()
    def score(self, windows: Sequence[Window]) -> list[float]:
        losses = []
        for first in range(0, len(windows), self.batch):
            some = windows[first : first + self.batch]
            clips, _ = speak(self.inputs.synthesis, self.accents, some)
            wave, tokens, languages = join(clips, some)
            with torch.autocast(self.inputs.device.type, torch.bfloat16, enabled=self.inputs.device.type == "cuda"):
                entropy = self.inputs.whisper.cross_entropy(wave, tokens, languages)
            losses += (entropy.sum(dim=1) / ((tokens >= 0).sum(dim=1) + 1)).tolist()
        return losses

    def measure_gains(self, candidates: Sequence[Candidate], first: int, count: int) -> list[float]:
        """How much less a token's cross-entropy is with the alternative, on windows where it changes much."""
        plain = {
            (row, pattern): self.find_dense(row, pattern, first, count)
            for row, pattern in dict.fromkeys((row, pattern) for row, pattern, _ in candidates)
        }
        windows = [window for each in plain.values() for window in each]
        for row, pattern, replacement in candidates:
            windows += [self.change(window, {pattern: replacement}) for window in plain[row, pattern]]
        losses = torch.tensor(self.score(windows)).view(-1, count).mean(dim=1).tolist()
        base = dict(zip(plain, losses, strict=False))
        changed = losses[len(plain) :]
        return [base[row, pattern] - loss for (row, pattern, _), loss in zip(candidates, changed, strict=True)]


def list_candidates(tester: Tester, ideas: Mapping[str, Sequence[tuple[str, str]]]) -> list[Candidate]:
    found: list[Candidate] = []
    vocabulary = tester.inputs.texts.vocabulary
    for row, start in enumerate(tester.accents.starts):
        if start.for_natives:
            continue
        found += [(row, pattern, replacement) for pattern, replacement in ideas.get(start.row, [])]
        spoken = list_words(" ".join(text.phonemes for text in tester.maker.texts[start.language]))
        for symbol in sorted(set(spoken) & ALTERNATIVES.keys()):
            alternatives = [each for each in ALTERNATIVES[symbol] if all(c in vocabulary for c in each)]
            whole = measure_share(symbol, spoken)
            for pattern in list_patterns(symbol):
                share = measure_share(pattern, spoken)
                if share >= LEAST_SHARE and (pattern == symbol or share < 0.9 * whole):
                    found += [(row, pattern, each) for each in alternatives]
    return found


def find_symbol(pattern: str) -> str:
    """The symbol of a pattern, without its context."""
    return re.sub(r"\(\?.*?\)|\$", "", pattern)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--most", type=int, help="candidates, for a trial")
    parser.add_argument("--shipped", type=Path, help="accents.npz, in place of what was trained")
    parser.add_argument("--languages", nargs="*", help="only these, of the shipped ones")
    parser.add_argument("--ideas", type=Path, help="rules to try, by language")
    args = parser.parse_args()
    began = time.time()
    inputs = Inputs.load(args.folder)
    if args.shipped:
        known = inputs.texts.stored["articulation"]
        chosen = {code: native for code, native in known.items() if not args.languages or code in args.languages}
        accents = load_shipped(args.shipped, chosen, inputs.voices, inputs.load_pitch_axis())
    else:
        accents = load(args.folder / "accents.pt", inputs)
    tester = Tester(inputs, accents, args.batch)
    ideas = json.loads(args.ideas.read_text()) if args.ideas else {}
    candidates = list_candidates(tester, ideas)[: args.most]
    print(f"{time.time() - began:.0f} s: {len(candidates)} candidates", flush=True)
    gains = tester.measure_gains(candidates, 0, 2)
    ranked = sorted(zip(gains, candidates, strict=True), reverse=True)
    promising: list[Candidate] = []
    taken = Counter[int]()
    for gain, candidate in ranked:
        row, pattern, _ = candidate
        # The second round decides between rules about one symbol.
        rivals = sum(other == row and find_symbol(pattern) == find_symbol(each) for other, each, _ in promising)
        if gain >= FIRST_GAIN and rivals < RIVALS and taken[row] < PROMISING:
            promising.append(candidate)
            taken[row] += 1
    print(f"{time.time() - began:.0f} s: {len(promising)} promising", flush=True)
    second = tester.measure_gains(promising, 2, 4) if promising else []
    tables: dict[int, dict[str, str]] = {}
    log = []
    first = dict(zip(candidates, gains, strict=True))
    for gain, candidate in sorted(zip(second, promising, strict=True), reverse=True):
        row, pattern, replacement = candidate
        log.append((accents.starts[row].row, pattern, replacement, round(first[candidate], 4), round(gain, 4)))
        if gain >= SECOND_GAIN and find_symbol(pattern) not in map(find_symbol, tables.get(row, {})):
            tables.setdefault(row, {})[pattern] = replacement
    tester.maker = WindowMaker(accents, inputs.texts, "validation", cloned=0.2, seed=6)
    tester.maker.measure(inputs.synthesis)
    windows = [tester.maker.make(row) for row in tables for _ in range(6)]
    changed = [tester.change(window, tables[window.row]) for window in windows]
    losses = torch.tensor(tester.score([*windows, *changed])).view(2, -1, 6).mean(dim=2) if windows else []
    kept = {}
    for (row, table), before, after in zip(tables.items(), *losses, strict=True):
        name = accents.starts[row].row
        print(name, table, f"{float(before):.4f} → {float(after):.4f}", flush=True)
        if before - after >= THIRD_GAIN:
            kept[name] = table
    (args.folder / "symbols.json").write_text(json.dumps(kept, ensure_ascii=False, indent=1))
    (args.folder / "symbols-log.json").write_text(json.dumps(log, ensure_ascii=False))
    print(f"{time.time() - began:.0f} s: {sum(map(len, kept.values()))} replacements", flush=True)


if __name__ == "__main__":
    main()
