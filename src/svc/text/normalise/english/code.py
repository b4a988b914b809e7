"""Program code in running text: operators, options of commands, keys, identifiers and hexadecimal digits."""

import re

from svc.text.normalise.english.numbers import Numbers
from svc.text.normalise.rules import Rule, any_of

ASSIGNMENTS = {
    "+=": "plus equals", "-=": "minus equals", "*=": "times equals", "/=": "divide equals", "%=": "mod equals",
    "|=": "or equals", "&=": "and equals", "^=": "xor equals",
}  # fmt: skip

# Modifier keys may be joined to the next key by a plus; Ctrl and Cmd by a hyphen, too.
MODIFIERS = {
    "ctrl": "control", "control": "control", "cmd": "command", "command": "command", "alt": "alt", "shift": "shift",
    "option": "option", "opt": "option", "win": "windows", "super": "super", "meta": "meta", "fn": "function",
}  # fmt: skip
KEYS = {
    "del": "delete", "esc": "escape", "ins": "insert", "pgup": "page up", "pgdn": "page down", "prtsc": "print screen",
    "bksp": "backspace", "ret": "return",
}  # fmt: skip

# Words that a dash may precede without a space after it: "he came -and left".
NOT_OPTIONS = frozenset({"and", "as", "but", "he", "i", "if", "in", "is", "it", "no", "not", "or", "she", "so", "the"})

# What is before the dot of an attribute, also where the sentence before it may just lack a space.
OBJECTS = "this|self|cls|event|window|document|console|math|json|np|pd|os|sys|app|ctx|req|res|props|state|process"

_LETTERS = re.compile(r"[^\W\d_]+")


def spell(digits: str, numbers: Numbers) -> str:
    return " ".join(numbers.digits(each) if each.isdecimal() else each.upper() for each in digits)


def build_rules(numbers: Numbers) -> list[Rule]:
    def say_characters(match: re.Match[str]) -> str:
        """Hexadecimal digits one by one; groups are separated by pauses."""
        return ", ".join(spell(group, numbers) for group in re.findall(r"[0-9A-Za-z]+", match[0]))

    def say_prefixed(match: re.Match[str]) -> str:
        return f"zero {match['prefix'].upper()} {spell(match['digits'], numbers)}"

    def say_short_option(match: re.Match[str]) -> str | None:
        letters = match["letters"]
        return f"dash {'.'.join(letters.upper())}" if letters.lower() not in NOT_OPTIONS else None

    def say_long_option(match: re.Match[str]) -> str | None:
        return f"dash dash {match['word']}" if match["word"] not in NOT_OPTIONS else None

    def say_keys(match: re.Match[str]) -> str:
        modifiers = [MODIFIERS[word.lower()] for word in _LETTERS.findall(match["modifiers"])]
        key = match["key"] or ""
        if key.isdecimal():
            key = numbers.integer(key)
        return " ".join([*modifiers, key.upper() if len(key) == 1 else KEYS.get(key.lower(), key)])

    def say_attribute(match: re.Match[str]) -> str:
        return match[0].replace(".", " dot ").replace("_", " ")

    def say_constant(match: re.Match[str]) -> str:
        return match[0].replace("_", " ").lower()

    hexadecimal = r"[0-9A-Fa-f]"
    plus = r"[ ]?\+[ ]?"
    modifier = rf"(?:(?i:{any_of(MODIFIERS)}){plus}|(?i:ctrl|cmd)-|(?:Alt|Shift|Option)-(?=[A-Z]))"
    name = r"[A-Za-z_]+"
    return [
        Rule(rf"(?<![^\W_])0(?P<prefix>[xX])(?P<digits>{hexadecimal}{{1,32}})(?![^\W_])", say_prefixed),
        Rule(r"(?<![^\W_])0(?P<prefix>[bB])(?P<digits>[01]{2,64})(?![^\W_])", say_prefixed),
        Rule(
            rf"(?<![\w:-])(?:{hexadecimal}{{2}}[:-]){{5}}{hexadecimal}{{2}}(?![\w:-])",
            say_characters,
        ),
        Rule(
            rf"(?<![\w:])(?=[\d:]*(?:[a-f]|::))(?:{hexadecimal}{{0,4}}:){{2,7}}{hexadecimal}{{1,4}}(?![\w:])",
            say_characters,
        ),
        Rule(
            r"(?<![\w-])(?=[a-f]*\d)(?=\d*[a-f])(?!\d+e\d{1,3}\b)[0-9a-f]{7,64}(?:-[0-9a-f]{4,12}){0,4}(?![\w-])",
            say_characters,
        ),
        Rule(rf"(?<![^\W_])(?P<modifiers>{modifier}+)(?P<key>[A-Za-z]{{1,9}}\b|\d{{1,2}}(?!\w))?", say_keys),
        Rule(r"(?<![^\W_])[Cc]trl(?![^\W_])", "control"),
        Rule(r"(?<![^\W_])Esc(?![^\W_])", "escape"),
        Rule(r"(?:(?<=[\w`\"'][ ])|(?<=[`\"']))-(?P<letters>[A-Za-z]|[a-z]{2,3})(?![\w'.-])", say_short_option),
        Rule(r"(?:(?<=[\s`\"'(])|^)--(?P<word>[a-z]{2,30})(?![\w'])", say_long_option),
        Rule(
            rf"(?<=[\w)\]])[ ]*(?P<sign>{any_of(ASSIGNMENTS)})[ ]*(?=[\w(\[\"'-])",
            lambda match: f" {ASSIGNMENTS[match['sign']]} ",
        ),
        Rule(r"(?<=[\w)\]])[ ]*&&[ ]*(?=[\w(!])", " and "),
        Rule(r"(?<=[\w)\]])[ ]*\|\|[ ]*(?=[\w(!])", " or "),
        Rule(r"(?<=[A-Za-z_\])])\+\+(?![\w+])", " plus plus"),
        Rule(r"(?<![\w+])\+\+(?=[A-Za-z_])", "plus plus "),
        Rule(r"(?:(?<=\b[a-z])|(?<=[\])]))--(?=[;)\s]|$)", " minus minus"),
        Rule(r"(?<=[\w)\]])[ ]+%[ ]+(?=\d|[b-z]\b|\()", " mod "),
        Rule(r"(?:(?<=SELECT[ ])|(?<=select[ ])|(?<=\())\*(?=[ )])", "star"),
        Rule(r"(?<![\w:/])//+[ ]?(?=[A-Za-z])", ""),
        Rule(r"(?<=[ ])/(?=[`\"']|$)", "slash"),
        Rule(r"(?:(?<=[\s`\"'(])|^)/(?=(?!or\b|and\b)[a-z]{3,})", "slash "),
        Rule(r"(?<=[A-Za-z]{2})<(?P<type>[A-Za-z_][A-Za-z_:,. ]{0,40})>(?!=)", lambda match: f" {match['type']}"),
        Rule(rf"(?<![\w.@/])[A-Za-z_]{{2,}}(?:\.{name}){{2,8}}(?<!\.[A-Za-z])(?![\w@])", say_attribute),
        Rule(
            rf"(?<![\w.@/])(?:(?:{OBJECTS})\.[a-z_][A-Za-z_]*|[A-Za-z_]{{2,}}\.[a-z_][A-Za-z_]+(?=\())(?![\w.])",
            say_attribute,
        ),
        Rule(r"(?<=\))\.(?=[a-z_])", " dot "),
        Rule(r"(?:(?<=\()|(?<=&&[ ])|(?<=\|\|[ ]))!(?=[A-Za-z_(])", "not "),
        Rule(r"(?<!\w)[A-Z]{2,20}(?:_[A-Z]{1,20})+(?!\w)", say_constant),
    ]


# Between what changes and what it becomes; before the rules that leave arrows out as pictures.
ARROWS: tuple[Rule, ...] = (Rule(r"(?<=[\w)\]%\"'])[ ]*(?:[-=]{1,2}>|[→⇒➡➔]\ufe0f?)[ ]*(?=[\w(\[\"'$£€#@])", " to "),)


def build_number_sign_rules(numbers: Numbers) -> list[Rule]:
    """Colours and codes after a number sign; before the rules for hashtags."""
    mixed = r"(?=[A-Fa-f]*\d)(?=\d*[A-Fa-f])[0-9A-Fa-f]{6}"
    return [
        Rule(
            rf"(?<![\w&])#(?P<digits>{mixed}|(?P<letter>[A-Fa-f])(?P=letter){{2}}(?:(?P=letter){{3}})?)(?!\w)",
            lambda match: f"hash {spell(match['digits'], numbers)}",
        ),
        Rule(r"(?<![\w&])#(?=[A-Z]{1,3}-\d)", "number "),
    ]
