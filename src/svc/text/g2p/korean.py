"""Korean: from the letters of each syllable to sounds, by the rules of standard pronunciation.

espeak-ng reads most syllables alone and writes tense consonants with a mark that the vocabulary lacks.
"""

from dataclasses import dataclass
from itertools import pairwise

from svc.text.g2p.tokenizer import PhonemeToken, attach_phonemes, tokenize

_ONSETS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
_VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_CODAS = ("", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ")
_FIRST, _LAST = 0xAC00, 0xD7A3

# Of two consonants at the end of a syllable, the second moves to the next one.
_CLUSTERS = {
    "ㄳ": "ㄱㅆ", "ㄵ": "ㄴㅈ", "ㄺ": "ㄹㄱ", "ㄻ": "ㄹㅁ", "ㄼ": "ㄹㅂ", "ㄽ": "ㄹㅆ", "ㄾ": "ㄹㅌ", "ㄿ": "ㄹㅍ",
    "ㅄ": "ㅂㅆ",
}  # fmt: skip
_BREATHED = {"ㅎ": "", "ㄶ": "ㄴ", "ㅀ": "ㄹ"}  # codas with ㅎ, and what is left without it
_ASPIRATED = {"ㄱ": "ㅋ", "ㄷ": "ㅌ", "ㅂ": "ㅍ", "ㅈ": "ㅊ"}
_TENSE = {"ㄱ": "ㄲ", "ㄷ": "ㄸ", "ㅂ": "ㅃ", "ㅅ": "ㅆ", "ㅈ": "ㅉ"}
_NASAL = {"ㄱ": "ㅇ", "ㄷ": "ㄴ", "ㅂ": "ㅁ"}
# What is heard of a consonant before another, or at the end.
_CLOSED = {
    **dict.fromkeys("ㄱㄲㅋㄳㄺ", "ㄱ"), **dict.fromkeys("ㄷㅅㅆㅈㅊㅌㅎ", "ㄷ"), **dict.fromkeys("ㅂㅍㅄㄿ", "ㅂ"),
    **dict.fromkeys("ㄹㄼㄽㄾㅀ", "ㄹ"), **dict.fromkeys("ㄴㄵㄶ", "ㄴ"), **dict.fromkeys("ㅁㄻ", "ㅁ"), "ㅇ": "ㅇ",
}  # fmt: skip

_ONSET_SOUNDS = {
    "ㄱ": "k", "ㄲ": "k", "ㄴ": "n", "ㄷ": "t", "ㄸ": "t", "ㄹ": "ɾ", "ㅁ": "m", "ㅂ": "p", "ㅃ": "p", "ㅅ": "s",
    "ㅆ": "s", "ㅇ": "", "ㅈ": "ʨ", "ㅉ": "ʨ", "ㅊ": "ʨʰ", "ㅋ": "kʰ", "ㅌ": "tʰ", "ㅍ": "pʰ", "ㅎ": "h",
}  # fmt: skip
_VOICED = {"ㄱ": "ɡ", "ㄷ": "d", "ㅂ": "b", "ㅈ": "ʥ"}  # between vowels, and after a nasal or ㄹ
_CODA_SOUNDS = {"": "", "ㄱ": "k", "ㄴ": "n", "ㄷ": "t", "ㄹ": "l", "ㅁ": "m", "ㅂ": "p", "ㅇ": "ŋ"}
_VOWEL_SOUNDS = {
    "ㅏ": "a", "ㅐ": "ɛ", "ㅑ": "ja", "ㅒ": "jɛ", "ㅓ": "ʌ", "ㅔ": "e", "ㅕ": "jʌ", "ㅖ": "je", "ㅗ": "o", "ㅘ": "wa",
    "ㅙ": "wɛ", "ㅚ": "we", "ㅛ": "jo", "ㅜ": "u", "ㅝ": "wʌ", "ㅞ": "we", "ㅟ": "wi", "ㅠ": "ju", "ㅡ": "ɯ",
    "ㅢ": "ɯi", "ㅣ": "i",
}  # fmt: skip


@dataclass(slots=True)
class _Syllable:
    onset: str
    vowel: str
    coda: str


class KoreanG2P:
    def phonemize(self, text: str) -> list[PhonemeToken]:
        tokens = tokenize(text)
        return attach_phonemes(
            text, tokens, [token.mark or _pronounce(text[token.start : token.end]) for token in tokens]
        )


def _pronounce(word: str) -> str:
    syllables = [_decompose(character) for character in word if _FIRST <= ord(character) <= _LAST]
    for syllable, following in pairwise(syllables):
        _join(syllable, following)
    if syllables:
        syllables[-1].coda = _CLOSED.get(syllables[-1].coda, "")
    return "".join(
        _sound(syllable, syllables[at - 1] if at else None, stressed=at == 0) for at, syllable in enumerate(syllables)
    )


def _decompose(character: str) -> _Syllable:
    onset, rest = divmod(ord(character) - _FIRST, len(_VOWELS) * len(_CODAS))
    vowel, coda = divmod(rest, len(_CODAS))
    return _Syllable(_ONSETS[onset], _VOWELS[vowel], _CODAS[coda])


def _join(syllable: _Syllable, following: _Syllable) -> None:
    """Changes the sounds where two syllables meet."""
    if following.onset == "ㅇ":
        _link(syllable, following)
        return
    coda = _CLUSTERS.get(syllable.coda, syllable.coda)
    if syllable.coda in _BREATHED and following.onset in "ㄱㄷㅈㅅ":
        syllable.coda = _BREATHED[syllable.coda]
        following.onset = {**_ASPIRATED, "ㅅ": "ㅆ"}[following.onset]
        return
    if following.onset == "ㅎ" and (last := "ㄷ" if coda[-1:] in ("ㅅ", "ㅆ") else coda[-1:]) in _ASPIRATED:
        syllable.coda, following.onset = _CLOSED.get(coda[:-1], ""), _ASPIRATED[last]
        return
    syllable.coda = _CLOSED.get(syllable.coda, "")
    if syllable.coda in _NASAL:
        if following.onset in "ㄴㅁㄹ":
            syllable.coda = _NASAL[syllable.coda]
        following.onset = _TENSE.get(following.onset, following.onset)
    if "ㄹ" in (syllable.coda, following.onset) and {syllable.coda, following.onset} <= {"ㄴ", "ㄹ"}:
        syllable.coda = following.onset = "ㄹ"
    elif following.onset == "ㄹ" and syllable.coda in ("ㅁ", "ㅇ", "ㄴ"):
        following.onset = "ㄴ"


def _link(syllable: _Syllable, following: _Syllable) -> None:
    """A consonant before a vowel moves to its syllable."""
    if syllable.coda in ("", "ㅇ"):
        return
    coda = _BREATHED.get(syllable.coda, _CLUSTERS.get(syllable.coda, syllable.coda))
    syllable.coda, moved = _CLOSED.get(coda[:-1], ""), coda[-1:] or "ㅇ"
    following.onset = {"ㄷ": "ㅈ", "ㅌ": "ㅊ"}.get(moved, moved) if following.vowel == "ㅣ" else moved


def _sound(syllable: _Syllable, previous: _Syllable | None, *, stressed: bool) -> str:
    onset = _ONSET_SOUNDS[syllable.onset]
    if previous and previous.coda in ("", "ㄴ", "ㄹ", "ㅁ", "ㅇ"):
        onset = _VOICED.get(syllable.onset, onset)
    if previous and previous.coda == syllable.onset == "ㄹ":
        onset = "l"
    vowel = _VOWEL_SOUNDS[syllable.vowel]
    if onset == "s" and vowel[0] in "ij":
        onset = "ɕ"
    if onset and syllable.vowel == "ㅢ":
        vowel = "i"
    # The stress mark comes right before the vowel, after a glide.
    glide, core = (vowel[0], vowel[1:]) if vowel[0] in "jw" else ("", vowel)
    return onset + glide + ("ˈ" if stressed else "") + core + _CODA_SOUNDS[syllable.coda]
