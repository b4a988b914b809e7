"""English numbers: cardinals, ordinals, years, codes, ranges and Roman numerals."""

import re
from dataclasses import dataclass

from svc.text.normalise.grammar import parse_roman
from svc.text.normalise.rules import Rule, after

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
    "t": "trillion", "tn": "trillion", "trillion": "trillion",
}  # fmt: skip

# Longer numbers have no common name: they are spoken digit by digit.
MOST_DIGITS = 3 * len(SCALES)

NUMBER_START = r"(?<![^\W_])(?<!\d[.,])"
NUMBER = r"(?:\d{1,3}(?:,\d{2,3})*,\d{3}(?!\d)|\d++)(?:\.\d++)?"


def pluralise_number(words: str) -> str:
    """The plural of a number: nineties, fives, sixes."""
    if words.endswith("y"):
        return words[:-1] + "ies"
    return words + ("es" if words.endswith("x") else "s")


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
        whole, _, decimals = written.replace(",", "").partition(".")
        spoken = self.integer(whole) if whole else ""
        return f"{spoken} point {self.digits(decimals)}".strip() if decimals else spoken

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


# Their numbers are spoken in pairs of digits: "Boeing seven forty-seven", "room one oh one".
NAMED_BY_NUMBER = (
    "AA", "Airbus", "Apartment", "Area", "Boeing", "Bus", "GTX", "RTX", "UA", "Flight", "flight", "Highway",
    "highway", "Interstate", "Porsche", "Route", "route", "Room", "room", "Suite", "Unit",
)  # fmt: skip

# A number before the name of one of these is a house number: "twelve fifty Oak Street".
STREETS = (
    "St|Street|Ave|Avenue|Rd|Road|Blvd|Boulevard|Dr|Drive|Ln|Lane|Ct|Court|Way|Place|Pl|Square|Highway|Hwy|Parkway"
)

SIGNS = {"-": "minus ", "+": "plus ", "~": "about ", "#": "number "}


def build_rules(numbers: Numbers) -> list[Rule]:
    def say_ordinal(match: re.Match[str]) -> str | None:
        digits = match["number"].replace(",", "")
        return numbers.ordinal(int(digits)) if len(digits) <= MOST_DIGITS else None

    def say_ordinal_range(match: re.Match[str]) -> str:
        return f"{numbers.ordinal(int(match['low']))} to {numbers.ordinal(int(match['high']))}"

    def say_code(match: re.Match[str]) -> str:
        return numbers.code(match["number"])

    def say_range(match: re.Match[str]) -> str:
        return f"{numbers.number(match['low'])} to {numbers.number(match['high'])}"

    def say_magnitude(match: re.Match[str]) -> str:
        return f"{numbers.number(match['number'])} {MAGNITUDES[match['magnitude'].lower()]}"

    def say_times(match: re.Match[str]) -> str:
        return f"{numbers.number(match['number'])} times"

    def say_number(match: re.Match[str]) -> str:
        return SIGNS.get(match["sign"] or "", "") + numbers.number(match["number"])

    def say_plus(match: re.Match[str]) -> str:
        return f"{numbers.number(match['number'])} plus"

    return [
        Rule(
            rf"{NUMBER_START}(?P<low>\d{{1,4}})(?:st|nd|rd|th)[-–](?P<high>\d{{1,4}})(?:st|nd|rd|th)\b",
            say_ordinal_range,
        ),
        Rule(rf"{NUMBER_START}(?P<number>\d{{1,3}}(?:,\d{{3}})+|\d+)(?:st|nd|rd|th)\b", say_ordinal, re.IGNORECASE),
        Rule(
            rf"{after(*NAMED_BY_NUMBER)}(?P<number>\d{{3,4}})(?![\d.,]\d|\d)(?![^\W_])",
            say_code,
        ),
        Rule(rf"{NUMBER_START}(?P<low>{NUMBER})(?:[-–—]|[ ][–—][ ])(?P<high>{NUMBER})(?![\d-])(?![^\W_])", say_range),
        Rule(
            rf"{NUMBER_START}(?P<number>\d{{3,4}})(?=[ ](?:[NSEW]\.?[ ])?(?:[A-Z][\w']+[ ]){{1,3}}(?:{STREETS})\b)",
            say_code,
        ),
        Rule(rf"{NUMBER_START}(?P<number>{NUMBER})(?P<magnitude>M|bn|mn|(?<=\.\d)B)(?![^\W_])", say_magnitude),
        Rule(rf"{NUMBER_START}(?P<number>{NUMBER})[xX](?![^\W_]|[ ]?[-+=*/^×)])", say_times),
        Rule(rf"{NUMBER_START}(?P<number>{NUMBER})\+(?![^\s.,;:!?)])", say_plus),
        Rule(rf"(?:(?<![\w.)°%/])(?P<sign>[-+~#])[ ]?)?{NUMBER_START}(?P<number>{NUMBER})(?![^\W\d_])", say_number),
        Rule(r"(?<![\w.])(?P<sign>-)?(?P<number>\.\d+)(?![^\W_])", say_number),
        Rule(r"(?P<number>\d+)(?P<sign>(?!))?", lambda match: f"{numbers.integer(match['number'])} "),
    ]


# After these a Roman numeral is an ordinal: "Henry VIII" is Henry the eighth.
MONARCHS = frozenset({
    "Albert", "Alexander", "Alfonso", "Anne", "Benedict", "Carlos", "Catherine", "Charles", "Christian",
    "Clement", "Constantine", "Edward", "Elizabeth", "Felipe", "Ferdinand", "Francis", "Frederick",
    "George", "Gregory", "Gustav", "Harald", "Henri", "Henry", "Innocent", "Isabella", "Ivan", "James",
    "John", "Julius", "Leo", "Leopold", "Louis", "Ludwig", "Margaret", "Mary", "Maximilian", "Mehmed",
    "Napoleon", "Nicholas", "Olaf", "Otto", "Paul", "Pedro", "Peter", "Philip", "Pius", "Ptolemy",
    "Rameses", "Ramesses", "Richard", "Robert", "Stephen", "Sixtus", "Urban", "Victor", "Emmanuel",
    "Wilhelm", "William",
})  # fmt: skip

# After these a Roman numeral is a cardinal, even a single I, V or X: "Chapter IV".
NUMBERED = frozenset({
    "Act", "act", "Apollo", "Appendix", "Article", "article", "Book", "book", "Bowl", "Chapter", "chapter",
    "Class", "Division", "Episode", "episode", "Figure", "Grade", "Level", "Number", "Page", "Part",
    "part", "Phase", "phase", "Saturn", "Scene", "scene", "Section", "section", "Stage", "stage", "Table",
    "Title", "Type", "type", "Unit", "Volume", "volume", "War",
})  # fmt: skip

_WORD_BEFORE = re.compile(r"(?P<word>[A-Za-z]+)[ ]\Z")
_AFTER_FIRST = re.compile(r"[ ](?:of|was|ruled|reigned)\b|[,.;:)]|$")  # "George I was", but "George, I think"


def build_roman_rules(numbers: Numbers) -> list[Rule]:
    def say_roman(match: re.Match[str]) -> str | None:
        numeral, number = match["numeral"], parse_roman(match["numeral"])
        found = _WORD_BEFORE.search(match.string, max(0, match.start() - 30), match.start())
        if not number or not found:
            return None
        word = found["word"]
        if word in NUMBERED:
            return numbers.cardinal(number) if numeral not in ("L", "C") else None
        if word in MONARCHS and set(numeral) <= set("IVX"):
            reigns = numeral != "I" or _AFTER_FIRST.match(match.string, match.end())
            return f"the {numbers.ordinal(number)}" if reigns else None
        is_sequel = len(numeral) > 1 and set(numeral) <= set("IVX") and word[0].isupper()
        return numbers.cardinal(number) if is_sequel else None

    return [Rule(r"(?<=[^\W_][ ])(?P<numeral>[IVXLC]++)(?![^\W_]|[-&.][^\W_]|'[^\Ws])", say_roman)]
