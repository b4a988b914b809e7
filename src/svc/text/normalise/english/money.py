"""Amounts of money."""

import re
from dataclasses import dataclass

from svc.text.normalise.english.numbers import MAGNITUDES, NUMBER, NUMBER_START, Numbers
from svc.text.normalise.english.units import UNITS, is_adjective
from svc.text.normalise.rules import Rule, any_of


@dataclass(frozen=True, slots=True)
class Currency:
    """Singular and plural of a currency and of its hundredth part."""

    one: str
    many: str
    cent: str = "cent"
    cents: str = "cents"


DOLLAR = Currency("dollar", "dollars")
SYMBOLS = {
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
    "USD": SYMBOLS["US$"],
    "EUR": SYMBOLS["€"],
    "GBP": Currency("British pound", "British pounds", "penny", "pence"),
    "JPY": SYMBOLS["¥"],
    "INR": Currency("Indian rupee", "Indian rupees", "paisa", "paise"),
    "AUD": SYMBOLS["A$"],
    "CAD": SYMBOLS["C$"],
    "CHF": Currency("Swiss franc", "Swiss francs", "centime", "centimes"),
    "CNY": Currency("yuan", "yuan", "fen", "fen"),
    "RMB": Currency("yuan", "yuan", "fen", "fen"),
    "BRL": SYMBOLS["R$"],
    "MXN": Currency("Mexican peso", "Mexican pesos", "centavo", "centavos"),
    "BTC": SYMBOLS["₿"],
}
CURRENCIES = SYMBOLS | CODES

_MAGNITUDE = r"(?:(?P<magnitude>[kKmMbBtT]|[mM][nNmM]|[bBtT][nN])|[ -]?(?P<word>thousand|million|billion|trillion))?"
_PER = r"(?:/(?P<per>[a-z]{1,20})\b(?:\.(?=[ ][^A-Z]))?)?"


def build_rules(numbers: Numbers) -> list[Rule]:
    symbol, code = any_of(SYMBOLS), any_of(CODES)

    def say_amount(match: re.Match[str]) -> str:
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
        spoken = f"{numbers.integer(whole)} {currency.one if whole == '1' else many}"
        return f"{spoken} and {cent_words}" if cents else spoken

    def say_money(match: re.Match[str]) -> str:
        spoken = f"minus {say_amount(match)}" if match["sign"] else say_amount(match)
        return f"{spoken} per {UNITS.get(match['per'], match['per'])}" if match["per"] else spoken

    def say_range(match: re.Match[str]) -> str:
        return f"{numbers.number(match['low'])} to {say_amount(match)}"

    def say_cents(match: re.Match[str]) -> str:
        return f"{numbers.number(match['number'])} {'cent' if match['number'] == '1' else 'cents'}"

    sign = r"(?<![\w.)])(?P<sign>-[ ]?)?"
    end = r"(?![^\W_])"
    return [
        Rule(
            rf"(?<!\w)(?P<currency>{symbol})[ ]?(?P<low>{NUMBER})[ ]?[-–][ ]?(?:{symbol})?(?P<number>{NUMBER})"
            rf"{_MAGNITUDE}{end}",
            say_range,
        ),
        Rule(rf"{sign}(?P<currency>{symbol})[ ]?(?P<number>{NUMBER}){_MAGNITUDE}{end}{_PER}", say_money),
        Rule(rf"{sign}(?P<currency>{code})[ ]?(?P<number>{NUMBER}){_MAGNITUDE}{end}{_PER}", say_money),
        Rule(rf"{sign}(?P<number>{NUMBER}){_MAGNITUDE}[ ]?(?P<currency>{symbol}|{code})(?!\w){_PER}", say_money),
        Rule(rf"{NUMBER_START}(?P<number>{NUMBER})[ ]?¢", say_cents),
    ]
