"""`x-svc-language`: in which language a text is read, and what became of the one that the request named."""

import re

from svc.synthesis.request import Reading
from svc.text.language.codes import is_language_code
from svc.text.language.grades import Grade, find_grade
from svc.text.language.languages import Language
from svc.text.sentences.phrases import Reason

HEADER = "x-svc-language"

# The longest tag that is registered has 17 characters. What is longer, or has other characters, is not echoed.
_TAG = re.compile(r"[A-Za-z0-9_-]{1,35}")
# Asks for what happens without a code.
_AUTOMATIC = "auto"


def describe_language(code: str | None, language: Language | None, reading: Reading) -> dict[str, str]:
    """The header for a text of which the first words are read so, if the request named a `language` by `code`.

    `es` if that is the language; `de; grade=fair` if it is not as good as in the voices' own languages. A code that
    stands for no language here leaves the choice to detection, and the header says why:
    `auto; requested=th; reason=not_spoken`, or `reason=unknown`. Otherwise the header names a language that is not the
    voice's: `de; reason=detected; grade=fair`, or `reason=markup`. Scripts that nothing here reads come last:
    `en; unread=khmer`, or `none; unread=khmer` if there is nothing else.
    """
    spoken = reading.language
    named = _name_language(code, language)
    if language and spoken and spoken.code != language.code:
        described = _describe(spoken, f"requested={language.code}", f"reason={reading.reason}")
    elif named:
        described = named
    elif spoken and reading.reason is not Reason.VOICE:
        described = _describe(spoken, f"reason={reading.reason}")
    elif reading.unread:
        described = spoken.code if spoken else "none"
    else:
        return {}
    return {HEADER: "; ".join([described, *([f"unread={','.join(sorted(reading.unread))}"] if reading.unread else [])])}


def describe_named_language(code: str | None, language: Language | None) -> dict[str, str]:
    """The header for a request whose text is not known yet."""
    named = _name_language(code, language)
    return {HEADER: named} if named else {}


def _name_language(code: str | None, language: Language | None) -> str:
    code = (code or "").strip()
    if not code or code.lower() == _AUTOMATIC:
        return ""
    if language:
        return _describe(language)  # the accent follows the voice
    requested = [f"requested={code}"] if _TAG.fullmatch(code) else []
    return "; ".join(["auto", *requested, f"reason={'not_spoken' if is_language_code(code) else 'unknown'}"])


def _describe(language: Language, *parameters: str) -> str:
    grade = find_grade(language)
    return "; ".join([language.code, *parameters, *([] if grade is Grade.GOOD else [f"grade={grade}"])])
