"""Speech markup (SSML, HTML) inside otherwise plain text: breaks and phonemes are kept, other tags are dropped."""

import html
import re
from dataclasses import dataclass, field

from svc.text.g2p.ipa import arpabet_to_ipa

# Limits how much audio one small tag can ask for.
LONGEST_BREAK_SECONDS = 10.0

# A "<" that is not closed within this many characters is not the start of a tag.
LONGEST_TAG = 300

STRENGTH_SECONDS = {
    "none": 0.0,
    "x-weak": 0.1,
    "weak": 0.25,
    "medium": 0.5,
    "strong": 0.75,
    "x-strong": 1.0,
}

# These tags end a paragraph, even if its text has no full stop.
BLOCK_TAGS = frozenset({
    "article", "blockquote", "br", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ol", "p", "s", "section",
    "table", "tr", "ul",
})  # fmt: skip

# With one of these names, anything inside the brackets is markup, even if it is malformed.
KNOWN_TAGS = frozenset({
    "amazon", "audio", "blockquote", "br", "break", "code", "desc", "div", "em", "emphasis", "google", "img",
    "lang", "lexicon", "li", "mark", "metadata", "mstts", "ol", "phoneme", "prosody", "say-as", "section",
    "sentence", "span", "speak", "strong", "sub", "table", "ul", "voice",
})  # fmt: skip

_NAME = r"(?P<close>/)?(?P<name>[A-Za-z][\w:.-]{0,40}+)"
_VALUE = r"""(?:"[^"]*+"|'[^']*+'|“[^”]*+”|[^\s"'<>]++)"""
_STRICT_TAG = re.compile(rf"<{_NAME}(?P<attributes>(?:\s++[\w:.-]++\s*+=\s*+{_VALUE})*+)\s*+(?P<empty>/)?>")
_LOOSE_TAG = re.compile(rf"<{_NAME}\b(?P<attributes>[^<>]*+)>")
_UNFINISHED_TAG = re.compile(rf"<(?:[/!?]?$|!(?:-|\[C)|\?xml|{_NAME}(?:\s|/?$))")
_ATTRIBUTE = re.compile(rf"([\w:.-]+)\s*=\s*({_VALUE})")
_DURATION = re.compile(r"\s*([+-]?\d{0,9}(?:\.\d{0,9})?)\s*(ms|s|)\s*", re.IGNORECASE)
_CLOSING_NAME = re.compile(r"</([A-Za-z][\w:.-]{0,40})")


@dataclass(frozen=True, slots=True)
class Break:
    """Silence of `seconds` before the character at `position`."""

    position: int
    seconds: float

    def shift(self, offset: int) -> "Break":
        return Break(self.position + offset, self.seconds)


@dataclass(frozen=True, slots=True)
class Pronunciation:
    """The characters `start:end` are pronounced as `ipa`."""

    start: int
    end: int
    ipa: str

    def shift(self, offset: int) -> "Pronunciation":
        return Pronunciation(self.start + offset, self.end + offset, self.ipa)


@dataclass(frozen=True, slots=True)
class ParsedText:
    """Plain text and what its markup asked for."""

    text: str
    breaks: list[Break]
    pronunciations: list[Pronunciation]
    origins: list[int]
    """The position in the caller's text of each character, and of the end."""


def parse(text: str, before: str = "", whole: bool = True) -> ParsedText:
    """Takes the markup out of the text.

    `before` is the end of the plain text that came before it. Unless the text is `whole`, closing tags are not used
    to tell tags from comparisons: the result must not depend on whether they have arrived yet.
    """
    parser = _Parser(text, before)
    return parser.parse({name.lower() for name in _CLOSING_NAME.findall(text)} if whole else set())


def find_holdback(text: str) -> int:
    """The position from which the text may be an unfinished tag, or one whose meaning depends on what follows it."""
    begin = max(0, len(text) - LONGEST_TAG)
    # The word between <phoneme …> and </phoneme> must arrive together with both.
    opened = text.rfind("<phoneme", begin)
    if opened >= 0 and "</phoneme>" not in text[opened:] and "/>" not in text[opened:]:
        return opened
    start = text.rfind("<", begin)
    if start >= 0:
        tag = _find_tag(text, start)
        if tag is None and _UNFINISHED_TAG.match(text, start):
            return start
        if tag and tag.end() == len(text) and _family(tag) == "break":
            return start
    return len(text)


def _find_tag(text: str, start: int) -> re.Match[str] | None:
    limit = start + LONGEST_TAG
    strict = _STRICT_TAG.match(text, start, limit)
    if strict:
        return strict
    loose = _LOOSE_TAG.match(text, start, limit)
    if loose and _family(loose) in KNOWN_TAGS:
        return loose
    return None


def _family(tag: re.Match[str]) -> str:
    """The name up to the colon: vendors' tags such as `mstts:silence` are known by their prefix."""
    return tag["name"].lower().partition(":")[0]


@dataclass(slots=True)
class _Parser:
    source: str
    before: str
    plain: list[str] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    breaks: list[Break] = field(default_factory=list)
    pronunciations: list[Pronunciation] = field(default_factory=list)
    open_phonemes: list[tuple[int, str]] = field(default_factory=list)
    last_position: dict[str, int] = field(default_factory=dict)

    def parse(self, closed_names: set[str]) -> ParsedText:
        position = 0
        while (start := self.source.find("<", position)) >= 0:
            self._keep(position, start)
            position = self._parse_markup(start, closed_names)
            if position == start:
                self._keep(start, start + 1)
                position = start + 1
        self._keep(position, len(self.source))
        return ParsedText("".join(self.plain), self.breaks, self.pronunciations, [*self.origins, len(self.source)])

    def _parse_markup(self, start: int, closed_names: set[str]) -> int:
        """Applies the markup at `start` and returns where it ends: `start` itself if there is none."""
        source = self.source
        if source.startswith("<!--", start):
            return self._find_after("-->", start + len("<!--"))
        if source.startswith("<![CDATA[", start):
            inside = start + len("<![CDATA[")
            end = self._find_after("]]>", inside)
            self._keep(inside, end - len("]]>"))
            return end
        if source.startswith(("<?xml", "<!DOCTYPE"), start):
            end = source.find(">", start, start + LONGEST_TAG)
            return end + 1 if end >= 0 else start
        tag = _find_tag(source, start)
        if tag is None:
            return self._skip_unfinished(start)
        if self._is_comparison(tag, closed_names):
            return start
        self._apply(tag)
        return tag.end()

    def _find_after(self, mark: str, start: int) -> int:
        """Where the next `mark` ends; `start` if there is none, so that text after an open comment is still spoken."""
        # Searched from the end once: "<!--" * 10,000 must not cost a search each.
        if mark not in self.last_position:
            self.last_position[mark] = self.source.rfind(mark)
        if start > self.last_position[mark]:
            return start
        return self.source.index(mark, start) + len(mark)

    def _skip_unfinished(self, start: int) -> int:
        """Where a known tag that the end of the text cuts off ends: it is not spoken."""
        if len(self.source) - start > LONGEST_TAG:
            return start
        unfinished = _UNFINISHED_TAG.match(self.source, start)
        if unfinished and unfinished["name"] and _family(unfinished) in KNOWN_TAGS:
            return len(self.source)
        return start

    def _is_comparison(self, tag: re.Match[str], closed_names: set[str]) -> bool:
        """`x<y>z` and `List<String>` are text: next to a letter, no attributes, no known name, never closed."""
        name = tag["name"].lower()
        touches_word = (self.source[: tag.start()] or self.before)[-1:].isalnum()
        bare = not (tag["close"] or tag["attributes"]) and not tag[0].endswith("/>")
        known = name in KNOWN_TAGS or name in BLOCK_TAGS or name in closed_names
        return touches_word and bare and not known

    def _apply(self, tag: re.Match[str]) -> None:
        name = tag["name"].lower()
        attributes = {key.lower(): _unquote(value) for key, value in _ATTRIBUTE.findall(tag["attributes"])}
        if name == "break" and not tag["close"]:
            last = self._last_characters(1)
            if last and not (last.isspace() or self.source[tag.end() : tag.end() + 1].isspace()):
                self._insert_space(" ", tag)  # the tag may be all that separates two words
            self._add_break(_parse_seconds(attributes))
        elif name == "phoneme":
            self._apply_phoneme(tag, attributes)
        elif name in BLOCK_TAGS and self._last_characters(2) not in ("", "\n\n"):
            self._insert_space("\n\n", tag)

    def _last_characters(self, count: int) -> str:
        """The end of the plain text up to here."""
        return (self.before + "".join(self.plain[-count:]))[-count:]

    def _add_break(self, seconds: float) -> None:
        position = len(self.plain)
        last = self.breaks[-1] if self.breaks else None
        if last and not "".join(self.plain[last.position :]).strip():
            seconds = min(last.seconds + seconds, LONGEST_BREAK_SECONDS)
            self.breaks.pop()
        if seconds > 0:
            self.breaks.append(Break(position, seconds))

    def _apply_phoneme(self, tag: re.Match[str], attributes: dict[str, str]) -> None:
        if tag["close"]:
            if self.open_phonemes:
                start, ipa = self.open_phonemes.pop()
                if ipa and start < len(self.plain):
                    self.pronunciations.append(Pronunciation(start, len(self.plain), ipa))
            return
        if tag[0].endswith("/>"):
            return
        phonemes = attributes.get("ph", "")
        if "arpabet" in attributes.get("alphabet", "ipa").lower():
            phonemes = arpabet_to_ipa(phonemes)
        self.open_phonemes.append((len(self.plain), phonemes.strip()))

    def _keep(self, start: int, end: int) -> None:
        self.plain.extend(self.source[start:end])
        self.origins.extend(range(start, end))

    def _insert_space(self, space: str, tag: re.Match[str]) -> None:
        self.plain.extend(space)
        self.origins.extend([tag.start()] * len(space))


def _unquote(value: str) -> str:
    quoted = value[0] in "\"'“"
    return html.unescape(value[1:-1] if quoted else value.removesuffix("/"))


def _parse_seconds(attributes: dict[str, str]) -> float:
    duration = _DURATION.fullmatch(attributes.get("time", ""))
    if duration and any(character.isdigit() for character in duration[1]):
        seconds = float(duration[1]) / (1000 if duration[2].lower() == "ms" else 1)
    else:
        seconds = STRENGTH_SECONDS.get(attributes.get("strength", "").lower(), STRENGTH_SECONDS["medium"])
    return min(max(seconds, 0.0), LONGEST_BREAK_SECONDS)
