"""Mandarin: words by rjieba, pinyin by pypinyin, turned into the IPA with tone arrows that Kokoro was trained on."""

import rjieba
from pypinyin import Style, lazy_pinyin

from svc.text.g2p.tokenizer import PhonemeToken, attach_mark, split_clauses, tokenize

_INITIALS = {
    "b": "p", "p": "pʰ", "m": "m", "f": "f", "d": "t", "t": "tʰ", "n": "n", "l": "l", "g": "k", "k": "kʰ",
    "h": "x", "j": "ʨ", "q": "ʨʰ", "x": "ɕ", "zh": "ꭧ", "ch": "ꭧʰ", "sh": "ʂ", "r": "ɻ", "z": "ʦ",
    "c": "ʦʰ", "s": "s", "": "",
}  # fmt: skip
# "0" is the place of the tone: after the vowel that carries it.
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
# After these, "i" is an apical vowel.
_APICAL_INITIALS = frozenset(("zh", "ch", "sh", "r", "z", "c", "s"))
_TONES = {"1": "→", "2": "↗", "3": "↓", "4": "↘", "5": ""}
# Interjections without a pinyin final.
_INTERJECTIONS = {"嗯": "ən↗", "呣": "m↗", "哼": "xəŋ→", "噷": "xm"}
_LONGEST_WORD = 16
_DIGITS = str.maketrans("0123456789０１２３４５６７８９", "零一二三四五六七八九" * 2)


class MandarinG2P:
    """Phonemizes Chinese text, word by word."""

    def phonemize(self, text: str) -> list[PhonemeToken]:
        found: list[PhonemeToken] = []
        for clause in split_clauses(tokenize(text)):
            if clause[0].mark:
                found.append(attach_mark(clause[0]))
            else:
                found.extend(_phonemize_clause(text, clause[0].start, clause[-1].end))
        return found


def _phonemize_clause(text: str, start: int, end: int) -> list[PhonemeToken]:
    clause = text[start:end].translate(_DIGITS)
    found: list[PhonemeToken] = []
    for word, first, last in rjieba.tokenize(clause, "default"):
        # A longer "word" is a run of characters that the dictionary does not have.
        for cut in range(0, len(word), _LONGEST_WORD):
            phonemes = _word_to_phonemes(word[cut : cut + _LONGEST_WORD])
            if phonemes:
                position = start + first + cut
                found.append(PhonemeToken(position, min(position + _LONGEST_WORD, start + last), phonemes, space=True))
    return found


def _word_to_phonemes(word: str) -> str:
    if word in _INTERJECTIONS:
        return _INTERJECTIONS[word]
    initials = lazy_pinyin(word, Style.INITIALS, errors="ignore", strict=True)
    finals = lazy_pinyin(word, Style.FINALS_TONE3, errors="ignore", strict=True, neutral_tone_with_five=True)
    return "".join(map(_syllable_to_phonemes, initials, finals))


def _syllable_to_phonemes(initial: str, final: str) -> str:
    vowel, tone = final[:-1], final[-1:]
    phonemes = "ɨ0" if vowel == "i" and initial in _APICAL_INITIALS else _FINALS.get(vowel, "")
    if vowel == "o" and not initial:
        phonemes = "ɔ0"
    return _INITIALS.get(initial, "") + phonemes.replace("0", _TONES.get(tone, ""))
