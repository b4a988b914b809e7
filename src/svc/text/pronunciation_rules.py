"""Pronunciation rules: words of the caller's text that are read as another text, or with given phonemes.

A dictionary is a list of rules. At each position of a text the first rule of the list that matches there is applied;
then the search goes on after the match. What a rule has replaced is not replaced again.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Protocol
from unicodedata import category, normalize

from svc.text.g2p.ipa import arpabet_to_ipa
from svc.text.language.languages import Script, find_script
from svc.text.markup.parsed_text import Pronunciation, Replacement, Substitution

# Of the string of a rule. A search looks at no more characters than this from any position.
LONGEST_STRING = 100

# These scripts put no spaces between words, so that a word may begin and end at any character.
_UNSPACED = frozenset({Script.HAN, Script.KANA, Script.THAI, Script.MYANMAR})
_PREFIX = 2  # characters that a search looks up first


class Alphabet(StrEnum):
    """How a rule writes phonemes."""

    IPA = "ipa"
    ARPABET = "cmu-arpabet"


@dataclass(frozen=True, slots=True)
class PronunciationRule:
    """`string` is read as `replacement`: a text (an alias), or phonemes if there is an `alphabet`."""

    string: str
    replacement: str
    alphabet: Alphabet | None = None
    case_sensitive: bool = True
    word_boundaries: bool = True
    """Whether it matches whole words only."""

    @property
    def ipa(self) -> str:
        return arpabet_to_ipa(self.replacement) if self.alphabet is Alphabet.ARPABET else self.replacement


class Rules(Protocol):
    """The rules of one dictionary."""

    def find(self, text: str, taken: Iterable[tuple[int, int]]) -> "list[Match]": ...


@dataclass(frozen=True, slots=True)
class Match:
    """The characters `start:end` of a text, which a rule replaces."""

    start: int
    end: int
    rule: PronunciationRule


@dataclass(frozen=True, slots=True)
class _Table:
    """The numbers of rules, by their strings."""

    anywhere: dict[str, int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    """Of rules that match whole words only."""

    def find(self, string: str, whole: bool) -> int | None:
        found = self.anywhere.get(string)
        word = self.words.get(string) if whole else None
        return min(found, word) if found is not None and word is not None else word if found is None else found


class RuleMatcher:
    """Finds what the rules of a dictionary replace.

    The time depends on the length of the text and of the strings, and hardly on the number of rules: strings are
    looked up by their first characters and their lengths.
    """

    def __init__(self, rules: Sequence[PronunciationRule]) -> None:
        self._rules = rules
        self._exact = _Table()
        self._lower = _Table()
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for index, rule in enumerate(rules):
            for form in (rule.string, normalize("NFC", rule.string), normalize("NFD", rule.string)):
                folded = _fold(form)
                lower = _lower(folded)
                table, key = (self._exact, folded) if rule.case_sensitive else (self._lower, lower)
                (table.words if rule.word_boundaries else table.anywhere).setdefault(key, index)
                lengths[lower[:_PREFIX]].add(len(lower))
        self._lengths = {prefix: sorted(found) for prefix, found in lengths.items()}

    def find(self, text: str, taken: Iterable[tuple[int, int]]) -> list[Match]:
        """The matches from left to right, none of which touches the ranges that are `taken`."""
        folded = _fold(text)
        lower = _lower(folded)
        blocked = sorted(taken)
        matches: list[Match] = []
        position = 0
        while position < len(text):
            while blocked and blocked[0][1] <= position:
                blocked.pop(0)
            if blocked and blocked[0][0] <= position:
                position = blocked[0][1]
                continue
            limit = blocked[0][0] if blocked else len(text)
            found = self._match(folded, lower, position, limit)
            if found:
                matches.append(found)
            position = found.end if found else position + 1
        return matches

    def _match(self, folded: str, lower: str, start: int, limit: int) -> Match | None:
        """The first rule of the list that matches at `start`."""
        best: tuple[int, int] | None = None
        lengths = (*self._lengths.get(lower[start : start + _PREFIX], ()), *self._single_lengths(lower, start))
        if not lengths:
            return None
        begins_word = is_boundary(folded, start)
        for length in lengths:
            end = start + length
            if end > limit:
                continue
            whole = begins_word and is_boundary(folded, end)
            for table, source in ((self._exact, folded), (self._lower, lower)):
                index = table.find(source[start:end], whole)
                if index is not None and (best is None or index < best[0]):
                    best = index, end
        return Match(start, best[1], self._rules[best[0]]) if best else None

    def _single_lengths(self, lower: str, start: int) -> list[int]:
        """Strings that are shorter than the prefix are listed under themselves."""
        return self._lengths.get(lower[start], []) if start + 1 < len(lower) else []


def apply_rules(dictionaries: Sequence[Rules], text: str, replacements: Sequence[Replacement]) -> list[Replacement]:
    """What is read instead of parts of a text, in its order; what the caller's markup replaces stays as it is.

    What one dictionary has replaced, the next ones leave alone.
    """
    taken = [(each.start, each.end) for each in replacements]
    found = list(replacements)
    for rules in dictionaries:
        matches = rules.find(text, taken)
        taken += [(match.start, match.end) for match in matches]
        for match in matches:
            if match.rule.alphabet:
                found.append(Pronunciation(match.start, match.end, match.rule.ipa))
            else:
                found.append(Substitution(match.start, match.end, _pad(match, text)))
    return sorted(found, key=lambda each: each.start)


def is_boundary(text: str, position: int) -> bool:
    """Whether a word may begin or end at this position."""
    if position in (0, len(text)):
        return True
    before, after = text[position - 1], text[position]
    return not (_is_mark(after) or (_joins(before) and _joins(after)))


def _pad(match: Match, text: str) -> str:
    """The alias, with a space where it would run into a word that its string only touched: C++20."""
    alias = match.rule.replacement
    before, after = text[: match.start][-1:], text[match.end : match.end + 1]
    if is_boundary(text, match.start) and not is_boundary(before + alias, len(before)):
        alias = f" {alias}"
    if is_boundary(text, match.end) and not is_boundary(alias + after, len(alias)):
        alias = f"{alias} "
    return alias


@lru_cache(4096)
def _joins(character: str) -> bool:
    """Whether it makes a word together with its neighbours."""
    return (character.isalnum() or _is_mark(character)) and find_script(character) not in _UNSPACED


def _is_mark(character: str) -> bool:
    return category(character).startswith("M")


@lru_cache(4096)
def _fold_character(character: str) -> str:
    if character.isspace():
        return " "
    return "'" if character in "’ʼ＇" else character


@lru_cache(4096)
def _lower_character(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _fold(text: str) -> str:
    """All spaces and apostrophes alike. One character stays one, so that positions stay the same."""
    return "".join(map(_fold_character, text))


def _lower(text: str) -> str:
    return "".join(map(_lower_character, text))
