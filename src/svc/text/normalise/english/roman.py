"""Roman numerals."""

import re

from svc.text.normalise.english.numbers import Numbers
from svc.text.normalise.grammar import parse_roman
from svc.text.normalise.rules import Rule

# After these a Roman numeral is an ordinal: "Henry VIII" is Henry the eighth.
MONARCHS = frozenset({
    "Albert", "Alexander", "Alfonso", "Anne", "Benedict", "Carlos", "Catherine", "Charles", "Christian",
    "Clement", "Constantine", "Edward", "Elizabeth", "Felipe", "Ferdinand", "Francis", "Frederick",
    "George", "Gregory", "Gustav", "Harald", "Henri", "Henry", "Innocent", "Isabella", "Ivan", "James",
    "John", "Julius", "Leo", "Leopold", "Louis", "Ludwig", "Margaret", "Mary", "Maximilian", "Mehmed",
    "Napoleon", "Nicholas", "Olaf", "Otto", "Paul", "Pedro", "Peter", "Philip", "Pius", "Ptolemy",
    "Rameses", "Ramesses", "Richard", "Robert", "Stephen", "Sixtus", "Urban", "Victor", "Emmanuel",
    "Wilhelm", "William",
})  # fmt: skip

# After these a Roman numeral is a cardinal, even a single I, V or X: "Chapter IV".
NUMBERED = frozenset({
    "Act", "act", "Apollo", "Appendix", "Article", "article", "Book", "book", "Bowl", "Chapter", "chapter",
    "Class", "Division", "Episode", "episode", "Figure", "Grade", "Level", "Number", "Page", "Part",
    "part", "Phase", "phase", "Saturn", "Scene", "scene", "Section", "section", "Stage", "stage", "Table",
    "Title", "Type", "type", "Unit", "Volume", "volume", "War", "Vol", "vol", "Ch", "ch", "Pt", "pt", "Sec", "sec",
    "Fig", "fig", "Bk", "bk",
})  # fmt: skip

_WORD_BEFORE = re.compile(r"(?P<word>[A-Za-z]+)(?P<dot>\.?)[ ]\Z")
# A person: initials or a title come before the name.
_PERSON_BEFORE = re.compile(
    r"(?:\b[A-Z]\.[ ]?|\b(?:King|Queen|Pope|Prince|Emperor|Tsar|Czar|Sultan|Mr|Dr)\.?[ ])[A-Z][\w']+[ ]\Z"
)
_AFTER_FIRST = re.compile(r"[ ](?:of|was|ruled|reigned)\b|[,.;:)]|$")  # "George I was", but "George, I think"


def build_rules(numbers: Numbers) -> list[Rule]:
    def say_roman(match: re.Match[str]) -> str | None:
        numeral, number = match["numeral"], parse_roman(match["numeral"])
        found = _WORD_BEFORE.search(match.string, max(0, match.start() - 30), match.start())
        if not number or not found:
            return None
        word = found["word"]
        if word in NUMBERED:
            return numbers.cardinal(number) if numeral not in ("L", "C") else None
        if found["dot"]:
            return None
        if word in MONARCHS and set(numeral) <= set("IVX"):
            reigns = numeral != "I" or _AFTER_FIRST.match(match.string, match.end())
            return f"the {numbers.ordinal(number)}" if reigns else None
        if numeral != "I" and _PERSON_BEFORE.search(match.string, max(0, match.start() - 40), match.start()):
            return f"the {numbers.ordinal(number)}"
        is_sequel = len(numeral) > 1 and set(numeral) <= set("IVX") and word[0].isupper()
        return numbers.cardinal(number) if is_sequel else None

    def say_century(match: re.Match[str]) -> str | None:
        number = parse_roman(match["numeral"])
        return numbers.ordinal(number) if number else None

    def say_cardinal(match: re.Match[str]) -> str | None:
        number = parse_roman(match["numeral"].upper())
        return numbers.cardinal(number) if number else None

    def say_small(match: re.Match[str]) -> str | None:
        """Small numerals only after what is numbered: scene ii."""
        found = _WORD_BEFORE.search(match.string, max(0, match.start() - 30), match.start())
        return say_cardinal(match) if found and found["word"] in NUMBERED else None

    def say_year(match: re.Match[str]) -> str | None:
        number = parse_roman(match["numeral"])
        return numbers.year(number) if number else None

    return [
        Rule(r"(?<![^\W_])(?P<numeral>[IVX]{1,5})(?=[ ](?:[Cc]entury|[Cc]enturies)\b)", say_century),
        Rule(r"(?<=[IVX][ ]of[ ])(?P<numeral>[IVX]{1,5})(?![\w'-])", say_cardinal),
        Rule(r"(?:(?<=[IVX][ ]and[ ])|(?<=[IVX][-–]))(?P<numeral>[IVX]{2,5})(?![\w'-])", say_cardinal),
        Rule(r"(?<![^\W_])(?P<numeral>M{1,3}[CDXLVI]{3,12})(?![^\W_])", say_year),
        Rule(r"^(?P<numeral>[ivx]{2,5})(?=[.)][ ])", say_cardinal, re.MULTILINE),
        Rule(r"(?<=[\w.][ ])(?P<numeral>[ivx]{2,5}|[vx])(?![\w'-])", say_small),
        Rule(r"(?<=[\w.][ ])(?P<numeral>[IVXLC]++)(?![^\W_]|[-&.][^\W_]|'[^\Ws])", say_roman),
    ]
