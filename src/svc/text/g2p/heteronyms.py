"""English words with one spelling and two pronunciations: which one is meant, by the words around.

The tagger and the lexicon resolve most of them. The rules here are for the rest: each gives a tag with which the
lexicon chooses correctly, an unambiguous word with the same pronunciation, or phonemes between slashes.
"""

from dataclasses import dataclass


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Rule:
    """Gives `result` if the word before, the word after and any word of the text are among these; empty means any."""

    result: str
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()


def _when(result: str, before: str = "", after: str = "", near: str = "") -> Rule:
    return Rule(result, _words(before), _words(after), _words(near))


_DETERMINERS = "the a an this that these those my your his her our their its it all each every some any"
_MODALS = "to will would can could should must may might shall do does did don't doesn't didn't won't can't \
couldn't wouldn't shouldn't cannot let's please 'll i'll you'll we'll they'll he'll she'll it'll not never"
_PERFECTS = "have has had having haven't hasn't hadn't i've you've we've they've i'd you'd he'd she'd we'd \
they'd was were wasn't weren't been be being is are am isn't aren't it's that's get got gets"
_BE = "is are was were am be been being it's that's we're they're i'm you're she's he's isn't aren't wasn't"
_PEOPLE = "man woman men women people parents father mother couple uncle aunt relative relatives"

_DETERMINER, _MODAL, _PERFECT, _BE_FORM = map(_words, (_DETERMINERS, _MODALS, _PERFECTS, _BE))

# The first rule that matches decides.
_RULES: dict[str, tuple[Rule, ...]] = {
    "lead": (
        _when("led", after="pipe pipes paint poisoning pencil pencils acid bullet bullets exposure levels shot"),
        _when("led", before="of in contain contains contained containing dissolved molten white"),
        _when("led", before="was is", after="in"),
    ),
    "live": (
        _when("JJ", after="music show shows stream streams streaming broadcast concert concerts performance \
performances audience coverage event events chat video tv television update updates wire demo session data \
version site album preview traffic animals bait ammunition captions transcription translation"),
        _when("JJ", before="go goes went going gone broadcast streamed streaming recorded perform performed \
performing aired airing watch watched is are was were we're it's you're i'm they're now"),
        _when("VB", before=f"i we they you who people {_MODALS}"),
    ),
    "lives": (
        _when("NNS", before="their our your my his her its whose nine many several human innocent save saved \
saves saving lost lose risk risked risking past of the two three more american private daily everyday all"),
        _when("VBZ", after="in at on near with here there alone by under next happily forever nearby inside up"),
    ),
    "wind": (
        _when("VB", before="to will would can could please don't", after="up down the it a around back through"),
        _when("NN", before=_DETERMINERS),
    ),
    "tear": (
        _when("VB", before="and", near="wear"),
        _when("VB", after="in", before="a the small big"),
        _when("NN", before="a the single every", after="rolled fell ran slid dropped trickled . , in rolling"),
        _when("VB", before=_MODALS),
    ),
    "tears": (_when("VBZ", after="up apart down off it the away"),),
    "bow": (
        _when("bough", before="a", near="took take takes taking taken"),
        _when("bough", before="the ship's its", near="ship boat stern vessel hull sailors deck"),
        _when("bough", before=f"{_MODALS} they we i you people"),
    ),
    "close": (
        _when("JJ", after="friend friends call relationship look attention ties contact proximity range watch \
quarters enough together behind family second race game match colleague", before=f"{_DETERMINERS} {_BE} very \
so too pay keep took have stay in at"),
        _when("JJ", before=f"{_BE} so very too how as really pretty quite stay stayed stays keep kept get gets \
getting got come came comes stand stood sit sat hold held up dangerously"),
        _when("VB", before=f"{_MODALS} i we they you stores shops banks schools doors offices markets restaurants"),
    ),
    "minute": (
        _when("JJ", after="traces amounts amount details detail quantities quantity particles differences changes"),
    ),
    "content": (
        _when("JJ", before=f"felt feel feels feeling seem seemed seems very quite perfectly {_BE}",
              after="with to just . , ! ? and"),
    ),
    "bass": (
        _when("NN", near="fish fishing lake caught catch river sea striped largemouth trout fisherman"),
        _when("base"),
    ),
    "learned": (
        _when("JJ", before="a the my most very", after="scholar scholars man men judge society professor friend \
colleague gentleman"),
    ),
    "aged": (_when("/ˈAʤɪd/", before="an the his her their", after=_PEOPLE),),
    "blessed": (_when("/blˈɛsɪd/", before="the a every this that whole"),),
    "cursed": (_when("/kˈɜɹst/", before="he she they i we was were been had has have be and is are"),),
    "dove": (_when("VBD", before="he she they i we who and", after="into in off under down headfirst deep right"),),
    "sow": (_when("NN", before="a the"),),
    "row": (_when("/ɹˈW/", after="about over", before="a the terrible blazing huge big furious bitter"),),
    "resume": (
        _when("/ɹˈɛzəmˌA/", before="my your his her a the their our updated attached this"),
    ),
    "invalid": (_when("NN", before="an", after=". , who in"), _when("JJ")),
    "wound": (_when("VBD", before="he she they i we it who and", after="up the it a down through around his her"),),
    "bases": (_when("/bˈAsᵻz/"),),
    "reading": (_when("/ɹˈɛdɪŋ/", before="in to from near of at", after="town berkshire station festival"),),
}  # fmt: skip

# Nouns or adjectives whose stress differs from that of the verb with the same spelling.
_NOUN_OR_VERB = _words("""
abuse address advocate affect attribute combine compound conduct conflict console construct contest contract
contrast convert convict coordinate decrease delegate desert digest discharge discount document duplicate
entrance escort estimate excuse exploit export extract fragment graduate house impact import increase insert
insult intrigue invite mandate misuse moderate object perfect permit present produce progress project protest
rebel record recall refund refuse reject relay research reuse rewrite segment separate subject supplement
survey suspect torment transfer transform transplant transport update upgrade upset use close live
""")
# Plurals that modify the noun after them: "the sales record".
_QUALIFYING = _words("sales arms sports goods savings systems operations graphics news economics customs earnings")
_NUMBERS = _words("""
zero oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand
""")
_TAGS = ("NN", "NNS", "JJ", "VB", "VBD", "VBN", "VBZ")
_SUBJECTS = ("you", "he", "she", "it")
_OBJECTS = ("DT", "PRP", "PRP$", "IN", "TO", "NNS", "RB", "NNP", "JJ")
_PAST_TIMES = _words("yesterday ago last earlier once previously when before")


def resolve_heteronyms(words: list[str], tags: list[str]) -> tuple[list[str], list[str]]:
    """The words and tags, changed where the words around a heteronym decide otherwise than the tagger."""
    lower = [word.lower() for word in words]
    all_words = frozenset(lower)
    words, tags = list(words), list(tags)
    for at, word in enumerate(lower):
        if word in _RULES:
            result = _apply_rules(lower, at, all_words)
        elif word == "read":
            result = "red" if _is_past(lower, tags, at) else "reed"
        elif word == "used":
            result = "VBD" if _is_habit(lower, tags, at) else "VBN"
        else:
            result = _resolve_name(words[at], lower, at)
        if not result and word in _NOUN_OR_VERB and _is_verb(lower, tags, at):
            result = "VB"
        if result in _TAGS:
            tags[at] = result
        elif result:
            words[at] = result
    return words, tags


def _apply_rules(lower: list[str], at: int, all_words: frozenset[str]) -> str:
    before = lower[at - 1] if at else ""
    after = lower[at + 1] if at + 1 < len(lower) else ""
    for rule in _RULES[lower[at]]:
        if (
            (not rule.before or before in rule.before)
            and (not rule.after or after in rule.after)
            and (not rule.near or rule.near & all_words)
        ):
            return rule.result
    return ""


def _resolve_name(word: str, lower: list[str], at: int) -> str:
    """Names that are also common words."""
    after = lower[at + 1] if at + 1 < len(lower) else ""
    if word == "Polish" and at == 0 and after in _DETERMINER:
        return "polish"
    if word == "Mobile" and "alabama" not in lower:
        return "mobile"
    if word == "Nice" and at and lower[at - 1] in ("in", "to", "from", "near"):
        return "niece"
    if word == "A" and _is_letter(lower, at):
        return "NN"
    return ""


def _is_letter(lower: list[str], at: int) -> bool:
    """Whether a capital A is the letter: after or before a number or another letter, or at the end."""
    before = lower[at - 1] if at else ""
    after = lower[at + 1] if at + 1 < len(lower) else "."
    if not before or not before[0].isalpha():
        return False
    return before in _NUMBERS or after in _NUMBERS or len(after) == 1


def _is_verb(lower: list[str], tags: list[str], at: int) -> bool:
    """Whether a word that the tagger took for a noun is where only a verb can be."""
    if tags[at].startswith("VB"):
        return False
    before = lower[at - 1] if at else ""
    after = lower[at + 1] if at + 1 < len(lower) else ""
    after_tag = tags[at + 1] if after else ""
    if not before or not before[0].isalpha():
        return after in _DETERMINER
    if before in ("i", "we", "they") or (before in _SUBJECTS and at > 1 and lower[at - 2] in _MODAL):
        return True
    return tags[at - 1] in ("NNS", "NNPS") and before not in _QUALIFYING and after_tag in _OBJECTS


def _is_past(lower: list[str], tags: list[str], at: int) -> bool:
    """Whether "read" rhymes with "red"."""
    for word in reversed(lower[max(0, at - 4) : at]):
        if not word[0].isalpha() and word[0] != "'":
            break
        if word in _PERFECT:
            return True
        if word in _MODAL:
            return False
    if at == 0 or not lower[at - 1][0].isalpha():
        return False
    if lower[at - 1] in ("he", "she", "it") or tags[at - 1] in ("NN", "NNP"):
        return True
    others = tags[:at] + tags[at + 1 :]
    return bool(_PAST_TIMES.intersection(lower)) or "VBD" in others


def _is_habit(lower: list[str], tags: list[str], at: int) -> bool:
    """Whether "used to" means a habit ("I used to swim", "I am used to it") and not a use ("used to cut")."""
    if lower[at + 1 : at + 2] != ["to"]:
        return False
    passive = at > 0 and lower[at - 1] in _BE_FORM
    return not (passive and at + 2 < len(tags) and tags[at + 2] == "VB")
