"""`x-svc-language`: what became of the language that a request named."""

import re

from svc.synthesis.request import SynthesisRequest
from svc.text.grades import Grade, find_grade
from svc.text.language import Language
from svc.text.language_codes import is_language_code
from svc.text.language_detection import detect_language
from svc.text.split import LONGEST_SENTENCE, Splitter

HEADER = "x-svc-language"

# The longest tag that is registered has 17 characters. What is longer, or has other characters, is not echoed.
_TAG = re.compile(r"[A-Za-z0-9_-]{1,35}")


def describe_language(code: str | None, request: SynthesisRequest) -> dict[str, str]:
    """The header for a request that named a language by `code`.

    `es` if the text is read in that language; `de; grade=fair` if that is not as good as in the voices' own languages.
    A code that stands for no language here leaves the choice to detection, and the header says why:
    `auto; requested=th; reason=not_spoken`, or `reason=unknown`. Without a code, the header names the language of the
    first sentence if it is not the voice's: `de; reason=detected; grade=fair`.
    """
    if code:
        return describe_named_language(code, request.language)
    # The frontend has asked the same, so that nothing is loaded here.
    splitter = Splitter()
    sentences = splitter.feed(request.text[: 2 * LONGEST_SENTENCE]) or splitter.flush()
    detected = detect_language(sentences[0].text if sentences else "", request.voice.language)
    if detected.code == request.voice.language.code:
        return {}
    return {HEADER: f"{detected.code}; reason=detected{_describe_grade(detected)}"}


def describe_named_language(code: str | None, language: Language | None) -> dict[str, str]:
    """The header for a request whose text is not known yet."""
    if not code:
        return {}
    if language:
        return {HEADER: language.code + _describe_grade(language)}  # the accent follows the voice
    reason = "not_spoken" if is_language_code(code) else "unknown"
    requested = f"; requested={code.strip()}" if _TAG.fullmatch(code.strip()) else ""
    return {HEADER: f"auto{requested}; reason={reason}"}


def _describe_grade(language: Language) -> str:
    grade = find_grade(language)
    return "" if grade is Grade.GOOD else f"; grade={grade}"
