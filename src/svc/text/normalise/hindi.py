"""Hindi normalisation."""

import re
from typing import ClassVar

from svc.text.normalise.grammar import Currency, Grammar, Noun, unit
from svc.text.normalise.rules import Rule, any_of
from svc.text.normalise.urls import SignNames

# Every number below a hundred has its own name.
SMALL = (
    "शून्य", "एक", "दो", "तीन", "चार", "पाँच", "छह", "सात", "आठ", "नौ", "दस", "ग्यारह", "बारह", "तेरह",
    "चौदह", "पंद्रह", "सोलह", "सत्रह", "अठारह", "उन्नीस", "बीस", "इक्कीस", "बाईस", "तेईस", "चौबीस",
    "पच्चीस", "छब्बीस", "सत्ताईस", "अट्ठाईस", "उनतीस", "तीस", "इकतीस", "बत्तीस", "तैंतीस", "चौंतीस",
    "पैंतीस", "छत्तीस", "सैंतीस", "अड़तीस", "उनतालीस", "चालीस", "इकतालीस", "बयालीस", "तैंतालीस", "चौवालीस",
    "पैंतालीस", "छियालीस", "सैंतालीस", "अड़तालीस", "उनचास", "पचास", "इक्यावन", "बावन", "तिरपन", "चौवन",
    "पचपन", "छप्पन", "सत्तावन", "अट्ठावन", "उनसठ", "साठ", "इकसठ", "बासठ", "तिरसठ", "चौंसठ", "पैंसठ",
    "छियासठ", "सड़सठ", "अड़सठ", "उनहत्तर", "सत्तर", "इकहत्तर", "बहत्तर", "तिहत्तर", "चौहत्तर", "पचहत्तर",
    "छिहत्तर", "सतहत्तर", "अठहत्तर", "उन्यासी", "अस्सी", "इक्यासी", "बयासी", "तिरासी", "चौरासी", "पचासी",
    "छियासी", "सत्तासी", "अट्ठासी", "नवासी", "नब्बे", "इक्यानवे", "बानवे", "तिरानवे", "चौरानवे", "पचानवे",
    "छियानवे", "सत्तानवे", "अट्ठानवे", "निन्यानवे",
)  # fmt: skip
SCALES = ((10**11, "खरब"), (10**9, "अरब"), (10**7, "करोड़"), (10**5, "लाख"), (1000, "हज़ार"), (100, "सौ"))
ORDINALS = {1: "पहला", 2: "दूसरा", 3: "तीसरा", 4: "चौथा", 6: "छठा"}
# How an ordinal is written after figures; the last vowel agrees with the noun.
ORDINAL_ENDINGS = {
    "वां": "ा", "वाँ": "ा", "वा": "ा", "वीं": "ी", "वी": "ी", "वें": "े", "वे": "े", "ला": "ा", "ली": "ी", "ले": "े",
    "रा": "ा", "री": "ी", "रे": "े", "था": "ा", "थी": "ी", "थे": "े", "ठा": "ा", "ठी": "ी", "ठे": "े",
}  # fmt: skip
REGULAR_ENDINGS = {"ा": "वाँ", "ी": "वीं", "े": "वें"}

RUPEE = Currency(Noun("रुपया", "रुपये"), Noun("पैसा", "पैसे"))
DOLLAR = Currency(unit("डॉलर"), unit("सेंट"))


class Hindi(Grammar):
    decimal_mark = "."
    group = r",\d{2,3}"
    point = "दशमलव"
    minus = "माइनस"
    percent = "प्रतिशत"
    to = "से"
    conjunction = "और"
    foreign_latin = True
    plus = "प्लस"
    over = "बटा"
    per = "प्रति"
    telephone_words = ("फ़ोन", "फोन", "नंबर", "मोबाइल", "कॉल", "संपर्क", "हेल्पलाइन", "व्हाट्सऐप", "टेलीफोन")
    signs = SignNames(
        at="ऐट", dot="डॉट", slash="स्लैश", hyphen="डैश", underscore="अंडरस्कोर", hashtag="हैशटैग",
        equals="बराबर", question="प्रश्न चिह्न", ampersand="और", colon="कोलन", spell=" ".join,
    )  # fmt: skip
    months = (
        "जनवरी", "फ़रवरी", "मार्च", "अप्रैल", "मई", "जून", "जुलाई", "अगस्त", "सितंबर", "अक्टूबर", "नवंबर",
        "दिसंबर",
    )  # fmt: skip
    currencies: ClassVar = {
        "₹": RUPEE, "Rs.": RUPEE, "Rs": RUPEE, "रु.": RUPEE, "रु": RUPEE, "$": DOLLAR,
        "€": Currency(unit("यूरो"), unit("सेंट")), "£": Currency(unit("पाउंड"), unit("पेंस")),
        "¥": Currency(unit("येन"), None),
    }  # fmt: skip
    magnitudes: ClassVar = {name: unit(name) for name in ("हज़ार", "हजार", "लाख", "करोड़", "अरब", "मिलियन", "बिलियन")}
    units: ClassVar = {
        "km/h": unit("किलोमीटर प्रति घंटा"), "किमी/घंटा": unit("किलोमीटर प्रति घंटा"),
        "km": unit("किलोमीटर"), "किमी": unit("किलोमीटर"), "कि.मी.": unit("किलोमीटर"), "m": unit("मीटर"),
        "cm": unit("सेंटीमीटर"), "mm": unit("मिलीमीटर"), "m²": unit("वर्ग मीटर"), "km²": unit("वर्ग किलोमीटर"),
        "मी.": unit("मीटर"), "से.मी.": unit("सेंटीमीटर"), "सेमी": unit("सेंटीमीटर"), "मि.मी.": unit("मिलीमीटर"),
        "कि.ग्रा.": unit("किलोग्राम"), "ग्रा.": unit("ग्राम"), "मि.ली.": unit("मिलीलीटर"), "मिली": unit("मिलीलीटर"),
        "h": unit("घंटे"), "Hz": unit("हर्ट्ज़"), "KB": unit("किलोबाइट"), "kWh": unit("किलोवाट घंटा"),
        "kg": unit("किलोग्राम"), "किग्रा": unit("किलोग्राम"), "g": unit("ग्राम"),
        "mg": unit("मिलीग्राम"), "l": unit("लीटर"), "L": unit("लीटर"), "ml": unit("मिलीलीटर"),
        "°C": unit("डिग्री सेल्सियस"), "°F": unit("डिग्री फ़ारेनहाइट"), "°": unit("डिग्री"),
        "GB": unit("गीगाबाइट"), "MB": unit("मेगाबाइट"), "TB": unit("टेराबाइट"), "kW": unit("किलोवाट"),
        "W": unit("वाट"), "V": unit("वोल्ट"), "MHz": unit("मेगाहर्ट्ज़"), "GHz": unit("गीगाहर्ट्ज़"),
        "min": unit("मिनट"), "s": unit("सेकंड"),
    }  # fmt: skip
    abbreviations: ClassVar = {
        "डॉ.": "डॉक्टर", "डॉ॰": "डॉक्टर", "प्रो.": "प्रोफ़ेसर", "श्री.": "श्री", "पं.": "पंडित",
        "रु.": "रुपये", "ई.पू.": "ईसा पूर्व", "कि.मी.": "किलोमीटर", "Dr.": "डॉक्टर", "Mr.": "मिस्टर",
        "Mrs.": "मिसेज़", "No.": "नंबर", "नं.": "नंबर", "सं.": "संख्या", "स्व.": "स्वर्गीय", "श्रीमती.": "श्रीमती",
        "उ.प्र.": "उत्तर प्रदेश", "म.प्र.": "मध्य प्रदेश", "कि.ग्रा.": "किलोग्राम", "पृ.": "पृष्ठ", "ई.": "ईस्वी",
        "प्रो॰": "प्रोफ़ेसर", "इंजी.": "इंजीनियर", "एड.": "एडवोकेट",
    }  # fmt: skip
    fractions: ClassVar = {
        "1/2": "आधा", "½": "आधा", "1/4": "चौथाई", "¼": "चौथाई", "3/4": "तीन चौथाई", "¾": "तीन चौथाई",
    }  # fmt: skip
    operators: ClassVar = {
        "+": "जमा", "-": "घटा", "=": "बराबर", "×": "गुणा", "÷": "भाग", "<": "से कम", ">": "से ज़्यादा",
    }  # fmt: skip

    def cardinal(self, number: int, *, feminine: bool = False) -> str:
        for value, name in SCALES:
            if number >= value:
                count, rest = divmod(number, value)
                head = f"{self.cardinal(count)} {name}"
                return f"{head} {self.cardinal(rest)}" if rest else head
        return SMALL[number]

    def integer(self, digits: str) -> str:
        """A number from 1100 to 1999 is usually a year, which is counted in hundreds."""
        is_year = len(digits) == 4 and 1100 <= int(digits) < 2000
        return self._year(int(digits)) if is_year else super().integer(digits)

    def ordinal(self, number: int, *, feminine: bool) -> str:
        if number in ORDINALS:
            return ORDINALS[number][:-1] + "ी" if feminine else ORDINALS[number]
        return self.cardinal(number) + ("वीं" if feminine else "वाँ")

    def extra_rules(self) -> list[Rule]:
        """Ordinals, and the hour of the clock, which has names for quarters and halves."""

        def say_ordinal(match: re.Match[str]) -> str:
            number, vowel = int(match["number"]), ORDINAL_ENDINGS[match["ending"]]
            if number in ORDINALS:
                return ORDINALS[number][:-1] + vowel
            return self.cardinal(number) + REGULAR_ENDINGS[vowel]

        def say_clock(match: re.Match[str]) -> str | None:
            hour, minute = int(match["hour"]), int(match["minute"])
            return self._clock(hour, minute) if hour <= 24 and minute < 60 else None

        return [
            Rule(rf"(?<![\d.,])(?P<number>\d{{1,4}})(?P<ending>{any_of(ORDINAL_ENDINGS)})(?=\s|[.,।]|$)", say_ordinal),
            Rule(r"(?<![\d:])(?P<hour>\d{1,2})[:.](?P<minute>\d\d)[ ]?बजे", say_clock),
        ]

    def large_money(self, whole: str, decimals: str | None, magnitude: Noun, currency: Currency) -> str:
        return f"{self.number(whole, decimals)} {magnitude.many} {currency.unit.many}"

    def decimals(self, digits: str) -> str:
        return self.digits(digits)

    def date(self, day: int, month: int, year: int | None) -> str:
        spoken = f"{self.cardinal(day)} {self.months[month - 1]}"
        return f"{spoken} {self._year(year)}" if year else spoken

    def time(self, hour: int, minute: int) -> str:
        spoken = self.cardinal(hour)
        return f"{spoken} बजकर {self.cardinal(minute)} मिनट" if minute else f"{spoken} बजे"

    def _clock(self, hour: int, minute: int) -> str:
        """The time before "बजे", which is part of it."""
        if minute == 0:
            return f"{self.cardinal(hour)} बजे"
        if minute == 30:
            halves = {1: "डेढ़", 2: "ढाई"}
            return f"{halves.get(hour) or 'साढ़े ' + self.cardinal(hour)} बजे"
        if minute == 15:
            return f"सवा {self.cardinal(hour)} बजे" if hour > 1 else "सवा बजे"
        if minute == 45:
            return f"पौने {self.cardinal(hour % 12 + 1)} बजे"
        return f"{self.time(hour, minute)} पर"

    def _year(self, year: int) -> str:
        hundreds, rest = divmod(year, 100)
        if not 1100 <= year < 2000:
            return self.cardinal(year)
        return f"{SMALL[hundreds]} सौ {SMALL[rest]}" if rest else f"{SMALL[hundreds]} सौ"
