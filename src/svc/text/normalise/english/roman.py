"""Roman numerals, where the words around them say that they are some."""

import re

from svc.text.normalise.english.numbers import Numbers
from svc.text.normalise.roman import value
from svc.text.normalise.rules import Rule, rule

# "Henry VIII" is Henry the eighth.
MONARCHS = frozenset({
    "Albert", "Alexander", "Alfonso", "Anne", "Benedict", "Carlos", "Catherine", "Charles", "Christian",
    "Clement", "Constantine", "Edward", "Elizabeth", "Felipe", "Ferdinand", "Francis", "Frederick",
    "George", "Gregory", "Gustav", "Harald", "Henri", "Henry", "Innocent", "Isabella", "Ivan", "James",
    "John", "Julius", "Leo", "Leopold", "Louis", "Ludwig", "Margaret", "Mary", "Maximilian", "Mehmed",
    "Napoleon", "Nicholas", "Olaf", "Otto", "Paul", "Pedro", "Peter", "Philip", "Pius", "Ptolemy",
    "Rameses", "Ramesses", "Richard", "Robert", "Stephen", "Sixtus", "Urban", "Victor", "Emmanuel",
    "Wilhelm", "William",
})  # fmt: skip

# "Chapter IV" is chapter four, and here even I, V, X, L and C are numbers.
NUMBERED = frozenset({
    "Act", "act", "Apollo", "Appendix", "Article", "article", "Book", "book", "Bowl", "Chapter", "chapter",
    "Class", "Division", "Episode", "episode", "Figure", "Grade", "Level", "Number", "Page", "Part",
    "part", "Phase", "phase", "Saturn", "Scene", "scene", "Section", "section", "Stage", "stage", "Table",
    "Title", "Type", "type", "Unit", "Volume", "volume", "War",
})  # fmt: skip

_WORD_BEFORE = re.compile(r"(?P<word>[A-Za-z]+)[ ]\Z")
_AFTER_FIRST = re.compile(r"[ ](?:of|was|ruled|reigned)\b|[,.;:)]|$")  # "George I was", but "George, I think"


def rules(numbers: Numbers) -> list[Rule]:
    def read(match: re.Match[str]) -> str | None:
        numeral, number = match["numeral"], value(match["numeral"])
        found = _WORD_BEFORE.search(match.string, max(0, match.start() - 30), match.start())
        if not number or not found:
            return None
        word = found["word"]
        if word in NUMBERED:
            return numbers.cardinal(number) if numeral not in ("L", "C") else None
        if word in MONARCHS and set(numeral) <= set("IVX"):
            reigns = numeral != "I" or _AFTER_FIRST.match(match.string, match.end())
            return f"the {numbers.ordinal(number)}" if reigns else None
        is_sequel = len(numeral) > 1 and set(numeral) <= set("IVX") and word[0].isupper()
        return numbers.cardinal(number) if is_sequel else None

    return [rule(r"(?<=[^\W_][ ])(?P<numeral>[IVXLC]++)(?![^\W_]|[-&.][^\W_]|'[^\Ws])", read)]
