"""Speech markup inside otherwise plain text: SSML, HTML and audio tags are taken out, and what they ask for is kept."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from svc.text.markup import audio_tags
from svc.text.markup.audio_tags import AudioTag
from svc.text.markup.elements import LONGEST_BREAK_SECONDS, MANNERS, REPLACEMENTS, apply_language, parse_seconds
from svc.text.markup.parsed_text import Break, Change, ParsedText, Pronunciation, Replacement
from svc.text.markup.pauses import parse_pause
from svc.text.markup.prosody import PLAIN, Manner
from svc.text.markup.tags import (
    BLOCK_TAGS,
    CLOSING_NAME,
    KNOWN_TAGS,
    LONGEST_TAG,
    PAUSE_MARK,
    PAUSE_TAGS,
    SUPERSCRIPTS,
    UNFINISHED_TAG,
    UNSPOKEN_TAGS,
    find_exponent,
    find_family,
    find_tag,
    parse_attributes,
)

# In characters, of the caller's text: so much is parsed in one step.
LONGEST_PIECE = 1000

MARKUP = re.compile(r"[<\[*(（]")
# Elements whose text is read differently or not at all: it must arrive together with both tags.
_REPLACING = re.compile(r"<(?P<name>phoneme|say-as|sub|sup|script|style)\b", re.IGNORECASE)
_OPENING = frozenset("([{（「『“\"'")
_SENTENCE_ENDS = frozenset(".!?…。！？।॥")
_LONGEST_WORD = 12  # before a bracket, of those that matter
_LAST_WORD = re.compile(r"(?<![^\W_])([A-Za-z]+)\s*\Z")
_LINES = re.compile(r"\n|[^\s]+")


def parse(text: str) -> ParsedText:
    """Takes the markup out of a whole text."""
    return ParsedText.join(MarkupParser().feed(text, whole=True))


def find_holdback(text: str) -> int:
    """The position from which the text may be an unfinished tag, or one whose meaning depends on what follows it."""
    begin = max(0, len(text) - LONGEST_TAG)
    held = [audio_tags.find_unfinished(text)]
    for opening in _REPLACING.finditer(text, begin):
        tag = find_tag(text, opening.start())
        closed = re.search(f"</{opening['name']}>", text[opening.end() :], re.IGNORECASE)
        if not closed and not (tag and tag[0].endswith("/>")):
            held.append(opening.start())
            break
    start = text.rfind("<", begin)
    if start >= 0:
        tag = find_tag(text, start)
        unfinished = tag is None and UNFINISHED_TAG.match(text, start)
        if unfinished or (tag and tag.end() == len(text) and find_family(tag) in PAUSE_TAGS):
            held.append(start)
    return min(held)


class MarkupParser:
    """Parses text in pieces; elements that one piece opens may be closed by another.

    No piece may end inside a tag: see `find_holdback`.
    """

    def __init__(self) -> None:
        self._last = ""  # two characters of plain text
        self._recent = ""  # enough of them for a word
        self._last_mark = ""  # the last of them that is no space
        # Elements that are open, and how the text around them is spoken.
        self._open: list[tuple[str, Manner]] = []
        self._open_names: dict[str, int] = {}
        self._manner = Manner()  # as elements ask for it
        self._tag = PLAIN  # what the last audio tag added to it
        self._line_feeds: int | None = None  # since the last word after that tag; None before the first

    def _begin_piece(self) -> None:
        self._parsed = ParsedText()
        self._plain: list[str] = []
        self._replacing: dict[str, list[tuple[int, int, dict[str, str]]]] = {}

    def feed(self, source: str, *, whole: bool) -> Iterator[ParsedText]:
        """The plain text of the source in pieces, each a bounded step; `origins` are positions in the source.

        Unless the text is `whole`, closing tags are not used to tell tags from comparisons: the result must not depend
        on whether they have arrived yet.
        """
        self._source = source
        self._last_position: dict[str, int] = {}
        self._begin_piece()
        # Whether a longer element ends in the same piece of a stream depends on how the stream is cut.
        self._longest_unspoken = len(source) if whole else LONGEST_TAG
        closed_names = {name.lower() for name in CLOSING_NAME.findall(source)} if whole else set()
        begin = position = 0
        parsers = {"<": lambda at: self._parse_markup(at, closed_names), "[": self._parse_bracket}
        while position < len(source):
            limit = min(position + LONGEST_PIECE, len(source))
            found = MARKUP.search(source, position, limit)
            start = found.start() if found else limit
            self._keep(position, start)
            position = start
            if found:
                position = parsers.get(found[0], self._parse_aside)(start)
                if position == start:
                    self._keep(start, start + 1)
                    position = start + 1
            if self._may_cut(position - begin, position):
                yield self._finish_piece(position)
                begin = position
        yield self._finish_piece(len(source))

    def _may_cut(self, length: int, position: int) -> bool:
        """Whether the piece is long enough; an element whose text is read differently stays in one piece."""
        if length < LONGEST_PIECE:
            return False
        recent = any(opened and position - opened[-1][1] <= LONGEST_TAG for opened in self._replacing.values())
        return not recent or length >= 2 * LONGEST_PIECE

    def _finish_piece(self, end: int) -> ParsedText:
        parsed = self._parsed
        parsed.text = "".join(self._plain)
        parsed.origins.append(end)
        self._begin_piece()
        return parsed

    def _parse_markup(self, start: int, closed_names: set[str]) -> int:
        """Applies the markup at `start` and returns where it ends: `start` itself if there is none."""
        source = self._source
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
        if pause := PAUSE_MARK.match(source, start):
            return self._apply_tag(AudioTag(parse_pause(f"pause {pause[1]}") or 0.0), pause)
        tag = find_tag(source, start)
        if tag is None:
            return self._skip_unfinished(start)
        if self._is_comparison(tag, closed_names):
            return start
        if unspoken_end := self._find_unspoken_end(tag):
            return unspoken_end
        if exponent := find_exponent(source, tag, self._recent):
            self._insert(exponent[0].translate(SUPERSCRIPTS), range(exponent.start(), exponent.end()))
            return exponent.end()
        self._apply(tag)
        return tag.end()

    def _parse_bracket(self, start: int) -> int:
        """The same for an audio tag."""
        if pronounced := audio_tags.match_pronounced(self._source, start):
            begin = len(self._plain)
            self._keep(*pronounced.span("word"))
            self._add_replacement(Pronunciation(begin, len(self._plain), pronounced["phonemes"]))
            return pronounced.end()
        bracket = audio_tags.match_bracket(self._source, start)
        if bracket is None:
            return start
        seconds = None if self._last[-1:].isalnum() else parse_pause(bracket[1].strip(), named=False)
        if seconds is not None:
            return self._apply_tag(AudioTag(seconds), bracket)
        follower = self._source[bracket.end() : bracket.end() + 1]
        tag = audio_tags.interpret(
            bracket[1],
            self._find_word_before(),
            begins_sentence=(not self._last_mark or self._last_mark in _SENTENCE_ENDS) and follower not in ("[", ":"),
            sentence_follows=not self._source[bracket.end() : bracket.end() + 2].strip()[:1].islower(),
        )
        return self._apply_tag(tag, bracket)

    def _parse_aside(self, start: int) -> int:
        """The same for a tag between asterisks or parentheses."""
        aside = audio_tags.match_aside(self._source, start)
        if aside is None or self._last[-1:] == "*":
            return start
        alone = self._last[-1:] in ("", "\n") or not (self._last_mark.isalnum() or self._last_mark in _OPENING)
        tag = audio_tags.interpret_aside(aside, self._find_word_before(), alone=alone)
        return self._apply_tag(tag, aside)

    def _find_word_before(self) -> str:
        word = _LAST_WORD.search(self._recent)
        return word[1] if word else ""

    def _apply_tag(self, tag: AudioTag | None, found: re.Match[str]) -> int:
        """Applies an audio tag and returns where it ends: where it begins if it is none."""
        if tag is None:
            return found.start()
        if self._last[-1:].isalnum() and self._source[found.end() : found.end() + 1].isalnum():
            self._insert_space(" ", found.start())  # the tag may be all that separates two words
        if tag.prosody is not None:
            self._tag, self._line_feeds = tag.prosody, None
            self._note_manner()
        self._add_break(tag.pause)
        return found.end()

    def _find_after(self, mark: str, start: int) -> int:
        """Where the next `mark` ends; `start` if there is none, so that text after an open comment is still spoken."""
        # Searched from the end once: "<!--" * 10,000 must not cost a search each.
        if mark not in self._last_position:
            self._last_position[mark] = self._source.rfind(mark)
        if start > self._last_position[mark]:
            return start
        return self._source.index(mark, start) + len(mark)

    def _find_unspoken_end(self, tag: re.Match[str]) -> int | None:
        """Where an element ends whose text nobody would read aloud: scripts and styles."""
        if tag["name"].lower() not in UNSPOKEN_TAGS or tag["close"]:
            return None
        end = self._find_after(f"</{tag['name']}>", tag.end())
        return end if tag.end() < end <= tag.start() + self._longest_unspoken else None

    def _skip_unfinished(self, start: int) -> int:
        """Where a known tag that the end of the text cuts off ends: it is not spoken."""
        if len(self._source) - start > LONGEST_TAG:
            return start
        unfinished = UNFINISHED_TAG.match(self._source, start)
        if unfinished and unfinished["name"] and find_family(unfinished) in KNOWN_TAGS:
            return len(self._source)
        return start

    def _is_comparison(self, tag: re.Match[str], closed_names: set[str]) -> bool:
        """`x<y>z` and `List<String>` are text: next to a letter, no attributes, no known name, never closed."""
        name = tag["name"].lower()
        before = self._source[tag.start() - 1] if tag.start() else self._last[-1:]
        bare = not (tag["close"] or tag["attributes"]) and not tag[0].endswith("/>")
        known = name in KNOWN_TAGS or name in BLOCK_TAGS or name in closed_names
        is_file = "." in name and bare and name not in closed_names  # #include <stdio.h>
        return is_file or (before.isalnum() and bare and not known)

    def _apply(self, tag: re.Match[str]) -> None:
        name, attributes = tag["name"].lower(), parse_attributes(tag)
        if find_family(tag) in PAUSE_TAGS and not tag["close"]:
            if self._last and not (self._last[-1].isspace() or self._source[tag.end() : tag.end() + 1].isspace()):
                self._insert_space(" ", tag.start())  # the tag may be all that separates two words
            written = parse_pause(tag[0].strip("</> "))  # <break 2s>
            self._add_break(parse_seconds(attributes) if written is None else written)
        elif name in REPLACEMENTS:
            self._apply_replacing(tag, name, attributes)
        if name in BLOCK_TAGS and self._last not in ("", "\n\n"):
            self._insert_space("\n\n", tag.start())
        if tag["close"]:
            self._close(name)
        elif not tag[0].endswith("/>") and (name in MANNERS or "xml:lang" in attributes):
            self._open_element(name, MANNERS.get(name, apply_language)(attributes, self._manner))

    def _open_element(self, name: str, manner: Manner) -> None:
        self._open.append((name, self._manner))
        self._open_names[name] = self._open_names.get(name, 0) + 1
        self._manner = manner
        self._note_manner()

    def _close(self, name: str) -> None:
        """Closes the innermost open element of that name, with those inside of it that were never closed."""
        if not self._open_names.get(name):
            return
        closed = ""
        while closed != name:
            closed, self._manner = self._open.pop()
            self._open_names[closed] -= 1
        self._note_manner()

    def _note_manner(self) -> None:
        manner = replace(self._manner, prosody=self._manner.prosody.combine(self._tag))
        changes = self._parsed.changes
        if changes and changes[-1].start == len(self._plain):
            changes.pop()
        changes.append(Change(len(self._plain), manner))

    def _add_break(self, seconds: float) -> None:
        """Breaks at the same place are one. Others stay where they are: how a stream is cut must change nothing."""
        breaks = self._parsed.breaks
        if breaks and seconds and breaks[-1].position == len(self._plain):
            seconds = min(breaks.pop().seconds + seconds, LONGEST_BREAK_SECONDS)
        if seconds > 0:
            breaks.append(Break(len(self._plain), seconds))

    def _apply_replacing(self, tag: re.Match[str], name: str, attributes: dict[str, str]) -> None:
        opened = self._replacing.setdefault(name, [])
        if not tag["close"]:
            if not tag[0].endswith("/>"):
                opened.append((len(self._plain), tag.start(), attributes))
            return
        if opened:
            start, source_start, attributes = opened.pop()
            # Of a longer element, the first half is spoken before the second arrives on a socket.
            if start < len(self._plain) and tag.end() - source_start <= LONGEST_TAG:
                self._add_replacement(REPLACEMENTS[name](start, len(self._plain), attributes))

    def _add_replacement(self, replacement: Replacement | None) -> None:
        """Of nested ones the outer counts, so that they stand in the order of the text and none overlap."""
        known = self._parsed.replacements
        if replacement:
            while known and known[-1].start >= replacement.start:
                known.pop()
            if not known or known[-1].end <= replacement.start:
                known.append(replacement)

    def _keep(self, start: int, end: int) -> None:
        kept = self._source[start:end]
        if self._tag != PLAIN:
            self._end_tag_with_paragraph(kept)
        self._plain.extend(kept)
        self._parsed.origins.extend(range(start, end))
        self._last = (self._last + kept[-2:])[-2:]
        self._recent = (self._recent + kept[-_LONGEST_WORD:])[-_LONGEST_WORD:]
        self._last_mark = kept.rstrip()[-1:] or self._last_mark

    def _insert_space(self, space: str, position: int) -> None:
        if self._tag != PLAIN:
            self._end_tag_with_paragraph(space)
        self._insert(space, [position] * len(space))

    def _insert(self, characters: str, origins: Iterable[int]) -> None:
        """Adds characters that stand for those of the source at other positions."""
        self._plain.extend(characters)
        self._parsed.origins.extend(origins)
        self._last = (self._last + characters)[-2:]

    def _end_tag_with_paragraph(self, text: str) -> None:
        """An audio tag holds until a blank line after the words that it is for."""
        for found in _LINES.finditer(text):
            if found[0] != "\n":
                self._line_feeds = 0
            elif self._line_feeds is not None:
                self._line_feeds += 1
            if self._line_feeds == 2:
                self._tag = PLAIN
                self._parsed.changes.append(Change(len(self._plain) + found.start(), self._manner))
                return
