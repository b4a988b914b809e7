"""Written text as it is read aloud: numbers, dates, money, units, abbreviations, symbols and the like in words.

Number words are our own tables. num2words is LGPL and knows cardinals, but neither Hindi's irregular hundred
nor gender, apocope or the counting of hours and money, which is where the work is.
"""

from collections.abc import Callable, Iterator
from functools import cache

from svc.text.language import Language
from svc.text.normalise import english
from svc.text.normalise.french import French
from svc.text.normalise.grammar import Grammar
from svc.text.normalise.grammar_rules import rules
from svc.text.normalise.hindi import Hindi
from svc.text.normalise.italian import Italian
from svc.text.normalise.japanese import Japanese
from svc.text.normalise.mandarin import Mandarin
from svc.text.normalise.portuguese import Portuguese
from svc.text.normalise.rules import Rule, Span, rewrite
from svc.text.normalise.spanish import Spanish
from svc.text.normalise.typography import Folded, fold

# No pattern ever sees more than this, so that time grows with the length of a text and not with its square.
LONGEST_WINDOW = 2000


def normalise(text: str, language: Language) -> list[Span]:
    """What is read for each stretch of the text; the readings cover it from its first to its last character."""
    folded = fold(text)
    rewrites: list[Span] = []
    for start, end in windows(folded.text):
        found = rewrite(folded.text[start:end], rules_of(language))
        rewrites.extend(Span(start + each.start, start + each.end, each.spoken) for each in found)
    return _readings(len(text), folded, rewrites)


def windows(text: str) -> Iterator[tuple[int, int]]:
    """Stretches of bounded length, cut between words where there are any."""
    start = 0
    while start < len(text):
        end = min(start + LONGEST_WINDOW, len(text))
        if end < len(text):
            space = text.rfind(" ", start, end)
            end = space + 1 if space > start else end
        yield start, end
        start = end


def _readings(length: int, folded: Folded, rewrites: list[Span]) -> list[Span]:
    """The rewritten expressions and what lies between them, in the places of the original text."""
    readings: list[Span] = []
    position = 0
    for piece in _pieces(folded, rewrites):
        start, end = folded.starts[piece.start], folded.ends[piece.end - 1]
        if start < position:  # one character, such as ㎏, became several that are read apart
            start, spoken = readings[-1].start, readings[-1].spoken + piece.spoken
            readings[-1] = Span(start, max(end, position), spoken)
        else:
            readings.extend(_silence(position, start))
            readings.append(Span(start, end, piece.spoken))
        position = readings[-1].end
    readings.extend(_silence(position, length))
    return readings


def _silence(start: int, end: int) -> list[Span]:
    """Characters that folding dropped are read as nothing."""
    return [Span(start, end, "")] if start < end else []


def _pieces(folded: Folded, rewrites: list[Span]) -> Iterator[Span]:
    position = 0
    for each in rewrites:
        yield from _unchanged(folded, position, each.start)
        yield each
        position = each.end
    yield from _unchanged(folded, position, len(folded.text))


def _unchanged(folded: Folded, start: int, end: int) -> Iterator[Span]:
    """Folded text read as itself, in one piece as long as its characters and the original's go in step."""
    run = start
    for index in range(start + 1, end + 1):
        if index == end or not _in_step(folded, index):
            yield Span(run, index, folded.text[run:index])
            run = index


def _in_step(folded: Folded, index: int) -> bool:
    """Whether the character at `index` follows its predecessor in the original text as it does here."""
    start, before = folded.starts[index], folded.starts[index - 1]
    both_single = folded.ends[index] == start + 1 and folded.ends[index - 1] == before + 1
    return start == before or (both_single and start == before + 1)


GRAMMARS: dict[Language, Callable[[], Grammar]] = {
    Language.SPANISH: Spanish,
    Language.FRENCH: French,
    Language.HINDI: Hindi,
    Language.ITALIAN: Italian,
    Language.JAPANESE: Japanese,
    Language.PORTUGUESE_BR: Portuguese,
    Language.MANDARIN: Mandarin,
}


@cache
def rules_of(language: Language) -> tuple[Rule, ...]:
    """The rules of a language, compiled when it is first read."""
    if language in GRAMMARS:
        return rules(GRAMMARS[language]())
    return english.rules(british=language is Language.ENGLISH_GB)
