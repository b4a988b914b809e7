"""Quantities: numbers with units of measurement."""

import re

from svc.text.normalise.english.numbers import NUMBER, Numbers
from svc.text.normalise.rules import Rule, any_of

# Names in the singular.
UNITS = {
    # length, area, volume
    "nm": "nanometer", "µm": "micrometer", "μm": "micrometer", "mm": "millimeter", "cm": "centimeter",
    "dm": "decimeter", "m": "meter", "km": "kilometer", "ft": "foot", "yd": "yard", "yds": "yard",
    "mi": "mile", "in": "inch", "ha": "hectare", "sqm": "square meter", "sqft": "square foot",
    "sq ft": "square foot", "sq. ft": "square foot", "sq mi": "square mile", "sq km": "square kilometer",
    "sq m": "square meter", "ml": "milliliter", "mL": "milliliter", "cl": "centiliter", "dl": "deciliter",
    "l": "liter", "L": "liter", "gal": "gallon", "fl oz": "fluid ounce", "fl. oz": "fluid ounce",
    "tsp": "teaspoon", "tbsp": "tablespoon", "cc": "cubic centimeter",
    # mass, force, pressure, energy
    "µg": "microgram", "μg": "microgram", "mcg": "microgram", "mg": "milligram", "g": "gram",
    "kg": "kilogram", "kgs": "kilogram", "lb": "pound", "lbs": "pound", "oz": "ounce", "N": "newton",
    "kN": "kilonewton", "Nm": "newton meter", "Pa": "pascal", "hPa": "hectopascal", "kPa": "kilopascal",
    "MPa": "megapascal", "psi": "P S I", "bar": "bar", "mbar": "millibar", "J": "joule", "kJ": "kilojoule",
    "MJ": "megajoule", "cal": "calorie", "kcal": "kilocalorie", "Wh": "watt hour", "kWh": "kilowatt hour",
    "MWh": "megawatt hour", "GWh": "gigawatt hour", "TWh": "terawatt hour", "eV": "electron volt",
    "BTU": "B T U",
    # time
    "ns": "nanosecond", "µs": "microsecond", "μs": "microsecond", "ms": "millisecond", "s": "second",
    "sec": "second", "secs": "second", "min": "minute", "mins": "minute", "h": "hour", "hr": "hour",
    "hrs": "hour", "yr": "year", "yrs": "year", "wk": "week", "wks": "week", "mo": "month", "mos": "month",
    # electricity, light, sound, frequency
    "W": "watt", "mW": "milliwatt", "kW": "kilowatt", "MW": "megawatt", "GW": "gigawatt", "TW": "terawatt",
    "V": "volt", "mV": "millivolt", "kV": "kilovolt", "A": "amp", "mA": "milliamp", "mAh": "milliamp hour",
    "Ah": "amp hour", "Ω": "ohm", "kΩ": "kilohm", "F": "farad", "µF": "microfarad", "Hz": "hertz",
    "kHz": "kilohertz", "MHz": "megahertz", "GHz": "gigahertz", "THz": "terahertz", "dB": "decibel",
    "dBA": "decibel", "lm": "lumen", "lx": "lux", "hp": "horsepower",
    # information and screens
    "bit": "bit", "kb": "kilobit", "Mb": "megabit", "Gb": "gigabit", "kB": "kilobyte",
    "KB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte", "PB": "petabyte",
    "KiB": "kibibyte", "MiB": "mebibyte", "GiB": "gibibyte", "TiB": "tebibyte", "px": "pixel",
    "MP": "megapixel", "pt": "point", "dpi": "D P I", "ppi": "P P I",
    # heat, and angles
    "°C": "degree Celsius", "°F": "degree Fahrenheit", "° C": "degree Celsius", "° F": "degree Fahrenheit",
    "°K": "kelvin", "°": "degree", "rad": "radian", "%": "percent", "‰": "per mille",
    "ppm": "part per million", "ppb": "part per billion",
    # speed
    "mph": "mile per hour", "kph": "kilometer per hour", "kmh": "kilometer per hour",
    "fps": "frame per second", "rpm": "revolution per minute", "bpm": "beat per minute",
    "wpm": "word per minute", "mpg": "mile per gallon", "bps": "bit per second",
    "kbps": "kilobit per second", "Kbps": "kilobit per second", "Mbps": "megabit per second",
    "Gbps": "gigabit per second", "kn": "knot", "kt": "knot",
}  # fmt: skip

PLURALS = {
    "foot": "feet", "inch": "inches", "hertz": "hertz", "kilohertz": "kilohertz", "megahertz": "megahertz",
    "gigahertz": "gigahertz", "terahertz": "terahertz", "lux": "lux", "horsepower": "horsepower",
    "percent": "percent", "per mille": "per mille", "P S I": "P S I", "D P I": "D P I", "P P I": "P P I",
    "square foot": "square feet", "kelvin": "kelvin", "B T U": "B T U s",
}  # fmt: skip

POWERS = {"²": "square", "2": "square", "³": "cubic", "3": "cubic"}

# These are units only right after the number: not in "5 in total", "12 A", "3 bar".
ONLY_ATTACHED = frozenset({"in", "A", "F", "N", "J", "MP", "pt", "mo", "kn", "kt", "bar", "rad", "cal"})

# These may have a full stop.
DOTTED = r"(?:sq\. ft|fl\. oz|ft|in|lbs?|oz|yds?|mi|mins?|secs?|hrs?|yrs?|wks?|gal|tsp|tbsp)"

DIRECTIONS = {"N": "north", "S": "south", "E": "east", "W": "west"}

# Before these a quantity is not an adjective: "a 10 MB file" is ten megabyte, "the 10 MB of it" ten megabytes.
FUNCTION_WORDS = frozenset({
    "a", "above", "after", "ago", "an", "and", "are", "as", "at", "away", "because", "before", "below",
    "but", "by", "deep", "each", "every", "for", "from", "had", "has", "have", "he", "high", "i", "if",
    "in", "into", "is", "it", "later", "less", "long", "more", "of", "off", "old", "on", "or", "out",
    "over", "per", "she", "tall", "than", "that", "the", "then", "they", "thick", "to", "under", "until",
    "up", "was", "we", "were", "when", "where", "which", "while", "wide", "will", "with", "you",
})  # fmt: skip
# Nouns that quantities modify even without an article: "$20 bills", "the women's 100m dash".
MODIFIED_NOUNS = frozenset({
    "angle", "battery", "bill", "bulb", "cable", "camera", "coin", "dash", "drive", "jack", "monitor", "note", "race",
    "screen", "sprint", "timer", "turn", "tv",
})  # fmt: skip
_ARTICLE_BEFORE = re.compile(r"\b(?:an?|the|this|that|my|your|his|her|its|our|their|another|every|each)[ ]\Z", re.I)
_NAME_AFTER = re.compile(r"\.?[ ][A-Z][a-z]")
_WORD_AFTER = re.compile(r"[ ]([A-Za-z]+)")


def is_adjective(match: re.Match[str]) -> bool:
    """Whether the quantity modifies the noun after it, and is therefore in the singular: "a 10 MB file"."""
    noun = _WORD_AFTER.match(match.string, match.end())
    article = _ARTICLE_BEFORE.search(match.string, max(0, match.start() - 9), match.start())
    if noun is None or noun[1].lower() in FUNCTION_WORDS:
        return False
    return bool(article) or noun[1].lower().removesuffix("s") in MODIFIED_NOUNS


def pluralise_unit(unit: str) -> str:
    """The plural of a unit: the word before "per" or "Celsius" changes."""
    head, separator, tail = unit.partition(" per ") if " per " in unit else unit.partition(" Celsius")
    if not separator:
        head, separator, tail = unit.partition(" Fahrenheit")
    return PLURALS.get(head, head + "s") + separator + tail


def build_rules(numbers: Numbers) -> list[Rule]:
    names = any_of(UNITS)
    metric = "mm|cm|dm|km|m|ft|in|mi|yd"
    quantity = rf"(?<![^\W_])(?<!\d[.,:/])(?P<number>{NUMBER})"
    sign = r"(?:(?<![\w.)°%])(?P<sign>[-+±~])[ ]?)?"

    def name_unit(written: str) -> str:
        """`m²` is a square meter, `m/s²` a meter per second squared."""
        top, _, bottom = written.partition("/")
        power = ""
        if top[-1] in POWERS and top[:-1] in UNITS:
            power, top = POWERS[top[-1]] + " ", top[:-1]
        name = power + UNITS[top]
        if not bottom:
            return name
        squared = " squared" if bottom[-1] in "²2" and bottom not in UNITS else ""
        return f"{name} per {UNITS.get(bottom.rstrip('²2³3'), bottom)}{squared}"

    def add_sign(match: re.Match[str], spoken: str) -> str:
        signs = {"-": "minus ", "+": "plus ", "±": "plus or minus ", "~": "about "}
        return signs.get(match["sign"] or "", "") + spoken

    def say_quantity(match: re.Match[str]) -> str | None:
        written = match["unit"].rstrip(".")
        is_word = match["gap"] and not match["unit"].endswith(".") and written in ONLY_ATTACHED
        is_direction = written == "W" and _NAME_AFTER.match(match.string, match.end())  # 20 W Main Street
        if is_word or is_direction:
            return None
        name = name_unit(written)
        number = match["number"]
        if match["gap"] == "-":
            return add_sign(match, f"{numbers.number(number)} {name}")
        low = f"{numbers.number(match['low'])} to " if match["low"] else ""
        one = (number == "1" and not low) or is_adjective(match)
        return add_sign(match, f"{low}{numbers.number(number)} {name if one else pluralise_unit(name)}")

    def say_height(match: re.Match[str]) -> str:
        inches = f" {numbers.number(match['inches'])}" if match["inches"] else ""
        return f"{numbers.number(match['number'])} {'foot' if inches else 'feet'}{inches}"

    def say_inches(match: re.Match[str]) -> str:
        one = match["number"] == "1" or is_adjective(match)
        return f"{numbers.number(match['number'])} {'inch' if one else 'inches'}"

    def say_duration(match: re.Match[str]) -> str:
        parts = [("hour", match["h"]), ("minute", match["m"]), ("second", match["s"])]
        return " ".join(
            f"{numbers.number(count)} {name if count == '1' else pluralise_unit(name)}"
            for name, count in parts
            if count
        )

    def say_angle(match: re.Match[str]) -> str:
        adjective = is_adjective(match)
        parts = [("degree", match["number"]), ("minute", match["minutes"]), ("second", match["seconds"])]
        spoken = [
            f"{numbers.number(n)} {name if n == '1' or adjective else pluralise_unit(name)}" for name, n in parts if n
        ]
        direction = DIRECTIONS.get(match["direction"] or "")
        return add_sign(match, " ".join([*spoken, direction] if direction else spoken))

    return [
        Rule(rf"{quantity}'(?:[ ]?(?P<inches>\d{{1,2}}(?:\.5)?)\")(?!\w)", say_height),
        Rule(rf"{quantity}'(?:[ ]?(?P<inches>\d{{1,2}}))(?![\w'])", say_height),
        Rule(rf"{quantity}'(?P<inches>(?!))?(?=[ ](?:tall|long|wide|high|deep|by|x)\b)", say_height),
        Rule(
            rf"{sign}{quantity}[ ]?°[ ]?(?:(?P<minutes>\d{{1,2}})'[ ]?)?(?:(?P<seconds>\d{{1,2}}(?:\.\d+)?)\"[ ]?)?"
            r"(?P<direction>[NSEW])?(?![^\W_])(?!\d)(?![ ]?[CF]\b)",
            say_angle,
        ),
        Rule(
            r"(?<![^\W_])(?P<h>\d{1,3})[ ]?h(?:rs?)?[ ]?(?P<m>\d{1,2})[ ]?m(?:ins?)?"
            r"(?:[ ]?(?P<s>\d{1,2})[ ]?s(?:ecs?)?)?(?!\w)",
            say_duration,
        ),
        Rule(
            r"(?<![^\W_])(?P<h>(?!))?(?P<m>\d{1,3})[ ]?m(?:in)?[ ]?(?P<s>\d{1,2})[ ]?s(?:ec)?(?!\w)",
            say_duration,
        ),
        Rule(
            rf"{sign}(?<![^\W_])(?<!\d[.,:/])(?:(?P<low>{NUMBER})[ ]?%?(?:[-–]|[ ]to[ ]))?"
            rf"(?<!\d[.,:])(?P<number>{NUMBER})(?P<gap>[ -]?)"
            rf"(?P<unit>{DOTTED}\.(?=\W|$)|(?:(?:{metric})[²³]|(?:{metric})[23](?!\d)|{names})"
            rf"(?:/(?:{names}|year|day|month|week|person)[²³]?)?(?![^\W_])(?!'\w))",
            say_quantity,
        ),
        Rule(rf"{quantity}\"(?!\w)", say_inches),
        Rule(r"(?:(?<=/\d)|(?<=/\d\d)|(?<=[½¼¾⅛⅜⅝⅞]))\"(?!\w)", " inch"),
        Rule(r"(?<=\d[\"'])[ ]?[x×][ ]?(?=\d)", " by "),
    ]
