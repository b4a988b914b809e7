"""Scripts that no component reads: their letters are left out of the speech."""

import re
from functools import lru_cache
from unicodedata import name, normalize

from svc.text.language.languages import Script, find_script

_SCRIPT = re.compile(
    r"(?P<script>.+?) (?:CAPITAL |SMALL |INDEPENDENT |SUBJOINED )*"
    r"(?:LETTER|VOWEL|CONSONANT|SYLLABLE|SYLLABICS|SIGN|HIEROGLYPH|CHARACTER|IDEOGRAPH)\b"
)
# Names of scripts that are read; the letters of these that are not are rare variants.
_READ = frozenset(script.name for script in Script) | {"MODIFIER", "CJK UNIFIED", "CJK COMPATIBILITY", "HALFWIDTH"}


def find_unread_scripts(text: str) -> frozenset[str]:
    """Their names in small letters: `khmer`, `ol-chiki`."""
    if text.isascii():
        return frozenset()
    return frozenset(filter(None, map(_find_unread_script, set(text))))


@lru_cache(4096)
def _find_unread_script(character: str) -> str:
    """The script of a letter that is not read; empty for all other characters."""
    folded = normalize("NFKC", character)[:1]
    if not folded.isalpha() or find_script(folded) is not Script.COMMON:
        return ""
    found = _SCRIPT.match(name(folded, ""))
    if found is None or found["script"].removesuffix(" CAPITAL").removesuffix(" SMALL") in _READ:
        return ""
    return found["script"].lower().replace(" ", "-")
