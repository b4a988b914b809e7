"""Roman numerals, read by what stands around them: a ruler, a century, a chapter."""

import re

from svc.text.normalise.grammar import Grammar, parse_roman
from svc.text.normalise.rules import Rule

_WORD_BEFORE = re.compile(r"(?P<word>[^\W\d_]+)\.?[ ]\Z")
_WORD_AFTER = re.compile(r"[ ](?P<word>[^\W\d_]+)")
# A single letter is a numeral only after a name: "Carlos V". X is more often something else: "Generación X".
_SINGLE = ("I", "V")


def build_rules(grammar: Grammar) -> list[Rule]:
    """Rules for a language that is written in Latin letters, and for one that is not."""
    return _build_latin_rules(grammar) if grammar.space and not grammar.foreign_latin else _build_foreign_rules(grammar)


def _build_latin_rules(grammar: Grammar) -> list[Rule]:
    def say_ordinal(match: re.Match[str]) -> str | None:
        number = parse_roman(match["numeral"])
        return grammar.ordinal(number, feminine=grammar.ordinal_marks[match["mark"]]) if number else None

    def say_numeral(match: re.Match[str]) -> str | None:
        number = parse_roman(match["numeral"])
        before = _WORD_BEFORE.search(match.string, max(0, match.start() - 40), match.start())
        word = before["word"] if before else ""
        after = _WORD_AFTER.match(match.string, match.end())
        follower = after["word"] if after else ""
        # Among words in capitals it may be one of them: "VI INVITIAMO".
        if not number or (len(word) > 1 and word.isupper()) or (len(follower) > 1 and follower.isupper()):
            return None
        is_numbered = word.lower() in grammar.numbered
        if len(match["numeral"]) == 1 and not is_numbered and not (word.istitle() and match["numeral"] in _SINGLE):
            return None
        if grammar.counts_rulers and not is_numbered:
            if word.istitle() and len(word) > 2:
                return grammar.count_ruler(number, word)
            if follower.istitle() and (word.islower() or len(word) <= 2):  # la II Guerra Mundial
                return grammar.ordinal(number, feminine=grammar.is_feminine(follower.lower()))
        return grammar.number_part(number) if len(match["numeral"]) > 1 or is_numbered else None

    rules = [Rule(r"(?<![\w.'-])(?P<numeral>[IVX]++)(?![\w'-]|\.\w)", say_numeral)]
    if grammar.roman_marks:
        marks = "|".join(sorted(grammar.roman_marks, key=len, reverse=True))
        rules.insert(0, Rule(rf"\b(?P<numeral>[IVX]++)(?P<mark>{marks})\b", say_ordinal))
    return rules


def _build_foreign_rules(grammar: Grammar) -> list[Rule]:
    def say_numeral(match: re.Match[str]) -> str | None:
        number = parse_roman(match["numeral"])
        return grammar.cardinal(number) if number else None

    return [
        # 第II章, 路易XIV; the letters of a Latin word or name are none.
        Rule(r"(?<![A-Za-z\d.&-])(?P<numeral>[IVX]{2,}+)(?![A-Za-z\d.&-])", say_numeral),
        Rule(r"(?<=第)(?P<numeral>[IVX])(?![A-Za-z])", say_numeral),
    ]
