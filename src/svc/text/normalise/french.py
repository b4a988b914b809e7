"""French normalisation."""

from typing import ClassVar

from svc.text.normalise.grammar import Currency, Grammar, Noun
from svc.text.normalise.rules import Rule
from svc.text.normalise.urls import SignNames

SMALL = (
    "zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze",
    "treize", "quatorze", "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf",
)  # fmt: skip
SWISS_TENS = {7: "septante", 8: "huitante", 9: "nonante"}
TENS = (
    "", "", "vingt", "trente", "quarante", "cinquante", "soixante", "soixante", "quatre-vingt",
    "quatre-vingt",
)  # fmt: skip
SCALES = ((10**12, "billion"), (10**9, "milliard"), (10**6, "million"))
VOWELS = "aeiouyéèêh"
FEMININE_ENDINGS = ("tion", "sion", "ée", "ette", "ence", "ance", "euse", "ure", "aine", "elle", "ille", "ité", "ise")
FEMININE_NOUNS = frozenset({
    "femmes", "personnes", "heures", "minutes", "secondes", "pages", "fois", "lettres", "langues", "voix", "villes",
    "tables", "portes", "chambres", "places", "semaines", "maisons", "histoires", "questions",
})  # fmt: skip

EURO = Currency(Noun("euro", "euros"), Noun("centime", "centimes"))
DOLLAR = Currency(Noun("dollar", "dollars"), Noun("cent", "cents"))


class French(Grammar):
    point = "virgule"
    minus = "moins"
    percent = "pour cent"
    to = "à"
    conjunction = "et"
    by = "par"
    own_tens: ClassVar[dict[int, str]] = {}  # names of tens that need no counting in twenties
    over = "sur"
    per = "par"
    date_words = ("le", "du", "au")
    has_round_numbers = True
    counts_rulers = True
    signs = SignNames(
        at="arobase", dot="point", slash="slash", hyphen="tiret", underscore="tiret bas", hashtag="hashtag",
        equals="égal", question="point d'interrogation", ampersand="et", colon="deux points", spell=" ".join,
    )  # fmt: skip
    months = (
        "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre",
        "novembre", "décembre",
    )  # fmt: skip
    currencies: ClassVar = {
        "€": EURO, "EUR": EURO, "$": DOLLAR, "USD": DOLLAR,
        "£": Currency(Noun("livre", "livres", feminine=True), Noun("penny", "pence")),
        "¥": Currency(Noun("yen", "yens"), None),
        "CHF": Currency(Noun("franc suisse", "francs suisses"), Noun("centime", "centimes")),
    }  # fmt: skip
    magnitudes: ClassVar = {
        "millions": Noun("million", "millions"), "million": Noun("million", "millions"),
        "M": Noun("million", "millions"), "milliards": Noun("milliard", "milliards"),
        "milliard": Noun("milliard", "milliards"), "Md": Noun("milliard", "milliards"),
        "Mds": Noun("milliard", "milliards"), "k": Noun("mille", "mille"), "K": Noun("mille", "mille"),
    }  # fmt: skip
    units: ClassVar = {
        "km/h": Noun("kilomètre heure", "kilomètres heure"),
        "m/s": Noun("mètre par seconde", "mètres par seconde"), "km": Noun("kilomètre", "kilomètres"),
        "m": Noun("mètre", "mètres"), "cm": Noun("centimètre", "centimètres"),
        "mm": Noun("millimètre", "millimètres"), "m²": Noun("mètre carré", "mètres carrés"),
        "km²": Noun("kilomètre carré", "kilomètres carrés"), "m³": Noun("mètre cube", "mètres cubes"),
        "ha": Noun("hectare", "hectares"), "kg": Noun("kilo", "kilos"), "g": Noun("gramme", "grammes"),
        "mg": Noun("milligramme", "milligrammes"), "t": Noun("tonne", "tonnes", feminine=True),
        "l": Noun("litre", "litres"), "L": Noun("litre", "litres"), "cl": Noun("centilitre", "centilitres"),
        "ml": Noun("millilitre", "millilitres"), "°C": Noun("degré Celsius", "degrés Celsius"),
        "°": Noun("degré", "degrés"), "min": Noun("minute", "minutes", feminine=True),
        "s": Noun("seconde", "secondes", feminine=True), "kW": Noun("kilowatt", "kilowatts"),
        "kWh": Noun("kilowattheure", "kilowattheures"), "W": Noun("watt", "watts"),
        "V": Noun("volt", "volts"), "Hz": Noun("hertz", "hertz"), "MHz": Noun("mégahertz", "mégahertz"),
        "GHz": Noun("gigahertz", "gigahertz"), "Ko": Noun("kilooctet", "kilooctets"),
        "Mo": Noun("mégaoctet", "mégaoctets"), "Go": Noun("gigaoctet", "gigaoctets"),
        "To": Noun("téraoctet", "téraoctets"), "MB": Noun("mégaoctet", "mégaoctets"),
        "GB": Noun("gigaoctet", "gigaoctets"),
    }  # fmt: skip
    abbreviations: ClassVar = {
        "M.": "monsieur", "MM.": "messieurs", "Mme": "madame", "Mme.": "madame", "Mmes": "mesdames",
        "Mlle": "mademoiselle", "Mlles": "mesdemoiselles", "Dr.": "docteur",
        "Pr.": "professeur", "av.": "avenue",
        "bd": "boulevard", "Bd": "boulevard", "n°": "numéro ", "N°": "numéro ", "p. ex.": "par exemple",
        "p.ex.": "par exemple", "c.-à-d.": "c'est-à-dire", "etc.": "et cetera", "env.": "environ",
        "tél.": "téléphone", "Tél.": "téléphone", "J.-C.": "Jésus-Christ",
        "av. J.-C.": "avant Jésus-Christ", "ap. J.-C.": "après Jésus-Christ", "vs": "contre",
        "vs.": "contre", "Cie": "compagnie", "Sté": "société", "SVP": "s'il vous plaît",
        "svp": "s'il vous plaît", "max.": "maximum", "min.": "minimum", "chap.": "chapitre",
        "art.": "article", "vol.": "volume", "p.": "page", "pp.": "pages", "fig.": "figure", "éd.": "édition",
        "boul.": "boulevard", "bld": "boulevard", "pl.": "place", "apr. J.-C.": "après Jésus-Christ",
        "cf.": "confer", "hab.": "habitants", "qqch.": "quelque chose", "qqn": "quelqu'un", "RDV": "rendez-vous",
        "rdv": "rendez-vous", "c.-à-d": "c'est-à-dire", "càd": "c'est-à-dire", "Mgr": "monseigneur",
        "lun.": "lundi", "ven.": "vendredi", "sam.": "samedi", "dim.": "dimanche", "N.B.": "nota bene",
        "n°s": "numéros ", "nᵒ": "numéro ",
    }  # fmt: skip
    month_abbreviations = (
        "janv", "févr", "mars", "avr", "mai", "juin", "juil", "août", "sept", "oct", "nov", "déc",
    )  # fmt: skip
    roman_marks = ("er", "ère", "re", "e", "ème", "è", "nde", "nd")
    numbered = frozenset({"chapitre", "chap", "tome", "volume", "acte", "livre", "partie", "titre", "annexe", "type"})
    telephone_words = ("tél", "portable", "mobile", "fax", "appel", "numéro", "joindre")
    ordinal_marks: ClassVar = {
        "er": False,
        "re": True,
        "ère": True,
        "e": False,
        "ème": False,
        "nd": False,
        "nde": True,
        "de": True,
        "è": False,
    }
    fractions: ClassVar = {
        "1/2": "un demi", "½": "un demi", "1/3": "un tiers", "2/3": "deux tiers", "1/4": "un quart",
        "¼": "un quart", "3/4": "trois quarts", "¾": "trois quarts",
    }  # fmt: skip
    operators: ClassVar = {
        "+": "plus", "-": "moins", "=": "égale", "×": "fois", "÷": "divisé par", "<": "est inférieur à",
        ">": "est supérieur à",
    }  # fmt: skip

    def cardinal(self, number: int, *, feminine: bool = False) -> str:
        for value, name in SCALES:
            if number >= value:
                count, rest = divmod(number, value)
                head = f"{self.cardinal(count)} {name}{'s' if count > 1 else ''}"
                return f"{head} {self.cardinal(rest, feminine=feminine)}" if rest else head
        if number >= 1000:
            count, rest = divmod(number, 1000)
            head = "mille" if count == 1 else f"{self._without_plural_s(count)} mille"
            return f"{head} {self.cardinal(rest, feminine=feminine)}" if rest else head
        words = self._below_thousand(number)
        ends_in_one = number % 100 not in (11, 71, 91) and number % 10 == 1
        return words + "e" if feminine and ends_in_one else words

    def ordinal(self, number: int, *, feminine: bool) -> str:
        if number == 1:
            return "première" if feminine else "premier"
        if number == 2 and feminine:
            return "seconde"
        words = self._without_plural_s(number)
        special = {"cinq": "cinquième", "neuf": "neuvième"}
        for ending, name in special.items():
            if words.endswith(ending):
                return words[: -len(ending)] + name
        return words.removesuffix("e") + "ième"

    def is_feminine(self, noun: str) -> bool:
        return noun in FEMININE_NOUNS or noun.removesuffix("s").endswith(FEMININE_ENDINGS)

    def of(self, noun: str) -> str:
        return f"d'{noun}" if noun[0] in VOWELS else f"de {noun}"

    def date(self, day: int, month: int, year: int | None) -> str:
        spoken = f"{'premier' if day == 1 else self.cardinal(day)} {self.months[month - 1]}"
        return f"{spoken} {self.cardinal(year)}" if year else spoken

    def time(self, hour: int, minute: int) -> str:
        spoken = f"{self.cardinal(hour, feminine=True)} {'heure' if hour < 2 else 'heures'}"
        return f"{spoken} {self.cardinal(minute)}" if minute else spoken

    def count_ruler(self, number: int, name: str) -> str:
        return "premier" if number == 1 else self.cardinal(number)

    def telephone_group(self, digits: str) -> str:
        """Pairs are said as numbers: "zéro six, douze"."""
        return self.integer(digits) if len(digits) <= 2 else self.digits(digits)

    def extra_rules(self) -> list[Rule]:
        """Titles without a full stop, which are words before anything but a name: "Me voilà"."""
        titles = {"Me": "maître", "Dr": "docteur", "Pr": "professeur", "St": "saint", "Ste": "sainte"}
        return [
            *(Rule(rf"\b{title}(?=[ -][A-ZÀ-Ý][a-zà-ÿ])", spoken) for title, spoken in titles.items()),
            Rule(r"(?<![\d/])(?:1/2|½)(?= (?:baguette|heure|tasse|bouteille|douzaine|page)\b)", "une demi"),
        ]

    def _without_plural_s(self, number: int) -> str:
        """The cardinal before "mille" and in ordinals, where "cents" and "quatre-vingts" lose their s."""
        words = self.cardinal(number)
        return words[:-1] if words.endswith(("cents", "vingts")) else words

    def _below_thousand(self, number: int) -> str:
        hundreds, rest = divmod(number, 100)
        if not hundreds:
            return self._below_hundred(rest)
        head = "cent" if hundreds == 1 else f"{SMALL[hundreds]} cent"
        if rest:
            return f"{head} {self._below_hundred(rest)}"
        return head + "s" if hundreds > 1 else head

    def _below_hundred(self, number: int) -> str:
        if number < 20:
            return SMALL[number]
        tens, ones = divmod(number, 10)
        if tens in self.own_tens:
            return self.own_tens[tens] + {0: "", 1: " et un"}.get(ones, f"-{SMALL[ones]}")
        if tens in (7, 9):
            ones += 10
        if number == 80:
            return "quatre-vingts"
        if not ones:
            return TENS[tens]
        link = " et " if ones in (1, 11) and tens < 8 else "-"
        return f"{TENS[tens]}{link}{SMALL[ones]}"


class SwissFrench(French):
    own_tens = SWISS_TENS


class BelgianFrench(French):
    own_tens: ClassVar = {tens: name for tens, name in SWISS_TENS.items() if tens != 8}
