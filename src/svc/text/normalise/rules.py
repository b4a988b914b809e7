"""Rules: patterns with the spoken form of what they match, applied from left to right."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

# The spoken form of a match; None if the rule does not apply to it after all.
Verbalise = Callable[[re.Match[str]], str | None]

_DIGIT = re.compile("[\\d½¼¾⅐-⅞]")
_SENTENCE_OVER = re.compile(r"[\s\"'”’)\]*_]*\Z")


@dataclass(frozen=True, slots=True)
class Span:
    """`spoken` is the spoken form of the characters `start:end`."""

    start: int
    end: int
    spoken: str


class Rule:
    """A pattern, and the spoken form of its matches: a function, or always the same words."""

    __slots__ = ("needs_digits", "pattern", "verbalise")

    def __init__(self, pattern: str, spoken: Verbalise | str, flags: int = 0) -> None:
        self.pattern = re.compile(pattern, flags)
        self.needs_digits = False
        self.verbalise: Verbalise = (lambda _: spoken) if isinstance(spoken, str) else spoken


def behind(*words: str, first: str) -> str:
    """A pattern for the position after one of these words and a space, before a character of the class `first`."""
    # Few positions have such a character, so that the words are seldom compared.
    return rf"(?={first})(?:" + "|".join(rf"(?<=\b{re.escape(word)} )" for word in words) + ")"


def after(*words: str) -> str:
    """A pattern for the position between one of these words, with a space, and a digit."""
    return behind(*words, first=r"\d")


def need_digits(rules: Iterable[Rule]) -> Iterable[Rule]:
    """The same rules, which are not tried on text without a digit or a fraction: most sentences have none."""
    for rule in rules:
        rule.needs_digits = True
        yield rule


def any_of(words: Iterable[str]) -> str:
    """A pattern for one of these words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def apply_rules(rules: Sequence[Rule], text: str) -> list[Span]:
    """The matches with their spoken forms: the rule whose match begins first wins, then the one listed first."""
    spans: list[Span] = []
    has_digits = _DIGIT.search(text)
    upcoming = [rule.pattern.search(text) if has_digits or not rule.needs_digits else None for rule in rules]
    position = 0
    while True:
        first = _find_first(upcoming)
        if first is None:
            return spans
        match = upcoming[first]
        assert match is not None
        spoken = rules[first].verbalise(match) if match[0] else None
        if spoken is None:
            upcoming[first] = _search(rules[first], text, match.start() + 1)
            continue
        spans.append(Span(match.start(), match.end(), _keep_full_stop(match, spoken)))
        position = match.end()
        for index, other in enumerate(upcoming):
            if other is not None and other.start() < position:
                upcoming[index] = _search(rules[index], text, position)


def _find_first(matches: Sequence[re.Match[str] | None]) -> int | None:
    starts = [(match.start(), index) for index, match in enumerate(matches) if match is not None]
    return min(starts)[1] if starts else None


def _search(rule: Rule, text: str, position: int) -> re.Match[str] | None:
    return rule.pattern.search(text, position) if position < len(text) else None


def _keep_full_stop(match: re.Match[str], spoken: str) -> str:
    """The full stop of an abbreviation at the end of the text also ends the sentence."""
    ends_text = match[0].endswith(".") and _SENTENCE_OVER.match(match.string, match.end())
    return spoken + "." if ends_text and spoken[-1:].isalnum() else spoken
