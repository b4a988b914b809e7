"""Writes what svc reads of the Unicode CLDR, names of months, units and currencies, into src/svc/data/cldr.json.

    python scripts/make_cldr.py

From Babel, whose data of all locales are 32 MB. Which form of a noun a number asks for is CLDR's plural rule.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

from babel import Locale
from babel.numbers import get_currency_name
from babel.units import format_unit

from svc.text.language.table import load_table
from svc.text.normalise.counted_nouns import CURRENCIES, PERCENT, UNITS

TARGET = Path(__file__).parent.parent / "src/svc/data/cldr.json"

_NUMBER = re.compile(r"\d[\d.,]*")
# Among these are numbers of every category.
_SAMPLES = [*map(Decimal, chain(range(200), (1000, 1_000_000))), *(Decimal(n) / 10 for n in range(1, 40))]


def read() -> dict[str, Any]:
    return {code: _read_locale(Locale.parse(row.locale, sep="-")) for code, row in load_table().items()}


def _read_locale(locale: Locale) -> dict[str, Any]:
    samples = {locale.plural_form(number): number for number in reversed(_SAMPLES)}

    def list_forms(count: Callable[[Decimal], str]) -> dict[str, str]:
        forms = {category: count(number) for category, number in samples.items()}
        return {category: form for category, form in forms.items() if category == "other" or form != forms["other"]}

    units = sorted({*UNITS.values(), PERCENT})
    return {
        "plurals": dict(locale.plural_form.rules),
        "months": list(locale.months["format"]["wide"].values()),
        "months_alone": list(locale.months["stand-alone"]["wide"].values()),
        "units": {unit: list_forms(lambda number, unit=unit: _count_unit(locale, unit, number)) for unit in units},
        "symbols": {unit: _NUMBER.sub("", format_unit(5, unit, "short", locale=locale)).strip() for unit in units},
        "currencies": {
            code: list_forms(lambda number, code=code: "{} " + get_currency_name(code, float(number), locale))
            for code in sorted(set(CURRENCIES.values()))
        },
    }


def _count_unit(locale: Locale, unit: str, number: Decimal) -> str:
    """Some units have only a short form, which is a word then."""
    formatted = format_unit(number, unit, "long", "0.#", locale)
    if unit in formatted:
        formatted = format_unit(number, unit, "short", "0.#", locale)
    return _NUMBER.sub("{}", formatted, count=1).replace("/", " ")


def page() -> str:
    """The whole file."""
    return json.dumps(read(), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
