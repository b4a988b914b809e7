"""The rules of each language."""

from collections.abc import Callable
from functools import cache

from svc.text.language import Language
from svc.text.normalise.english import language as english
from svc.text.normalise.french import French
from svc.text.normalise.grammar import Grammar
from svc.text.normalise.hindi import Hindi
from svc.text.normalise.italian import Italian
from svc.text.normalise.japanese import Japanese
from svc.text.normalise.mandarin import Mandarin
from svc.text.normalise.patterns import rules
from svc.text.normalise.portuguese import Portuguese
from svc.text.normalise.rules import Rule
from svc.text.normalise.spanish import Spanish

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
