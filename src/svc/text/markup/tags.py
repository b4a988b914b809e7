"""The syntax of tags such as `<break time="1s"/>`: tolerant of what people and language models write."""

import html
import re

# A "<" that is not closed within this many characters is not the start of a tag.
LONGEST_TAG = 300

# These tags end a paragraph, even if its text has no full stop.
BLOCK_TAGS = frozenset({
    "article", "blockquote", "br", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ol", "p", "s", "section",
    "table", "tr", "ul",
})  # fmt: skip

# With one of these names, anything inside the brackets is markup, even if it is malformed.
KNOWN_TAGS = frozenset({
    "amazon", "audio", "blockquote", "br", "break", "code", "desc", "div", "em", "emphasis", "google", "img",
    "lang", "lexicon", "li", "mark", "metadata", "mstts", "ol", "pause", "phoneme", "prosody", "say-as", "section",
    "sentence", "silence", "span", "speak", "strong", "sub", "table", "ul", "voice",
})  # fmt: skip

PAUSE_TAGS = frozenset({"break", "pause", "silence"})
# <#1.5#>
PAUSE_MARK = re.compile(r"<# ?(\d{1,5}(?:[.,]\d{1,3})? ?(?:m?s)?) ?#>", re.IGNORECASE)

# The text in these elements is for machines.
UNSPOKEN_TAGS = frozenset({"script", "style"})

# <sup>2</sup>
_EXPONENT = re.compile(r"-?\d{1,3}(?=</sup>)", re.IGNORECASE)
_POWER_BASE = re.compile(r"(?:(?<![^\W\d_])[^\W\d_]{1,2}|[\d)])\Z")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_NAME = r"(?P<close>/)?(?P<name>[A-Za-z][\w:.-]{0,40}+)"
_VALUE = r"""(?:"[^"]*+"|'[^']*+'|“[^”]*+”|[^\s"'<>]++)"""
_STRICT_TAG = re.compile(rf"<{_NAME}(?P<attributes>(?:\s++[\w:.-]++\s*+=\s*+{_VALUE})*+)\s*+(?P<empty>/)?>")
_LOOSE_TAG = re.compile(rf"<{_NAME}\b(?P<attributes>[^<>]*+)>")
UNFINISHED_TAG = re.compile(rf"<(?:[/!?]?$|!(?:-|\[C)|\?xml|{_NAME}(?:[\s=]|/?$)|#[\w., ]{{0,12}}#?$)")
_ATTRIBUTE = re.compile(rf"([\w:.-]+)\s*=\s*({_VALUE})")
CLOSING_NAME = re.compile(r"</([A-Za-z][\w:.-]{0,40})")


def find_tag(text: str, start: int) -> re.Match[str] | None:
    """The tag at `start`; a malformed one only if its name is known."""
    limit = start + LONGEST_TAG
    strict = _STRICT_TAG.match(text, start, limit)
    if strict:
        return strict
    loose = _LOOSE_TAG.match(text, start, limit)
    if loose and find_family(loose) in KNOWN_TAGS:
        return loose
    return None


def find_family(tag: re.Match[str]) -> str:
    """The name up to the colon: vendors' tags such as `mstts:silence` are known by their prefix."""
    return tag["name"].lower().partition(":")[0]


def parse_attributes(tag: re.Match[str]) -> dict[str, str]:
    return {key.lower(): _unquote(value) for key, value in _ATTRIBUTE.findall(tag["attributes"])}


def _unquote(value: str) -> str:
    quoted = value[0] in "\"'“"
    return html.unescape(value[1:-1] if quoted else value.removesuffix("/"))


def find_exponent(text: str, tag: re.Match[str], before: str) -> re.Match[str] | None:
    """The digits in a `<sup>` that are a power: after a number, a bracket, or a symbol of one or two letters."""
    if tag["name"].lower() != "sup" or tag["close"] or not _POWER_BASE.search(before):
        return None
    return _EXPONENT.match(text, tag.end())
