"""`x-svc-language`: what became of the language that a request named."""

import re

from svc.text.language import Language
from svc.text.language_codes import is_language_code

HEADER = "x-svc-language"

# The longest tag that is registered has 17 characters. What is longer, or has other characters, is not echoed.
_TAG = re.compile(r"[A-Za-z0-9_-]{1,35}")


def describe_language(code: str | None, language: Language | None) -> dict[str, str]:
    """The header for a request that named a language by `code`, which was understood as `language`; else none.

    `es` if the text is read in that language; otherwise the language is detected, and the header says why:
    `auto; requested=de; reason=not_spoken`, or `reason=unknown`.
    """
    if not code:
        return {}
    if language:
        return {HEADER: language.value.split("-")[0]}  # the accent follows the voice
    reason = "not_spoken" if is_language_code(code) else "unknown"
    requested = f"; requested={code.strip()}" if _TAG.fullmatch(code.strip()) else ""
    return {HEADER: f"auto{requested}; reason={reason}"}
