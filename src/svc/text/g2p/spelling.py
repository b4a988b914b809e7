"""What a word's spelling tells and espeak-ng does not: soft consonants (Russian), stress (Bulgarian, Filipino)."""

import re
from collections.abc import Iterable

# Where the two letters are soft, and how they sound. Before other consonants a hard л is understood better.
_SOFT_LETTERS = (
    (re.compile("л(ь$)?"), re.compile("lj?"), "lj"),
    (re.compile("н(ь)?"), re.compile("[nɲ]"), "ɲ"),
)


def soften(word: str, phonemes: str) -> str:
    """A Russian word with л and н soft where a soft sign follows; espeak-ng leaves most of them hard ("день")."""
    for letter, sound, soft in _SOFT_LETTERS:
        signs = letter.findall(word.lower())
        spoken = sound.findall(phonemes)
        # Not where a letter is silent.
        if any(signs) and len(signs) == len(spoken):
            softened = [soft if sign else each for sign, each in zip(signs, spoken, strict=True)]
            phonemes = "".join(part + each for part, each in zip(sound.split(phonemes), [*softened, ""], strict=True))
    return phonemes


_ACUTE = "\u0301"
_STRESS = re.compile("[ˈˌ]")
_VOWEL = re.compile("[aeiouəɔ]")
_WRITTEN_VOWEL = re.compile("[аеиоуъюяaeiou]")
# With an article (Bulgarian) or a linker (Filipino) a word is stressed as without it ...
_ENDING = re.compile("(?<=[аеиоуъюя])т[аео]$|(?<=[aeiou])ng$|(?<=n)g$")
# ... but an article after a consonant has the stress itself.
_STRESSED_ARTICLE = re.compile("[тщ]та$")


class StressTable:
    """Words that are not stressed where espeak-ng does it."""

    def __init__(self, words: Iterable[str]) -> None:
        """The words have acute accents."""
        self._vowels = {
            word.replace(_ACUTE, ""): len(_WRITTEN_VOWEL.findall(word.partition(_ACUTE)[0])) for word in words
        }
        """Which of its vowels has the stress; the first is 1."""

    def move(self, word: str, phonemes: str) -> str:
        """The phonemes of the word, with the stress where it belongs."""
        word = word.lower()
        count = len(_WRITTEN_VOWEL.findall(word))
        vowel = self._find(word, count)
        plain = _STRESS.sub("", phonemes)
        places = [found.start() for found in _VOWEL.finditer(plain)]
        if not vowel or len(places) != count:
            return phonemes
        at = places[vowel - 1]
        return f"{plain[:at]}ˈ{plain[at:]}"

    def _find(self, word: str, count: int) -> int:
        if _STRESSED_ARTICLE.search(word):
            return count
        return self._vowels.get(word) or self._vowels.get(_ENDING.sub("", word), 0)
