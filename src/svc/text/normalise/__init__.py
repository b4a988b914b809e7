"""Text normalisation: numbers, dates, money, units, abbreviations and symbols in words, as they are spoken.

Number words of the built-in voices' languages are our own tables. num2words is LGPL and has cardinals, but not the
irregular Hindi numbers up to a hundred, nor gender, apocope, or the counting of hours and money, which are most of the
work. The languages of the table share one grammar on CLDR's data.
"""

from collections.abc import Callable, Iterator
from functools import cache

from svc.text.language.languages import Language
from svc.text.normalise import english, shared_rules
from svc.text.normalise.french import BelgianFrench, French, SwissFrench
from svc.text.normalise.grammar import Grammar
from svc.text.normalise.hindi import Hindi
from svc.text.normalise.italian import Italian
from svc.text.normalise.japanese import Japanese
from svc.text.normalise.mandarin import Mandarin
from svc.text.normalise.portuguese import EuropeanPortuguese, Portuguese
from svc.text.normalise.rules import Rule, Span, apply_rules
from svc.text.normalise.spanish import LatinAmericanSpanish, Spanish
from svc.text.normalise.typography import FoldedText, fold

# No pattern sees more characters than this, so that time grows linearly with the length of a text.
LONGEST_WINDOW = 2000

_GRAMMARS: dict[Language, Callable[[], Grammar]] = {
    Language.SPANISH: Spanish,
    Language.SPANISH_LATIN_AMERICA: LatinAmericanSpanish,
    Language.FRENCH: French,
    Language.FRENCH_BE: BelgianFrench,
    Language.FRENCH_CH: SwissFrench,
    Language.HINDI: Hindi,
    Language.ITALIAN: Italian,
    Language.JAPANESE: Japanese,
    Language.PORTUGUESE_BR: Portuguese,
    Language.PORTUGUESE_PT: EuropeanPortuguese,
    Language.MANDARIN: Mandarin,
}


def normalise(text: str, language: Language) -> list[Span]:
    """The spoken form of each part of the text; the spans cover it from its first to its last character."""
    folded = fold(text)
    rewritten: list[Span] = []
    for start, end in split_windows(folded.text):
        found = apply_rules(_load_rules(language), folded.text[start:end])
        rewritten.extend(Span(start + span.start, start + span.end, span.spoken) for span in found)
    return _restore_positions(len(text), folded, rewritten)


@cache
def get_grammar(language: Language) -> Grammar | None:
    """The number words and the like of a language; None for English, which has its own rules."""
    if language.row:
        from svc.text.normalise.cldr import CldrGrammar  # its libraries are loaded when such a language is spoken

        return CldrGrammar(language.value, language.row)
    return _GRAMMARS[language]() if language in _GRAMMARS else None


@cache
def _load_rules(language: Language) -> tuple[Rule, ...]:
    """The rules of a language, compiled when it is first used."""
    grammar = get_grammar(language)
    if grammar:
        return shared_rules.build_rules(grammar)
    return english.build_rules(british=language is Language.ENGLISH_GB)


def split_windows(text: str) -> Iterator[tuple[int, int]]:
    """Ranges of at most LONGEST_WINDOW characters, cut between words if possible."""
    start = 0
    while start < len(text):
        end = min(start + LONGEST_WINDOW, len(text))
        if end < len(text):
            space = text.rfind(" ", start, end)
            end = space + 1 if space > start else end
        yield start, end
        start = end


def _restore_positions(length: int, folded: FoldedText, rewritten: list[Span]) -> list[Span]:
    """Spans that cover the original text, from the rewritten spans of the folded text."""
    spans: list[Span] = []
    position = 0
    for span in _fill_gaps(folded, rewritten):
        start, end = folded.starts[span.start], folded.ends[span.end - 1]
        if start < position:  # one character, such as ㎏, became several that different spans cover
            start, spoken = spans[-1].start, spans[-1].spoken + span.spoken
            spans[-1] = Span(start, max(end, position), spoken)
        else:
            spans.extend(_silence(position, start))
            spans.append(Span(start, end, span.spoken))
        position = spans[-1].end
    spans.extend(_silence(position, length))
    return spans


def _silence(start: int, end: int) -> list[Span]:
    """Characters that folding dropped have no spoken form."""
    return [Span(start, end, "")] if start < end else []


def _fill_gaps(folded: FoldedText, rewritten: list[Span]) -> Iterator[Span]:
    """The rewritten spans, and spans for the unchanged text between them."""
    position = 0
    for span in rewritten:
        yield from _copy(folded, position, span.start)
        yield span
        position = span.end
    yield from _copy(folded, position, len(folded.text))


def _copy(folded: FoldedText, start: int, end: int) -> Iterator[Span]:
    """Unchanged text, cut where its characters do not correspond one to one with the original."""
    run = start
    for index in range(start + 1, end + 1):
        if index == end or not _is_contiguous(folded, index):
            yield Span(run, index, folded.text[run:index])
            run = index


def _is_contiguous(folded: FoldedText, index: int) -> bool:
    """Whether the characters at `index - 1` and `index` are neighbours in the original text, too."""
    start, before = folded.starts[index], folded.starts[index - 1]
    both_single = folded.ends[index] == start + 1 and folded.ends[index - 1] == before + 1
    return start == before or (both_single and start == before + 1)
