"""English words in misaki's lexicons, with the endings that the lexicons leave out."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distribution
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from svc.text.g2p.stress import PRIMARY, SECONDARY, lifted, lowered, raised

Entry = str | dict[str, str | None]

# Tags that the lexicons group: a noun's entry serves NN, NNS, NNP.
_FAMILIES = {"VB": "VERB", "NN": "NOUN", "RB": "ADV", "JJ": "ADJ"}
_VOICELESS, _HISSING = "ptkfθ", "szʃʒʧʤ"
_FLAPPING = frozenset("AIOWYiuæɑəɛɪɹʊʌ")


# An ending as it is written, what the stem has instead, and the ending as it sounds.
_ENDINGS = (
    ("s", "", "s"),
    ("es", "", "s"),
    ("ies", "y", "s"),
    ("ed", "e", "ed"),
    ("ed", "", "ed"),
    ("ied", "y", "ed"),
    ("ing", "", "ing"),
    ("ing", "e", "ing"),
)
_DOUBLED = frozenset("bdgklmnprstvz")


@dataclass(frozen=True, slots=True)
class Context:
    """What follows a word: whether it begins with a vowel; None is a pause."""

    vowel: bool | None = None


class Lexicon:
    """Pronunciations in misaki's alphabet; American or British."""

    def __init__(self, british: bool) -> None:
        accent = "gb" if british else "us"
        self.british = british
        self._gold: dict[str, Entry] = load_json(f"lexicon_{accent}_gold.json.gz")
        self._silver: dict[str, Entry] = load_json(f"lexicon_{accent}_silver.json.gz")
        # The vowel of "roses" and "wanted".
        self._reduced = "ɪ" if british else "ᵻ"

    def __contains__(self, word: str) -> bool:
        return self._entry(word) is not None

    def pronounce(self, word: str, tag: str, context: Context) -> str | None:
        """The sound of a word as it is written, or None when neither it nor its stem is known."""
        if word.isupper() and len(word) > 1:
            return self._capitals(word, tag, context)
        found = self._look_up(word, tag, context) or self._inflected(word, tag, context)
        if found is None and not word.islower():
            lower = word.lower()
            found = self._look_up(lower, tag, context) or self._inflected(lower, tag, context)
        if found is None:
            return None
        return found if word.islower() else lifted(found)

    def is_acronym(self, word: str) -> bool:
        """Whether the lexicon has the word in just these capitals, as one that is read: "NASA"."""
        return len(word) > 1 and word.isupper() and isinstance(self._gold.get(word), str)

    def spell(self, letters: str) -> str | None:
        """The names of the letters, the last with the main stress: "FBI"."""
        names = [self._gold.get(letter.upper()) for letter in letters if letter.isalpha()]
        if not names or not all(isinstance(name, str) for name in names):
            return None
        return PRIMARY.join(lowered("".join(map(str, names))).rsplit(SECONDARY, 1))

    def with_s(self, stem: str) -> str:
        """A stem with "s" at its end: plural, third person, possessive."""
        if stem[-1] in _VOICELESS:
            return stem + "s"
        return stem + self._reduced + "z" if stem[-1] in _HISSING else stem + "z"

    def _with_ed(self, stem: str) -> str:
        if stem[-1] in "pkfθʃsʧ":
            return stem + "t"
        if stem[-1] == "t" and not self.british and stem[-2:-1] in _FLAPPING:
            return stem[:-1] + "ɾᵻd"
        return stem + self._reduced + "d" if stem[-1] in "td" else stem + "d"

    def _with_ing(self, stem: str, written: str) -> str:
        if self.british:
            # The r that British English keeps for before a vowel: "mentor", "mentoring".
            return stem + ("ɹɪŋ" if stem[-1] in "əː" and written.endswith(("r", "re")) else "ɪŋ")
        return (stem[:-1] + "ɾɪŋ") if stem[-1] == "t" and stem[-2:-1] in _FLAPPING else stem + "ɪŋ"

    def _inflected(self, word: str, tag: str, context: Context) -> str | None:
        """The sound of a regular plural, past or -ing form whose stem is known."""
        for stem, ending in _stems(word):
            if stem.isupper() and len(stem) > 1:
                sound = self._capitals(stem, tag, context)
            else:
                sound = self._look_up(stem, tag, context)
            if not sound:
                continue
            if ending == "s":
                return self.with_s(sound)
            return self._with_ed(sound) if ending == "ed" else self._with_ing(lifted(sound), stem)
        return None

    def _capitals(self, word: str, tag: str, context: Context) -> str | None:
        entry = self._gold.get(word)
        if isinstance(entry, dict):
            # "US", "IT": a name is spelt, a shouted word is read.
            found = self._choose(entry, tag, context)
            return self.spell(word) if found is None else raised(found)
        if isinstance(entry, str):
            return entry
        lower = word.lower()
        known = self._look_up(lower, tag, context) or self._inflected(lower, tag, context)
        # A name in capitals is read as a word only if it surely is one: "NATO MEETING", and not "UN".
        sure = known is not None and PRIMARY in known and (lower in self._gold or len(word) > 4)
        if known is not None and (tag != "NNP" or sure):
            return raised(known)
        return self.spell(word) if len(word) <= 5 or not _pronounceable(word) else None

    def _entry(self, word: str) -> Entry | None:
        """An entry answers to its capitalised and its lower-case form, unless that has its own."""
        for table in (self._gold, self._silver):
            for form in (word, _other_case(word)):
                if form in table:
                    return table[form]
        return None

    def _look_up(self, word: str, tag: str, context: Context) -> str | None:
        entry = self._entry(word)
        return self._choose(entry, tag, context) if isinstance(entry, dict) else entry

    def _choose(self, entry: dict[str, str | None], tag: str, context: Context) -> str | None:
        if context.vowel is None and "None" in entry:
            return entry["None"]
        if tag in entry:
            return entry[tag]
        return entry.get(_FAMILIES.get(tag[:2], tag), entry["DEFAULT"])


def _other_case(word: str) -> str:
    """The word with its capital taken or given; a single letter is another thing in the other case."""
    if len(word) == 1:
        return word
    return word.lower() if word.istitle() else word.capitalize() if word.islower() else word


def _stems(word: str) -> Iterator[tuple[str, str]]:
    """The stems that a word may be a regular form of, likeliest first, and the ending that it would have."""
    for written, instead, ending in _ENDINGS:
        rest = word.removesuffix(written)
        if rest == word or len(rest) < 2 or word.endswith("ss"):
            continue
        yield rest + instead, ending
        if not instead and ending != "s" and len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] in _DOUBLED:
            yield rest[:-1], ending


def _pronounceable(word: str) -> bool:
    return any(letter in "AEIOUY" for letter in word)


class LetterNet:
    """Letters to phonemes by a character transformer; its output marks each sound once (as CTC does)."""

    def __init__(self, british: bool) -> None:
        name = "oov_gb" if british else "oov"
        table = load_json(f"{name}.json")
        self._letters = {letter: number for number, letter in enumerate(table["in"], 1)}
        self._sounds = ["", *table["out"]]
        self._longest: int = table["maxlen"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(asset(f"{name}.onnx")), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, word: str) -> str:
        numbers = [self._letters[letter] for letter in word if letter in self._letters][: self._longest]
        if not numbers:
            return ""
        (found,) = self._session.run(None, {"chars": np.asarray([numbers], np.int64)})
        path = [0, *found[0].tolist()]
        return "".join(self._sounds[now] for before, now in pairwise(path) if now != before)


def asset(name: str) -> Path:
    """Where an asset lies. The package is only a carrier here: none of its code is imported."""
    return Path(str(distribution("hibari-tts").locate_file(f"hibari/assets/{name}")))


def load_json(name: str) -> Any:
    """A JSON asset, gzipped or not."""
    raw = asset(name).read_bytes()
    return json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)
