"""Words that espeak-ng reads: which of the sounds it returns for a clause belong to which word.

espeak-ng joins words ("il y a"), splits them ("EE.UU.") and lets them change each other (liaison, weak
forms), so a clause is read as a whole, as Kokoro was trained, and the result is laid beside what each word
sounds like alone.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import inf

from svc.text.g2p.espeak import Espeak
from svc.text.g2p.ipa import from_espeak
from svc.text.g2p.pieces import HYPHENS, Piece, clauses, scan, tokens
from svc.text.spans import Token

# A clause longer than this is read in parts.
_LONGEST_CLAUSE = 40
# At most so many words are joined, or sounds split off, at one place,
_WIDEST = 4
# and the two sides drift apart by no more than this: it keeps the search short.
_DRIFT = 6
# So many symbols of a word tell it from its neighbours.
_COMPARED = 12


class EspeakReader:
    """Reads text in the language of one espeak-ng voice."""

    def __init__(self, espeak: Espeak, voice: str) -> None:
        self._espeak = espeak
        self._voice = voice

    def read(self, text: str) -> list[Token]:
        found: list[tuple[Piece, str]] = []
        for clause in clauses(scan(text)):
            if clause[0].mark:
                found.append((clause[0], clause[0].mark))
                continue
            for cut in range(0, len(clause), _LONGEST_CLAUSE):
                found.extend(self._clause(text, clause[cut : cut + _LONGEST_CLAUSE]))
        return tokens(text, [piece for piece, _ in found], [sound for _, sound in found])

    def _clause(self, text: str, words: list[Piece]) -> Iterator[tuple[Piece, str]]:
        whole = self._sounds(_written(text, words))
        if len(whole) == len(words):
            yield from zip(words, whole, strict=True)
            return
        alone = [self._sounds(_written(text, [word])) for word in words]
        pairs = align(["".join(sounds) for sounds in alone], whole)
        if pairs is None:
            yield from ((word, " ".join(sounds)) for word, sounds in zip(words, alone, strict=True))
            return
        for (first, last), (left, right) in pairs:
            yield Piece(words[first].start, words[last - 1].end), " ".join(whole[left:right])

    def _sounds(self, clause: str) -> list[str]:
        return [sound for word in self._espeak(clause, self._voice) if (sound := from_espeak(word))]


def _written(text: str, words: list[Piece]) -> str:
    """The words with a plain space or hyphen between: espeak-ng cannot bear everything that people write."""
    written = ""
    for at, word in enumerate(words):
        letters = text[word.start : word.end]
        if not letters[0].isdigit():
            letters = letters.replace(".", " ")
        if at:
            gap = text[words[at - 1].end : word.start]
            written += "-" if len(gap) == 1 and gap in HYPHENS else " "
        written += letters
    return written


Range = tuple[int, int]


def align(words: list[str], sounds: list[str]) -> list[tuple[Range, Range]] | None:
    """Pairs of ranges, in order: these words (by how each sounds alone) are those sounds; None if hopeless."""
    cost: dict[Range, float] = {(0, 0): 0.0}
    came_from: dict[Range, Range] = {}
    pace = len(words) / max(1, len(sounds))
    for i in range(len(words) + 1):
        for j in range(len(sounds) + 1):
            if (i, j) not in cost or abs(i - j * pace) > _DRIFT:
                continue
            for di, dj in _STEPS:
                to = (i + di, j + dj)
                if to[0] > len(words) or to[1] > len(sounds):
                    continue
                expected, heard = "".join(words[i : to[0]]), "".join(sounds[j : to[1]])
                # A step over several words or sounds must be better than single steps to be taken.
                total = cost[i, j] + difference(expected, heard) + 0.5 * (di + dj - 2)
                if total < cost.get(to, inf):
                    cost[to], came_from[to] = total, (i, j)
    path = [(len(words), len(sounds))]
    while path[-1] != (0, 0):
        if path[-1] not in came_from:
            return None
        path.append(came_from[path[-1]])
    path.reverse()
    return [((i, k), (j, m)) for (i, j), (k, m) in pairwise(path)]


_STEPS = [
    (words, sounds)
    for words in range(_WIDEST + 1)
    for sounds in range(_WIDEST + 1)
    if words == 1 or (sounds == 1 and words > 1)
]


def difference(one: str, other: str) -> int:
    """How many symbols must change to make one string of the other; only the beginnings are looked at."""
    one_start, other_start = one[:_COMPARED], other[:_COMPARED]
    row = list(range(len(other_start) + 1))
    for i, symbol in enumerate(one_start, 1):
        previous, row[0] = row[0], i
        for j, another in enumerate(other_start, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (symbol != another))
    return row[-1] + abs(max(len(one), _COMPARED) - max(len(other), _COMPARED))
