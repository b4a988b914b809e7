"""Units of measurement: their names, plurals and powers."""

# Names in the singular.
UNITS = {
    # length, area, volume
    "nm": "nanometer", "µm": "micrometer", "μm": "micrometer", "mm": "millimeter", "cm": "centimeter",
    "dm": "decimeter", "m": "meter", "km": "kilometer", "ft": "foot", "yd": "yard", "yds": "yard",
    "mi": "mile", "in": "inch", "ha": "hectare", "sqm": "square meter", "sqft": "square foot",
    "sq ft": "square foot", "sq. ft": "square foot", "sq mi": "square mile", "sq km": "square kilometer",
    "sq m": "square meter", "ml": "milliliter", "mL": "milliliter", "cl": "centiliter", "dl": "deciliter",
    "l": "liter", "L": "liter", "gal": "gallon", "fl oz": "fluid ounce", "fl. oz": "fluid ounce",
    "tsp": "teaspoon", "tbsp": "tablespoon", "cc": "cubic centimeter", "dL": "deciliter", "cL": "centiliter",
    "µL": "microliter", "μL": "microliter", "µl": "microliter", "μl": "microliter", "uL": "microliter",
    "qt": "quart", "qts": "quart", "pts": "point", "gals": "gallon", "sq in": "square inch", "sq. in": "square inch",
    "sq yd": "square yard", "sq. yd": "square yard", "sq. mi": "square mile", "sq. km": "square kilometer",
    "sq. m": "square meter", "cu ft": "cubic foot", "cu. ft": "cubic foot", "cu in": "cubic inch",
    "cu m": "cubic meter",
    # mass, force, pressure, energy
    "µg": "microgram", "μg": "microgram", "mcg": "microgram", "mg": "milligram", "g": "gram",
    "kg": "kilogram", "kgs": "kilogram", "lb": "pound", "lbs": "pound", "oz": "ounce", "N": "newton",
    "kN": "kilonewton", "Nm": "newton meter", "Pa": "pascal", "hPa": "hectopascal", "kPa": "kilopascal",
    "MPa": "megapascal", "psi": "P S I", "bar": "bar", "mbar": "millibar", "J": "joule", "kJ": "kilojoule",
    "MJ": "megajoule", "cal": "calorie", "kcal": "kilocalorie", "Wh": "watt hour", "kWh": "kilowatt hour",
    "MWh": "megawatt hour", "GWh": "gigawatt hour", "TWh": "terawatt hour", "eV": "electron volt",
    "BTU": "B T U", "mmHg": "millimeter of mercury", "ft-lb": "foot pound", "ft-lbs": "foot pound",
    "mol": "mole", "mmol": "millimole", "µmol": "micromole", "mSv": "millisievert", "IU": "I U", "ng": "nanogram",
    # time
    "ns": "nanosecond", "µs": "microsecond", "μs": "microsecond", "ms": "millisecond", "s": "second",
    "sec": "second", "secs": "second", "min": "minute", "mins": "minute", "h": "hour", "hr": "hour",
    "hrs": "hour", "yr": "year", "yrs": "year", "wk": "week", "wks": "week", "mo": "month", "mos": "month",
    # electricity, light, sound, frequency
    "W": "watt", "mW": "milliwatt", "kW": "kilowatt", "MW": "megawatt", "GW": "gigawatt", "TW": "terawatt",
    "V": "volt", "mV": "millivolt", "kV": "kilovolt", "A": "amp", "mA": "milliamp", "mAh": "milliamp hour",
    "Ah": "amp hour", "Ω": "ohm", "kΩ": "kilohm", "F": "degree Fahrenheit", "µF": "microfarad", "Hz": "hertz",
    "kHz": "kilohertz", "MHz": "megahertz", "GHz": "gigahertz", "THz": "terahertz", "dB": "decibel",
    "dBA": "decibel", "lm": "lumen", "lx": "lux", "hp": "horsepower",
    # information and screens
    "bit": "bit", "kbit": "kilobit", "Mbit": "megabit", "Gbit": "gigabit",
    "kb": "kilobit", "Mb": "megabit", "Gb": "gigabit", "kB": "kilobyte",
    "KB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte", "PB": "petabyte",
    "KiB": "kibibyte", "MiB": "mebibyte", "GiB": "gibibyte", "TiB": "tebibyte", "px": "pixel",
    "MP": "megapixel", "pt": "point", "dpi": "D P I", "ppi": "P P I",
    # heat, and angles
    "°C": "degree Celsius", "°F": "degree Fahrenheit", "° C": "degree Celsius", "° F": "degree Fahrenheit",
    "°K": "kelvin", "K": "kelvin", "°": "degree", "rad": "radian", "%": "percent", "‰": "per mille",
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


def pluralise_unit(unit: str) -> str:
    """The plural of a unit: the word before "per", "of" or "Celsius" changes."""
    for mark in (" per ", " of ", " Celsius", " Fahrenheit"):
        head, separator, tail = unit.partition(mark)
        if separator:
            return pluralise_unit(head) + separator + tail
    return PLURALS.get(unit, unit + "s")


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
