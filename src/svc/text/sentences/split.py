"""Splits text that arrives in pieces into sentences, each as soon as its end is certain."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import category, normalize

from svc.text.sentences.abbreviations import AFTER_ORDINALS, BEFORE_NUMBERS, MAY_END, NEVER_END
from svc.text.sentences.sentence_starters import SENTENCE_STARTERS

# In characters: about half a minute of speech, which bounds the wait and fits the engine.
LONGEST_SENTENCE = 400

# A Chinese or Japanese character takes as long to say as three or four letters,
LONGEST_CJK_SENTENCE = 120
# and so does a digit or a symbol.
LONGEST_NUMBER = 100

# After an abbreviation the next word decides; no word of SENTENCE_STARTERS is longer than this.
LONGEST_LOOKAHEAD = 24

# A line that ends earlier than this was ended on purpose (verse, heading, address), not wrapped by an editor.
SHORT_LINE = 60

# Where no clause ends, a piece may have twice its scheduled length and this many characters more.
SCHEDULE_SLACK = 100

# The mark, closing quotes and spaces at the end of a clause; a longer run only delays the cut.
LONGEST_CLAUSE_MARK = 8

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f]")
# What may take longer to say than a letter; most sentences have none of it.
_LONG_TO_SAY = re.compile(r"[\d%&+=@$£¥§±×÷²³¹¼½¾]|[^\x00-\u1fff\u2010-\u203a]")
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
_NUMERAL = re.compile(r"[IVX]*")
# 3er. piso; 25 de dic. de 2023
_SHORT_ORDINAL = re.compile(r"\d+[^\W\d_]{1,3}")
_SHORT_DATE = re.compile(
    r"\d (?:de )?(?:ene|abr|ago|dic|janv|févr|avr|juil|déc|gen|mag|giu|lug|set|ott|fev|mai|out|dez)\Z", re.IGNORECASE
)
_SPACED_DATE = re.compile(r"(?<!\d)\d{1,2}\. \d{1,2}\. ?\d{4}(?!\d)")
_LONGEST_DATE = len("31. 12. 2024")
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
    """The position this many letters after `start`; a character counts for as many letters as it takes to say."""
    window = text[start : start + letters]
    if _LONG_TO_SAY.search(window):
        room = float(letters)
        for length, character in enumerate(window):
            room -= _count_letters(character)
            if room < 0:
                return start + max(length, 1)
    return start + letters


@lru_cache(4096)
def _count_letters(character: str) -> float:
    """How many letters take as long to say: a symbol may stand for a whole sentence (ﷺ)."""
    if not _LONG_TO_SAY.match(character):
        return 1
    letters = 0.0
    for each in normalize("NFKC", character):
        if _CJK.match(each):
            letters += LONGEST_SENTENCE / LONGEST_CJK_SENTENCE
        else:
            letters += LONGEST_SENTENCE / LONGEST_NUMBER if each.isdigit() or category(each)[0] == "S" else 1
    return letters


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
        without_article = re.split("['’]", word)[-1]  # l'Ing.
        if word.isdigit() and len(word) <= 3:
            return self._is_cardinal()
        if (spellings | {without_article, without_article.lower()}) & NEVER_END:
            return False
        # "p. ej.", and "P. Smith", but "p. 5"
        is_part = len(word) == 1 and (self.follower.islower() or word.isupper())
        if (spellings | {without_article.lower()}) & BEFORE_NUMBERS - MAY_END and not is_part:
            number_follows = self._number_follows()
            return None if number_follows is None else not number_follows
        if _SHORT_ORDINAL.fullmatch(word) or _SHORT_DATE.search(before):
            return not (self.follower.islower() or self.follower.isdigit())
        pieces = word.split(".")
        is_initials = all(len(piece) <= 2 and piece.isalpha() for piece in pieces) and len(pieces[0]) == 1
        may_end = {*spellings, last} & MAY_END
        if not may_end and not is_initials and not _QUANTITY.search(before):
            return True
        if self.follower.islower() or self.follower.isdigit():
            return False
        return self._starter_follows()

    def _number_follows(self) -> bool | None:
        """Whether figures follow, or a Roman numeral of several letters: "No. I will not." has none."""
        if self.follower.isdigit() or self.follower not in "IVX":
            return self.follower.isdigit()
        numeral = _NUMERAL.match(self.text, self.next)
        end = numeral.end() if numeral else self.next
        if end == len(self.text) and not self.final:
            return None
        return end - self.next > 1 and not self.text[end : end + 1].isalpha()

    def _is_cardinal(self) -> bool | None:
        """Whether the number before the full stop is no ordinal: "am 3. Mai", "3. května"."""
        if self.follower.islower():
            return False
        if self.follower.isdigit():
            return self._is_no_date()
        following = self._find_next_word()
        return None if following is None else following not in AFTER_ORDINALS

    def _is_no_date(self) -> bool | None:
        """Whether this is no full stop of "3. 5. 2024"."""
        end = self.mark.end() + _LONGEST_DATE
        if len(self.text) < end and not self.final:
            return None
        dates = _SPACED_DATE.finditer(self.text, max(self.start, self.mark.start() - _LONGEST_DATE), end)
        return not any(found.start() < self.mark.start() < found.end() for found in dates)

    def _starter_follows(self) -> bool | None:
        """Whether the next word is one that seldom follows an abbreviation but often begins a sentence."""
        following = self._find_next_word()
        return None if following is None else re.split("['’]", following)[0].lower() in SENTENCE_STARTERS

    def _find_next_word(self) -> str | None:
        word = _WORD.match(self.text, self.next, self.next + LONGEST_LOOKAHEAD)
        end = word.end() if word else self.next
        if end == len(self.text) and end < self.next + LONGEST_LOOKAHEAD and not self.final:
            return None
        return self.text[self.next : end]
