"""Spanish, French, Italian, Portuguese, Hindi and those of the table: phonemes by espeak-ng, in a process of its own.

espeak-ng joins words ("il y a"), splits them ("EE.UU.") and lets them change each other (liaison, weak forms). Kokoro
was trained on whole clauses, so a clause is phonemized as a whole, and the result is aligned with what espeak-ng gives
for each word alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import inf
from types import MappingProxyType

from svc.text.g2p.espeak_process import Espeak
from svc.text.g2p.ipa import create_espeak_reader
from svc.text.g2p.liaison import LIAISON_CONSONANTS, has_false_liaison
from svc.text.g2p.spelling import StressTable, soften
from svc.text.g2p.tokenizer import HYPHENS, PhonemeToken, Token, attach_phonemes, split_clauses, tokenize

# A clause of more words than this is phonemized in parts.
_LONGEST_CLAUSE = 40
# At most this many words are joined, or a word split into this many parts, at one place.
_LONGEST_STEP = 4
# The alignment stays within this distance of the diagonal, which keeps the search short.
_BAND = 6
# A way that has cost so much more than the best one up to the same word is given up.
_MOST_EXCESS = 12.0
# This many symbols are enough to tell a word from its neighbours.
_COMPARED_SYMBOLS = 12


class EspeakG2P:
    """Phonemizes text in the language of one espeak-ng voice.

    Its own replacements: `symbols` of espeak-ng, whole `words` and, last, regular expressions on a word's phonemes.
    `stressed` are words with accents where the stress is.
    """

    def __init__(
        self,
        espeak: Espeak,
        voice: str,
        symbols: Mapping[str, str] = MappingProxyType({}),
        words: Mapping[str, str] = MappingProxyType({}),
        rules: Mapping[str, str] = MappingProxyType({}),
        stressed: Sequence[str] = (),
    ) -> None:
        self._espeak = espeak
        self._voice = voice
        self._read_word = create_espeak_reader(symbols)
        self._words = words
        self._rules = [(re.compile(pattern), replacement) for pattern, replacement in rules.items()]
        self._stress = StressTable(stressed) if stressed else None

    def phonemize(self, text: str) -> list[PhonemeToken]:
        parts = [
            clause[cut : cut + _LONGEST_CLAUSE]
            for clause in split_clauses(tokenize(text))
            for cut in range(0, len(clause), _LONGEST_CLAUSE)
        ]
        # A question is a way to another process and back: all clauses are asked for at once, and so are the words.
        clauses = ["" if part[0].mark else _clean(text, part) for part in parts]
        heard = self._read(clauses)
        unclear = [
            part for part, clause in zip(parts, clauses, strict=True) if clause and len(heard[clause]) != len(part)
        ]
        alone = self._read([_clean(text, [word]) for part in unclear for word in part])
        found: list[tuple[Token, str]] = []
        for part, clause in zip(parts, clauses, strict=True):
            if part[0].mark:
                found.append((part[0], part[0].mark))
            elif len(part) == len(heard[clause]):
                found.extend(zip(part, heard[clause], strict=True))
            else:
                found.extend(_assign(part, heard[clause], [alone[_clean(text, [word])] for word in part]))
        return attach_phonemes(text, [token for token, _ in found], self._correct(text, found))

    def _correct(self, text: str, found: list[tuple[Token, str]]) -> list[str]:
        """The phonemes, with what the letters of a word tell and espeak-ng does not."""
        words = [(text[token.start : token.end], phonemes) for token, phonemes in found]
        if self._voice == "ru":
            return [soften(*word) for word in words]
        if self._stress:
            return [self._stress.move(*word) for word in words]
        if not self._voice.startswith("fr"):
            return [phonemes for _, phonemes in words]
        joined = [token for token, phonemes in found if phonemes and phonemes[-1] in LIAISON_CONSONANTS]
        alone = self._read([_clean(text, [token]) for token in joined])
        without = {token: "".join(alone[_clean(text, [token])]) for token in joined}
        return [
            phonemes[:-1] if token in without and has_false_liaison(word, phonemes, without[token]) else phonemes
            for (token, _), (word, phonemes) in zip(found, words, strict=True)
        ]

    def _read(self, clauses: Sequence[str]) -> dict[str, list[str]]:
        """The phonemes of each word of each clause."""
        return {
            clause: [
                self._apply_rules(self._words.get(phonemes, phonemes))
                for word in words
                if (phonemes := self._read_word(word))
            ]
            for clause, words in zip(clauses, self._espeak(clauses, self._voice), strict=True)
        }

    def _apply_rules(self, phonemes: str) -> str:
        for pattern, replacement in self._rules:
            phonemes = pattern.sub(replacement, phonemes)
        return phonemes


def _clean(text: str, words: list[Token]) -> str:
    """The words with a plain space or hyphen between: espeak-ng misreads some other characters."""
    cleaned = ""
    for at, word in enumerate(words):
        letters = text[word.start : word.end]
        if not letters[0].isdigit():
            letters = letters.replace(".", " ")
        if at:
            gap = text[words[at - 1].end : word.start]
            cleaned += "-" if len(gap) == 1 and gap in HYPHENS else " "
        cleaned += letters
    return cleaned


def _assign(words: list[Token], whole: list[str], alone: list[list[str]]) -> Iterator[tuple[Token, str]]:
    """The words of a clause, joined where espeak-ng joins them, with their part of the phonemes of the whole clause."""
    # There are none if espeak-ng died of it; perhaps only one of the words is to blame.
    pairs = align(["".join(phonemes) for phonemes in alone], whole) if whole else None
    if pairs is None:
        yield from ((word, " ".join(phonemes)) for word, phonemes in zip(words, alone, strict=True))
        return
    for (first, last), (left, right) in pairs:
        yield Token(words[first].start, words[last - 1].end), " ".join(whole[left:right])


_Range = tuple[int, int]


def align(words: list[str], parts: list[str]) -> list[tuple[_Range, _Range]] | None:
    """Which parts of a phonemized clause belong to which words, given the phonemes of each word alone.

    Pairs of index ranges, in order; None if there is no alignment. Dynamic programming over the edit distance.
    """
    cost: dict[_Range, float] = {(0, 0): 0.0}
    came_from: dict[_Range, _Range] = {}
    slope = len(words) / max(1, len(parts))
    for i in range(len(words) + 1):
        near = [j for j in range(len(parts) + 1) if (i, j) in cost and abs(i - j * slope) <= _BAND]
        worst = min((cost[i, j] for j in near), default=0.0) + _MOST_EXCESS
        for j in near:
            if cost[i, j] > worst:
                continue
            for di, dj in _STEPS:
                to = (i + di, j + dj)
                if to[0] > len(words) or to[1] > len(parts):
                    continue
                expected, actual = "".join(words[i : to[0]]), "".join(parts[j : to[1]])
                # A step over several words or parts must be better than single steps to be chosen.
                total = cost[i, j] + _edit_distance(expected, actual) + 0.5 * (di + dj - 2)
                if total < cost.get(to, inf):
                    cost[to], came_from[to] = total, (i, j)
    path = [(len(words), len(parts))]
    while path[-1] != (0, 0):
        if path[-1] not in came_from:
            return None
        path.append(came_from[path[-1]])
    path.reverse()
    return [((i, k), (j, m)) for (i, j), (k, m) in pairwise(path)]


_STEPS = [
    (words, parts)
    for words in range(_LONGEST_STEP + 1)
    for parts in range(_LONGEST_STEP + 1)
    if words == 1 or (parts == 1 and words > 1)
]


@lru_cache(16_384)
def _edit_distance(one: str, other: str) -> int:
    """How many symbols must change to turn one string into the other; after the first ones, only the lengths count.

    The columns of the usual table as bits of two numbers, after Myers (1999): a tenth of the time.
    """
    lengths = abs(max(len(one), _COMPARED_SYMBOLS) - max(len(other), _COMPARED_SYMBOLS))
    one, other = one[:_COMPARED_SYMBOLS], other[:_COMPARED_SYMBOLS]
    if not one or one == other:
        return (len(other) if not one else 0) + lengths
    places: dict[str, int] = {}
    for at, symbol in enumerate(one):
        places[symbol] = places.get(symbol, 0) | 1 << at
    everywhere, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    more, less, distance = everywhere, 0, len(one)
    for symbol in other:
        same = places.get(symbol, 0)
        diagonal = (((same & more) + more) ^ more) | same
        rising, falling = less | ~(diagonal | more), more & diagonal
        distance += bool(rising & last) - bool(falling & last)
        rising, same = rising << 1 | 1, same | less
        more, less = (falling << 1 | ~(same | rising)) & everywhere, rising & same & everywhere
    return distance + lengths
