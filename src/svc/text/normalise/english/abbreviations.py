"""Abbreviations, initials, acronyms, and names in which letters meet digits.

Acronyms and initials in a row (FBI, CDs, U.S., PhD) stay as they are: G2P spells them.
"""

import re

from svc.text.normalise.english.dates_and_times import DAYS, MONTH_NAMES, MONTHS
from svc.text.normalise.english.numbers import Numbers, pluralise_number
from svc.text.normalise.rules import Rule, any_of
from svc.text.split import SENTENCE_STARTERS

# Written with a full stop.
DOTTED = {
    "Mr": "Mister", "mr": "mister", "Mrs": "Missus", "mrs": "missus", "Ms": "Miz", "Mx": "Mix",
    "Messrs": "Messieurs", "Drs": "Doctors", "Prof": "Professor", "prof": "professor", "Rev": "Reverend",
    "Hon": "Honorable", "Fr": "Father", "Gen": "General", "Col": "Colonel", "Maj": "Major", "Capt": "Captain",
    "Cpt": "Captain", "Lt": "Lieutenant", "Sgt": "Sergeant", "Cpl": "Corporal", "Pvt": "Private",
    "Cmdr": "Commander", "Adm": "Admiral", "Gov": "Governor", "Sen": "Senator", "Rep": "Representative",
    "Pres": "President", "Supt": "Superintendent", "Det": "Detective", "Jr": "Junior", "jr": "junior",
    "Sr": "Senior", "Esq": "Esquire", "Inc": "Incorporated", "Ltd": "Limited", "Corp": "Corporation",
    "Co": "Company", "Bros": "Brothers", "Dept": "Department", "dept": "department", "Univ": "University",
    "Assn": "Association", "Assoc": "Association", "Gov't": "Government", "govt": "government",
    "Intl": "International", "Natl": "National", "Ave": "Avenue", "Blvd": "Boulevard", "Rd": "Road", "Ln": "Lane",
    "Hwy": "Highway", "Pkwy": "Parkway", "Sq": "Square", "Pl": "Place", "Apt": "Apartment", "apt": "apartment",
    "Bldg": "Building", "Mt": "Mount", "Ft": "Fort", "etc": "et cetera", "vs": "versus", "Vs": "Versus",
    "approx": "approximately", "Approx": "Approximately", "est": "estimated", "Est": "Established", "ca": "circa",
    "misc": "miscellaneous", "temp": "temperature", "min": "minimum", "max": "maximum", "avg": "average",
    "tel": "telephone", "Tel": "Telephone", "ext": "extension", "Ext": "Extension", "incl": "including",
    "excl": "excluding", "esp": "especially", "cont": "continued", "resp": "respectively", "Attn": "Attention",
    "attn": "attention", "cf": "compare", "viz": "namely", "al": "al", "et al": "et al", "dist": "district",
    "hrs": "hours", "mins": "minutes", "secs": "seconds", "yrs": "years", "lbs": "pounds", "e.g": "for example",
    "E.g": "For example", "eg": "for example", "i.e": "that is", "I.e": "That is", "ie": "that is",
    "a.k.a": "also known as", "cu": "cubic",
}  # fmt: skip

# Also without a full stop.
BARE = {
    "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Nº": "Number", "vs": "versus", "etc": "et cetera",
    "Prof": "Professor", "Jr": "Junior", "Sgt": "Sergeant", "Blvd": "Boulevard", "Ave": "Avenue", "Ltd": "Limited",
    "approx": "approximately", "aka": "also known as", "e.g": "for example", "i.e": "that is", "w/o": "without",
    "b/c": "because", "24/7": "twenty-four seven", "9/11": "nine eleven", "50/50": "fifty fifty",
    "50-50": "fifty fifty", "20/20": "twenty twenty", "80/20": "eighty twenty", "401(k)": "four oh one K",
    "401k": "four oh one K", "and/or": "and or", "911": "nine one one", "007": "double oh seven", "y/o": "year old",
    "c/o": "care of", "n/a": "NA", "N/A": "NA", "I/O": "IO",
}  # fmt: skip

# A number follows.
BEFORE_NUMBERS = {
    "No": "Number", "no": "number", "Nos": "Numbers", "nos": "numbers", "p": "page", "pp": "pages",
    "Fig": "Figure", "fig": "figure", "Figs": "Figures", "figs": "figures", "Vol": "Volume",
    "vol": "volume", "Ch": "Chapter", "ch": "chapter", "Sec": "Section", "sec": "section", "Eq": "Equation",
    "eq": "equation", "Art": "Article", "art": "article", "Pt": "Part", "Ed": "Edition", "c": "circa",
    "v": "verse", "vv": "verses",
}  # fmt: skip

STATES = {
    "AL": "Alabama", "AK": "Alaska", "AZ": "Arizona", "AR": "Arkansas", "CA": "California", "CO": "Colorado",
    "CT": "Connecticut", "DE": "Delaware", "FL": "Florida", "GA": "Georgia", "HI": "Hawaii", "ID": "Idaho",
    "IL": "Illinois", "IN": "Indiana", "IA": "Iowa", "KS": "Kansas", "KY": "Kentucky", "LA": "Louisiana",
    "ME": "Maine", "MD": "Maryland", "MA": "Massachusetts", "MI": "Michigan", "MN": "Minnesota",
    "MS": "Mississippi", "MO": "Missouri", "MT": "Montana", "NE": "Nebraska", "NV": "Nevada",
    "NH": "New Hampshire", "NJ": "New Jersey", "NM": "New Mexico", "NY": "New York", "NC": "North Carolina",
    "ND": "North Dakota", "OH": "Ohio", "OK": "Oklahoma", "OR": "Oregon", "PA": "Pennsylvania",
    "RI": "Rhode Island", "SC": "South Carolina", "SD": "South Dakota", "TN": "Tennessee", "TX": "Texas",
    "UT": "Utah", "VT": "Vermont", "VA": "Virginia", "WA": "Washington", "WV": "West Virginia",
    "WI": "Wisconsin", "WY": "Wyoming", "DC": "D.C",
}  # fmt: skip

# Abbreviations with one meaning before a name and another after it.
TITLE_OR_STREET = {"Dr": ("Doctor", "Drive"), "St": ("Saint", "Street"), "Ct": ("Court", "Court")}

_NAME_BEFORE = re.compile(r"(?:[A-Z][\w']+|\d(?:st|nd|rd|th))[ ]\Z")
_NAME_AFTER = re.compile(r"[ ][A-Z]")


def _say_title_or_street(match: re.Match[str]) -> str:
    title, street = TITLE_OR_STREET[match["word"]]
    after_name = _NAME_BEFORE.search(match.string, max(0, match.start() - 30), match.start())
    before_name = _NAME_AFTER.match(match.string, match.end())
    return street if after_name and not before_name else title


def _expand(match: re.Match[str]) -> str:
    return DOTTED[match["word"]]


def _say_day(match: re.Match[str]) -> str:
    return DAYS[match["word"]]


def _say_month(match: re.Match[str]) -> str:
    return MONTH_NAMES[match["word"]]


START = r"(?<![^\W_])(?<![^\W_][.'-])"
_SHORT_MONTHS = [name for name in MONTH_NAMES if name not in MONTHS]

RULES: tuple[Rule, ...] = (
    Rule(rf"{START}(?P<word>{any_of(TITLE_OR_STREET)})(?:\.|(?=[ ][A-Z]|[ ]?,|$))", _say_title_or_street),
    Rule(
        rf"{START}(?P<word>{any_of(BEFORE_NUMBERS)})\.[ ]?(?=[#]?\d|[IVXLC]+\b)",
        lambda match: BEFORE_NUMBERS[match["word"]] + " ",
    ),
    Rule(rf"{START}(?P<word>{any_of(DOTTED)})\.(?![^\W_])", _expand),
    Rule(rf"{START}(?P<word>{any_of(_SHORT_MONTHS)})\.(?![^\W_])", _say_month),
    Rule(rf"{START}(?P<word>{any_of(DAYS)})\.(?=[ ,])(?![ ][a-z])", _say_day),
    Rule(
        rf"(?<=[a-z],[ ])(?P<word>{any_of(STATES)})(?=[ ]\d{{5}}|[.,;)]|$)",
        lambda match: STATES[match["word"]],
    ),
    Rule(rf"{START}(?P<word>{any_of(BARE)})(?![^\W_]|['.-][^\W_])", lambda match: BARE[match["word"]]),
    Rule(r"(?<![^\W_])w/(?=[ \w])", "with "),
)


# Names that the rules get wrong.
NAMES = {
    "C++": "C plus plus", "C#": "C sharp", "F#": "F sharp", ".NET": "dot net", "Node.js": "Node JS",
    "CO2": "C O two", "IPv4": "IP V four", "IPv6": "IP V six", "Ph.D.": "PhD", "Ph.D": "PhD", "Ph.Ds": "PhDs",
    "M.Sc.": "MSc", "B.Sc.": "BSc", "D.Phil.": "D Phil",
}  # fmt: skip

# With more parts than this it is a key or a checksum, which is spoken digit by digit.
MOST_PARTS = 6

_PART = re.compile(r"\d+|[^\W\d_]+")


def build_letter_rules(numbers: Numbers) -> list[Rule]:
    def say_name(match: re.Match[str]) -> str:
        return NAMES[match["name"]]

    def say_initial(match: re.Match[str]) -> str | None:
        return match["letter"] if match["name"].lower() not in SENTENCE_STARTERS else None

    def say_parts(match: re.Match[str]) -> str:
        found = _PART.findall(match[0])
        is_plural = found[-1] == "s" and found[-2].isdecimal()  # "two MP3s"
        if is_plural:
            found.pop()
        digits = numbers.digits if len(found) > MOST_PARTS else numbers.code
        spoken = " ".join(digits(part) if part.isdecimal() else say_letters(part) for part in found)
        return pluralise_number(spoken) if is_plural else spoken

    def say_letters(part: str) -> str:
        return part.upper() if len(part) == 1 else part

    def say_hyphenated(match: re.Match[str]) -> str:
        written, tail = match["number"], match["tail"]
        spoken = numbers.number(written) if "." in written else numbers.code(written)
        if tail == "s":
            return f" {pluralise_number(spoken)}"
        return f" {spoken} {say_letters(tail)}" if tail else f" {spoken}"

    both_kinds = r"(?=[^\W_]{0,40}\d)(?=[^\W_]{0,40}[^\W\d_])"
    counted = r"(?!\d+(?:st|nd|rd|th|s|x|k|M)\b)"  # "2nd", "90s", "10x", "5k" and "5M" are not names
    decade = r"(?!\d*0s\b)"
    return [
        Rule(rf"(?<![^\W_])(?P<name>{any_of(NAMES)})(?![^\W_]|[+#])", say_name),
        Rule(r"(?<![\w.])(?P<letter>[A-Z])\.(?=[ ](?P<name>[A-Z]\w*))(?<!\bI\.)", say_initial),
        Rule(r"(?<=[A-Z]\.)(?P<letter>[A-Z])\.(?=[A-Z][a-z])", lambda match: f"{match['letter']}. "),
        Rule(
            rf"(?<=[^\W\d_])-{decade}(?P<number>\d{{1,4}})(?![\d,:/%]|\.\d)(?P<tail>[A-Za-z]{{1,2}})?(?![^\W_])",
            say_hyphenated,
        ),
        Rule(r"(?<=[^\W\d_])-(?P<number>\d{1,3}\.\d{1,3})(?P<tail>)(?![^\W_])", say_hyphenated),
        Rule(rf"(?<![^\W_]){both_kinds}{counted}[^\W_]{{2,40}}(?![^\W_])", say_parts),
    ]
