"""Marks that are seen and not heard: markdown, emoji, emoticons, runs of punctuation."""

import re

from svc.text.normalise.rules import Rule, rule

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
