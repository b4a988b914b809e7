"""Mandarin normalisation."""

import re
from typing import ClassVar

from svc.text.normalise.grammar import Currency, Grammar, Noun, unit
from svc.text.normalise.rules import Rule
from svc.text.normalise.urls import SignNames

DIGITS = "零一二三四五六七八九"
PLACES = ("", "十", "百", "千")
SCALES = ("", "万", "亿", "万亿")

# Measure words: before them, two is 两, not 二.
MEASURES = "个位只本件天年次块条张家名人岁种座辆杯瓶层套份台部把双对倍周万亿千斤米吨元点碗棵匹群节集篇首场间封架"
LONG_MEASURES = "小时|分钟|公里|公斤|千克|平方|星期|美元"


YUAN = Currency(unit("元"), None)
DOLLAR = Currency(unit("美元"), None)


class Mandarin(Grammar):
    decimal_mark = "."
    group = r",\d{3}"
    space = ""
    pause = "、"
    point = "点"
    minus = "负"
    percent = "百分之"
    to = "到"
    conjunction = "和"
    score = "比"
    by = "乘"
    telephone_words = ("电话", "手机", "拨打", "号码", "热线", "传真", "致电", "联系")
    signs = SignNames(
        at="艾特", dot="点", slash="斜杠", hyphen="横杠", underscore="下划线", hashtag="话题", equals="等于",
        question="问号", ampersand="和", colon="冒号", spell=" ".join,
    )  # fmt: skip
    months = ()
    currencies: ClassVar = {
        "¥": YUAN, "￥": YUAN, "RMB": YUAN, "CNY": YUAN, "$": DOLLAR, "US$": DOLLAR, "USD": DOLLAR,
        "€": Currency(unit("欧元"), None), "£": Currency(unit("英镑"), None),
        "HK$": Currency(unit("港元"), None),
    }  # fmt: skip
    magnitudes: ClassVar = {name: unit(name) for name in ("万", "亿", "万亿", "千")}
    units: ClassVar = {
        "km/h": unit("公里每小时"), "km": unit("公里"), "m": unit("米"), "cm": unit("厘米"), "mm": unit("毫米"),
        "m²": unit("平方米"), "km²": unit("平方公里"), "m³": unit("立方米"), "kg": unit("公斤"), "g": unit("克"),
        "mg": unit("毫克"), "t": unit("吨"), "L": unit("升"), "l": unit("升"), "ml": unit("毫升"),
        "mL": unit("毫升"), "°C": unit("摄氏度"), "°F": unit("华氏度"), "°": unit("度"), "min": unit("分钟"),
        "s": unit("秒"), "h": unit("小时"), "kW": unit("千瓦"), "W": unit("瓦"), "V": unit("伏"),
        "Hz": unit("赫兹"), "MHz": unit("兆赫"), "GHz": unit("吉赫"), "MB": unit("兆"), "GB": unit("G B"),
        "TB": unit("T B"),
    }  # fmt: skip
    abbreviations: ClassVar = {"No.": "第", "vs": "对", "vs.": "对", "Dr.": "博士", "Mr.": "先生"}
    fractions: ClassVar = {
        "1/2": "二分之一",
        "½": "二分之一",
        "1/3": "三分之一",
        "2/3": "三分之二",
        "1/4": "四分之一",
        "3/4": "四分之三",
    }
    operators: ClassVar = {"+": "加", "-": "减", "=": "等于", "×": "乘以", "÷": "除以", "<": "小于", ">": "大于"}

    def cardinal(self, number: int, *, feminine: bool = False) -> str:
        groups = []
        rest = number
        while rest:
            rest, group = divmod(rest, 10_000)
            groups.append(group)
        words = ""
        for power in reversed(range(len(groups))):
            group = groups[power]
            if not group:
                continue
            # A gap in the digits is spoken once: 一万零五.
            gap = "零" if words and (group < 1000 or not groups[power + 1]) else ""
            words += gap + self._below_ten_thousand(group) + SCALES[power]
        return _shorten(words) or DIGITS[0]

    def cardinal_before_noun(self, number: int, *, feminine: bool) -> str:
        return "两" if number == 2 else self.cardinal(number)

    def ordinal(self, number: int, *, feminine: bool) -> str:
        return "第" + self.cardinal(number)

    def digits(self, written: str) -> str:
        return "".join(DIGITS[int(digit)] for digit in written if digit.isdecimal())

    def telephone_group(self, digits: str) -> str:
        """One is 幺, which no other digit sounds like."""
        return self.digits(digits).replace("一", "幺")

    def decimals(self, digits: str) -> str:
        return self.digits(digits)

    def large_money(self, whole: str, decimals: str | None, magnitude: Noun, currency: Currency) -> str:
        return self.number(whole, decimals) + magnitude.many + currency.unit.many

    def percentage(self, number: str) -> str:
        return self.percent + number

    def date(self, day: int, month: int, year: int | None) -> str:
        spoken = f"{self.cardinal(month)}月{self.cardinal(day)}日"
        return f"{self.digits(str(year))}年{spoken}" if year else spoken

    def time(self, hour: int, minute: int) -> str:
        spoken = f"{self.cardinal_before_noun(hour, feminine=False)}点"
        if not minute:
            return spoken
        return f"{spoken}{'零' if minute < 10 else ''}{self.cardinal(minute)}分"

    def extra_rules(self) -> list[Rule]:
        def say_year(match: re.Match[str]) -> str:
            return self.digits(match[0])

        def say_fraction(match: re.Match[str]) -> str:
            return f"{self.cardinal(int(match['below']))}分之{self.cardinal(int(match['above']))}"

        return [
            Rule(r"(?<!\d)\d{4}(?=年)", say_year),
            Rule(rf"(?<![\d.,:/第-])2(?=[{MEASURES}]|{LONG_MEASURES})(?!年级)", "两"),
            Rule(r"(?<![\d/.])(?P<above>\d{1,3})/(?P<below>\d{1,3})(?![\d/.])", say_fraction),
            Rule(r"(?<=[元年月日号点时分人岁度%])[ ]?[-–~〜～][ ]?(?=\d)", self.to),
            Rule(r"(?<=[元块次个])/(?=[\u4e00-\u9fff])", "每"),
        ]

    def _below_ten_thousand(self, number: int) -> str:
        words, gap = "", False
        for place in (3, 2, 1, 0):
            digit = number // 10**place % 10
            if digit:
                words += ("零" if gap and words else "") + DIGITS[digit] + PLACES[place]
            gap = digit == 0
        return words


def _shorten(words: str) -> str:
    """Ten is 十, not 一十; and it is 两千 and 两万, though 二十."""
    words = words.removeprefix("一") if words.startswith("一十") else words
    return re.sub(r"二(?=千|万|亿)(?<!十二)", "两", words)
