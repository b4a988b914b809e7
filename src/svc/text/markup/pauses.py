"""How long a pause is, as people write it: `pause 2s`, `break:500ms`, `2 second pause`, `2s`."""

import re

from svc.text.markup.audio_tag_words import OTHER_LANGUAGES
from svc.text.markup.elements import LONGEST_BREAK_SECONDS

PAUSE_NAMES = "|".join(
    ["pauses?", "breaks?", "silence", "waits?", *(word for word, tag in OTHER_LANGUAGES.items() if tag == "pause")]
)
_NUMBER = r"(?P<{0}>\d{{1,5}}(?:[.,]\d{{1,3}})?|[.,]\d{{1,3}})"
_UNIT = (
    r"(?P<{0}>ms|msecs?|milliseconds?|s|secs?|seconds?|segundos?|secondes?|sekunden?|second[oi]|secs?\.|秒|秒钟|सेकंड)"
)
_PAUSE = re.compile(
    rf"(?:{PAUSE_NAMES})\s*[:=]?\s*(?:for |of )?{_NUMBER.format('after')}\s*{_UNIT.format('unit_after')}?"
    rf"|{_NUMBER.format('before')}[ -]?{_UNIT.format('unit_before')}(?P<name> ?(?:{PAUSE_NAMES}))?",
    re.IGNORECASE,
)
# A pause without a unit is in seconds, unless it would be longer than any.
_LEAST_MILLISECONDS = 100


def parse_pause(content: str, *, named: bool = True) -> float | None:
    """The seconds; None if the text says no duration, or none of something that is `named` a pause."""
    found = _PAUSE.fullmatch(content)
    if found is None or (named and found["before"] and not found["name"]):
        return None
    number = float((found["after"] or found["before"]).replace(",", "."))
    unit = found["unit_after"] or found["unit_before"] or ("ms" if number >= _LEAST_MILLISECONDS else "s")
    return min(number / (1000 if unit.lower().startswith("m") else 1), LONGEST_BREAK_SECONDS)
