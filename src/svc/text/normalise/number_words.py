"""Number words of the languages of the table, by CLDR's rules (unicode-rbnf)."""

import re
from unicodedata import normalize

from unicode_rbnf import RbnfEngine

from svc.text.language.table import Reading

_COUNTED_YEARS = "spellout-numbering-year"  # nineteen hundred ninety-nine
_APOSTROPHES = str.maketrans("ʼ’", "''")
_ACCENT = re.compile(r"[\u0300-\u036f]")


class NumberWords:
    def __init__(self, code: str, reading: Reading) -> None:
        self._reading = reading
        self._engine = RbnfEngine.for_language(code)
        ordinals = [name for name in self._engine.rulesets if name.startswith("spellout-ordinal")]
        self._ordinal = min(ordinals, key=len, default="")

    @property
    def have_ordinals(self) -> bool:
        return bool(self._ordinal)

    def say(self, number: int, ruleset: str) -> str:
        spoken = self._engine.format_number(number, ruleset_names=[ruleset]).text_by_ruleset[ruleset]
        spoken = spoken.strip().translate(_APOSTROPHES)
        return _ACCENT.sub("", normalize("NFD", spoken)) if self._reading.plain_letters else spoken

    def cardinal(self, number: int) -> str:
        return self.say(number, self._reading.cardinal)

    def before_noun(self, number: int, gender: str = "masculine") -> str:
        if number == 1 and self._reading.one and gender == "masculine":
            return self._reading.one
        forms = (gender, "reale", "common", "initial")
        names = [*(f"spellout-cardinal-{form}" for form in forms), "spellout-cardinal"]
        return self.say(number, next((each for each in names if each in self._engine.rulesets), self._reading.cardinal))

    def ordinal(self, number: int, form: str = "") -> str:
        """`form` is one of CLDR's, where the language has it: "n" is the German dative."""
        name = f"spellout-ordinal-{form}"
        return self.say(number, name if name in self._engine.rulesets else self._ordinal or self._reading.cardinal)

    def count(self, number: int) -> str:
        """A number before one of the words that are counted with numbers of their own."""
        return self.say(number, self._reading.counter)

    def hour(self, number: int) -> str:
        return self.count(number) if self._reading.counter and number <= 12 else self.before_noun(number)

    def day(self, day: int) -> str:
        """The day of a date."""
        reading = self._reading
        if reading.days:
            return reading.days[day - 1]
        return self._decline(day) if reading.ordinals else self.say(day, reading.day or reading.cardinal)

    def year(self, year: int) -> str:
        """The year of a date."""
        if self._reading.year == "ordinals":
            centuries, rest = year // 100 * 100, year % 100
            head = self.cardinal(centuries) if centuries else ""
            return f"{head} {self._decline(rest)}".strip() if rest else head
        return self.say(year, self._reading.year) if self._reading.year != _COUNTED_YEARS else self.number(year)

    def number(self, number: int) -> str:
        """A number that may be a year, which some languages count in hundreds."""
        may_be_year = 1100 <= number < 2000 and self._reading.year == _COUNTED_YEARS
        return self.say(number, _COUNTED_YEARS) if may_be_year else self.cardinal(number)

    def _decline(self, number: int) -> str:
        """An ordinal number of a date, below a hundred."""
        tens, ones = divmod(number, 10)
        if number < 20:
            return self._reading.ordinals[number - 1]
        if not ones:
            return self._reading.tens[tens - 2]
        head = self.cardinal(10 * tens) if self._reading.cardinal_tens else self._reading.tens[tens - 2]
        return f"{head} {self._reading.ordinals[ones - 1]}"
