"""Spanish normalisation."""

from typing import ClassVar

from svc.text.normalise.grammar import Currency, Grammar, Noun
from svc.text.normalise.rules import Rule
from svc.text.normalise.urls import SignNames

SMALL = (
    "cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce",
    "trece", "catorce", "quince", "dieciséis", "diecisiete", "dieciocho", "diecinueve", "veinte", "veintiuno",
    "veintidós", "veintitrés", "veinticuatro", "veinticinco", "veintiséis", "veintisiete", "veintiocho",
    "veintinueve",
)  # fmt: skip
TENS = ("", "", "", "treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa")
HUNDREDS = (
    "", "ciento", "doscientos", "trescientos", "cuatrocientos", "quinientos", "seiscientos", "setecientos",
    "ochocientos", "novecientos",
)  # fmt: skip
ORDINALS = ("", "primero", "segundo", "tercero", "cuarto", "quinto", "sexto", "séptimo", "octavo", "noveno")
ORDINAL_TENS = (
    "", "décimo", "vigésimo", "trigésimo", "cuadragésimo", "quincuagésimo", "sexagésimo", "septuagésimo",
    "octogésimo", "nonagésimo",
)  # fmt: skip

CENT = Noun("centavo", "centavos")
EURO = Currency(Noun("euro", "euros"), Noun("céntimo", "céntimos"))
DOLLAR = Currency(Noun("dólar", "dólares"), CENT)
PESO = Currency(Noun("peso", "pesos"), CENT)
# Queens whose names do not end in "a".
QUEENS = frozenset({"Isabel", "Beatriz"})


class Spanish(Grammar):
    point = "coma"
    minus = "menos"
    percent = "por ciento"
    to = "a"
    conjunction = "con"
    by = "por"
    over = "sobre"
    per = "por"
    date_words = ("el", "del", "al", "día")
    has_round_numbers = True
    counts_rulers = True
    signs = SignNames(
        at="arroba", dot="punto", slash="barra", hyphen="guion", underscore="guion bajo", hashtag="hashtag",
        equals="igual", question="interrogación", ampersand="y", colon="dos puntos", spell=" ".join,
    )  # fmt: skip
    months = (
        "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre",
        "noviembre", "diciembre",
    )  # fmt: skip
    currencies: ClassVar = {
        "€": EURO, "EUR": EURO, "$": DOLLAR, "US$": DOLLAR, "USD": DOLLAR,
        "£": Currency(Noun("libra", "libras", feminine=True), Noun("penique", "peniques")),
        "¥": Currency(Noun("yen", "yenes"), None), **dict.fromkeys(("MXN", "ARS", "CLP", "COP", "UYU"), PESO),
        "₹": Currency(Noun("rupia", "rupias", feminine=True), None),
    }  # fmt: skip
    magnitudes: ClassVar = {
        "millones": Noun("millón", "millones"), "millón": Noun("millón", "millones"),
        "M": Noun("millón", "millones"), "mil millones": Noun("mil millones", "mil millones"),
        "k": Noun("mil", "mil"), "K": Noun("mil", "mil"), "mil": Noun("mil", "mil"),
    }  # fmt: skip
    units: ClassVar = {
        "km/h": Noun("kilómetro por hora", "kilómetros por hora"),
        "m/s": Noun("metro por segundo", "metros por segundo"), "km": Noun("kilómetro", "kilómetros"),
        "m": Noun("metro", "metros"), "cm": Noun("centímetro", "centímetros"),
        "mm": Noun("milímetro", "milímetros"), "m²": Noun("metro cuadrado", "metros cuadrados"),
        "km²": Noun("kilómetro cuadrado", "kilómetros cuadrados"),
        "m³": Noun("metro cúbico", "metros cúbicos"), "ha": Noun("hectárea", "hectáreas", feminine=True),
        "kg": Noun("kilo", "kilos"), "g": Noun("gramo", "gramos"), "mg": Noun("miligramo", "miligramos"),
        "t": Noun("tonelada", "toneladas", feminine=True), "l": Noun("litro", "litros"),
        "L": Noun("litro", "litros"), "ml": Noun("mililitro", "mililitros"),
        "°C": Noun("grado Celsius", "grados Celsius"), "ºC": Noun("grado Celsius", "grados Celsius"),
        "°F": Noun("grado Fahrenheit", "grados Fahrenheit"), "°": Noun("grado", "grados"),
        "h": Noun("hora", "horas", feminine=True), "min": Noun("minuto", "minutos"),
        "min.": Noun("minuto", "minutos"), "s": Noun("segundo", "segundos"),
        "seg.": Noun("segundo", "segundos"), "pts.": Noun("punto", "puntos"),
        "cm²": Noun("centímetro cuadrado", "centímetros cuadrados"),
        "kcal": Noun("kilocaloría", "kilocalorías", feminine=True),
        "kW": Noun("kilovatio", "kilovatios"), "kWh": Noun("kilovatio hora", "kilovatios hora"),
        "W": Noun("vatio", "vatios"), "V": Noun("voltio", "voltios"), "Hz": Noun("hercio", "hercios"),
        "MHz": Noun("megahercio", "megahercios"), "GHz": Noun("gigahercio", "gigahercios"),
        "KB": Noun("kilobyte", "kilobytes"), "MB": Noun("megabyte", "megabytes"),
        "GB": Noun("gigabyte", "gigabytes"), "TB": Noun("terabyte", "terabytes"),
    }  # fmt: skip
    abbreviations: ClassVar = {
        "Sr.": "señor", "Sra.": "señora", "Srta.": "señorita", "Sres.": "señores", "Dr.": "doctor",
        "Dra.": "doctora", "D.": "don", "Dña.": "doña", "Ud.": "usted", "Uds.": "ustedes", "Vd.": "usted",
        "Prof.": "profesor", "Lic.": "licenciado", "Ing.": "ingeniero", "Av.": "avenida",
        "Avda.": "avenida", "C/": "calle ", "pág.": "página", "págs.": "páginas", "núm.": "número",
        "n.º": "número", "nº": "número", "Nº": "número", "p. ej.": "por ejemplo", "p.ej.": "por ejemplo",
        "etc.": "etcétera", "EE. UU.": "Estados Unidos", "EE.UU.": "Estados Unidos",
        "a. C.": "antes de Cristo", "a.C.": "antes de Cristo", "d. C.": "después de Cristo",
        "d.C.": "después de Cristo", "a. m.": "de la mañana", "a.m.": "de la mañana",
        "p. m.": "de la tarde", "p.m.": "de la tarde", "tel.": "teléfono", "Tel.": "teléfono",
        "aprox.": "aproximadamente", "vs.": "contra", "Cía.": "compañía", "Sta.": "Santa", "Sto.": "Santo",
        "cap.": "capítulo", "caps.": "capítulos", "art.": "artículo", "arts.": "artículos", "vol.": "volumen",
        "fig.": "figura", "Gral.": "general", "Cnel.": "coronel",
        "Arq.": "arquitecto", "Profa.": "profesora", "Prof.ª": "profesora", "D.ª": "doña", "Dª": "doña",
        "Fdo.": "firmado", "Bco.": "banco", "Pza.": "plaza", "Ctra.": "carretera", "Pº": "paseo",
        "dpto.": "departamento", "depto.": "departamento", "tfno.": "teléfono", "máx.": "máximo",
        "mín.": "mínimo", "S.A.": "sociedad anónima", "S. A.": "sociedad anónima", "S.L.": "sociedad limitada",
        "JJ. OO.": "Juegos Olímpicos", "JJ.OO.": "Juegos Olímpicos",
        "RR. HH.": "Recursos Humanos", "RR.HH.": "Recursos Humanos", "EEUU": "Estados Unidos",
        "EE UU": "Estados Unidos", "s/n": "sin número", "lun.": "lunes", "mié.": "miércoles", "jue.": "jueves",
        "vie.": "viernes", "sáb.": "sábado", "dom.": "domingo",
    }  # fmt: skip
    month_abbreviations = ("ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic")
    numbered = frozenset({
        "capítulo", "cap", "tomo", "volumen", "vol", "título", "acto", "libro", "parte", "artículo", "anexo",
        "fase", "tipo", "clase", "nivel", "grupo", "siglo", "siglos", "guerra", "mundial",
    })  # fmt: skip
    telephone_words = ("tel", "tfno", "móvil", "celular", "fax", "llam[aeáo]", "whatsapp", "marque")
    ordinal_marks: ClassVar = {
        ".º": False, "º": False, ".ª": True, "ª": True, "°": False, "ro": False, "do": False, "to": False,
        "mo": False, "vo": False, "ra": True, "da": True, "ta": True, "ma": True, "va": True,
    }  # fmt: skip
    fractions: ClassVar = {
        "1/2": "un medio", "½": "un medio", "1/3": "un tercio", "2/3": "dos tercios", "1/4": "un cuarto",
        "¼": "un cuarto", "3/4": "tres cuartos", "¾": "tres cuartos",
    }  # fmt: skip
    operators: ClassVar = {
        "+": "más", "-": "menos", "=": "es igual a", "×": "por", "÷": "dividido entre", "<": "es menor que",
        ">": "es mayor que",
    }  # fmt: skip

    def cardinal(self, number: int, *, feminine: bool = False) -> str:
        if number >= 10**6:
            millions, rest = divmod(number, 10**6)
            head = "un millón" if millions == 1 else f"{self.cardinal_before_noun(millions, feminine=False)} millones"
            return f"{head} {self.cardinal(rest, feminine=feminine)}" if rest else head
        if number >= 1000:
            thousands, rest = divmod(number, 1000)
            head = "mil" if thousands == 1 else f"{self.cardinal_before_noun(thousands, feminine=feminine)} mil"
            return f"{head} {self.cardinal(rest, feminine=feminine)}" if rest else head
        words = self._below_thousand(number)
        if feminine:
            words = words.replace("cientos", "cientas").replace("quinientos", "quinientas")
            words = words[:-1] + "a" if words.endswith("uno") else words
        return words

    def cardinal_before_noun(self, number: int, *, feminine: bool) -> str:
        words = self.cardinal(number, feminine=feminine)
        if words.endswith("veintiuno"):
            return words[: -len("uno")] + "ún"
        return words[:-1] if words.endswith("uno") else words

    def ordinal(self, number: int, *, feminine: bool) -> str:
        if not 0 < number < 100:
            return self.cardinal(number)
        tens, ones = divmod(number, 10)
        words = f"{ORDINAL_TENS[tens]} {ORDINALS[ones]}".strip()
        return words.replace("o ", "a ")[:-1] + "a" if feminine else words

    def count_ruler(self, number: int, name: str) -> str:
        if number > 10:
            return self.cardinal(number)
        return self.ordinal(number, feminine=name.endswith("a") or name in QUEENS)

    def date(self, day: int, month: int, year: int | None) -> str:
        spoken = f"{self.cardinal(day)} de {self.months[month - 1]}"
        return f"{spoken} de {self.cardinal(year)}" if year else spoken

    def time(self, hour: int, minute: int) -> str:
        spoken = self.cardinal(hour, feminine=True)
        if minute == 0:
            return f"{spoken} en punto" if hour <= 12 else f"{spoken} horas"
        return f"{spoken} y {self.cardinal(minute)}"

    def extra_rules(self) -> list[Rule]:
        """Centuries, two ordinals that are shortened before a noun, and halves, which are not counted."""
        return [
            Rule(r"\bs\.(?= [IVX]+\b)", "siglo"),
            Rule(r"(?<!\d)1\.?er\b\.?", "primer"),
            Rule(r"(?<!\d)3\.?er\b\.?", "tercer"),
            Rule(r"(?<![\d/])(?:1/2|½)(?= (?:kilo|litro|metro|minuto|vaso)\b)", "medio"),
            Rule(r"(?<![\d/])(?:1/2|½)(?= (?:hora|taza|docena|cucharad\w+)\b)", "media"),
        ]

    def _below_thousand(self, number: int) -> str:
        if number == 100:
            return "cien"
        hundreds, rest = divmod(number, 100)
        if rest < 30:
            tail = SMALL[rest] if rest or not hundreds else ""
        else:
            tens, ones = divmod(rest, 10)
            tail = TENS[tens] + (f" y {SMALL[ones]}" if ones else "")
        return f"{HUNDREDS[hundreds]} {tail}".strip()


class LatinAmericanSpanish(Spanish):
    group = r"[., ]\d{3}"  # 1,000.50 in Mexico, 1.000,50 in Argentina
