"""Abbreviations, without their full stop, which may end the sentence, too.

Those in capitals count only so: "Sat.", but not "he sat."
"""

from svc.text.language.table import load_table
from svc.text.normalise.french import French
from svc.text.normalise.hindi import Hindi
from svc.text.normalise.italian import Italian
from svc.text.normalise.portuguese import Portuguese
from svc.text.normalise.spanish import Spanish

# The sentence always continues: titles, and words that introduce something.
NEVER_END = frozenset({
    # English
    "mr", "mrs", "ms", "mx", "messrs", "dr", "drs", "prof", "rev", "Hon", "Fr", "Gen", "Col", "Maj", "capt",
    "lt", "sgt", "cpl", "pvt", "cmdr", "Adm", "Gov", "Sen", "Rep", "Pres", "Supt", "Det", "Mt", "Ft", "e.g",
    "eg", "i.e", "ie", "cf", "vs", "v", "viz", "approx", "ca", "c", "incl", "excl", "esp", "resp", "tel",
    "attn",
    # Spanish, Portuguese, Italian, French
    "sr", "sra", "srta", "srs", "sras", "dra", "dras", "dña", "Lic", "Ing", "Arq", "prof.ª", "p.ej", "Av",
    "avda", "exmo", "exma", "Eng", "Sig", "sigg", "dott", "avv", "p.es", "mme", "mmes", "mlle", "mlles",
    "mgr", "bd", "p.ex", "env", "EE", "JJ", "RR", "Gral", "Cnel", "Sta", "Sto", "profa", "aprox", "c.-à-d",
    "tél", "tfno", "Arch", "Geom", "On", "Spett",
    # Hindi
    "डॉ", "प्रो", "पं", "श्री", "स्व", "नं", "सं", "कु", "इंजी", "ई.पू", "उ.प्र", "म.प्र",
})  # fmt: skip

# The sentence continues only if a number follows: "No. 5", but "No. I will not."
BEFORE_NUMBERS = frozenset({
    "no", "nos", "nr", "p", "pp", "pg", "ex", "fn", "para", "rt", "rte", "ver",
    "fig", "figs", "vol", "vols", "ch", "chap", "sec", "art", "eq", "ed", "pt",
    "pág", "págs", "núm", "n", "num", "pag", "pagg", "cap", "caps", "séc", "arts", "rs", "ok",
})  # fmt: skip

# The sentence may end or continue: the next word decides.
MAY_END = frozenset({
    "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec", "Mon", "Tue", "Tues",
    "Wed", "Thu", "Thur", "Thurs", "Fri", "Sat", "Sun", "St", "ave", "Rd", "blvd", "Ln", "hwy", "pkwy", "Sq",
    "apt", "dept", "Univ", "assn", "bldg", "inc", "ltd", "Co", "Corp", "llc", "bros", "jr", "esq", "phd",
    "ph.d", "etc", "al", "est", "min", "max", "hr", "hrs", "sec", "secs", "mins", "lb", "lbs", "oz",
    "yd", "mi", "avg", "misc", "temp", "dist", "ext", "acct", "asst", "assoc", "mgr", "mtg", "ea", "ed", "fl", "rm",
    "Ste", "sq", "cu", "Ter", "Terr", "Plz", "Cir", "Cres", "qty", "govt", "pkg", "orig", "prev", "appt", "wk",
    "yr", "yrs", "mo", "ud", "uds", "vd", "ee.uu", "cía", "s.a", "ltda",
    "UU", "OO", "HH", "cia", "s.l", "ej", "ex", "ecc", "pts", "av", "boul", "apr", "J.-C", "cell", "seg",
    "रु", "कि.मी", "कि.ग्रा", "ग्रा", "मी", "से.मी", "मि.ली",
})  # fmt: skip

# So do the abbreviations that are read in full, unless English has such a word.
_ENGLISH_WORDS = frozenset({"on", "pl", "ap", "ss", "max", "cell", "arch", "gen", "sam", "dim", "ven", "es"})
MAY_END |= {
    word
    for grammar in (Spanish, French, Italian, Portuguese, Hindi)
    for word in (abbreviation.removesuffix(".") for abbreviation in grammar.abbreviations if abbreviation[-1] == ".")
    if len(word) > 1 and " " not in word and word.lower() not in _ENGLISH_WORDS | BEFORE_NUMBERS
} - NEVER_END

# The abbreviations of the languages of the table. One letter counts as an initial.
_FOREIGN = {
    (key.rstrip("."), key in row.may_end)
    for row in load_table().values()
    for key in row.abbreviations
    if key.endswith(".") and len(key) > 2 and key.rstrip(".").lower() not in BEFORE_NUMBERS
}
MAY_END |= {word for word, may_end in _FOREIGN if may_end}
NEVER_END |= {word for word, may_end in _FOREIGN if not may_end} - MAY_END

# Capitalised words that a number with a full stop may count: "im 19. Jahrhundert".
AFTER_ORDINALS = frozenset(noun for row in load_table().values() for noun in row.nouns)
