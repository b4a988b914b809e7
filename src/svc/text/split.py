"""Splits text that arrives in pieces into sentences, each as soon as its end is certain."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# In characters: about half a minute of speech, which bounds the wait and fits the engine.
LONGEST_SENTENCE = 400

# A Chinese or Japanese character takes as long to say as three or four letters.
LONGEST_CJK_SENTENCE = 120

# After an abbreviation the next word decides; no word of SENTENCE_STARTERS is longer than this.
LONGEST_LOOKAHEAD = 24

# A line that ends earlier than this was ended on purpose (verse, heading, address), not wrapped by an editor.
SHORT_LINE = 60

# Where no clause ends, a piece may have twice its scheduled length and this many characters more.
SCHEDULE_SLACK = 100

# The mark, closing quotes and spaces at the end of a clause; a longer run only delays the cut.
LONGEST_CLAUSE_MARK = 8

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f]")
_CLOSERS = "\"'”’»)]}」』）】》*_~`"
_END_MARK = re.compile(
    rf"(?P<wide>[。！？｡।॥][.!?…。！？｡।॥]*[{re.escape(_CLOSERS)}]*)"
    rf"|(?P<mark>[.!?…؟۔‼⁇⁈⁉]+)(?P<closers>[{re.escape(_CLOSERS)}]*)"
    r"|(?P<line>\n)"
)
# Units that are words, or that a hyphen joins to their number: "2 in. thick", "a 45-min. call".
_QUANTITY = re.compile(
    r"[\d½¼¾⅓⅔⅛⅜⅝⅞][ -]?(?:km|cm|mm|kg|in|ft|lbs?|oz|yds?|mi|mins?|secs?|hrs?|yrs?|wks?|gal|tsp|tbsp|qts?|pts?)\Z"
)
_OPERATORS = frozenset("=×÷≠≤≥≈")  # "5! = 120" is one sentence
_SPACES = re.compile(r"\s+")
_SPACES_OR_NONE = re.compile(r"\s*")
_WORD = re.compile(r"[\w'’]*")
_WORD_BEFORE = re.compile(r"[^\s(\[{\"“«—–/]*\Z")
_LAST_WORD = re.compile(rf"(?P<word>[^\W\d_]{{2,}})[.!?…。！？｡।॥]+[{re.escape(_CLOSERS)}]*\s*\Z")
_BLOCK = re.compile(r"[-*+•▪◦‣–—]\s|\d{1,3}[.)]\s|#{1,6}\s|[|>]|```|~~~")
_BLOCK_MARKS = "-*+•▪◦‣–—#|>`~"
_LONGEST_BLOCK_MARK = len("###### ")
_LIST_NUMBER = re.compile(r"\s*(?:\d{1,3}|[a-zA-Z])")
_CLAUSE_END = re.compile(
    r"[,;:](?![^\s\"'”’»)\]*])[\"'”’»)\]*]*\s*"  # not in 1,000 nor 3:30
    r"|[)\]](?=\s)\s+"
    r"|\s+[-–]+\s+|\s*(?:—|--+)\s*"
    r"|[、，；：]+[」』）】》]*\s*"
    r"|\s+(?=(?:although|because|but|unless|whereas|which|while)\s)"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with the spaces that follow it; `start` is its position in the stream."""

    text: str
    start: int
    unfinished: bool = False
    """Whether it was cut before the sentence ended."""


class Splitter:
    """Cuts a stream into sentences; joined, they are exactly the text that was fed.

    With a `schedule`, a long sentence is cut before it ends: the first piece at the first end of a clause after
    `schedule[0]` characters, the second after `schedule[1]`, and so on; the last number is used from then on.
    """

    def __init__(self, schedule: Sequence[int] = ()) -> None:
        self._schedule = schedule
        self._pieces = 0  # sentences and parts of them since the start or the last pause
        self._pending = ""
        self._start = 0  # of the pending text in the stream
        self._column = 0  # of the pending text in its line
        self._searched = 0  # up to here the pending text contains no end of a sentence

    def feed(self, text: str) -> list[Sentence]:
        """Adds text and returns the sentences that no further text can change."""
        self._pending += text
        return self._cut(final=False)

    def flush(self, pause: bool = True) -> list[Sentence]:
        """Returns the rest, as if the text ended here. After a `pause` the schedule starts again."""
        rest = self._cut(final=True)
        if pause:
            self._pieces = 0
        return rest

    def _cut(self, *, final: bool) -> list[Sentence]:
        sentences = []
        position = 0
        while position < len(self._pending):
            found = self._find_end(position, final=final)
            if found is None:
                break
            end, unfinished = found
            text = self._pending[position:end]
            sentences.append(Sentence(text, self._start + position, unfinished))
            self._pieces += 1
            self._column = _find_column(text, self._column)
            position = self._searched = end
        self._pending = self._pending[position:]
        self._start += position
        self._searched -= position
        return sentences

    def _find_end(self, start: int, *, final: bool) -> tuple[int, bool] | None:
        """Where the sentence that begins at `start` ends, including spaces, and whether it is cut short there.

        None while that depends on text to come. Any other answer holds whatever text follows, so the sentences do not
        depend on how the text was cut into pieces.
        """
        text = self._pending
        scheduled, longest = self._piece_lengths()
        limit = _find_limit(text, start, longest)
        clause = self._find_clause_end(_find_limit(text, start, scheduled), limit) if scheduled else None
        for mark in _END_MARK.finditer(text, self._searched, clause or limit):
            if mark.end() == limit:
                break
            candidate = _Candidate(text, start, limit, self._column, mark, final)
            is_end = candidate.line_ends() if mark["line"] else candidate.sentence_ends()
            if is_end is None:
                return None
            if is_end:
                return candidate.next, False
            self._searched = mark.end()
        if clause:
            return clause, True
        if len(text) > limit:
            return _find_forced_end(text, start, limit), True
        return (len(text), False) if final else None

    def _piece_lengths(self) -> tuple[int, int]:
        """After how many letters the next piece may end with a clause (0: never), and how many it has at most."""
        if not self._schedule:
            return 0, LONGEST_SENTENCE
        scheduled = self._schedule[min(self._pieces, len(self._schedule) - 1)]
        return scheduled, min(LONGEST_SENTENCE, 2 * scheduled + SCHEDULE_SLACK)

    def _find_clause_end(self, scheduled: int, limit: int) -> int | None:
        """The first end of a clause from position `scheduled` on, once no further text can change it."""
        text = self._pending
        for found in _CLAUSE_END.finditer(text, max(0, scheduled - LONGEST_CLAUSE_MARK), limit):
            if scheduled <= found.end() < min(limit, len(text)):
                return found.end()
        return None


def ends_sentence(text: str) -> bool:
    """Whether a sentence ends with this text, whatever may follow."""
    last = _LAST_WORD.search(text[-LONGEST_LOOKAHEAD:])
    if last is None:
        return False
    return {last["word"], last["word"].lower()}.isdisjoint(NEVER_END | MAY_END | BEFORE_NUMBERS)


def _find_limit(text: str, start: int, letters: int) -> int:
    """The position this many letters after `start`; CJK characters count for as many letters as they take to say."""
    window = text[start : start + letters]
    if _CJK.search(window):
        room = float(letters)
        for length, character in enumerate(window):
            room -= LONGEST_SENTENCE / LONGEST_CJK_SENTENCE if _CJK.match(character) else 1
            if room < 0:
                return start + length
    return start + letters


def _find_forced_end(text: str, start: int, limit: int) -> int:
    """Where to cut a sentence that is too long: after a clause, else between words, else anywhere."""
    # One more character shows whether a comma at the very end is part of a number.
    for pattern in (_CLAUSE_END, _SPACES):
        ends = [found.end() for found in pattern.finditer(text, start, limit + 1) if found.end() <= limit]
        if ends and ends[-1] - start > (limit - start) // 4:
            return ends[-1]
    return limit


def _find_column(text: str, column: int) -> int:
    line_start = text.rfind("\n") + 1
    return len(text) - line_start if line_start else column + len(text)


class _Candidate:
    """A mark at which a sentence may end. The answers are None while they depend on text to come."""

    def __init__(self, text: str, start: int, limit: int, column: int, mark: re.Match[str], final: bool) -> None:
        self.text = text
        self.start = start
        self.limit = limit
        self.column = column
        self.mark = mark
        self.final = final
        after_mark = mark.start() if mark["line"] else mark.end()
        spaces = _SPACES_OR_NONE.match(text, after_mark, limit)
        self.next = spaces.end() if spaces else after_mark
        self.spaces = text[after_mark : self.next]
        self.follower = text[self.next : self.next + 1]
        self.known = bool(self.follower) or final or self.next == limit

    def line_ends(self) -> bool | None:
        """Whether a new sentence begins after this line feed."""
        before = self.text[self.start : self.mark.start()]
        if not before.strip():
            return False
        if not self.known:
            return None
        if self.spaces.count("\n") > 1 or not self.follower or self.next == self.limit:
            return True
        if self.follower in _BLOCK_MARKS or self.follower.isdigit():
            if len(self.text) < self.next + _LONGEST_BLOCK_MARK and not self.final:
                return None
            if _BLOCK.match(self.text, self.next):
                return True
        if before.lstrip().startswith("#"):
            return True
        in_block = bool(_BLOCK.match(before.lstrip()))
        short = _find_column(before, self.column) < SHORT_LINE
        return (in_block or short) and not self.follower.islower()

    def sentence_ends(self) -> bool | None:
        """Whether the full stop, question mark or the like ends a sentence."""
        if not self.known:
            return None
        if not self.follower or self.next == self.limit or self.spaces.count("\n") > 1:
            return True
        if self.mark["wide"]:
            # In Japanese a quotation goes on with と: 「行こう。」と言った。
            return not (self.follower == "と" and self.mark["wide"][-1] in _CLOSERS)
        if not self.spaces:
            return self.mark["mark"][-1] in "!?" and bool(_CJK.match(self.follower))
        if self.follower in _OPERATORS:
            return False
        quoted = bool(self.mark["closers"].strip("*_~`"))
        if quoted and self.follower.islower():
            return False
        if self.mark["mark"] == ".":
            return self._full_stop_ends()
        is_ellipsis = self.mark["mark"].strip(".…") == ""
        return not (is_ellipsis and self.follower.islower())

    def _full_stop_ends(self) -> bool | None:
        before = self.text[self.start : self.mark.start()]
        if _LIST_NUMBER.fullmatch(before):
            return False
        found = _WORD_BEFORE.search(before)
        word = found[0].strip("*_~`'‘’") if found else ""
        spellings = {word, word.lower()}
        last = word.rpartition("-")[2]  # Apr.-Jun. 2023
        if spellings & NEVER_END:
            return False
        is_initial = len(word) == 1 and word.isupper()  # p. 5, but P. Smith
        if spellings & BEFORE_NUMBERS - MAY_END and not is_initial:
            return not self.follower.isdigit()
        pieces = word.split(".")
        is_initials = all(len(piece) <= 2 and piece.isalpha() for piece in pieces) and len(pieces[0]) == 1
        may_end = {*spellings, last} & MAY_END
        if not may_end and not is_initials and not _QUANTITY.search(before):
            return True
        if self.follower.islower() or self.follower.isdigit():
            return False
        return self._starter_follows()

    def _starter_follows(self) -> bool | None:
        """Whether the next word is one that seldom follows an abbreviation but often begins a sentence."""
        word = _WORD.match(self.text, self.next, self.next + LONGEST_LOOKAHEAD)
        end = word.end() if word else self.next
        if end == len(self.text) and end < self.next + LONGEST_LOOKAHEAD and not self.final:
            return None
        return re.split("['’]", self.text[self.next : end])[0].lower() in SENTENCE_STARTERS


# Abbreviations that end in a full stop. Those in capitals count only so: "Sat.", but not "he sat."

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
    "mgr", "bd", "p.ex", "env",
})  # fmt: skip

# The sentence continues only if a number follows: "No. 5", but "No. I will not."
BEFORE_NUMBERS = frozenset({
    "no", "nos", "nr", "p", "pp", "pg", "ex", "fn", "para", "rt", "rte", "ver",
    "fig", "figs", "vol", "vols", "ch", "chap", "sec", "art", "eq", "ed", "pt",
    "pág", "págs", "núm", "n", "num", "pag",
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
})  # fmt: skip

# Words that often begin a sentence and seldom a name.
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
