"""One way to write each character: the many faces of Unicode folded into plain ones, offsets kept."""

import html
import re
import unicodedata
from dataclasses import dataclass

from svc.text.normalise.rules import Rule, rule

# What NFKC would make of these says less than the character itself: ² is "squared", ½ "a half", … a pause.
KEPT = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ªº…‥¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞´¨¯¸，！？：；（）～")

LOOKALIKES = {
    "‘": "'", "’": "'", "‛": "'", "ʼ": "'", "′": "'", "´": "'", "‚": "'", "″": '"', "‟": "“", "„": "“",
    "«": "“", "»": "”", "‹": "“", "›": "”", "‐": "-", "‑": "-", "‒": "–", "―": "—", "−": "-", "﹣": "-",
    "⁃": "-", "⁄": "/", "∕": "/", "∗": "*", "⋅": "·", "∙": "·", "˚": "°", "\u2028": "\n", "\u2029": "\n",
    "\u0085": "\n", "™": "", "℠": "", "®": "", "№": "No. ", "℃": "°C", "℉": "°F", "‼": "!!", "⁇": "??",
    "⁈": "?!", "⁉": "!?", "㎡": "m²", "㎥": "m³", "\t": " ", "\r": " ",
}  # fmt: skip

# Formatting, lone surrogates, private and unassigned characters have no sound.
SILENT_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_PLAIN_RUN = re.compile(r"[\n !-%'-~]+")  # ASCII needs no folding, but for the & that may begin an entity
_STACKED = re.compile(r"[\u0300-\u036f\uff9e\uff9f]+")  # accents, and the voicing marks of half-width kana
_LEFT_OVER = re.compile(r"[\u0300-\u036f]")


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` with, for each of its characters, the `start` and `end` of what it was made of."""

    text: str
    starts: list[int]
    ends: list[int]


def fold(text: str) -> Folded:
    """Fold the text, cluster by cluster."""
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    while position < len(text):
        plain = _PLAIN_RUN.match(text, position)
        if plain and not _STACKED.match(text, plain.end()):
            folded.append(plain[0])
            starts.extend(range(plain.start(), plain.end()))
            ends.extend(range(plain.start() + 1, plain.end() + 1))
            position = plain.end()
            continue
        end, piece = _fold_cluster(text, position)
        folded.append(piece)
        starts.extend([position] * len(piece))
        ends.extend([end] * len(piece))
        position = end
    return Folded("".join(folded), starts, ends)


def _fold_cluster(text: str, start: int) -> tuple[int, str]:
    """The end and the folded form of the entity or the accented character that begins at `start`."""
    entity = _ENTITY.match(text, start)
    if entity and (decoded := html.unescape(entity[0])) != entity[0]:
        return entity.end(), "".join(_fold_character(character) for character in decoded)
    accents = _STACKED.match(text, start + 1)
    if accents is None:
        return start + 1, _fold_character(text[start])
    composed = unicodedata.normalize("NFKC", text[start : accents.end()])
    return accents.end(), _LEFT_OVER.sub("", composed)


def _fold_character(character: str) -> str:
    if character in LOOKALIKES:
        return LOOKALIKES[character]
    if character in KEPT or character in "\n ":
        return character
    if unicodedata.category(character) in SILENT_CATEGORIES:
        return ""
    plain = unicodedata.normalize("NFKC", character)
    return plain if plain.strip() or character.isspace() else character


EMOJI = (
    r"[\u2190-\u21ff\u2300-\u23ff\u2500-\u27bf\u2900-\u297f\u2b00-\u2bff\u20e3\ufe00-\ufe0f\ufffc\ufffd"
    r"\U0001f000-\U0001faff]"
)

_COLLAPSED = {".": "…", "-": "—", "–": "—", "—": "—", ":": ":", ",": ",", ";": ";", "…": "…"}


def _collapse(match: re.Match[str]) -> str:
    return _COLLAPSED[match[0][0]]


def _collapse_shouting(match: re.Match[str]) -> str:
    """`!!!` is `!`, `?!?!` is `?!`."""
    return "".join(dict.fromkeys(match[0]))


# Before all other rules: what they must not see.
BLOCKS: tuple[Rule, ...] = (
    rule(r"^[ ]*(?:```|~~~)[\w+#.-]*[ ]*$", "", re.MULTILINE),
    rule(r"^[ ]*([-*_=])(?:[ ]*\1){2,}+[ ]*$", "", re.MULTILINE),
    rule(r"^[ ]*\|?(?:[ ]*:?-{2,}+:?[ ]*\|)++(?:[ ]*:?-{2,}+:?)?[ ]*$", "", re.MULTILINE),
    rule(r"^[ ]*(?:#{1,6}[ ]++|[-*+•▪◦‣][ ]++(?:\[[ xX]\][ ]++)?|(?:>++[ ]++)++)", "", re.MULTILINE),
    rule(r"^[ ]*\|[ ]*|[ ]*\|[ ]*$", "", re.MULTILINE),
    rule(r"!?\[(?=[^\[\]\n]{0,300}\]\([^()\n]{0,500}\))", ""),
    rule(r"\]\([^()\n]{0,500}\)", ""),
    rule(r"[ ]*\[\^[^\]\n]{1,30}\]:?", ""),
    rule(r"(?<!\S)(?:[:;=]'?-?[)(\[\]DPpOo/\\|*]|[xX]D|\^_*\^|¯\\_\(ツ\)_/¯)+(?![^\s.!?,])", ""),
    rule(rf"^{EMOJI}++[ ]*|[ ]*{EMOJI}++", "", re.MULTILINE),
)

# After all other rules: what they left over.
MARKS: tuple[Rule, ...] = (
    rule(r"[!?]{3,}+|!!|\?\?", _collapse_shouting),
    rule(r"\.{2,}+(?:[ ]\.++)*+|…[….]++|(?:\.[ ]){2,}+\.|-{2,}+|[–—]{2,}+|:{2,}+|,{2,}+|;{2,}+", _collapse),
    rule(r"[ ]*\|++[ ]*", ", "),
    rule(r"(?<=[^\W_])_++(?=[^\W_])|(?<=[\w:])\\++(?=\w)", " "),
    rule(r"\*++|~++|`++|_++|\\|=++|[<>^†‡¶•·#]|\{|\}", ""),
)
