"""The words of English numbers: cardinals, ordinals, years and codes."""

import re
from dataclasses import dataclass

SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = (
    "", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion",
    "septillion", "octillion", "nonillion", "decillion",
)  # fmt: skip
IRREGULAR_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip

MAGNITUDES = {
    "k": "thousand", "thousand": "thousand", "m": "million", "mm": "million", "mn": "million",
    "mio": "million", "million": "million", "b": "billion", "bn": "billion", "billion": "billion",
    "t": "trillion", "tn": "trillion", "trillion": "trillion", "mil": "million", "mln": "million",
    "bln": "billion",
}  # fmt: skip

# Longer numbers have no common name: they are spoken digit by digit.
MOST_DIGITS = 3 * len(SCALES)

NUMBER_START = r"(?<![^\W_])(?<!\d[.,])"
NUMBER = r"(?:\d{1,3}(?:,\d{2,3})*,\d{3}(?!\d)|\d++)(?:\.\d++)?"

# As continental Europe writes them: 1.000.000, 10 000, 1.299,00 and 2,5.
GROUPED = r"\d{1,3}(?:\.\d{3}){2,}+(?![.\d])|\d{1,3}(?:[ ]000)++(?!\d)"
DECIMAL_COMMA = r"(?:\d{1,3}(?:[. ]\d{3})++|\d++),\d{1,2}(?![\d,])"
EUROPEAN = r"\d{1,3}(?:\.\d{3})++,\d{1,2}(?![\d,])"
# A number before a unit or a currency, where a comma can hardly separate the items of a list.
MEASURED = rf"(?:{DECIMAL_COMMA}|{GROUPED}|{NUMBER}|\.\d++)"
# A number that may have a sign.
SIGNED = rf"(?:(?<![\w.)°%/~])(?P<sign>[-+~#])[ ]?)?{NUMBER_START}(?P<number>{NUMBER})"
SIGNS = {"-": "minus ", "+": "plus ", "~": "about ", "#": "number ", "±": "plus or minus "}

_DECIMAL_COMMA = re.compile(DECIMAL_COMMA)
_GROUPED = re.compile(GROUPED)


def pluralise_number(words: str) -> str:
    """The plural of a number: nineties, fives, sixes."""
    if words.endswith("y"):
        return words[:-1] + "ies"
    return words + ("es" if words.endswith("x") else "s")


def unify(written: str) -> str:
    """The digits without separators of thousands, and a point before the decimals."""
    if _DECIMAL_COMMA.fullmatch(written):
        return re.sub("[. ]", "", written).replace(",", ".")
    return re.sub("[,. ]" if _GROUPED.fullmatch(written) else "[, ]", "", written)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Number words, American or British (with "and" after the hundreds)."""

    british: bool

    def cardinal(self, number: int) -> str:
        if number < 0:
            return "minus " + self.cardinal(-number)
        if number >= 10**MOST_DIGITS:
            return self.digits(str(number))
        groups = []
        rest = number
        while rest:
            rest, group = divmod(rest, 1000)
            groups.append(group)
        words = [
            f"{self._below_thousand(group)} {SCALES[power]}".strip() for power, group in enumerate(groups) if group
        ]
        if self.british and len(words) > 1 and 0 < groups[0] < 100:
            words[0] = "and " + words[0]
        return " ".join(reversed(words)) or "zero"

    def ordinal(self, number: int) -> str:
        words = self.cardinal(number)
        cut = max(words.rfind(" "), words.rfind("-")) + 1
        last = words[cut:]
        if last in IRREGULAR_ORDINALS:
            return words[:cut] + IRREGULAR_ORDINALS[last]
        return words[:cut] + (last[:-1] + "ieth" if last.endswith("y") else last + "th")

    def digits(self, written: str) -> str:
        return " ".join(SMALL[int(digit)] for digit in written if digit.isdecimal())

    def number(self, written: str) -> str:
        """A number as it is written, with commas and decimals."""
        whole, _, decimals = unify(written).partition(".")
        spoken = self.integer(whole) if whole else ""
        return f"{spoken} point {self.digits(decimals)}".strip() if decimals else spoken

    def signed(self, match: re.Match[str]) -> str:
        """The `number` of a match after its `sign`."""
        return SIGNS.get(match["sign"] or "", "") + self.number(match["number"])

    def integer(self, digits: str) -> str:
        """A whole number; digit by digit if it has leading zeros."""
        if len(digits) > MOST_DIGITS or (len(digits) > 1 and digits.startswith("0")):
            return self.digits(digits)
        return self.cardinal(int(digits))

    def year(self, number: int) -> str:
        century, rest = divmod(number, 100)
        if not 1000 <= number <= 9999 or number % 1000 < 10:
            return self.cardinal(number)
        if rest == 0:
            return f"{self.cardinal(century)} hundred"
        return f"{self.cardinal(century)} {self._two_digits(rest)}"

    def decade(self, number: int) -> str:
        """1990 as in "the nineteen nineties"."""
        return pluralise_number(self.year(number))

    def code(self, digits: str) -> str:
        """A number that names something (flight 370, room 101, SHA256): in pairs of digits."""
        number = int(digits) if len(digits) <= 4 else 0
        if digits.startswith("0") or len(digits) > 4:
            return self.digits(digits)
        if len(digits) < 3 or number % 1000 == 0:
            return self.cardinal(number)
        head, rest = divmod(number, 100)
        return f"{self.cardinal(head)} {self._two_digits(rest) if rest else 'hundred'}"

    def _two_digits(self, number: int) -> str:
        return f"oh {SMALL[number]}" if number < 10 else self.cardinal(number)

    def _below_thousand(self, number: int) -> str:
        hundreds, rest = divmod(number, 100)
        words = f"{SMALL[hundreds]} hundred" if hundreds else ""
        if rest < 20:
            tail = SMALL[rest] if rest else ""
        else:
            tens, ones = divmod(rest, 10)
            tail = TENS[tens] + (f"-{SMALL[ones]}" if ones else "")
        link = " and " if self.british and words and tail else " "
        return (words + link + tail).strip()
