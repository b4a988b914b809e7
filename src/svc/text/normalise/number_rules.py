"""Numbers in languages other than English: ordinals, fractions, ranges, sums and what is left."""

import re

from svc.text.normalise.grammar import Grammar
from svc.text.normalise.grammar_rules import END, SIGN, START, get_digits, number_pattern, say_low
from svc.text.normalise.rules import Rule, any_of

# A noun that a number counts; some function words in its place are left out.
_NOUN = re.compile(r"[ ](?!para\b|contra\b|hasta\b|cada\b|por\b|con\b|que\b|como\b)([a-zà-ÿ]{3,})")


def build_number_rules(grammar: Grammar) -> list[Rule]:
    def say_ordinal(match: re.Match[str]) -> str:
        return grammar.ordinal(int(match["number"]), feminine=grammar.ordinal_marks[match["mark"]])

    def say_range(match: re.Match[str]) -> str:
        return say_low(grammar, match) + grammar.number(*get_digits(match))

    def say_fraction(match: re.Match[str]) -> str:
        return grammar.fractions[match[0]]

    def say_operator(match: re.Match[str]) -> str:
        return grammar.space + grammar.operators[match["sign"]] + grammar.space

    def say_number(match: re.Match[str]) -> str:
        whole, decimals = get_digits(match)
        noun = _NOUN.match(match.string, match.end())
        if noun and not decimals and 0 < len(whole) < 10 and whole[0] != "0":
            spoken = grammar.cardinal_before_noun(int(whole), feminine=grammar.is_feminine(noun[1]))
        elif decimals and not match["decimals"]:
            spoken = f"{grammar.integer(whole)} {grammar.signs.dot} {grammar.decimals(decimals)}"
        else:
            spoken = grammar.number(whole, decimals)
        return grammar.minus + grammar.space + spoken if match["sign"] else spoken

    def say_digits(match: re.Match[str]) -> str:
        return grammar.space + grammar.integer(match[0]) + grammar.space

    def say_round(match: re.Match[str]) -> str:
        return f"{grammar.cardinal(int(re.sub(r'[^0-9]', '', match['whole'])))} {grammar.of(match['noun'])}"

    def say_version(match: re.Match[str]) -> str:
        return f" {grammar.signs.dot} ".join(map(grammar.integer, match[0].split(".")))

    def say_magnitude(match: re.Match[str]) -> str:
        return grammar.quantity(*get_digits(match), grammar.magnitudes[match["long"] or match["short"]])

    def say_fraction_line(match: re.Match[str]) -> str:
        line = grammar.space if match[0] == "24/7" else f"{grammar.space}{grammar.over}{grammar.space}"
        return line.join(map(grammar.integer, match[0].split("/")))

    def say_by(match: re.Match[str]) -> str:
        return grammar.space + (grammar.by or grammar.operators.get("×", "x")) + grammar.space

    operator = any_of(grammar.operators.keys() - {"-"})
    symbols = [sign for sign, noun in grammar.magnitudes.items() if sign not in (noun.one, noun.many)]
    long, short = (any_of(s for s in symbols if (len(s) > 1) == is_long) or "(?!)" for is_long in (True, False))
    low = number_pattern(grammar, "low_")
    millions = rf"{START}(?P<whole>\d{{1,3}}(?:[. ]?000){{2,3}})[ ](?P<noun>[a-zà-ÿ]{{3,}})"
    found = [
        *([Rule(millions, say_round)] if grammar.has_round_numbers else []),
        Rule(rf"{START}{number_pattern(grammar)}(?:[ ]?(?P<long>{long})|(?P<short>{short})){END}", say_magnitude),
        Rule(rf"{START}(?!\d{{1,3}}(?:\.\d{{3}})++(?!\d))\d{{1,3}}(?:\.\d{{1,3}}){{2,4}}(?![\d,])", say_version),
        Rule(r"(?<=\d)[ ]?x[ ]?(?=\d)|(?<=\w)[ ]x[ ](?=\d)", say_by),
        Rule(r"(?<!\w)\+(?=\d)", (grammar.plus or grammar.operators["+"]) + grammar.space),
        *([Rule(rf"{START}(?<!/)\d{{1,3}}/\d{{1,3}}(?![\d/])", say_fraction_line)] if grammar.over else []),
        Rule(rf"{START}{low}[ ]?[-–~～〜][ ]?{number_pattern(grammar)}(?![-\d])(?![ ]*=){END}", say_range),
        Rule(rf"(?<=[\w)])(?P<space>[ ]*)(?P<sign>{operator})(?P=space)(?=[\w(√-])", say_operator),
        Rule(r"(?<=\d)[ ]*(?P<sign>-)[ ]*(?=\d+[ ]*=)", say_operator),
        Rule(rf"{SIGN}{START}{number_pattern(grammar)}", say_number),
        Rule(r"\d++", say_digits),
    ]
    if grammar.fractions:
        found.insert(0, Rule(rf"(?<![\d/])(?:{any_of(grammar.fractions)})(?![\d/])", say_fraction))
    if grammar.ordinal_marks:
        found.insert(
            0, Rule(rf"{START}(?P<number>\d{{1,4}})(?P<mark>{any_of(grammar.ordinal_marks)}){END}", say_ordinal)
        )
    return found
