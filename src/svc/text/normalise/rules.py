"""Patterns that say how an expression is read, applied from left to right."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

# What a rule says for its match; None says that this is not its business after all.
Read = Callable[[re.Match[str]], str | None]

_SENTENCE_OVER = re.compile(r"[\s\"'”’)\]*_]*\Z")


@dataclass(frozen=True, slots=True)
class Rule:
    """How to read what the pattern finds."""

    pattern: re.Pattern[str]
    read: Read


@dataclass(frozen=True, slots=True)
class Span:
    """`spoken` stands for the characters `start:end`."""

    start: int
    end: int
    spoken: str


def rule(pattern: str, read: Read | str, flags: int = 0) -> Rule:
    """A rule from the text of a pattern and either a function or the words themselves."""
    compiled = re.compile(pattern, flags)
    if isinstance(read, str):
        words = read
        return Rule(compiled, lambda _: words)
    return Rule(compiled, read)


def after(*words: str) -> str:
    """A pattern for the place between one of these words, with a space, and a digit."""
    return r"(?=\d)(?:" + "|".join(rf"(?<=\b{re.escape(word)} )" for word in words) + ")"


def any_of(words: Iterable[str]) -> str:
    """A pattern for one of these words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def rewrite(text: str, rules: Sequence[Rule]) -> list[Span]:
    """Read the text from left to right: the rule whose match begins first wins, then the one listed first."""
    rewrites: list[Span] = []
    upcoming = [each.pattern.search(text) for each in rules]
    position = 0
    while True:
        first = _first(upcoming)
        if first is None:
            return rewrites
        match = upcoming[first]
        assert match is not None
        spoken = rules[first].read(match) if match[0] else None
        if spoken is None:
            upcoming[first] = _search(rules[first], text, match.start() + 1)
            continue
        rewrites.append(Span(match.start(), match.end(), _with_full_stop(match, spoken)))
        position = match.end()
        for index, other in enumerate(upcoming):
            if other is not None and other.start() < position:
                upcoming[index] = _search(rules[index], text, position)


def _first(matches: Sequence[re.Match[str] | None]) -> int | None:
    starts = [(match.start(), index) for index, match in enumerate(matches) if match is not None]
    return min(starts)[1] if starts else None


def _search(wanted: Rule, text: str, position: int) -> re.Match[str] | None:
    return wanted.pattern.search(text, position) if position < len(text) else None


def _with_full_stop(match: re.Match[str], spoken: str) -> str:
    """The full stop of an abbreviation that ends the text is the sentence's, too."""
    ends_text = match[0].endswith(".") and _SENTENCE_OVER.match(match.string, match.end())
    return spoken + "." if ends_text and spoken[-1:].isalnum() else spoken
