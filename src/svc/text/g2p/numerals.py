"""English number words, for digits that reach the phonemes unread."""

# fmt: off
_SMALL = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
# fmt: on


def cardinal(digits: str) -> list[str]:
    """The words for a number as it is written; a long one, or one with a fraction, digit by digit."""
    whole, point, fraction = digits.replace(",", "").partition(".")
    words = _whole(int(whole)) if len(whole) <= 6 and whole.isdecimal() else _digits(whole)
    return [*words, "point", *_digits(fraction)] if point else words


def _digits(text: str) -> list[str]:
    return [_SMALL[int(digit)] for digit in text if digit.isdecimal()]


def _whole(number: int) -> list[str]:
    if number < 20:
        return [_SMALL[number]]
    if number < 100:
        tens, ones = divmod(number, 10)
        return [_TENS[tens - 2], *([_SMALL[ones]] if ones else [])]
    size, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    count, rest = divmod(number, size)
    return [*_whole(count), name, *(_whole(rest) if rest else [])]
