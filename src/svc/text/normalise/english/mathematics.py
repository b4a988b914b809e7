"""Fractions, powers, operators, ratios, dimensions and Greek letters."""

import re

from svc.text.normalise.english.adjectives import is_adjective
from svc.text.normalise.english.numbers import NUMBER, NUMBER_START, Numbers
from svc.text.normalise.english.unit_names import UNITS, pluralise_unit
from svc.text.normalise.rules import Rule, any_of

FRACTIONS = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
    "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅐": (1, 7), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8),
    "⅑": (1, 9), "⅒": (1, 10),
}  # fmt: skip

OPERATORS = {
    "+": "plus", "-": "minus", "–": "minus", "=": "equals", "×": "times", "*": "times", "÷": "divided by",
    "/": "divided by", "<": "is less than", ">": "is greater than", "≤": "is less than or equal to",
    "≥": "is greater than or equal to", "<=": "is less than or equal to", ">=": "is greater than or equal to",
    "≈": "is approximately", "≠": "is not equal to", "!=": "is not equal to", "==": "equals",
    "===": "equals", "!==": "is not equal to", "≡": "is equivalent to", "∝": "is proportional to",
    "±": "plus or minus", "+/-": "plus or minus", "·": "times", "∈": "is in", "∉": "is not in",
    "⊂": "is a subset of", "⊆": "is a subset of", "∪": "union", "∩": "intersection", "∧": "and", "∨": "or",
    "⇔": "if and only if",
}  # fmt: skip

# Between words these are hyphens, asterisks and slashes: they are operators only between numbers.
AMBIGUOUS_OPERATORS = frozenset("-–*/·")

SIGNS = {
    "√": "the square root of ", "∞": "infinity", "∑": "the sum of ", "∫": "the integral of ",
    "∂": "partial ", "∆": "delta ", "≈": "approximately ", "±": "plus or minus ", "≤": "at most ",
    "≥": "at least ", "§": "section ", "©": "copyright ", "×": " times ", "÷": " divided by ",
    "≠": " is not equal to ", "∀": "for all ", "∃": "there exists ", "∅": "the empty set", "¬": "not ",
}  # fmt: skip

GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi",
    "ρ": "rho", "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega",
    "Γ": "gamma", "Δ": "delta", "Θ": "theta", "Λ": "lambda", "Ξ": "xi", "Π": "pi", "Σ": "sigma", "Φ": "phi",
    "Ψ": "psi", "Ω": "omega",
}  # fmt: skip

_PART_BEFORE = re.compile(r"\b(?:page|slide|step|part|lesson|question)[ ]\Z", re.IGNORECASE)

SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")


def build_rules(numbers: Numbers) -> list[Rule]:
    def say_fraction(top: int, bottom: int) -> str:
        count = numbers.cardinal(top)
        if bottom == 2:
            return f"{count} {'half' if top == 1 else 'halves'}"
        name = "quarter" if bottom == 4 else numbers.ordinal(bottom)
        return f"{count} {name if top == 1 else name + 's'}"

    def say_mixed_number(whole: str | None, top: int, bottom: int) -> str:
        part = say_fraction(top, bottom)
        if not whole:
            return part
        return f"{numbers.number(whole)} and {part.replace('one ', 'a ', 1) if top == 1 else part}"

    def say_written_fraction(match: re.Match[str]) -> str | None:
        top, bottom = int(match["top"]), int(match["bottom"])
        if match["whole"]:
            return say_mixed_number(match["whole"], top, bottom) if 0 < top < bottom else None
        if _PART_BEFORE.search(match.string, max(0, match.start() - 12), match.start()):
            return f"{numbers.cardinal(top)} of {numbers.cardinal(bottom)}"
        if bottom in (5, 10, 100) and (bottom > 5 or match.string[match.end() :].startswith(" star")):
            return f"{numbers.cardinal(top)} out of {numbers.cardinal(bottom)}"
        if 0 < top < bottom <= 100:
            return say_fraction(top, bottom)
        return f"{numbers.cardinal(top)} over {numbers.cardinal(bottom)}"

    def say_fraction_sign(match: re.Match[str]) -> str:
        return say_mixed_number(match["whole"], *FRACTIONS[match["sign"]])

    def say_power(match: re.Match[str]) -> str:
        exponent = (match["sign"] or match["digits"]).translate(SUPERSCRIPTS)
        unit = f" {pluralise_unit(UNITS[match['unit']])}" if match["unit"] else ""
        if exponent in ("2", "3"):
            return (" squared" if exponent == "2" else " cubed") + unit
        if exponent.lstrip("-+").isdecimal():
            exponent = numbers.cardinal(int(exponent))
        return f" to the power of {exponent}{unit}"

    def say_factorial(match: re.Match[str]) -> str:
        operand = match["operand"]
        return f"{numbers.integer(operand) if operand.isdecimal() else operand} factorial"

    def say_operator(match: re.Match[str]) -> str:
        return f" {OPERATORS[match['sign']]} "

    def say_scientific(match: re.Match[str]) -> str:
        mantissa, exponent = numbers.number(match["number"]), numbers.cardinal(int(match["exponent"]))
        return f"{mantissa} times ten to the power of {exponent}"

    def say_ratio(match: re.Match[str]) -> str:
        return " to ".join(map(numbers.number, match[0].split(":")))

    def say_verses(match: re.Match[str]) -> str:
        chapter, first, last = (numbers.number(match[group]) for group in ("chapter", "first", "last"))
        return f"{chapter} {first} to {last}"

    def say_dimensions(match: re.Match[str]) -> str:
        sides = re.findall(r"\d+(?:\.\d+)?", match["sides"])
        large = all(len(side) in (3, 4) and side.isdecimal() for side in sides)
        spoken = " by ".join(numbers.code(side) if large else numbers.number(side) for side in sides)
        if not match["unit"]:
            return spoken
        name = UNITS[match["unit"].rstrip(".")]
        return f"{spoken} {name if is_adjective(match) else pluralise_unit(name)}"

    def say_comparison(match: re.Match[str]) -> str:
        return {"<": "less than ", ">": "more than ", "<=": "at most ", ">=": "at least "}[match["sign"]]

    # Not where they are markdown around a number.
    double_star = r"(?:(?<=(?<!\w)[a-z])|(?<=[\d)\]]))[ ]?\*\*[ ]?(?!\d+\*\*)"
    powered = "m|km|cm|mm|kg|g|s|W|J|Pa|Hz|eV|V|N"
    sized = "mm|cm|m|km|ft|px"
    operand_before = r"(?:(?<=[\w)\]%])|(?<=\w!))"
    operand_after = r"(?=[\w(√∅\[]|[-+.$£€]\d|-[a-z]\b|(?<==)[\"']\w)"
    return [
        Rule(
            rf"{NUMBER_START}(?<!\d/)(?:(?P<whole>\d{{1,4}})[ -])?(?P<top>\d{{1,3}})/(?P<bottom>[1-9]\d{{0,2}})"
            r"(?![\d/.]\d|/)(?![^\W_])",
            say_written_fraction,
        ),
        Rule(
            rf"{NUMBER_START}(?P<top>\d\.\d)/(?P<bottom>5|10)(?![\w/.])",  # a rating
            lambda match: f"{numbers.number(match['top'])} out of {numbers.number(match['bottom'])}",
        ),
        Rule(rf"(?:{NUMBER_START}(?P<whole>\d{{1,9}})[ ]?)?(?P<sign>[{''.join(FRACTIONS)}])", say_fraction_sign),
        Rule(rf"{NUMBER_START}(?P<number>{NUMBER})[eE](?P<exponent>[-+]?\d{{1,3}})(?![^\W_])", say_scientific),
        Rule(
            rf"{operand_before}(?:(?P<sign>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)|(?:\^|{double_star})\{{?(?P<digits>-?\d{{1,3}}|[a-z]\b)\}}?)"
            rf"(?:(?<=[\d⁰¹²³⁴⁵⁶⁷⁸⁹])[ ](?P<unit>{powered})(?![\w/]))?",
            say_power,
        ),
        Rule(r"(?<![^\W_])(?P<operand>\d{1,3}|[a-z])!(?=[ ]*[=×*/÷+)])", say_factorial),
        Rule(
            rf"{NUMBER_START}(?P<sides>\d{{1,4}}(?:\.\d+)?(?:[ ]?[x×][ ]?\d{{1,4}}(?:\.\d+)?(?!\d|\.\d))+)"
            rf"(?:[ ]?(?P<unit>in\.|(?:{sized})(?![^\W_])))?(?![^\W_]|[ ]?[=^⁰¹²³⁴⁵⁶⁷⁸⁹])",
            say_dimensions,
        ),
        Rule(
            rf"{operand_before}(?![ ]+[<>]=?[\d$£€])[ ]*"
            rf"(?P<sign>{any_of(OPERATORS.keys() - AMBIGUOUS_OPERATORS)})[ ]*{operand_after}",
            say_operator,
        ),
        Rule(r"(?<=\d)[ ]*(?P<sign>[*·])[ ]*(?=\d)", say_operator),
        Rule(r"(?<=\d)[ ]+(?P<sign>[-/])[ ]+(?=\d)", say_operator),
        Rule(r"(?<=\d)[ ]*(?P<sign>[-–/])[ ]*(?=\d[\d.]*[ ]*=)", say_operator),
        Rule(r"(?<=(?<![\w'])[a-z])[ ]+(?P<sign>[-/*])[ ]+(?=[a-z]\b|\d)", say_operator),
        # A letter minus a number; letters in capitals are names: F-16.
        Rule(r"(?<![\w'.-])(?P<letter>[b-jl-z])-(?=\d{1,3}(?![\w-]))", lambda match: f"{match['letter']} minus "),
        Rule(r"(?<=[\])²³])[ ]*(?P<sign>[-–])[ ]*(?=[\w(])", say_operator),
        Rule(r"(?<=[=(+*/<>,][ ])-(?=[a-z]\b)|(?<=\()-(?=[a-z]\b)", "minus "),
        Rule(rf"(?<=[{''.join(GREEK)}])[ ]?/[ ]?(?=[\w])", " over "),
        Rule(r"(?<=\b[a-z])(?P<sign>[*/])(?=[a-z]\b|\d)", say_operator),
        Rule(r"(?<=\d)[ ]?x[ ]?(?=\d+(?:\.\d+)?[ ]*=)", " times "),
        Rule(r"(?P<sign>[<>]=?)[ ]?(?=[\d$£€])", say_comparison),
        Rule(r"(?<=[ ])\+(?=[ ])", "plus"),
        Rule(r"(?<![^\W_])[fF]/(?=\d)", "F "),  # the aperture of a lens
        Rule(r"(?<=opyright[ ])©[ ]?", ""),
        Rule(any_of(SIGNS), lambda match: SIGNS[match[0]]),
        Rule(rf"(?<![^\W\d_])[{''.join(GREEK)}](?![^\W\d_])", lambda match: GREEK[match[0]]),
        Rule(
            rf"{NUMBER_START}(?P<chapter>\d{{1,3}}):(?P<first>\d{{1,3}})[-–](?P<last>\d{{1,3}})(?!\d|[:.]\d)",
            say_verses,
        ),
        Rule(rf"{NUMBER_START}(?<!\d:)\d{{1,4}}(?::\d{{1,4}}){{1,4}}(?!\d|[:.]\d)(?![^\W_])", say_ratio),
    ]
