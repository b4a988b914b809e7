"""English pronunciations: misaki's lexicons, regular endings that they leave out, and a model for unknown words.

The data come with the hibari-tts package (Apache-2.0).
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import distribution
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime

from svc.text.g2p.json_table import JsonTable
from svc.text.g2p.stress import PRIMARY, SECONDARY, add_stress, lower_stress, raise_stress

Entry = str | dict[str, str | None]

# The lexicons group tags: an entry for NOUN serves NN, NNS and NNP.
_FAMILIES = {"VB": "VERB", "NN": "NOUN", "RB": "ADV", "JJ": "ADJ"}
_VOICELESS, _SIBILANTS = "ptkfθ", "szʃʒʧʤ"
_FLAPPING = frozenset("AIOWYiuæɑəɛɪɹʊʌ")
# An ending as written, what the stem has in its place, and the kind of ending.
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
    """What follows a word: a vowel, a consonant, or a pause (None)."""

    before_vowel: bool | None = None


class Lexicon:
    """Pronunciations of known words, American or British."""

    def __init__(self, british: bool) -> None:
        accent = "gb" if british else "us"
        self.british = british
        self._gold = JsonTable(read_asset(f"lexicon_{accent}_gold.json.gz"))
        self._silver = JsonTable(read_asset(f"lexicon_{accent}_silver.json.gz"))
        # The vowel of "roses" and "wanted".
        self._reduced = "ɪ" if british else "ᵻ"

    def __contains__(self, word: str) -> bool:
        return self._find_entry(word) is not None

    def pronounce(self, word: str, tag: str, context: Context) -> str | None:
        """The phonemes of a word as written, or None if neither it nor its stem is known."""
        if word.isupper() and len(word) > 1:
            return self._pronounce_capitals(word, tag, context)
        found = self._look_up(word, tag, context) or self._pronounce_inflected(word, tag, context)
        if found is None and not word.islower():
            lower = word.lower()
            found = self._look_up(lower, tag, context) or self._pronounce_inflected(lower, tag, context)
        if found is None:
            return None
        return found if word.islower() else add_stress(found)

    def is_acronym(self, word: str) -> bool:
        """Whether the lexicon has the word in capitals as one that is pronounced, not spelt: "NASA"."""
        return len(word) > 1 and word.isupper() and isinstance(self._gold.get(word), str)

    def spell(self, letters: str) -> str | None:
        """The names of the letters, with the primary stress on the last: "FBI"."""
        names = [self._gold.get(letter.upper()) for letter in letters if letter.isalpha()]
        if not names or not all(isinstance(name, str) for name in names):
            return None
        return PRIMARY.join(lower_stress("".join(map(str, names))).rsplit(SECONDARY, 1))

    def add_s(self, stem: str) -> str:
        """A stem with the ending "s": plural, third person, possessive."""
        if stem[-1] in _VOICELESS:
            return stem + "s"
        return stem + self._reduced + "z" if stem[-1] in _SIBILANTS else stem + "z"

    def _add_ed(self, stem: str) -> str:
        if stem[-1] in "pkfθʃsʧ":
            return stem + "t"
        if stem[-1] == "t" and not self.british and stem[-2:-1] in _FLAPPING:
            return stem[:-1] + "ɾᵻd"
        return stem + self._reduced + "d" if stem[-1] in "td" else stem + "d"

    def _add_ing(self, stem: str, written: str) -> str:
        if self.british:
            # British English pronounces a final r only before a vowel: "mentor", "mentoring".
            return stem + ("ɹɪŋ" if stem[-1] in "əː" and written.endswith(("r", "re")) else "ɪŋ")
        return (stem[:-1] + "ɾɪŋ") if stem[-1] == "t" and stem[-2:-1] in _FLAPPING else stem + "ɪŋ"

    def _pronounce_inflected(self, word: str, tag: str, context: Context) -> str | None:
        """The phonemes of a regular plural, past or -ing form whose stem is known."""
        for stem, ending in _find_stems(word):
            if stem.isupper() and len(stem) > 1:
                phonemes = self._pronounce_capitals(stem, tag, context)
            else:
                phonemes = self._look_up(stem, tag, context)
            if not phonemes:
                continue
            if ending == "s":
                return self.add_s(phonemes)
            return self._add_ed(phonemes) if ending == "ed" else self._add_ing(add_stress(phonemes), stem)
        return None

    def _pronounce_capitals(self, word: str, tag: str, context: Context) -> str | None:
        entry = self._gold.get(word)
        if isinstance(entry, dict):
            # "US", "IT": a name is spelt, an ordinary word in capitals is pronounced.
            found = self._choose(entry, tag, context)
            return self.spell(word) if found is None else raise_stress(found)
        if isinstance(entry, str):
            return entry
        lower = word.lower()
        known = self._look_up(lower, tag, context) or self._pronounce_inflected(lower, tag, context)
        # A proper noun in capitals is pronounced as a word only if it certainly is one: not "UN".
        sure = known is not None and PRIMARY in known and (lower in self._gold or len(word) > 4)
        if known is not None and (tag != "NNP" or sure):
            return raise_stress(known)
        return self.spell(word) if len(word) <= 5 or not _has_vowel(word) else None

    def _find_entry(self, word: str) -> Entry | None:
        """An entry serves its capitalised and its lower-case form, unless that has its own."""
        for table in (self._gold, self._silver):
            for form in (word, _switch_case(word)):
                entry: Entry | None = table.get(form)
                if entry is not None:
                    return entry
        return None

    def _look_up(self, word: str, tag: str, context: Context) -> str | None:
        entry = self._find_entry(word)
        return self._choose(entry, tag, context) if isinstance(entry, dict) else entry

    def _choose(self, entry: dict[str, str | None], tag: str, context: Context) -> str | None:
        if context.before_vowel is None and "None" in entry:
            return entry["None"]
        if tag in entry:
            return entry[tag]
        return entry.get(_FAMILIES.get(tag[:2], tag), entry["DEFAULT"])


def _switch_case(word: str) -> str:
    """The word with its first letter in the other case; a single letter is left, as "A" and "a" differ."""
    if len(word) == 1:
        return word
    return word.lower() if word.istitle() else word.capitalize() if word.islower() else word


def _find_stems(word: str) -> Iterator[tuple[str, str]]:
    """The stems that a word may be a regular form of, most likely first, with the kind of ending."""
    for written, instead, ending in _ENDINGS:
        rest = word.removesuffix(written)
        if rest == word or len(rest) < 2 or word.endswith("ss"):
            continue
        yield rest + instead, ending
        if not instead and ending != "s" and len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] in _DOUBLED:
            yield rest[:-1], ending


def _has_vowel(word: str) -> bool:
    return any(letter in "AEIOUY" for letter in word)


class OovModel:
    """Phonemes of out-of-vocabulary words: a character transformer with CTC output (repeats collapse)."""

    def __init__(self, british: bool) -> None:
        name = "oov_gb" if british else "oov"
        table = json.loads(read_asset(f"{name}.json"))
        self._letters = {letter: number for number, letter in enumerate(table["in"], 1)}
        self._phonemes = ["", *table["out"]]
        self._longest: int = table["maxlen"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(_find_asset(f"{name}.onnx")), options, providers=["CPUExecutionProvider"]
        )
        self._remember = lru_cache(4096)(self._run)  # a text repeats its names

    def __call__(self, word: str) -> str:
        return self._remember(word)

    def _run(self, word: str) -> str:
        numbers = [self._letters[letter] for letter in word if letter in self._letters][: self._longest]
        if not numbers:
            return ""
        (found,) = self._session.run(None, {"chars": np.asarray([numbers], np.int64)})
        path = [0, *found[0].tolist()]
        return "".join(self._phonemes[now] for before, now in pairwise(path) if now != before)


def _find_asset(name: str) -> Path:
    """The path of a data file of hibari-tts; none of the package's code is imported."""
    return Path(str(distribution("hibari-tts").locate_file(f"hibari/assets/{name}")))


def read_asset(name: str) -> bytes:
    """A data file of hibari-tts, unpacked."""
    raw = _find_asset(name).read_bytes()
    return gzip.decompress(raw) if name.endswith(".gz") else raw
