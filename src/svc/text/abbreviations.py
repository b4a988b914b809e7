"""Abbreviations that end in a full stop, by what the full stop says about the sentence.

Those in capitals are meant only so, for in small letters they are words: "Sat." and "he sat."
"""

# More of the sentence always follows: titles, and words that announce something.
NEVER_END = frozenset({
    # English
    "mr", "mrs", "ms", "mx", "messrs", "dr", "drs", "prof", "rev", "Hon", "Fr", "Gen", "Col", "Maj", "capt",
    "lt", "sgt", "cpl", "pvt", "cmdr", "Adm", "Gov", "Sen", "Rep", "Pres", "Supt", "Det", "Mt", "Ft", "e.g",
    "eg", "i.e", "ie", "cf", "vs", "v", "viz", "approx", "ca", "c", "incl", "excl", "esp", "resp", "tel",
    "attn",
    # Spanish, Portuguese, Italian, French
    "sr", "sra", "srta", "srs", "sras", "dra", "dras", "dña", "Lic", "Ing", "Arq", "prof.ª", "p.ej", "Av",
    "avda", "exmo", "exma", "Eng", "Sig", "sigg", "dott", "avv", "p.es", "mme", "mmes", "mlle", "mlles",
    "mgr", "bd", "p.ex", "env",
})  # fmt: skip

# A number follows, or the word is meant as itself: "No. 5" and "No. I will not."
BEFORE_NUMBERS = frozenset({
    "no", "nos", "nr", "p", "pp", "fig", "figs", "vol", "vols", "ch", "chap", "sec", "art", "eq", "ed", "pt",
    "pág", "págs", "núm", "n", "num", "pag",
})  # fmt: skip

# The sentence may end here or go on: what follows decides.
MAY_END = frozenset({
    "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec", "Mon", "Tue", "Tues",
    "Wed", "Thu", "Thur", "Thurs", "Fri", "Sat", "Sun", "St", "ave", "Rd", "blvd", "Ln", "hwy", "pkwy", "Sq",
    "apt", "dept", "Univ", "assn", "bldg", "inc", "ltd", "Co", "Corp", "llc", "bros", "jr", "esq", "phd",
    "ph.d", "etc", "al", "est", "min", "max", "hr", "hrs", "sec", "secs", "mins", "lb", "lbs", "oz",
    "yd", "mi", "avg", "misc", "temp", "dist", "ext", "ud", "uds", "vd", "ee.uu", "cía", "s.a", "ltda",
})  # fmt: skip

# Words that begin many sentences and few names.
SENTENCE_STARTERS = frozenset({
    "a", "after", "all", "also", "although", "an", "and", "are", "as", "at", "because", "before", "but", "by",
    "can", "could", "did", "do", "does", "during", "each", "even", "every", "everyone", "finally", "first",
    "for", "from", "had", "has", "have", "he", "her", "here", "his", "how", "however", "i", "if", "in",
    "instead", "is", "it", "its", "just", "last", "later", "let", "many", "maybe", "meanwhile", "more",
    "most", "my", "nobody", "not", "nothing", "now", "of", "on", "once", "one", "only", "or", "other", "our",
    "perhaps", "please", "she", "should", "since", "so", "some", "soon", "still", "such", "thank", "thanks",
    "that", "the", "their", "then", "there", "therefore", "these", "they", "this", "those", "though", "thus",
    "to", "today", "tomorrow", "tonight", "until", "was", "we", "well", "were", "what", "when", "where",
    "which", "while", "who", "why", "will", "with", "would", "yes", "yesterday", "yet", "you", "your", "al",
    "como", "cuando", "después", "el", "ella", "ellos", "en", "entonces", "es", "esta", "este", "hay", "la",
    "las", "los", "no", "pero", "por", "se", "si", "su", "un", "una", "y", "yo", "il", "elle", "ils", "le",
    "les", "nous", "vous", "je", "ce", "cette", "dans", "mais", "puis", "lo", "gli", "ma", "per", "poi",
    "questo", "o", "os", "ele", "ela", "eles", "mas", "não", "isso",
})  # fmt: skip
