"""English: each word by the first of function words, technical words, lexicon, regular endings, OOV model.

The phonemes are those of the misaki library, which Kokoro was trained on.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from unicodedata import category, normalize

from svc.text.g2p.heteronyms import resolve_heteronyms
from svc.text.g2p.lexicon import Context, Lexicon, OovModel
from svc.text.g2p.stress import VOWELS, lower_stress, stress_compound
from svc.text.g2p.tagger import Tagger
from svc.text.g2p.technical import RESPELLINGS, to_british
from svc.text.g2p.tokenizer import APOSTROPHES, PhonemeToken, Token, attach_phonemes, group_hyphenated, tokenize
from svc.text.normalise.english.numbers import Numbers

_SYMBOLS = {
    "&": "and", "@": "at", "%": "percent", "+": "plus", "=": "equals", "#": "hash", "$": "dollar", "€": "euro",
    "£": "pound", "¥": "yen", "°": "degrees", "×": "times", "÷": "over", "<": "less", ">": "greater", "*": "star",
}  # fmt: skip
_CONSONANTS = frozenset("bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ")
_PAUSES = frozenset(";:,.!?—…")
# A new part begins where the kind of characters changes: "camelCase", "mp3".
_PARTS = re.compile(r"\d+(?:[.,]\d+)*|[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+(?:'[^\W\d_]+)*|[^\W\d_]+")
# Longer numbers are pronounced digit by digit.
_MOST_DIGITS = 6
_REPEATED = re.compile(r"([^\W\d_])\1{2,}", re.IGNORECASE)
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])+\.?")


class EnglishG2P:
    """Phonemizes English text, American or British."""

    def __init__(self, tagger: Tagger, british: bool) -> None:
        self._british = british
        self._lexicon = Lexicon(british)
        self._tagger = tagger
        self._oov_model = OovModel(british)

    def phonemize(self, text: str) -> list[PhonemeToken]:
        tokens = list(self._merge_compounds(text, tokenize(text)))
        words = [token.mark or _simplify(text[token.start : token.end]) for token in tokens]
        if _is_all_capitals(words):
            words = [word if word == "I" or self._lexicon.is_acronym(word) else word.lower() for word in words]
        words, tags = resolve_heteronyms(words, self._tagger(words))
        phonemes = [""] * len(words)
        context = Context()
        for at in reversed(range(len(words))):
            phonemes[at] = tokens[at].mark or self._pronounce(words[at], tags[at], context)
            context = Context(_begins_with_vowel(phonemes[at], context.before_vowel))
        for first, last in group_hyphenated(text, tokens):
            phonemes[first:last] = stress_compound(phonemes[first:last])
        return attach_phonemes(text, tokens, [each.replace("ɾ", "T").replace("ʔ", "t") for each in phonemes])

    def _merge_compounds(self, text: str, tokens: list[Token]) -> Iterator[Token]:
        """The tokens, with what the lexicon has as one word ("top-level") as one token."""
        for first, last in group_hyphenated(text, tokens):
            start, end = tokens[first].start, tokens[last - 1].end
            if last - first > 1 and _simplify(text[start:end]).lower() in self._lexicon:
                yield Token(start, end)
            else:
                yield from tokens[first:last]

    def _pronounce(self, word: str, tag: str, context: Context) -> str:
        if word in _SYMBOLS:
            word, tag = _SYMBOLS[word], "NN"
        weak = self._pronounce_function_word(word, tag, context)
        if weak is not None:
            return weak
        if word[0] == "/":
            return self._pronounce_parts([word])
        if _INITIALS.fullmatch(word):
            return self._lexicon.spell(word) or ""
        lower = word.lower()
        if lower in RESPELLINGS:
            return self._pronounce_parts(RESPELLINGS[lower])
        if lower[-1] == "s" and lower[:-1] in RESPELLINGS:
            return self._lexicon.add_s(self._pronounce_parts(RESPELLINGS[lower[:-1]]))
        known = self._lexicon.pronounce(word, tag, context)
        if known is not None:
            return known
        stem = word[:-2] if word.lower().endswith("'s") else ""
        if stem:
            phonemes = self._pronounce(stem, tag, context)
            return self._lexicon.add_s(phonemes) if phonemes else ""
        return self._pronounce_drawn_out(word, tag, context) or self._pronounce_unknown(word, tag, context)

    def _pronounce_drawn_out(self, word: str, tag: str, context: Context) -> str | None:
        """Words with letters repeated for emphasis: "sooo", "yesss", "coooool"."""
        if not _REPEATED.search(word):
            return None
        shorter = (_REPEATED.sub(times, word) for times in (r"\1\1", r"\1"))
        return next(filter(None, (self._lexicon.pronounce(each, tag, context) for each in shorter)), None)

    def _pronounce_function_word(self, word: str, tag: str, context: Context) -> str | None:
        """The words whose phonemes depend on what follows."""
        match word.lower():
            case "a" if word == "a" or tag == "DT":
                return "ɐ" if tag in ("DT", "NN", "IN") else "ˈA"
            case "an" if word != "AN":
                return "ɐn"
            case "the":
                return "ði" if context.before_vowel else "ðə"
            case "to" if context.before_vowel is not None:
                return "tʊ" if context.before_vowel else "tə"
            case "in" if word != "IN" or tag == "IN":
                return "ˈɪn" if context.before_vowel is None or tag != "IN" else "ɪn"
            case "am" if word == "am" and tag[:2] != "NN" and context.before_vowel is not None:
                return "ɐm"
            case "i" if tag == "PRP":
                return "ˌI"
            case "by" if tag[:2] == "RB":
                return "bˈI"
            case "vs" | "vs.":
                return self._lexicon.pronounce("versus", "IN", context)
        return None

    def _pronounce_parts(self, parts: list[str]) -> str:
        """The parts as one word: letters at the end get the primary stress ("ChatGPT"), else the first part does."""
        phonemes: list[str] = []
        for letters, group in groupby(parts, key=lambda part: len(part) == 1):
            if letters:
                phonemes.append(self._lexicon.spell("".join(group)) or "")
            else:
                phonemes.extend(self._pronounce_part(part) for part in group)
        primary = len(phonemes) - 1 if len(parts[-1]) == 1 else 0
        return "".join(each if at == primary else lower_stress(each) for at, each in enumerate(phonemes))

    def _pronounce_part(self, word: str) -> str:
        if word[0] == "/":
            return to_british(word.strip("/")) if self._british else word.strip("/")
        return self._lexicon.pronounce(word, "NN", Context(before_vowel=False)) or self._oov_model(word)

    def _pronounce_unknown(self, word: str, tag: str, context: Context) -> str:
        parts = _PARTS.findall(word)
        if len(parts) > 1:
            phonemes = [self._pronounce(part, tag, context) for part in parts]
            has_digits = any(part[0].isdigit() for part in parts)
            return " ".join(filter(None, phonemes)) if has_digits else "".join(stress_compound(phonemes))
        if word[:1].isdigit():
            words = _spell_out(word)
            return " ".join(self._pronounce(each, "CD", Context(before_vowel=False)) for each in words)
        if len(word) <= 5 and not set(word.lower()) & set("aeiouy"):
            return self._lexicon.spell(word) or self._oov_model(word)
        word = word.lower() if word.isupper() else word
        bare = _strip_accents(word)
        if bare != word and not word.endswith("é"):
            return self._lexicon.pronounce(bare, tag, context) or self._oov_model(word)
        return self._oov_model(word)


def _spell_out(number: str) -> list[str]:
    """The words of a number; normalisation leaves digits only where the caller gave the pronunciation."""
    whole, point, decimals = number.replace(",", "").partition(".")
    numbers = Numbers(british=False)
    short = len(whole) <= _MOST_DIGITS and whole.isdecimal()
    words = numbers.cardinal(int(whole)) if short else numbers.digits(whole)
    spoken = f"{words} point {numbers.digits(decimals)}" if point else words
    return spoken.replace("-", " ").split()


def _simplify(word: str) -> str:
    """The word as lexicons have it: straight apostrophes, no ligatures or full-width letters."""
    if word.isascii():
        return word
    straight = "".join("'" if character in APOSTROPHES else character for character in word)
    return normalize("NFKC", straight)


def _strip_accents(word: str) -> str:
    return "".join(character for character in normalize("NFD", word) if category(character) != "Mn")


def _is_all_capitals(words: list[str]) -> bool:
    """Whether the whole text is in capitals, so that they do not mark acronyms."""
    long = [word for word in words if word.isalpha() and len(word) > 1]
    return len(long) > 2 and all(word.isupper() for word in long)


def _begins_with_vowel(phonemes: str, otherwise: bool | None) -> bool | None:
    """Whether the first sound is a vowel; None for a pause, `otherwise` if there is no sound."""
    for symbol in phonemes:
        if symbol in VOWELS:
            return True
        if symbol in _CONSONANTS:
            return False
        if symbol in _PAUSES:
            return None
    return otherwise
