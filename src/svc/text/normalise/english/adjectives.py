"""Whether a quantity or an amount modifies the noun after it: "a ten megabyte file", "ten megabytes of it"."""

import re

# Before these a quantity is not an adjective: "a 10 MB file" is ten megabyte, "the 10 MB of it" ten megabytes.
FUNCTION_WORDS = frozenset({
    "a", "above", "after", "ago", "an", "and", "are", "as", "at", "away", "because", "before", "below",
    "but", "by", "deep", "each", "every", "for", "from", "had", "has", "have", "he", "high", "i", "if",
    "in", "into", "is", "it", "later", "less", "long", "more", "of", "off", "old", "on", "or", "out",
    "over", "per", "she", "tall", "than", "that", "the", "then", "they", "thick", "to", "under", "until",
    "up", "was", "we", "were", "when", "where", "which", "while", "wide", "will", "with", "you",
})  # fmt: skip
# Nouns that quantities modify even without an article: "$20 bills", "the women's 100m dash".
MODIFIED_NOUNS = frozenset({
    "adapter", "angle", "bag", "battery", "bill", "bottle", "break", "bulb", "cable", "camera", "can", "charger",
    "clock", "coin", "dash", "day", "deal", "delay", "delivery", "drive", "flight", "font", "jack", "monitor", "note",
    "notice", "period", "race", "relay", "ride", "screen", "service", "session", "shift", "sprint", "support",
    "timeout", "timer", "trip", "turn", "tv", "walk", "week", "window",
})  # fmt: skip
_ARTICLE_BEFORE = re.compile(r"\b(?:an?|the|this|that|my|your|his|her|its|our|their|another|every|each)[ ]\Z", re.I)
_WORD_AFTER = re.compile(r"[ ]([A-Za-z]+)")


def is_adjective(match: re.Match[str]) -> bool:
    """Whether the quantity modifies the noun after it, and is therefore in the singular: "a 10 MB file"."""
    noun = _WORD_AFTER.match(match.string, match.end())
    article = _ARTICLE_BEFORE.search(match.string, max(0, match.start() - 9), match.start())
    if noun is None or noun[1].lower() in FUNCTION_WORDS:
        return False
    return bool(article) or noun[1].lower().removesuffix("s") in MODIFIED_NOUNS
