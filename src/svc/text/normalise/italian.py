"""Italian normalisation."""

import re
from typing import ClassVar

from svc.text.normalise.grammar import Currency, Grammar, Noun
from svc.text.normalise.rules import Rule
from svc.text.normalise.urls import SignNames

SMALL = (
    "zero", "uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci", "undici",
    "dodici", "tredici", "quattordici", "quindici", "sedici", "diciassette", "diciotto", "diciannove",
)  # fmt: skip
TENS = ("", "", "venti", "trenta", "quaranta", "cinquanta", "sessanta", "settanta", "ottanta", "novanta")
SCALES = (
    (10**12, "mille miliardi", "mila miliardi"), (10**9, "un miliardo", " miliardi"),
    (10**6, "un milione", " milioni"),
)  # fmt: skip
ORDINALS = (
    "", "primo", "secondo", "terzo", "quarto", "quinto", "sesto", "settimo", "ottavo", "nono", "decimo",
)  # fmt: skip

EURO = Currency(Noun("euro", "euro"), Noun("centesimo", "centesimi"))
DOLLAR = Currency(Noun("dollaro", "dollari"), Noun("centesimo", "centesimi"))


class Italian(Grammar):
    point = "virgola"
    minus = "meno"
    percent = "per cento"
    to = "a"
    conjunction = "e"
    by = "per"
    over = "su"
    per = "al"
    date_words = ("il", "dal", "al", "del")
    has_round_numbers = True
    counts_rulers = True
    signs = SignNames(
        at="chiocciola", dot="punto", slash="barra", hyphen="trattino", underscore="trattino basso",
        hashtag="hashtag", equals="uguale", question="punto interrogativo", ampersand="e", colon="due punti",
        spell=" ".join,
    )  # fmt: skip
    months = (
        "gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre",
        "ottobre", "novembre", "dicembre",
    )  # fmt: skip
    currencies: ClassVar = {
        "€": EURO, "EUR": EURO, "$": DOLLAR, "USD": DOLLAR,
        "£": Currency(Noun("sterlina", "sterline", feminine=True), Noun("penny", "penny")),
        "¥": Currency(Noun("yen", "yen"), None),
        "CHF": Currency(Noun("franco svizzero", "franchi svizzeri"), Noun("centesimo", "centesimi")),
    }  # fmt: skip
    magnitudes: ClassVar = {
        "milioni": Noun("milione", "milioni"), "milione": Noun("milione", "milioni"),
        "mln": Noun("milione", "milioni"), "miliardi": Noun("miliardo", "miliardi"),
        "miliardo": Noun("miliardo", "miliardi"), "mld": Noun("miliardo", "miliardi"),
        "mila": Noun("mila", "mila"), "k": Noun("mila", "mila"), "K": Noun("mila", "mila"),
        "M": Noun("milione", "milioni"),
    }  # fmt: skip
    units: ClassVar = {
        "km/h": Noun("chilometro orario", "chilometri orari"),
        "m/s": Noun("metro al secondo", "metri al secondo"), "km": Noun("chilometro", "chilometri"),
        "m": Noun("metro", "metri"), "cm": Noun("centimetro", "centimetri"),
        "mm": Noun("millimetro", "millimetri"), "m²": Noun("metro quadrato", "metri quadrati"),
        "mq": Noun("metro quadrato", "metri quadrati"),
        "km²": Noun("chilometro quadrato", "chilometri quadrati"), "m³": Noun("metro cubo", "metri cubi"),
        "ha": Noun("ettaro", "ettari"), "kg": Noun("chilo", "chili"), "g": Noun("grammo", "grammi"),
        "mg": Noun("milligrammo", "milligrammi"), "t": Noun("tonnellata", "tonnellate", feminine=True),
        "l": Noun("litro", "litri"), "L": Noun("litro", "litri"), "ml": Noun("millilitro", "millilitri"),
        "°C": Noun("grado Celsius", "gradi Celsius"), "°": Noun("grado", "gradi"),
        "h": Noun("ora", "ore", feminine=True), "min": Noun("minuto", "minuti"),
        "min.": Noun("minuto", "minuti"), "sec.": Noun("secondo", "secondi"), "s": Noun("secondo", "secondi"),
        "cm²": Noun("centimetro quadrato", "centimetri quadrati"), "mc": Noun("metro cubo", "metri cubi"),
        "cl": Noun("centilitro", "centilitri"), "kcal": Noun("chilocaloria", "chilocalorie", feminine=True),
        "kW": Noun("chilowatt", "chilowatt"), "kWh": Noun("chilowattora", "chilowattora"),
        "W": Noun("watt", "watt"), "V": Noun("volt", "volt"), "Hz": Noun("hertz", "hertz"),
        "MHz": Noun("megahertz", "megahertz"), "GHz": Noun("gigahertz", "gigahertz"),
        "KB": Noun("kilobyte", "kilobyte"), "MB": Noun("megabyte", "megabyte"),
        "GB": Noun("gigabyte", "gigabyte"), "TB": Noun("terabyte", "terabyte"),
    }  # fmt: skip
    abbreviations: ClassVar = {
        "Sig.": "signor", "sig.": "signor", "Sig.ra": "signora", "sig.ra": "signora", "Sig.na": "signorina",
        "Dott.": "dottor", "dott.": "dottor", "Dott.ssa": "dottoressa", "dott.ssa": "dottoressa",
        "Dr.": "dottor", "Prof.": "professor", "prof.": "professor", "Prof.ssa": "professoressa",
        "Avv.": "avvocato", "Ing.": "ingegner", "ing.": "ingegner", "P.zza": "piazza", "V.le": "viale",
        "C.so": "corso", "pag.": "pagina", "pagg.": "pagine", "n.": "numero", "p.es.": "per esempio",
        "es.": "esempio", "ecc.": "eccetera", "a.C.": "avanti Cristo", "d.C.": "dopo Cristo",
        "tel.": "telefono", "Tel.": "telefono", "ca.": "circa", "S.": "San", "vs.": "contro",
        "p. es.": "per esempio", "ad es.": "ad esempio", "cap.": "capitolo", "art.": "articolo",
        "vol.": "volume", "fig.": "figura", "sec.": "secolo", "Sigg.": "signori", "Arch.": "architetto",
        "Geom.": "geometra", "Rag.": "ragionier", "On.": "onorevole", "Gen.": "generale", "Ill.mo": "illustrissimo",
        "Spett.le": "spettabile", "L.go": "largo", "F.lli": "fratelli", "S.p.A.": "S P A", "S.r.l.": "S R L",
        "a. C.": "avanti Cristo", "d. C.": "dopo Cristo", "c.a.": "corrente anno", "max.": "massimo",
        "min.": "minimo", "nr.": "numero", "cell.": "cellulare", "Cell.": "cellulare", "n°": "numero ",
        "N°": "numero ", "ss.": "seguenti", "lun.": "lunedì", "mer.": "mercoledì",
        "gio.": "giovedì", "ven.": "venerdì", "sab.": "sabato", "avv.": "avvocato",
        "arch.": "architetto", "on.": "onorevole",
    }  # fmt: skip
    month_abbreviations = ("gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic")
    telephone_words = ("tel", "cell", "fax", "chiam", "numero", "whatsapp")
    ordinal_marks: ClassVar = {"º": False, "°": False, "ª": True}
    fractions: ClassVar = {
        "1/2": "un mezzo", "½": "un mezzo", "1/3": "un terzo", "2/3": "due terzi", "1/4": "un quarto",
        "¼": "un quarto", "3/4": "tre quarti", "¾": "tre quarti",
    }  # fmt: skip
    operators: ClassVar = {
        "+": "più", "-": "meno", "=": "uguale", "×": "per", "÷": "diviso", "<": "è minore di",
        ">": "è maggiore di",
    }  # fmt: skip

    def cardinal(self, number: int, *, feminine: bool = False) -> str:
        for value, one, many in SCALES:
            if number >= value:
                count, rest = divmod(number, value)
                head = one if count == 1 else self.cardinal(count) + many
                return f"{head} {self.cardinal(rest)}" if rest else head
        if number >= 1000:
            count, rest = divmod(number, 1000)
            head = "mille" if count == 1 else self._without_accent(count) + "mila"
            return head + (self._below_thousand(rest) if rest else "")
        return "una" if feminine and number == 1 else self._below_thousand(number)

    def cardinal_before_noun(self, number: int, *, feminine: bool) -> str:
        return "un" if number == 1 and not feminine else self.cardinal(number, feminine=feminine)

    def quantity(self, whole: str, decimals: str | None, noun: Noun) -> str:
        return super().quantity(whole, decimals, noun).replace("una ora", "un'ora")

    def count_ruler(self, number: int, name: str) -> str:
        return self.ordinal(number, feminine=name.endswith("a") and name not in ("Papa", "Andrea", "Nicola", "Luca"))

    def number_part(self, number: int) -> str:
        return self.ordinal(number, feminine=False)

    def ordinal(self, number: int, *, feminine: bool) -> str:
        if number < len(ORDINALS):
            words = ORDINALS[number] or "zeresimo"
        else:
            cardinal = self.cardinal(number)
            keeps_vowel = cardinal.endswith(("tré", "sei"))
            words = (cardinal.replace("tré", "tre") if keeps_vowel else cardinal[:-1]) + "esimo"
        return words[:-1] + "a" if feminine else words

    def of(self, noun: str) -> str:
        return f"di {noun}"

    def date(self, day: int, month: int, year: int | None) -> str:
        spoken = f"{'primo' if day == 1 else self.cardinal(day)} {self.months[month - 1]}"
        return f"{spoken} {self.cardinal(year)}" if year else spoken

    def time(self, hour: int, minute: int) -> str:
        spoken = self.cardinal(hour, feminine=True)
        return f"{spoken} e {self.cardinal(minute)}" if minute else spoken

    def extra_rules(self) -> list[Rule]:
        """Ordinals with the sign of a degree, times with a point, and halves."""

        def say_ordinal(match: re.Match[str]) -> str:
            return self.ordinal(int(match["number"]), feminine=False)

        def say_time(match: re.Match[str]) -> str:
            return self.time(int(match["hour"]), int(match["minute"]))

        return [
            # What is warm or turned has degrees: "30° all'ombra", "90° a destra".
            Rule(
                r"(?<![\d,.])(?P<number>\d{1,2})°(?= (?!a|e |di |in |o |nord|sud|est|ovest|per |C\b|F\b)\w)",
                say_ordinal,
            ),
            Rule(r"(?:(?<=[Aa]lle )|(?<=[Oo]re ))(?P<hour>[01]?\d|2[0-4])[.,](?P<minute>[0-5]\d)(?!\d|\.\d)", say_time),
            Rule(r"(?<![\d/])(?:1/2|½)(?= (?:ora|tazza|dozzina|pagina)\b)", "mezza"),
            Rule(r"(?<![\d/])(?:1/2|½)(?= (?:litro|chilo|metro|bicchiere|cucchiaio)\b)", "mezzo"),
        ]

    def _without_accent(self, number: int) -> str:
        return self._below_thousand(number).replace("tré", "tre")

    def _below_thousand(self, number: int) -> str:
        hundreds, rest = divmod(number, 100)
        if not hundreds:
            return self._below_hundred(rest)
        head = "cento" if hundreds == 1 else f"{SMALL[hundreds]}cento"
        tail = self._below_hundred(rest) if rest else ""
        return head[:-1] + tail if tail.startswith("ott") else head + tail  # centottanta

    def _below_hundred(self, number: int) -> str:
        if number < 20:
            return SMALL[number]
        tens, ones = divmod(number, 10)
        if ones in (1, 8):  # ventuno, ventotto
            return TENS[tens][:-1] + SMALL[ones]
        return TENS[tens] + {0: "", 3: "tré"}.get(ones, SMALL[ones])
