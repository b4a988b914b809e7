"""Lexicons: W3C PLS 1.0 files, as which dictionaries are imported and exported.

Only elements, attributes and text are read. A document type declaration is refused, and with it every entity and
every reference to another file.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from svc.dictionaries.rules import MAX_RULES, InvalidRule, make_alias, make_phoneme
from svc.errors import InvalidLexicon
from svc.text.pronunciation_rules import Alphabet, PronunciationRule

MAX_LEXICON_BYTES = 2_000_000
_DEEPEST = 20
_LONGEST_TEXT = 10_000  # characters of one element; longer than any that is allowed, so that the rule says why

_NAMESPACE = "http://www.w3.org/2005/01/pronunciation-lexicon"
# PLS has no attributes for these two properties of a rule. Other programs ignore those of a foreign namespace.
_OWN_NAMESPACE = "urn:svc:pronunciation-lexicon"
_CASE_SENSITIVE, _WORD_BOUNDARIES = f"{_OWN_NAMESPACE} case-sensitive", f"{_OWN_NAMESPACE} word-boundaries"
_LANGUAGE = "http://www.w3.org/XML/1998/namespace lang"
DEFAULT_LANGUAGE = "und"
_LONGEST_LANGUAGE = 35


@dataclass(frozen=True, slots=True)
class Lexicon:
    rules: list[PronunciationRule]
    language: str = DEFAULT_LANGUAGE
    """As `xml:lang` has it. The rules apply in every language."""


def parse_lexicon(content: bytes) -> Lexicon:
    """Raises `InvalidLexicon`, with the line."""
    if len(content) > MAX_LEXICON_BYTES:
        raise InvalidLexicon(f"it is larger than {MAX_LEXICON_BYTES} bytes")
    return _Parser().parse(content)


@dataclass(slots=True)
class _Spoken:
    """A <phoneme> or an <alias>."""

    element: str
    text: str
    alphabet: str
    preferred: bool


@dataclass(slots=True)
class _Lexeme:
    attributes: dict[str, str]
    graphemes: list[str] = field(default_factory=list)
    spoken: list[_Spoken] = field(default_factory=list)


class _Parser:
    def __init__(self) -> None:
        self._expat = expat.ParserCreate(namespace_separator=" ")
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._add_text
        self._expat.StartDoctypeDeclHandler = self._refuse_doctype
        self._expat.buffer_text = True
        self._open: list[str] = []
        self._text = ""
        self._attributes: dict[str, str] = {}
        self._alphabet = Alphabet.IPA.value
        self._language = DEFAULT_LANGUAGE
        self._lexeme: _Lexeme | None = None
        self._rules: list[PronunciationRule] = []

    def parse(self, content: bytes) -> Lexicon:
        try:
            self._expat.Parse(content, True)
        except expat.ExpatError as error:
            raise InvalidLexicon(f"it is not XML: {expat.ErrorString(error.code)}", error.lineno) from None
        except (LookupError, ValueError) as error:  # of an encoding that does not exist, or has several bytes
            raise InvalidLexicon(f"its encoding cannot be read: {error}") from None
        return Lexicon(self._rules, self._language)

    def _refuse(self, problem: str) -> InvalidLexicon:
        return InvalidLexicon(problem, self._expat.CurrentLineNumber)

    def _refuse_doctype(self, *_: object) -> None:
        raise self._refuse("a document type declaration (<!DOCTYPE>) is not allowed")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        # Files without the namespace, and with another one, are common.
        name = name.rpartition(" ")[2]
        if not self._open and name != "lexicon":
            raise self._refuse(f"its first element is <{name[:40]}>, not <lexicon>")
        if len(self._open) >= _DEEPEST:
            raise self._refuse("its elements are nested too deeply")
        self._open.append(name)
        self._text, self._attributes = "", attributes
        if name == "lexicon" and len(self._open) == 1:
            self._alphabet = attributes.get("alphabet", self._alphabet)
            language = attributes.get(_LANGUAGE, "")
            if 0 < len(language) <= _LONGEST_LANGUAGE and language.replace("-", "").isalnum():
                self._language = language
        elif name == "lexeme":
            self._lexeme = _Lexeme(attributes)

    def _add_text(self, text: str) -> None:
        if self._lexeme and len(self._text) < _LONGEST_TEXT:
            self._text += text

    def _end(self, name: str) -> None:
        name = self._open.pop()
        text, self._text = " ".join(self._text.split()), ""
        if self._lexeme is None:
            return
        if name == "grapheme":
            self._lexeme.graphemes.append(text)
        elif name in ("phoneme", "alias"):
            alphabet = self._attributes.get("alphabet", self._alphabet)
            preferred = self._attributes.get("prefer", "").strip() in ("true", "1")
            self._lexeme.spoken.append(_Spoken(name, text, alphabet, preferred))
        elif name == "lexeme":
            self._add_rules(self._lexeme)
            self._lexeme = None

    def _add_rules(self, lexeme: _Lexeme) -> None:
        """One rule for each grapheme, with the preferred pronunciation, or else the first."""
        if not lexeme.graphemes or not lexeme.spoken:
            raise self._refuse("a <lexeme> needs a <grapheme>, and a <phoneme> or an <alias>")
        spoken = next((each for each in lexeme.spoken if each.preferred), lexeme.spoken[0])
        flags = (
            lexeme.attributes.get(_CASE_SENSITIVE, "true") != "false",
            lexeme.attributes.get(_WORD_BOUNDARIES, "true") != "false",
        )
        try:
            for grapheme in lexeme.graphemes:
                self._rules.append(
                    make_alias(grapheme, spoken.text, *flags)
                    if spoken.element == "alias"
                    else make_phoneme(grapheme, spoken.text, spoken.alphabet, *flags)
                )
        except InvalidRule as problem:
            where = {"string_to_replace": "<grapheme>", "alphabet": "the alphabet"}.get(
                problem.field, f"<{problem.field}>"
            )
            raise self._refuse(f"{where} {problem}") from None
        if len(self._rules) > MAX_RULES:
            raise self._refuse(f"it has more than {MAX_RULES} rules")


def write_lexicon(lexicon: Lexicon) -> bytes:
    """A file that `parse_lexicon` reads back to the same rules."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<lexicon version="1.0" xmlns="{_NAMESPACE}" xmlns:svc="{_OWN_NAMESPACE}" alphabet="{Alphabet.IPA}" '
        f"xml:lang={quoteattr(lexicon.language)}>",
        *_write_lexemes(lexicon.rules),
        "</lexicon>",
        "",
    ]
    return "\n".join(lines).encode()


def _write_lexemes(rules: Iterable[PronunciationRule]) -> Iterable[str]:
    for rule in rules:
        flags = "" if rule.case_sensitive else ' svc:case-sensitive="false"'
        flags += "" if rule.word_boundaries else ' svc:word-boundaries="false"'
        element = "alias" if rule.alphabet is None else "phoneme"
        alphabet = f' alphabet="{rule.alphabet}"' if rule.alphabet is Alphabet.ARPABET else ""
        yield f"  <lexeme{flags}>"
        yield f"    <grapheme>{escape(rule.string)}</grapheme>"
        yield f"    <{element}{alphabet}>{escape(rule.replacement)}</{element}>"
        yield "  </lexeme>"
