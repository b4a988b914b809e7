"""The rules of all languages other than English; a grammar supplies the words."""

from svc.text.normalise import roman, telephone, typography, urls
from svc.text.normalise.grammar import Grammar
from svc.text.normalise.grammar_rules import (
    build_abbreviation_rules,
    build_date_rules,
    build_money_rules,
    build_quantity_rules,
    build_time_rules,
)
from svc.text.normalise.number_rules import build_number_rules
from svc.text.normalise.rules import Rule


def build_rules(grammar: Grammar) -> tuple[Rule, ...]:
    """All rules of a language, in order of precedence."""
    return (
        *typography.BLOCKS,
        *urls.build_rules(grammar.signs, grammar.integer),
        *grammar.extra_rules(),
        *build_date_rules(grammar),
        *build_time_rules(grammar),
        *telephone.build_rules(grammar),
        *build_money_rules(grammar),
        *build_quantity_rules(grammar),
        *roman.build_rules(grammar),
        *build_abbreviation_rules(grammar),
        *build_number_rules(grammar),
        Rule(r"[ ]*&[ ]*", f" {grammar.signs.ampersand} "),
        *typography.MARKS,
    )
