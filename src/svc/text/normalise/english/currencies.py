"""Currencies by symbol and by code."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Currency:
    """Singular and plural of a currency and of its hundredth part."""

    one: str
    many: str
    cent: str = "cent"
    cents: str = "cents"


def _dollar(country: str) -> Currency:
    return Currency(f"{country} dollar", f"{country} dollars")


SYMBOLS = {
    "$": Currency("dollar", "dollars"),
    "US$": _dollar("US"),
    "A$": _dollar("Australian"),
    "C$": _dollar("Canadian"),
    "CA$": _dollar("Canadian"),
    "HK$": _dollar("Hong Kong"),
    "NZ$": _dollar("New Zealand"),
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
    "S$": _dollar("Singapore"),
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
    "SGD": _dollar("Singapore"),
    "HKD": SYMBOLS["HK$"],
    "NZD": SYMBOLS["NZ$"],
    "TWD": _dollar("Taiwan"),
    "SEK": Currency("Swedish krona", "Swedish kronor", "öre", "öre"),
    "NOK": Currency("Norwegian krone", "Norwegian kroner", "øre", "øre"),
    "DKK": Currency("Danish krone", "Danish kroner", "øre", "øre"),
    "PLN": Currency("zloty", "zlotys", "grosz", "groszy"),
    "CZK": Currency("Czech koruna", "Czech korunas"),
    "HUF": Currency("forint", "forints"),
    "KRW": SYMBOLS["₩"],
    "RUB": SYMBOLS["₽"],
    "ILS": SYMBOLS["₪"],
    "UAH": SYMBOLS["₴"],
    "VND": SYMBOLS["₫"],
    "NGN": SYMBOLS["₦"],
    "ZAR": Currency("rand", "rand"),
    "THB": Currency("baht", "baht"),
    "MYR": Currency("ringgit", "ringgit", "sen", "sen"),
    "IDR": Currency("rupiah", "rupiah"),
    "AED": Currency("dirham", "dirhams", "fils", "fils"),
    "ETH": Currency("ether", "ether"),
}
CURRENCIES = SYMBOLS | CODES
