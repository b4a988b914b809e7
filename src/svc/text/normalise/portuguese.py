"""Portuguese normalisation, of Brazil and of Portugal."""

import re
from typing import ClassVar

from svc.text.normalise.grammar import Currency, Grammar, Noun
from svc.text.normalise.rules import Rule
from svc.text.normalise.urls import SignNames

SMALL = (
    "zero", "um", "dois", "três", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez", "onze", "doze",
    "treze", "quatorze", "quinze", "dezesseis", "dezessete", "dezoito", "dezenove",
)  # fmt: skip
TENS = ("", "", "vinte", "trinta", "quarenta", "cinquenta", "sessenta", "setenta", "oitenta", "noventa")
HUNDREDS = (
    "", "cento", "duzentos", "trezentos", "quatrocentos", "quinhentos", "seiscentos", "setecentos",
    "oitocentos", "novecentos",
)  # fmt: skip
SCALES = ((10**12, "trilhão", "trilhões"), (10**9, "bilhão", "bilhões"), (10**6, "milhão", "milhões"))
ORDINALS = ("", "primeiro", "segundo", "terceiro", "quarto", "quinto", "sexto", "sétimo", "oitavo", "nono")
ORDINAL_TENS = (
    "", "décimo", "vigésimo", "trigésimo", "quadragésimo", "quinquagésimo", "sexagésimo", "septuagésimo",
    "octogésimo", "nonagésimo",
)  # fmt: skip
FEMININE = {"um": "uma", "dois": "duas"}
# Portugal counts a thousand millions, and spells a few teens in its own way.
EUROPEAN_SCALES = ((10**12, "bilião", "biliões"), (10**6, "milhão", "milhões"))
EUROPEAN_TEENS = {14: "catorze", 16: "dezasseis", 17: "dezassete", 19: "dezanove"}

CENT = Noun("centavo", "centavos")
REAL = Currency(Noun("real", "reais"), CENT)
DOLLAR = Currency(Noun("dólar", "dólares"), Noun("centavo", "centavos"))
EURO = Currency(Noun("euro", "euros"), Noun("centavo", "centavos"))


class Portuguese(Grammar):
    point = "vírgula"
    minus = "menos"
    percent = "por cento"
    to = "a"
    conjunction = "e"
    by = "por"
    small: tuple[str, ...] = SMALL
    scales: tuple[tuple[int, str, str], ...] = SCALES
    over = "sobre"
    per = "por"
    date_words = ("dia", "em", "até")
    has_round_numbers = True
    counts_rulers = True
    signs = SignNames(
        at="arroba", dot="ponto", slash="barra", hyphen="hífen", underscore="sublinhado", hashtag="hashtag",
        equals="igual", question="interrogação", ampersand="e", colon="dois pontos", spell=" ".join,
    )  # fmt: skip
    months = (
        "janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro",
        "novembro", "dezembro",
    )  # fmt: skip
    currencies: ClassVar = {
        "R$": REAL, "BRL": REAL, "$": DOLLAR, "US$": DOLLAR, "USD": DOLLAR, "€": EURO, "EUR": EURO,
        "£": Currency(Noun("libra", "libras", feminine=True), Noun("pêni", "pence")),
        "¥": Currency(Noun("iene", "ienes"), None),
    }  # fmt: skip
    magnitudes: ClassVar = {
        "mil": Noun("mil", "mil"), "milhões": Noun("milhão", "milhões"),
        "milhão": Noun("milhão", "milhões"), "mi": Noun("milhão", "milhões"),
        "bilhões": Noun("bilhão", "bilhões"), "bilhão": Noun("bilhão", "bilhões"),
        "bi": Noun("bilhão", "bilhões"), "trilhões": Noun("trilhão", "trilhões"),
        "trilhão": Noun("trilhão", "trilhões"), "k": Noun("mil", "mil"), "K": Noun("mil", "mil"),
        "M": Noun("milhão", "milhões"),
    }  # fmt: skip
    units: ClassVar = {
        "km/h": Noun("quilômetro por hora", "quilômetros por hora"),
        "m/s": Noun("metro por segundo", "metros por segundo"), "km": Noun("quilômetro", "quilômetros"),
        "m": Noun("metro", "metros"), "cm": Noun("centímetro", "centímetros"),
        "mm": Noun("milímetro", "milímetros"), "m²": Noun("metro quadrado", "metros quadrados"),
        "km²": Noun("quilômetro quadrado", "quilômetros quadrados"),
        "m³": Noun("metro cúbico", "metros cúbicos"), "ha": Noun("hectare", "hectares"),
        "kg": Noun("quilo", "quilos"), "g": Noun("grama", "gramas"), "mg": Noun("miligrama", "miligramas"),
        "t": Noun("tonelada", "toneladas", feminine=True), "l": Noun("litro", "litros"),
        "L": Noun("litro", "litros"), "ml": Noun("mililitro", "mililitros"),
        "°C": Noun("grau Celsius", "graus Celsius"), "ºC": Noun("grau Celsius", "graus Celsius"),
        "°": Noun("grau", "graus"), "min": Noun("minuto", "minutos"), "s": Noun("segundo", "segundos"),
        "min.": Noun("minuto", "minutos"), "seg.": Noun("segundo", "segundos"),
        "h": Noun("hora", "horas", feminine=True), "cm²": Noun("centímetro quadrado", "centímetros quadrados"),
        "kcal": Noun("quilocaloria", "quilocalorias", feminine=True),
        "kW": Noun("quilowatt", "quilowatts"), "kWh": Noun("quilowatt-hora", "quilowatts-hora"),
        "W": Noun("watt", "watts"), "V": Noun("volt", "volts"), "Hz": Noun("hertz", "hertz"),
        "MHz": Noun("megahertz", "megahertz"), "GHz": Noun("gigahertz", "gigahertz"),
        "KB": Noun("quilobyte", "quilobytes"), "MB": Noun("megabyte", "megabytes"),
        "GB": Noun("gigabyte", "gigabytes"), "TB": Noun("terabyte", "terabytes"),
    }  # fmt: skip
    abbreviations: ClassVar = {
        "Sr.": "senhor", "Sra.": "senhora", "Srta.": "senhorita", "Srs.": "senhores", "Dr.": "doutor",
        "Dra.": "doutora", "Prof.": "professor", "Profa.": "professora", "Prof.ª": "professora",
        "Dr.ª": "doutora", "Eng.": "engenheiro",
        "Av.": "avenida", "R.": "rua", "pág.": "página", "págs.": "páginas", "nº": "número",
        "n.º": "número", "Nº": "número", "p. ex.": "por exemplo", "p.ex.": "por exemplo",
        "etc.": "etcétera", "EUA": "Estados Unidos", "a.C.": "antes de Cristo", "d.C.": "depois de Cristo",
        "tel.": "telefone", "Tel.": "telefone", "aprox.": "aproximadamente", "Cia.": "companhia",
        "Ltda.": "limitada", "S.A.": "sociedade anônima", "vs.": "contra", "Sta.": "Santa", "Sto.": "Santo",
        "séc.": "século", "cap.": "capítulo", "art.": "artigo", "arts.": "artigos", "vol.": "volume",
        "fig.": "figura", "ed.": "edição", "Exmo.": "excelentíssimo", "Exma.": "excelentíssima", "Gen.": "general",
        "Cel.": "coronel", "Pça.": "praça", "Rod.": "rodovia", "apto.": "apartamento", "ap.": "apartamento",
        "seg.": "segunda", "qua.": "quarta", "qui.": "quinta", "sex.": "sexta", "sáb.": "sábado",
        "cel.": "celular", "máx.": "máximo", "mín.": "mínimo", "a. C.": "antes de Cristo",
        "d. C.": "depois de Cristo", "S. A.": "sociedade anônima", "S/A": "sociedade anônima",
    }  # fmt: skip
    month_abbreviations = ("jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez")
    numbered = frozenset({
        "capítulo", "cap", "tomo", "volume", "vol", "título", "ato", "livro", "parte", "artigo", "anexo", "fase",
        "tipo", "classe", "nível", "grupo", "século", "séculos", "séc", "guerra", "mundial",
    })  # fmt: skip
    telephone_words = ("tel", "celular", "fax", "ligue", "ligar", "número", "whatsapp", "disque")
    ordinal_marks: ClassVar = {"º": False, "°": False, "o": False, "ª": True, "a": True}
    fractions: ClassVar = {
        "1/2": "meio", "½": "meio", "1/3": "um terço", "2/3": "dois terços", "1/4": "um quarto",
        "¼": "um quarto", "3/4": "três quartos", "¾": "três quartos",
    }  # fmt: skip
    operators: ClassVar = {
        "+": "mais", "-": "menos", "=": "é igual a", "×": "vezes", "÷": "dividido por", "<": "é menor que",
        ">": "é maior que",
    }  # fmt: skip

    def cardinal(self, number: int, *, feminine: bool = False) -> str:
        for value, one, many in self.scales:
            if number >= value:
                count, rest = divmod(number, value)
                head = f"um {one}" if count == 1 else f"{self.cardinal(count)} {many}"
                return self._join(head, rest, feminine=feminine)
        if number >= 1000:
            count, rest = divmod(number, 1000)
            head = "mil" if count == 1 else f"{self.cardinal(count, feminine=feminine)} mil"
            return self._join(head, rest, feminine=feminine)
        words = self._below_thousand(number)
        if feminine:
            words = words.replace("entos", "entas")
            head, separator, last = words.rpartition(" ")
            words = head + separator + FEMININE.get(last, last)
        return words

    def ordinal(self, number: int, *, feminine: bool) -> str:
        if not 0 < number < 100:
            return self.cardinal(number)
        tens, ones = divmod(number, 10)
        words = f"{ORDINAL_TENS[tens]} {ORDINALS[ones]}".strip()
        return words.replace("o ", "a ")[:-1] + "a" if feminine else words

    def count_ruler(self, number: int, name: str) -> str:
        if number > 10:
            return self.cardinal(number)
        return self.ordinal(number, feminine=name.endswith("a") or name in ("Isabel", "Beatriz"))

    def date(self, day: int, month: int, year: int | None) -> str:
        spoken = f"{'primeiro' if day == 1 else self.cardinal(day)} de {self.months[month - 1]}"
        return f"{spoken} de {self.cardinal(year)}" if year else spoken

    def time(self, hour: int, minute: int) -> str:
        spoken = f"{self.cardinal(hour, feminine=True)} {'hora' if hour == 1 else 'horas'}"
        return f"{spoken} e {self.cardinal(minute)}" if minute else spoken

    def extra_rules(self) -> list[Rule]:
        """Titles by the gender of the name, postal codes, and halves, which agree with their noun."""

        def say_title(match: re.Match[str]) -> str:
            return "dona" if match["name"].endswith("a") else "dom"

        def say_postal_code(match: re.Match[str]) -> str:
            return self.pause.join(map(self.digits, match[0].split("-")))

        return [
            Rule(r"\bD\.(?= (?P<name>[A-ZÀ-Ý][a-zà-ÿ]+))", say_title),
            Rule(r"(?<![\d-])\d{5}-\d{3}(?![\d-])", say_postal_code),
            Rule(r"(?<=\d)x(?= [a-zà-ÿ])", " vezes"),
            Rule(r"(?<![\d/])(?:1/2|½)(?= (?:hora|xícara|dúzia|colher|página)\b)", "meia"),
        ]

    def _join(self, head: str, rest: int, *, feminine: bool) -> str:
        """The last part of a number is joined with "e" if it is below 100 or a whole hundred."""
        if not rest:
            return head
        link = " e " if rest < 100 or (rest < 1000 and rest % 100 == 0) else " "
        return head + link + self.cardinal(rest, feminine=feminine)

    def _below_thousand(self, number: int) -> str:
        if number == 100:
            return "cem"
        hundreds, rest = divmod(number, 100)
        if rest < 20:
            tail = self.small[rest] if rest or not hundreds else ""
        else:
            tens, ones = divmod(rest, 10)
            tail = TENS[tens] + (f" e {SMALL[ones]}" if ones else "")
        return " e ".join(filter(None, (HUNDREDS[hundreds], tail)))


class EuropeanPortuguese(Portuguese):
    small = tuple(EUROPEAN_TEENS.get(number, name) for number, name in enumerate(SMALL))
    scales = EUROPEAN_SCALES
    currencies: ClassVar = {
        **Portuguese.currencies,
        **dict.fromkeys(("€", "EUR"), Currency(Noun("euro", "euros"), Noun("cêntimo", "cêntimos"))),
    }
    units: ClassVar = {
        sign: Noun(noun.one.replace("quilô", "quiló"), noun.many.replace("quilô", "quiló"), noun.feminine)
        for sign, noun in Portuguese.units.items()
    }
