"""Japanese normalisation: numbers become kanji, whose pronunciation depends on the counter after them."""

import re
from typing import ClassVar

from svc.text.normalise.grammar import Currency, Grammar, Noun, unit
from svc.text.normalise.rules import Rule
from svc.text.normalise.urls import SignNames

DIGITS = "零一二三四五六七八九"
SPOKEN_DIGITS = ("ゼロ", "イチ", "ニ", "サン", "ヨン", "ゴ", "ロク", "ナナ", "ハチ", "キュウ")
PLACES = ("", "十", "百", "千")
SCALES = ("", "万", "億", "兆")


YEN = Currency(unit("円"), None)
DOLLAR = Currency(unit("ドル"), None)


class Japanese(Grammar):
    decimal_mark = "."
    group = r",\d{3}"
    space = ""
    pause = "、"
    point = "点"
    minus = "マイナス"
    percent = "パーセント"
    to = "から"
    conjunction = "アンド"
    plus = "プラス"
    score = "対"
    by = "かける"
    telephone_words = ("電話", "携帯", "番号", "TEL", "FAX", "ファックス", "フリーダイヤル")
    signs = SignNames(
        at="アットマーク", dot="ドット", slash="スラッシュ", hyphen="ハイフン", underscore="アンダーバー",
        hashtag="ハッシュタグ", equals="イコール", question="クエスチョン", ampersand="アンド", colon="コロン",
        spell=" ".join,
    )  # fmt: skip
    months = ()
    currencies: ClassVar = {
        "¥": YEN, "￥": YEN, "JPY": YEN, "$": DOLLAR, "USD": DOLLAR, "€": Currency(unit("ユーロ"), None),
        "£": Currency(unit("ポンド"), None),
    }  # fmt: skip
    magnitudes: ClassVar = {name: unit(name) for name in ("万", "億", "兆", "千")}
    units: ClassVar = {
        "km/h": unit("キロメートル毎時"), "km": unit("キロメートル"), "m": unit("メートル"),
        "cm": unit("センチメートル"), "mm": unit("ミリメートル"), "m²": unit("平方メートル"),
        "km²": unit("平方キロメートル"), "m³": unit("立方メートル"), "kg": unit("キログラム"),
        "g": unit("グラム"), "mg": unit("ミリグラム"), "t": unit("トン"), "L": unit("リットル"),
        "l": unit("リットル"), "ml": unit("ミリリットル"), "mL": unit("ミリリットル"), "°C": unit("度"),
        "°F": unit("華氏度"), "°": unit("度"), "min": unit("分"), "s": unit("秒"), "kW": unit("キロワット"),
        "W": unit("ワット"), "V": unit("ボルト"), "Hz": unit("ヘルツ"), "MHz": unit("メガヘルツ"),
        "GHz": unit("ギガヘルツ"), "KB": unit("キロバイト"), "MB": unit("メガバイト"), "GB": unit("ギガバイト"),
        "TB": unit("テラバイト"),
    }  # fmt: skip
    abbreviations: ClassVar = {
        "No.": "ナンバー", "vs": "対", "vs.": "対", "Dr.": "ドクター", "Mr.": "ミスター", "Mrs.": "ミセス",
        "Ms.": "ミズ", "(株)": "株式会社", "(有)": "有限会社",
    }  # fmt: skip
    fractions: ClassVar = {
        "1/2": "二分の一",
        "½": "二分の一",
        "1/3": "三分の一",
        "2/3": "三分の二",
        "1/4": "四分の一",
        "3/4": "四分の三",
    }
    operators: ClassVar = {
        "+": "足す",
        "-": "引く",
        "=": "は",
        "×": "掛ける",
        "÷": "割る",
        "<": "小なり",
        ">": "大なり",
    }

    def cardinal(self, number: int, *, feminine: bool = False) -> str:
        words = ""
        power = 0
        while number:
            number, group = divmod(number, 10_000)
            if group:
                words = self._below_ten_thousand(group) + SCALES[power] + words
            power += 1
        return words or DIGITS[0]

    def ordinal(self, number: int, *, feminine: bool) -> str:
        return f"第{self.cardinal(number)}"

    def digits(self, written: str) -> str:
        return "".join(SPOKEN_DIGITS[int(digit)] for digit in written if digit.isdecimal())

    def decimals(self, digits: str) -> str:
        return "".join(DIGITS[int(digit)] for digit in digits)

    def large_money(self, whole: str, decimals: str | None, magnitude: Noun, currency: Currency) -> str:
        return self.number(whole, decimals) + magnitude.many + currency.unit.many

    def percentage(self, number: str) -> str:
        return number + self.percent

    def date(self, day: int, month: int, year: int | None) -> str:
        spoken = f"{self.cardinal(month)}月{self.cardinal(day)}日"
        return f"{self.cardinal(year)}年{spoken}" if year else spoken

    def time(self, hour: int, minute: int) -> str:
        spoken = f"{self.cardinal(hour)}時"
        return f"{spoken}{self.cardinal(minute)}分" if minute else spoken

    def extra_rules(self) -> list[Rule]:
        """Postal codes, a day without its year, fractions, and prices for a unit."""

        def say_postal_code(match: re.Match[str]) -> str:
            return self.pause.join(map(self.digits, re.findall(r"\d+", match[0])))

        def say_day(match: re.Match[str]) -> str | None:
            is_fraction = match[0] in self.fractions
            return None if is_fraction else self.date(int(match["day"]), int(match["month"]), None)

        def say_fraction(match: re.Match[str]) -> str:
            return f"{self.cardinal(int(match['below']))}分の{self.cardinal(int(match['above']))}"

        def say_half_day(match: re.Match[str]) -> str:
            half = "午前" if match["half"] in "Aa" else "午後"
            return half + self.time(int(match["hour"]), int(match["minute"]))

        def say_score(match: re.Match[str]) -> str:
            return self.score.join(self.cardinal(int(match[side])) for side in ("own", "other"))

        day = r"(?P<month>1[0-2]|0?[1-9])/(?P<day>3[01]|[12]\d|0?[1-9])"
        return [
            Rule(r"〒[ ]?\d{3}-?\d{4}(?!\d)", say_postal_code),
            Rule(rf"(?<![\d/.]){day}(?=[はにがのもで(（]|から|まで)", say_day),
            Rule(r"(?<![\d/.])(?P<above>\d{1,3})/(?P<below>\d{1,3})(?![\d/.])", say_fraction),
            Rule(r"(?<!\d)(?P<own>\d{1,2})-(?P<other>\d{1,2})(?=で(?:勝|負|敗|引))", say_score),
            Rule(r"(?P<half>[AaPp])\.?[Mm]\.?[ ]?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?!\d)", say_half_day),
            Rule(r"(?<=[円年月日時分人個度%])[ ]?[-–~〜～][ ]?(?=\d)", self.to),
            Rule(r"(?<=[円個回人本])/(?=[年月週日時人個本回枚])", "パー"),
        ]

    def _below_ten_thousand(self, number: int) -> str:
        words = ""
        for place in (3, 2, 1, 0):
            digit = number // 10**place % 10
            # 一十, 一百 and 一千 are 十, 百 and 千.
            if digit:
                words += ("" if digit == 1 and place else DIGITS[digit]) + PLACES[place]
        return words
