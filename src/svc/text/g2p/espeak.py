"""Spanish, French, Italian, Portuguese, Hindi and those of the table: phonemes by espeak-ng (GPL-3), through ctypes.

espeak-ng joins words ("il y a"), splits them ("EE.UU.") and lets them change each other (liaison, weak forms). Kokoro
was trained on whole clauses, so a clause is phonemized as a whole, and the result is aligned with what espeak-ng gives
for each word alone.
"""

import ctypes
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import inf
from threading import Lock
from types import MappingProxyType

import espeakng_loader

from svc.text.g2p.ipa import from_espeak
from svc.text.g2p.liaison import LIAISON_CONSONANTS, has_false_liaison
from svc.text.g2p.spelling import StressTable, soften
from svc.text.g2p.tokenizer import HYPHENS, PhonemeToken, Token, attach_phonemes, split_clauses, tokenize

# The library has one current voice and one dictionary for the whole process.
_LIBRARY_LOCK = Lock()

_NO_AUDIO = 2  # synchronous output; nothing is ever synthesised
_KEEP_SIGNALS = 0x8000
_UTF8 = 1
_IPA_WITH_TIES = 0x02 | 0x80 | ord("^") << 8
# espeak-ng marks a word that it pronounces by another language's rules: "(en)computer(hi)".
_LANGUAGE_SWITCH = re.compile(r"\([^()]*\)")

# A clause of more words than this is phonemized in parts.
_LONGEST_CLAUSE = 40
# At most this many words are joined, or a word split into this many parts, at one place.
_LONGEST_STEP = 4
# The alignment stays within this distance of the diagonal, which keeps the search short.
_BAND = 6
# This many symbols are enough to tell a word from its neighbours.
_COMPARED_SYMBOLS = 12


class _Voice(ctypes.Structure):
    """The first fields of espeak-ng's `espeak_VOICE`."""

    _fields_ = (("name", ctypes.c_char_p), ("languages", ctypes.c_char_p), ("identifier", ctypes.c_char_p))


class Espeak:
    """The IPA of a clause, one string per word, with "^" between the letters of a diphthong or affricate."""

    def __init__(self) -> None:
        with _LIBRARY_LOCK:
            self._library = _load_library()
        self._identifiers: dict[str, bytes] = {}

    def __call__(self, clause: str, voice: str) -> list[str]:
        printable = "".join(character if character.isprintable() else " " for character in clause)
        rest = ctypes.c_char_p(printable.encode("utf-8", "ignore"))
        parts: list[bytes] = []
        with _LIBRARY_LOCK:
            if not self._set_voice(voice):
                return []
            while rest.value is not None:
                found = self._library.espeak_TextToPhonemes(ctypes.byref(rest), _UTF8, _IPA_WITH_TIES)
                parts.append(found or b"")
        ipa = b" ".join(parts).decode("utf-8", "ignore")
        return _LANGUAGE_SWITCH.sub("", ipa).split()

    def _set_voice(self, voice: str) -> bool:
        # The library is asked, since another instance may have changed its voice; setting one loads its dictionary.
        if self._identifiers.get(voice) == self._get_voice():
            return True
        if self._library.espeak_SetVoiceByName(voice.encode()) != 0:
            return False
        self._identifiers[voice] = self._get_voice()
        return True

    def _get_voice(self) -> bytes:
        current = self._library.espeak_GetCurrentVoice()
        return bytes(current.contents.identifier or b"") if current else b""


@cache
def _load_library() -> ctypes.CDLL:
    """The initialised library. Once per process: initialising it again frees the voice that others are using."""
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    library.espeak_TextToPhonemes.restype = ctypes.c_char_p
    library.espeak_TextToPhonemes.argtypes = (ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.c_int)
    library.espeak_GetCurrentVoice.restype = ctypes.POINTER(_Voice)
    data = espeakng_loader.get_data_path().encode()
    if library.espeak_Initialize(_NO_AUDIO, 0, data, _KEEP_SIGNALS) < 0:
        raise RuntimeError(f"espeak-ng could not be initialised with the data in {data!r}")
    return library


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
        self._symbols = symbols
        self._words = words
        self._rules = [(re.compile(pattern), replacement) for pattern, replacement in rules.items()]
        self._stress = StressTable(stressed) if stressed else None

    def phonemize(self, text: str) -> list[PhonemeToken]:
        found: list[tuple[Token, str]] = []
        for clause in split_clauses(tokenize(text)):
            if clause[0].mark:
                found.append((clause[0], clause[0].mark))
                continue
            for cut in range(0, len(clause), _LONGEST_CLAUSE):
                words = self._phonemize_clause(text, clause[cut : cut + _LONGEST_CLAUSE])
                found.extend((word, self._correct(text, word, phonemes)) for word, phonemes in words)
        return attach_phonemes(text, [token for token, _ in found], [phonemes for _, phonemes in found])

    def _phonemize_clause(self, text: str, words: list[Token]) -> Iterator[tuple[Token, str]]:
        whole = self._to_phonemes(_clean(text, words))
        if len(whole) == len(words):
            yield from zip(words, whole, strict=True)
            return
        alone = [self._to_phonemes(_clean(text, [word])) for word in words]
        pairs = align(["".join(phonemes) for phonemes in alone], whole)
        if pairs is None:
            yield from ((word, " ".join(phonemes)) for word, phonemes in zip(words, alone, strict=True))
            return
        for (first, last), (left, right) in pairs:
            yield Token(words[first].start, words[last - 1].end), " ".join(whole[left:right])

    def _correct(self, text: str, word: Token, phonemes: str) -> str:
        if self._voice == "ru":
            return soften(text[word.start : word.end], phonemes)
        if self._stress:
            return self._stress.move(text[word.start : word.end], phonemes)
        if not self._voice.startswith("fr") or phonemes[-1:] not in LIAISON_CONSONANTS:
            return phonemes
        alone = "".join(self._to_phonemes(_clean(text, [word])))
        return phonemes[:-1] if has_false_liaison(text[word.start : word.end], phonemes, alone) else phonemes

    def _to_phonemes(self, clause: str) -> list[str]:
        words = (from_espeak(word, self._symbols) for word in self._espeak(clause, self._voice))
        return [self._apply_rules(self._words.get(phonemes, phonemes)) for phonemes in words if phonemes]

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


_Range = tuple[int, int]


def align(words: list[str], parts: list[str]) -> list[tuple[_Range, _Range]] | None:
    """Which parts of a phonemized clause belong to which words, given the phonemes of each word alone.

    Pairs of index ranges, in order; None if there is no alignment. Dynamic programming over the edit distance.
    """
    cost: dict[_Range, float] = {(0, 0): 0.0}
    came_from: dict[_Range, _Range] = {}
    slope = len(words) / max(1, len(parts))
    for i in range(len(words) + 1):
        for j in range(len(parts) + 1):
            if (i, j) not in cost or abs(i - j * slope) > _BAND:
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


def _edit_distance(one: str, other: str) -> int:
    """How many symbols must change to turn one string into the other; after the first ones, only the lengths count."""
    one_start, other_start = one[:_COMPARED_SYMBOLS], other[:_COMPARED_SYMBOLS]
    row = list(range(len(other_start) + 1))
    for i, symbol in enumerate(one_start, 1):
        previous, row[0] = row[0], i
        for j, another in enumerate(other_start, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (symbol != another))
    return row[-1] + abs(max(len(one), _COMPARED_SYMBOLS) - max(len(other), _COMPARED_SYMBOLS))
