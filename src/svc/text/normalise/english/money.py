"""Amounts of money."""

import re
from dataclasses import dataclass

from svc.text.normalise.english.numbers import MAGNITUDES, NUMBER, NUMBER_START, Numbers
from svc.text.normalise.english.units import UNITS, is_adjective
from svc.text.normalise.rules import Rule, any_of, rule


@dataclass(frozen=True, slots=True)
class Currency:
    """One unit of it, more of it, and the hundredth part."""

    one: str
    many: str
    cent: str = "cent"
    cents: str = "cents"


DOLLAR = Currency("dollar", "dollars")
VOCABULARY = {
    "$": DOLLAR,
    "US$": Currency("US dollar", "US dollars"),
    "A$": Currency("Australian dollar", "Australian dollars"),
    "C$": Currency("Canadian dollar", "Canadian dollars"),
    "CA$": Currency("Canadian dollar", "Canadian dollars"),
    "HK$": Currency("Hong Kong dollar", "Hong Kong dollars"),
    "NZ$": Currency("New Zealand dollar", "New Zealand dollars"),
    "R$": Currency("real", "reais", "centavo", "centavos"),
    "£": Currency("pound", "pounds", "penny", "pence"),
    "€": Currency("euro", "euros"),
    "¥": Currency("yen", "yen", "sen", "sen"),
    "₹": Currency("rupee", "rupees", "paisa", "paise"),
    "Rs.": Currency("rupee", "rupees", "paisa", "paise"),
    "Rs": Currency("rupee", "rupees", "paisa", "paise"),
    "₩": Currency("won", "won", "jeon", "jeon"),
    "₽": Currency("ruble", "rubles", "kopek", "kopeks"),
    "₿": Currency("bitcoin", "bitcoins"),
    "₺": Currency("lira", "lira", "kurus", "kurus"),
    "₪": Currency("shekel", "shekels", "agora", "agorot"),
    "₫": Currency("dong", "dong"),
    "₴": Currency("hryvnia", "hryvnias"),
    "₦": Currency("naira", "naira", "kobo", "kobo"),
    "₱": Currency("peso", "pesos", "centavo", "centavos"),
}
CODES = {
    "USD": VOCABULARY["US$"],
    "EUR": VOCABULARY["€"],
    "GBP": Currency("British pound", "British pounds", "penny", "pence"),
    "JPY": VOCABULARY["¥"],
    "INR": Currency("Indian rupee", "Indian rupees", "paisa", "paise"),
    "AUD": VOCABULARY["A$"],
    "CAD": VOCABULARY["C$"],
    "CHF": Currency("Swiss franc", "Swiss francs", "centime", "centimes"),
    "CNY": Currency("yuan", "yuan", "fen", "fen"),
    "RMB": Currency("yuan", "yuan", "fen", "fen"),
    "BRL": VOCABULARY["R$"],
    "MXN": Currency("Mexican peso", "Mexican pesos", "centavo", "centavos"),
    "BTC": VOCABULARY["₿"],
}
CURRENCIES = VOCABULARY | CODES

_MAGNITUDE = r"(?:(?P<magnitude>[kKmMbBtT]|[mM][nNmM]|[bBtT][nN])|[ -]?(?P<word>thousand|million|billion|trillion))?"
_PER = r"(?:/(?P<per>[a-z]{1,20})\b(?:\.(?=[ ][^A-Z]))?)?"


def rules(numbers: Numbers) -> list[Rule]:
    symbol, code = any_of(VOCABULARY), any_of(CODES)

    def amount(match: re.Match[str]) -> str:
        written, currency = match["number"], CURRENCIES[match["currency"]]
        magnitude = match["magnitude"] or match["word"]
        adjective = is_adjective(match)
        many = currency.one if adjective else currency.many
        if magnitude:
            return f"{numbers.number(written)} {MAGNITUDES[magnitude.lower()]} {many}"
        whole, _, hundredths = written.replace(",", "").partition(".")
        if len(hundredths) not in (0, 2):
            return f"{numbers.number(written)} {many}"
        cents = int(hundredths or 0)
        cent_words = f"{numbers.cardinal(cents)} {currency.cent if cents == 1 else currency.cents}"
        if cents and not whole.strip("0"):
            return cent_words
        spoken = f"{numbers.whole(whole)} {currency.one if whole == '1' else many}"
        return f"{spoken} and {cent_words}" if cents else spoken

    def read(match: re.Match[str]) -> str:
        spoken = f"minus {amount(match)}" if match["sign"] else amount(match)
        return f"{spoken} per {UNITS.get(match['per'], match['per'])}" if match["per"] else spoken

    def read_range(match: re.Match[str]) -> str:
        return f"{numbers.number(match['low'])} to {amount(match)}"

    def read_cents(match: re.Match[str]) -> str:
        return f"{numbers.number(match['number'])} {'cent' if match['number'] == '1' else 'cents'}"

    sign = r"(?<![\w.)])(?P<sign>-[ ]?)?"
    end = r"(?![^\W_])"
    return [
        rule(
            rf"(?<!\w)(?P<currency>{symbol})[ ]?(?P<low>{NUMBER})[ ]?[-–][ ]?(?:{symbol})?(?P<number>{NUMBER})"
            rf"{_MAGNITUDE}{end}",
            read_range,
        ),
        rule(rf"{sign}(?P<currency>{symbol})[ ]?(?P<number>{NUMBER}){_MAGNITUDE}{end}{_PER}", read),
        rule(rf"{sign}(?P<currency>{code})[ ]?(?P<number>{NUMBER}){_MAGNITUDE}{end}{_PER}", read),
        rule(rf"{sign}(?P<number>{NUMBER}){_MAGNITUDE}[ ]?(?P<currency>{symbol}|{code})(?!\w){_PER}", read),
        rule(rf"{NUMBER_START}(?P<number>{NUMBER})[ ]?¢", read_cents),
    ]
