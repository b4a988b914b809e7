"""English, in the alphabet of misaki that Kokoro was trained on."""

import re
from collections.abc import Iterator
from itertools import groupby
from unicodedata import category, normalize

from svc.text.g2p.heteronyms import settle
from svc.text.g2p.lexicon import Context, LetterNet, Lexicon
from svc.text.g2p.numerals import cardinal
from svc.text.g2p.stress import VOWELS, compound, lowered
from svc.text.g2p.tagger import Tagger
from svc.text.g2p.technical import RESPELLINGS, british
from svc.text.g2p.tokenizer import APOSTROPHES, Piece, Token, hyphenated, scan, tokens

_SYMBOLS = {
    "&": "and", "@": "at", "%": "percent", "+": "plus", "=": "equals", "#": "hash", "$": "dollar", "€": "euro",
    "£": "pound", "¥": "yen", "°": "degrees", "×": "times", "÷": "over", "<": "less", ">": "greater", "*": "star",
}  # fmt: skip
_CONSONANTS = frozenset("bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ")
_PAUSES = frozenset(";:,.!?—…")
# "camelCase", "mp3": where a word changes its kind of characters, a new part begins.
_PARTS = re.compile(r"\d+(?:[.,]\d+)*|[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+(?:'[^\W\d_]+)*|[^\W\d_]+")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])+\.?")


class EnglishReader:
    """Reads English text: American or British."""

    def __init__(self, tagger: Tagger, british: bool) -> None:
        self._british = british
        self._lexicon = Lexicon(british)
        self._tagger = tagger
        self._letter_net = LetterNet(british)

    def read(self, text: str) -> list[Token]:
        pieces = list(self._compounds(text, scan(text)))
        words = [piece.mark or _plain(text[piece.start : piece.end]) for piece in pieces]
        if _shouted(words):
            words = [word if word == "I" or self._lexicon.is_acronym(word) else word.lower() for word in words]
        words, tags = settle(words, self._tagger(words))
        sounds = [""] * len(words)
        context = Context()
        for at in reversed(range(len(words))):
            sounds[at] = pieces[at].mark or self._word(words[at], tags[at], context)
            context = Context(_begins_with_vowel(sounds[at], context.vowel))
        for first, last in hyphenated(text, pieces):
            sounds[first:last] = compound(sounds[first:last])
        return tokens(text, pieces, [sound.replace("ɾ", "T").replace("ʔ", "t") for sound in sounds])

    def _compounds(self, text: str, pieces: list[Piece]) -> Iterator[Piece]:
        """The pieces, with what the lexicon knows as one word ("top-level") in one."""
        for first, last in hyphenated(text, pieces):
            start, end = pieces[first].start, pieces[last - 1].end
            if last - first > 1 and _plain(text[start:end]).lower() in self._lexicon:
                yield Piece(start, end)
            else:
                yield from pieces[first:last]

    def _word(self, word: str, tag: str, context: Context) -> str:
        if word in _SYMBOLS:
            word, tag = _SYMBOLS[word], "NN"
        weak = self._function_word(word, tag, context)
        if weak is not None:
            return weak
        if word[0] == "/":
            return self._respelt([word])
        if _INITIALS.fullmatch(word):
            return self._lexicon.spell(word) or ""
        lower = word.lower()
        if lower in RESPELLINGS:
            return self._respelt(RESPELLINGS[lower])
        if lower[-1] == "s" and lower[:-1] in RESPELLINGS:
            return self._lexicon.with_s(self._respelt(RESPELLINGS[lower[:-1]]))
        known = self._lexicon.pronounce(word, tag, context)
        if known is not None:
            return known
        stem = word[:-2] if word.lower().endswith("'s") else ""
        if stem:
            sound = self._word(stem, tag, context)
            return self._lexicon.with_s(sound) if sound else ""
        return self._unknown(word, tag, context)

    def _function_word(self, word: str, tag: str, context: Context) -> str | None:
        """The words whose sound depends on what follows."""
        match word.lower():
            case "a" if word == "a" or tag == "DT":
                return "ɐ" if tag in ("DT", "NN", "IN") else "ˈA"
            case "an" if word != "AN":
                return "ɐn"
            case "the":
                return "ði" if context.vowel else "ðə"
            case "to" if context.vowel is not None:
                return "tʊ" if context.vowel else "tə"
            case "in" if word != "IN" or tag == "IN":
                return "ˈɪn" if context.vowel is None or tag != "IN" else "ɪn"
            case "am" if word == "am" and tag[:2] != "NN" and context.vowel is not None:
                return "ɐm"
            case "i" if tag == "PRP":
                return "ˌI"
            case "by" if tag[:2] == "RB":
                return "bˈI"
            case "vs" | "vs.":
                return self._lexicon.pronounce("versus", "IN", context)
        return None

    def _respelt(self, parts: list[str]) -> str:
        """The parts in one: letters at the end have the main stress ("ChatGPT"), else the first part has."""
        sounds: list[str] = []
        for letters, group in groupby(parts, key=lambda part: len(part) == 1):
            if letters:
                sounds.append(self._lexicon.spell("".join(group)) or "")
            else:
                sounds.extend(self._respelt_word(part) for part in group)
        main = len(sounds) - 1 if len(parts[-1]) == 1 else 0
        return "".join(sound if at == main else lowered(sound) for at, sound in enumerate(sounds))

    def _respelt_word(self, word: str) -> str:
        if word[0] == "/":
            return british(word.strip("/")) if self._british else word.strip("/")
        return self._lexicon.pronounce(word, "NN", Context(vowel=False)) or self._letter_net(word)

    def _unknown(self, word: str, tag: str, context: Context) -> str:
        parts = _PARTS.findall(word)
        if len(parts) > 1:
            sounds = [self._word(part, tag, context) for part in parts]
            mixed = any(part[0].isdigit() for part in parts)
            return " ".join(filter(None, sounds)) if mixed else "".join(compound(sounds))
        if word[:1].isdigit():
            return " ".join(self._word(part, "CD", Context(vowel=False)) for part in cardinal(word))
        if len(word) <= 5 and not set(word.lower()) & set("aeiouy"):
            return self._lexicon.spell(word) or self._letter_net(word)
        word = word.lower() if word.isupper() else word
        bare = _unaccented(word)
        if bare != word and not word.endswith("é"):
            return self._lexicon.pronounce(bare, tag, context) or self._letter_net(word)
        return self._letter_net(word)


def _plain(word: str) -> str:
    """The word as lexicons write it: straight apostrophes, no ligatures or wide letters."""
    straight = "".join("'" if character in APOSTROPHES else character for character in word)
    return normalize("NFKC", straight)


def _unaccented(word: str) -> str:
    return "".join(character for character in normalize("NFD", word) if category(character) != "Mn")


def _shouted(words: list[str]) -> bool:
    """Whether the whole text is in capitals, so that capitals say nothing about a word."""
    long = [word for word in words if word.isalpha() and len(word) > 1]
    return len(long) > 2 and all(word.isupper() for word in long)


def _begins_with_vowel(sound: str, otherwise: bool | None) -> bool | None:
    for symbol in sound:
        if symbol in VOWELS:
            return True
        if symbol in _CONSONANTS:
            return False
        if symbol in _PAUSES:
            return None
    return otherwise
