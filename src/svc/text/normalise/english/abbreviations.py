"""Abbreviations: titles, offices, words of forms and tables, references."""

import re

from svc.text.normalise.english.dates import DAYS, MONTH_NAMES, MONTHS
from svc.text.normalise.rules import Rule, any_of

# Written with a full stop.
DOTTED = {
    "Mr": "Mister", "mr": "mister", "Mrs": "Missus", "mrs": "missus", "Ms": "Miz", "Mx": "Mix",
    "Messrs": "Messieurs", "Drs": "Doctors", "Prof": "Professor", "prof": "professor",
    "Assoc. Prof": "Associate Professor", "Asst. Prof": "Assistant Professor", "Rev": "Reverend",
    "Hon": "Honorable", "Fr": "Father", "Gen": "General", "Col": "Colonel", "Maj": "Major", "Capt": "Captain",
    "Cpt": "Captain", "Lt": "Lieutenant", "Sgt": "Sergeant", "Cpl": "Corporal", "Pvt": "Private",
    "Cmdr": "Commander", "Adm": "Admiral", "Gov": "Governor", "Sen": "Senator", "Rep": "Representative",
    "Pres": "President", "Supt": "Superintendent", "Det": "Detective", "Insp": "Inspector", "Msgr": "Monsignor",
    "Amb": "Ambassador", "Jr": "Junior", "jr": "junior", "Sr": "Senior", "Esq": "Esquire",
    "Inc": "Incorporated", "Ltd": "Limited", "Corp": "Corporation", "Co": "Company", "Bros": "Brothers",
    "Univ": "University", "Assn": "Association", "Assoc": "Association", "Natl": "National", "Mt": "Mount",
    "Ft": "Fort", "Rm": "Room", "Ste": "Suite", "approx": "approximately", "Approx": "Approximately",
    "est": "estimated", "Est": "Established", "ca": "circa", "misc": "miscellaneous", "temp": "temperature",
    "Temp": "Temperature", "min": "minimum", "Min": "Minimum", "max": "maximum", "Max": "Maximum",
    "avg": "average", "Avg": "Average", "tel": "telephone", "Tel": "Telephone", "ext": "extension",
    "Ext": "Extension", "esp": "especially", "cont": "continued", "resp": "respectively", "cf": "compare",
    "viz": "namely", "al": "al", "et al": "et al", "dist": "district", "mins": "minutes",
    "secs": "seconds", "lbs": "pounds", "E.g": "For example", "eg": "for example",
    "I.e": "That is", "ie": "that is", "a.k.a": "also known as", "cu": "cubic", "ea": "each",
    "orig": "originally", "prev": "previous", "vol": "volume", "Vol": "Volume",
    "incl": "including", "excl": "excluding", "ref": "reference", "Ref": "Reference", "ave": "avenue",
    "apt": "apartment", "yr": "year", "wk": "week", "mo": "month", "inc": "incorporated", "p.a": "per annum",
}  # fmt: skip

# With or without a full stop.
BARE = {
    "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Nº": "Number", "vs": "versus", "Vs": "Versus",
    "etc": "et cetera", "Prof": "Professor", "Jr": "Junior", "Sgt": "Sergeant", "Ltd": "Limited",
    "approx": "approximately", "Approx": "Approximately", "aka": "also known as", "e.g": "for example",
    "i.e": "that is", "w/o": "without", "w/in": "within", "b/c": "because", "b/w": "between", "y/o": "year old",
    "c/o": "care of", "h/t": "hat tip", "n/a": "NA", "N/A": "NA", "I/O": "IO", "24/7": "twenty-four seven",
    "24-7": "twenty-four seven", "9/11": "nine eleven", "50/50": "fifty fifty", "50-50": "fifty fifty",
    "20/20": "twenty twenty", "80/20": "eighty twenty", "401(k)": "four oh one K", "401k": "four oh one K",
    "and/or": "and or",
    "911": "nine one one", "007": "double oh seven", "Acct": "Account", "acct": "account", "Apt": "Apartment",
    "Asst": "Assistant", "asst": "assistant", "Attn": "Attention", "attn": "attention", "Bldg": "Building",
    "bldg": "building", "chars": "characters", "Dept": "Department", "dept": "department", "dept's": "department's",
    "Depts": "Departments", "depts": "departments", "Fwd": "Forward", "fwd": "forward", "govt": "government",
    "Govt": "Government", "Intl": "International", "intl": "international", "Mgmt": "Management",
    "mgmt": "management", "Mgr": "Manager", "mgr": "manager", "Mtg": "Meeting", "mtg": "meeting",
    "mtgs": "meetings", "Pkg": "Package", "pkg": "package", "Qty": "Quantity", "qty": "quantity",
    "hrs": "hours", "yrs": "years", "appt": "appointment", "Appt": "Appointment", "wknd": "weekend",
    "cont'd": "continued",
    "gov't": "government", "Gov't": "Government", "int'l": "international", "Int'l": "International",
    "nat'l": "national", "Nat'l": "National", "dep't": "department", "ass'n": "association",
    "rec'd": "received", "req'd": "required", "sec'y": "secretary",
}  # fmt: skip

# A number follows.
BEFORE_NUMBERS = {
    "No": "Number", "no": "number", "Nos": "Numbers", "nos": "numbers", "p": "page", "pp": "pages",
    "pg": "page", "Fig": "Figure", "fig": "figure", "Figs": "Figures", "figs": "figures", "Vol": "Volume",
    "vol": "volume", "Ch": "Chapter", "ch": "chapter", "Chap": "Chapter", "chap": "chapter", "Sec": "Section",
    "sec": "section", "Eq": "Equation", "eq": "equation", "Art": "Article", "art": "article", "Pt": "Part",
    "pt": "part", "Ed": "Edition", "c": "circa", "v": "verse", "vv": "verses", "Ex": "Example",
    "ex": "example", "fn": "footnote", "para": "paragraph", "Para": "Paragraph", "ver": "version",
    "Ver": "Version", "wk": "week", "Wk": "Week", "Rev": "Revision", "rev": "revision",
    "Rte": "Route", "Rt": "Route", "rm": "room",
}  # fmt: skip

# An ordinal precedes.
AFTER_ORDINALS = {"fl": "floor", "Fl": "Floor", "ed": "edition", "Ed": "Edition", "gen": "generation", "c": "century"}

# Years of a life: "(b. 1950, d. 2011)".
BEFORE_YEARS = {"b": "born", "d": "died", "m": "married", "fl": "flourished", "r": "reigned"}

START = r"(?<![^\W_])(?<![^\W_][.'-])"
END = r"(?![^\W_]|['.-][^\W_])"
_SHORT_MONTHS = [name for name in MONTH_NAMES if name not in MONTHS]
_WORDS_TOO = ("Sat", "Sun")  # at the end of a sentence, "the Sun." is no Sunday


def _build_table_rule(table: dict[str, str], before: str, after: str) -> Rule:
    return Rule(rf"{before}(?P<word>{any_of(table)}){after}", lambda match: table[match["word"]])


RULES: tuple[Rule, ...] = (
    Rule(
        rf"{START}(?P<word>{any_of(BEFORE_NUMBERS)})\.[ ]{{0,2}}(?=[#-]?\d|[IVXLC]+\b)",
        lambda match: BEFORE_NUMBERS[match["word"]] + " ",
    ),
    Rule(
        rf"{START}(?P<word>{any_of(BEFORE_YEARS)})\.[ ]?(?=[12]\d{{3}}(?!\d))",
        lambda match: BEFORE_YEARS[match["word"]] + " ",
    ),
    _build_table_rule(
        AFTER_ORDINALS, "(?:(?<=st[ ])|(?<=nd[ ])|(?<=rd[ ])|(?<=th[ ]))", r"(?:\.(?![^\W_])|(?=[,;)]|$))"
    ),
    _build_table_rule(DOTTED, START, r"\.(?![^\W_])"),
    _build_table_rule({name: MONTH_NAMES[name] for name in _SHORT_MONTHS}, START, r"\.(?![^\W_])"),
    _build_table_rule(DAYS, START, r"\.(?=[ ]?[,;:)/&]|[ ][a-z\d&(])"),
    _build_table_rule({name: DAYS[name] for name in DAYS if name not in _WORDS_TOO}, START, r"\.(?![^\W_])"),
    _build_table_rule(BARE, START, rf"(?:\.(?![^\W_])|{END})"),
    Rule(
        r"(?<![^\W_])(?P<word>Ch|ch|Chap|Fig|fig|Rm|Rte|Rt|Sec|Ste|Vol|vol|pg|pp)(?=[ ]\d)",
        lambda match: (BEFORE_NUMBERS | DOTTED)[match["word"]],
    ),
    Rule(r"(?<![^\W_])(?P<word>Mt|Ft)(?=[ ][A-Z][a-z])", lambda match: DOTTED[match["word"]]),
    Rule(r"(?<![^\W_])w/(?=[ \w])", "with ", re.IGNORECASE),
)
