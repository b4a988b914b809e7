"""Lexicons: PLS 1.0 in and out, and hostile files."""

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.dictionaries.lexicon import MAX_LEXICON_BYTES, Lexicon, parse_lexicon, write_lexicon
from svc.dictionaries.rules import (
    LONGEST_REPLACEMENT,
    MAX_RULES,
    InvalidRule,
    add_rules,
    make_alias,
    make_phoneme,
    remove_rules,
)
from svc.errors import InvalidLexicon
from svc.text.pronunciation_rules import LONGEST_STRING, Alphabet, PronunciationRule

# The example of the W3C's recommendation, with more of what it allows.
EXAMPLE = """<?xml version="1.0" encoding="UTF-8"?>
<lexicon version="1.0" xmlns="http://www.w3.org/2005/01/pronunciation-lexicon"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="http://www.w3.org/2005/01/pronunciation-lexicon pls.xsd" alphabet="ipa" xml:lang="en-GB">
  <meta name="author" content="somebody"/>
  <metadata><x:y xmlns:x="urn:x">z</x:y></metadata>
  <!-- two spellings -->
  <lexeme xml:id="a"><grapheme>theatre</grapheme><grapheme>theater</grapheme><phoneme>ˈθɪətər</phoneme></lexeme>
  <lexeme role="claws:VVI"><grapheme>Newton</grapheme>
    <phoneme>ˈnjuːtən</phoneme><phoneme prefer="true">ˈnuːtən</phoneme><example>Sir Isaac</example></lexeme>
  <lexeme><grapheme>W3C</grapheme><alias>World Wide Web
     Consortium</alias></lexeme>
  <lexeme><grapheme>AT&amp;T</grapheme><phoneme alphabet="cmu-arpabet">EY1 T IY1 AH0 N D T IY1</phoneme></lexeme>
  <lexeme><grapheme><![CDATA[<3]]></grapheme><alias>love</alias></lexeme>
</lexeme></lexicon>
""".replace("</lexeme></lexicon>", "</lexicon>")

RULES = [
    PronunciationRule("theatre", "ˈθɪətər", Alphabet.IPA),
    PronunciationRule("theater", "ˈθɪətər", Alphabet.IPA),
    PronunciationRule("Newton", "ˈnuːtən", Alphabet.IPA),
    PronunciationRule("W3C", "World Wide Web Consortium"),
    PronunciationRule("AT&T", "EY1 T IY1 AH0 N D T IY1", Alphabet.ARPABET),
    PronunciationRule("<3", "love"),
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_encodings(encoding: str) -> None:
    text = EXAMPLE.replace('encoding="UTF-8"', "" if "utf-8" in encoding else 'encoding="UTF-16"')
    assert parse_lexicon(text.encode(encoding)) == Lexicon(RULES, "en-GB")


def test_namespaces() -> None:
    bare = '<lexicon alphabet="cmu-arpabet"><lexeme><grapheme>a</grapheme><phoneme>AH0</phoneme></lexeme></lexicon>'
    assert parse_lexicon(bare.encode()).rules == [PronunciationRule("a", "AH0", Alphabet.ARPABET)]
    prefixed = (
        '<p:lexicon xmlns:p="http://www.w3.org/2005/01/pronunciation-lexicon"><p:lexeme><p:grapheme>a</p:grapheme>'
        "<p:alias>b</p:alias></p:lexeme></p:lexicon>"
    )
    assert parse_lexicon(prefixed.encode()) == Lexicon([PronunciationRule("a", "b")], "und")


_TEXT = st.text(st.characters(exclude_categories=("Cc", "Cs", "Cn", "Zs", "Zl", "Zp")), min_size=1, max_size=20)
_RULE = st.builds(
    PronunciationRule,
    _TEXT,
    _TEXT,
    st.just(None),
    st.booleans(),
    st.booleans(),
) | st.builds(PronunciationRule, _TEXT, st.just("bəˈnænə"), st.just(Alphabet.IPA), st.booleans(), st.booleans())


@given(st.lists(_RULE, max_size=8), st.sampled_from(["und", "en-GB", "zh-Hant-TW"]))
@settings(max_examples=200, deadline=None)
def test_what_is_written_is_read_back(rules: list[PronunciationRule], language: str) -> None:
    assert parse_lexicon(write_lexicon(Lexicon(rules, language))) == Lexicon(rules, language)


def wrap(inside: str, before: str = "") -> bytes:
    return f"{before}<lexicon>{inside}</lexicon>".encode()


LEXEME = "<lexeme><grapheme>{}</grapheme><alias>{}</alias></lexeme>"
BOMB = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
EXTERNAL = '<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not XML"),
        (b"hello", "not XML"),
        (b"PK\x03\x04", "not XML"),
        (b"\xff\xfe\x00", "not XML"),
        (b"<lexicon>", "not XML"),
        (b"<lexicon/><lexicon/>", "not XML"),
        (b"<html/>", "<html>"),
        (b'<?xml version="1.0" encoding="none-such"?><lexicon/>', "encoding"),
        (wrap(LEXEME.format("a", "&b;")), "not XML"),
        (wrap(LEXEME.format("a", "&b;"), BOMB), "DOCTYPE"),
        (wrap(LEXEME.format("a", "&x;"), EXTERNAL), "DOCTYPE"),
        (wrap("", '<!DOCTYPE lexicon SYSTEM "http://127.0.0.1:1/x.dtd">'), "DOCTYPE"),
        (wrap("<x>" * 200_000 + "</x>" * 200_000), "deeply"),
        (wrap("<lexeme><grapheme>a</grapheme></lexeme>"), "needs a <grapheme>"),
        (wrap("<lexeme><alias>a</alias></lexeme>"), "needs a <grapheme>"),
        (wrap(LEXEME.format("a", " ")), "<alias> must not be blank"),
        (wrap(LEXEME.format("a" * (LONGEST_STRING + 1), "b")), "<grapheme> must have at most"),
        (wrap(LEXEME.format("a", "b" * 500_000)), "<alias> must have at most"),
        (wrap(LEXEME.format("a", "\x85 \x9f")), "control character"),
        (wrap("<lexeme><grapheme>a</grapheme><phoneme alphabet='x-sampa'>a</phoneme></lexeme>"), "the alphabet must"),
        (wrap("<lexeme><grapheme>a</grapheme><phoneme alphabet='cmu-arpabet'>QQ</phoneme></lexeme>"), "QQ is not"),
        (wrap(LEXEME.format("a", "b") * (MAX_RULES + 1)), "more than 5000 rules"),
        (b"<lexicon>" + b" " * MAX_LEXICON_BYTES + b"</lexicon>", "larger than"),
    ],
    ids=range(23),
)
def test_hostile_files(content: bytes, problem: str) -> None:
    with pytest.raises(InvalidLexicon, match=problem):
        parse_lexicon(content)


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_random_files_are_refused_or_read(content: bytes) -> None:
    for each in (content, wrap("") + content, EXAMPLE.encode()[: len(content)] + content):
        with contextlib.suppress(InvalidLexicon):
            parse_lexicon(each)


def test_what_a_rule_may_contain() -> None:
    assert make_alias("  a \n b ", "c  d", True, False) == PronunciationRule("a b", "c d", None, True, False)
    assert make_phoneme("a", "ə", "IPA", True, True).alphabet is Alphabet.IPA
    refused: list[tuple[str, Callable[[], PronunciationRule]]] = [
        ("string_to_replace", lambda: make_alias("", "b", True, True)),
        ("alias", lambda: make_alias("a", "b\x00", True, True)),
        ("alias", lambda: make_alias("a", "\ud800", True, True)),
        ("alias", lambda: make_alias("a", "b" * (LONGEST_REPLACEMENT + 1), True, True)),
        ("phoneme", lambda: make_phoneme("a", "!!", "cmu-arpabet", True, True)),
        ("phoneme", lambda: make_phoneme("a", "☃", "ipa", True, True)),
        ("alphabet", lambda: make_phoneme("a", "ə", "klingon", True, True)),
    ]
    for field, make in refused:
        with pytest.raises(InvalidRule) as caught:
            make()
        assert caught.value.field == field


def test_lists_of_rules_are_edited() -> None:
    a, b, c = (PronunciationRule(name, "x") for name in "abc")
    newer = PronunciationRule("b", "y", case_sensitive=False)
    assert add_rules([a, b, c, b], [newer, PronunciationRule("d", "z")]) == [a, newer, c, PronunciationRule("d", "z")]
    assert add_rules([a, a], [b, newer]) == [a, a, newer]
    assert remove_rules([a, b, c, b], ["b", "none"]) == [a, c]
