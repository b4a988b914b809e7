"""Unicode variants folded into plain characters, and rules for markdown, emoji and repeated punctuation."""

import html
import re
import unicodedata
from dataclasses import dataclass

from svc.text.normalise.rules import Rule

# NFKC would lose the meaning of these: ² is "squared", ½ "a half", … a pause.
KEPT = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ªº…‥¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞´¨¯¸，！？：；（）～")

LOOKALIKES = {
    "‘": "'", "’": "'", "‛": "'", "ʼ": "'", "′": "'", "´": "'", "‚": "'", "″": '"', "‟": "“", "„": "“",
    "«": "“", "»": "”", "‹": "“", "›": "”", "‐": "-", "‑": "-", "‒": "–", "―": "—", "−": "-", "﹣": "-",
    "⁃": "-", "⁄": "/", "∕": "/", "∗": "*", "⋅": "·", "∙": "·", "˚": "°", "\u2028": "\n", "\u2029": "\n",
    "\u0085": "\n", "™": "", "℠": "", "®": "", "№": "No. ", "℃": "°C", "℉": "°F", "‼": "!!", "⁇": "??",
    "⁈": "?!", "⁉": "!?", "㎡": "m²", "㎥": "m³", "\t": " ", "\r": " ",
}  # fmt: skip

# Format characters, lone surrogates, private and unassigned characters are not spoken.
SILENT_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_PLAIN_RUN = re.compile(r"[\n !-%'-~]+")  # ASCII needs no folding, except for the & that may begin an entity
_COMBINING = re.compile(r"[\u0300-\u036f\uff9e\uff9f]+")  # accents, and the voicing marks of half-width kana
_COMBINING_ACCENT = re.compile(r"[\u0300-\u036f]")


@dataclass(frozen=True, slots=True)
class FoldedText:
    """`text`, and for each of its characters the start and end of the original characters it stands for."""

    text: str
    starts: list[int]
    ends: list[int]


def fold(text: str) -> FoldedText:
    """Folds the text: entities, combining accents, compatibility and look-alike characters."""
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    while position < len(text):
        plain = _PLAIN_RUN.match(text, position)
        if plain and not _COMBINING.match(text, plain.end()):
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
    return FoldedText("".join(folded), starts, ends)


def _fold_cluster(text: str, start: int) -> tuple[int, str]:
    """The end and the folded form of the entity or accented character that begins at `start`."""
    entity = _ENTITY.match(text, start)
    if entity and (decoded := html.unescape(entity[0])) != entity[0]:
        return entity.end(), "".join(_fold_character(character) for character in decoded)
    accents = _COMBINING.match(text, start + 1)
    if accents is None:
        return start + 1, _fold_character(text[start])
    composed = unicodedata.normalize("NFKC", text[start : accents.end()])
    return accents.end(), _COMBINING_ACCENT.sub("", composed)


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


def _collapse_emphasis(match: re.Match[str]) -> str:
    """`!!!` is `!`, `?!?!` is `?!`."""
    return "".join(dict.fromkeys(match[0]))


# Applied before the rules of a language: what those must not match.
BLOCKS: tuple[Rule, ...] = (
    Rule(r"^[ ]*(?:```|~~~)[\w+#.-]*[ ]*$", "", re.MULTILINE),
    Rule(r"^[ ]*([-*_=])(?:[ ]*\1){2,}+[ ]*$", "", re.MULTILINE),
    Rule(r"^[ ]*\|?(?:[ ]*:?-{2,}+:?[ ]*\|)++(?:[ ]*:?-{2,}+:?)?[ ]*$", "", re.MULTILINE),
    Rule(r"^[ ]*(?:#{1,6}[ ]++|[-*+•▪◦‣][ ]++(?:\[[ xX]\][ ]++)?|(?:>++[ ]++)++)", "", re.MULTILINE),
    Rule(r"^[ ]*\|[ ]*|[ ]*\|[ ]*$", "", re.MULTILINE),
    Rule(r"!?\[(?=[^\[\]\n]{0,300}\]\([^()\n]{0,500}\))", ""),
    Rule(r"\]\([^()\n]{0,500}\)", ""),
    Rule(r"[ ]*\[\^[^\]\n]{1,30}\]:?", ""),
    Rule(r"(?<!\S)(?:[:;=]'?-?[)(\[\]DPpOo/\\|*]|[xX]D|\^_*\^|¯\\_\(ツ\)_/¯)+(?![^\s.!?,])", ""),
    # Faces of signs: (╯°□°)╯︵ ┻━┻
    Rule(r"[ ]*[ヽ┌└ᕕ]?\((?=[^()\n]{0,12}[^\x00-\x7f])(?:[^()\w\s]|[ツಠ益ᴗωಥ_]){3,12}\)(?:[^\s\w.,!?]|[ノ／])*", ""),
    Rule(r"(?<=[.,;:!?…\]”\"])\[\d{1,3}\](?!\w)", ""),  # references, as in an encyclopedia
    Rule(rf"^{EMOJI}++[ ]*|[ ]*{EMOJI}++", "", re.MULTILINE),
)

# Applied after the rules of a language: what those left.
MARKS: tuple[Rule, ...] = (
    Rule(r"[!?]{3,}+|!!|\?\?", _collapse_emphasis),
    Rule(r"\.{2,}+(?:[ ]\.++)*+|…[….]++|(?:\.[ ]){2,}+\.|-{2,}+|[–—]{2,}+|:{2,}+|,{2,}+|;{2,}+", _collapse),
    Rule(r"[ ]*\|++[ ]*", ", "),
    Rule(r"(?<=[^\W_])_++(?=[^\W_])|(?<=[\w:])\\++(?=\w)", " "),
    Rule(r"\*++|~++|`++|_++|\\|=++|[<>^†‡¶•·#]|\{|\}", ""),
)
