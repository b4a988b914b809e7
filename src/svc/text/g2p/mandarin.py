"""Mandarin: words by rjieba, pinyin by pypinyin, and the IPA with tone arrows that Kokoro was trained on."""

import rjieba
from pypinyin import Style, lazy_pinyin

from svc.text.g2p.tokenizer import Piece, Token, clauses, scan

_INITIALS = {
    "b": "p", "p": "pʰ", "m": "m", "f": "f", "d": "t", "t": "tʰ", "n": "n", "l": "l", "g": "k", "k": "kʰ",
    "h": "x", "j": "ʨ", "q": "ʨʰ", "x": "ɕ", "zh": "ꭧ", "ch": "ꭧʰ", "sh": "ʂ", "r": "ɻ", "z": "ʦ",
    "c": "ʦʰ", "s": "s", "": "",
}  # fmt: skip
# "0" is where the tone is written: after the vowel that carries it.
_FINALS = {
    "a": "a0", "o": "wo0", "e": "ɤ0", "i": "i0", "u": "u0", "v": "y0", "er": "ɚ0", "ê": "ɛ0",
    "ai": "ai0", "ei": "ei0", "ao": "au0", "ou": "ou0",
    "an": "a0n", "en": "ə0n", "ang": "a0ŋ", "eng": "ə0ŋ", "ong": "ʊ0ŋ",
    "ia": "ja0", "ie": "je0", "iao": "jau0", "iou": "jou0", "io": "jɔ0",
    "ian": "jɛ0n", "in": "i0n", "iang": "ja0ŋ", "ing": "i0ŋ", "iong": "jʊ0ŋ",
    "ua": "wa0", "uo": "wo0", "uai": "wai0", "uei": "wei0",
    "uan": "wa0n", "uen": "wə0n", "uang": "wa0ŋ", "ueng": "wə0ŋ",
    "ve": "ɥe0", "van": "ɥɛ0n", "vn": "y0n",
}  # fmt: skip
# The vowel written "i" after these is a buzz of the consonant before it.
_BUZZING = frozenset(("zh", "ch", "sh", "r", "z", "c", "s"))
_TONES = {"1": "→", "2": "↗", "3": "↓", "4": "↘", "5": ""}
# Interjections that have no pinyin final.
_HUMMED = {"嗯": "ən↗", "呣": "m↗", "哼": "xəŋ→", "噷": "xm"}
_LONGEST_WORD = 16
_DIGITS = str.maketrans("0123456789０１２３４５６７８９", "零一二三四五六七八九" * 2)


class MandarinReader:
    """Reads Chinese text, word by word."""

    def read(self, text: str) -> list[Token]:
        found: list[Token] = []
        for clause in clauses(scan(text)):
            if clause[0].mark:
                found.append(_mark(clause[0]))
            else:
                found.extend(_words(text, clause[0].start, clause[-1].end))
        return found


def _mark(piece: Piece) -> Token:
    return Token(piece.start, piece.end, piece.mark, space=piece.mark not in "“(")


def _words(text: str, start: int, end: int) -> list[Token]:
    clause = text[start:end].translate(_DIGITS)
    found: list[Token] = []
    for word, first, last in rjieba.tokenize(clause, "default"):
        # A longer "word" is a run of characters that the dictionary does not know.
        for cut in range(0, len(word), _LONGEST_WORD):
            sound = pronounce(word[cut : cut + _LONGEST_WORD])
            if sound:
                place = start + first + cut
                found.append(Token(place, min(place + _LONGEST_WORD, start + last), sound, space=True))
    return found


def pronounce(word: str) -> str:
    """The sound of one Chinese word, in Kokoro's alphabet."""
    if word in _HUMMED:
        return _HUMMED[word]
    initials = lazy_pinyin(word, Style.INITIALS, errors="ignore", strict=True)
    finals = lazy_pinyin(word, Style.FINALS_TONE3, errors="ignore", strict=True, neutral_tone_with_five=True)
    return "".join(map(_syllable, initials, finals))


def _syllable(initial: str, final: str) -> str:
    vowel, tone = final[:-1], final[-1:]
    shape = "ɨ0" if vowel == "i" and initial in _BUZZING else _FINALS.get(vowel, "")
    if vowel == "o" and not initial:
        shape = "ɔ0"
    return _INITIALS.get(initial, "") + shape.replace("0", _TONES.get(tone, ""))
