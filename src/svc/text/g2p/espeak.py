"""espeak-ng (GPL-3), called directly: text in, IPA out."""

import ctypes
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import inf
from threading import Lock

import espeakng_loader

from svc.text.g2p.ipa import from_espeak
from svc.text.g2p.tokenizer import HYPHENS, Piece, Token, clauses, scan, tokens

# The library keeps one voice and one dictionary for the whole process.
_LIBRARY_LOCK = Lock()

_NO_AUDIO = 2  # synchronous output; nothing is ever synthesised
_KEEP_SIGNALS = 0x8000
_UTF8 = 1
_IPA_WITH_TIES = 0x02 | 0x80 | ord("^") << 8
# espeak marks a word that it reads by another language's rules: "(en)computer(hi)".
_LANGUAGE_SWITCH = re.compile(r"\([^()]*\)")


class _Voice(ctypes.Structure):
    """The beginning of espeak-ng's own description of a voice."""

    _fields_ = (("name", ctypes.c_char_p), ("languages", ctypes.c_char_p), ("identifier", ctypes.c_char_p))


class Espeak:
    """The IPA of a clause, one string a word, with "^" between the letters of a diphthong or affricate."""

    def __init__(self) -> None:
        with _LIBRARY_LOCK:
            self._library = _start()
        self._identifiers: dict[str, bytes] = {}

    def __call__(self, clause: str, voice: str) -> list[str]:
        printable = "".join(character if character.isprintable() else " " for character in clause)
        rest = ctypes.c_char_p(printable.encode("utf-8", "ignore"))
        heard: list[bytes] = []
        with _LIBRARY_LOCK:
            if not self._set_voice(voice):
                return []
            while rest.value is not None:
                found = self._library.espeak_TextToPhonemes(ctypes.byref(rest), _UTF8, _IPA_WITH_TIES)
                heard.append(found or b"")
        ipa = b" ".join(heard).decode("utf-8", "ignore")
        return _LANGUAGE_SWITCH.sub("", ipa).split()

    def _set_voice(self, voice: str) -> bool:
        # Asked of the library, since any reader may have changed it; setting one loads its dictionary.
        if self._identifiers.get(voice) == self._current_voice():
            return True
        if self._library.espeak_SetVoiceByName(voice.encode()) != 0:
            return False
        self._identifiers[voice] = self._current_voice()
        return True

    def _current_voice(self) -> bytes:
        current = self._library.espeak_GetCurrentVoice()
        return bytes(current.contents.identifier or b"") if current else b""


@cache
def _start() -> ctypes.CDLL:
    """The library, ready. Once a process: started again, it lets go of the voice that others are reading with."""
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    library.espeak_TextToPhonemes.restype = ctypes.c_char_p
    library.espeak_TextToPhonemes.argtypes = (ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.c_int)
    library.espeak_GetCurrentVoice.restype = ctypes.POINTER(_Voice)
    data = espeakng_loader.get_data_path().encode()
    if library.espeak_Initialize(_NO_AUDIO, 0, data, _KEEP_SIGNALS) < 0:
        raise RuntimeError(f"espeak-ng could not be started with the data in {data!r}")
    return library


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
