"""Speech markup in otherwise plain text: breaks, phonemes, dropped tags, tags that arrive in pieces."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.text.markup.elements import LONGEST_BREAK_SECONDS
from svc.text.markup.parsed_text import Break, ParsedText, Pronunciation
from svc.text.markup.parser import MarkupParser, find_holdback, parse
from svc.text.markup.tags import LONGEST_TAG

PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["<", ">", "</", "/>", "<break",
             ' time="1s"', " time=2s", "<phoneme", ' ph="x"', ">w", "</phoneme>", "<!--",
             "-->", "<![CDATA[", "]]>", "<p>", "</p>", "<b>", " ", '"', "'", "word", "x<y>z", "<?xml", "<br/>"]
        ),
        st.text(max_size=5),
    ),
    max_size=30,
).map("".join)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Hello.", "Hello."),
        ("<speak>Hello.</speak>", "Hello."),
        ('<prosody rate="slow" pitch="+10%">Slow</prosody> down', "Slow down"),
        ('<say-as interpret-as="date">5/1</say-as>', "5/1"),
        ("<b>bold</b> and <made-up>unknown</made-up>", "bold and unknown"),
        ("a<!-- comment -->b", "ab"),
        ("<![CDATA[1 < 2 <b>]]>!", "1 < 2 <b>!"),
        ('<?xml version="1.0"?><speak>Hi</speak>', "Hi"),
        ("<p>One</p><p>Two</p>", "One\n\nTwo\n\n"),
        ("One<br>Two", "One\n\nTwo"),
        ("one<break/>two", "one two"),
        ("a < b", "a < b"),
        ("if a<b and c>d", "if a<b and c>d"),
        ("I <3 you", "I <3 you"),
        ("x<y>z", "x<y>z"),
        ("List<String> names", "List<String> names"),
        ("<https://example.com> <me@example.com>", "<https://example.com> <me@example.com>"),
        ("5 <", "5 <"),
        ("a <> b", "a <> b"),
        ("open <!-- comment", "open  comment"),
        ('cut off <break time="1', "cut off "),
        ("<prosody rate=slow broken here>text</prosody>", "text"),
        ("&lt;b&gt; &amp;", "&lt;b&gt; &amp;"),
        ("<SPEAK>loud</SPEAK>", "loud"),
        ("", ""),
    ],
)
def test_tags_are_dropped_and_text_is_kept(text: str, plain: str) -> None:
    assert parse(text).text == plain


@pytest.mark.parametrize(
    ("tag", "seconds"),
    [
        ('<break time="1.5s"/>', 1.5),
        ('<break time="500ms" />', 0.5),
        ("<break time='2s'></break>", 2.0),
        ("<break time=1s>", 1.0),
        ("<break time=1s/>", 1.0),
        ("<break time=“3s”/>", 3.0),
        ('<break time="90s"/>', LONGEST_BREAK_SECONDS),
        ('<break strength="strong"/>', 0.75),
        ('<break strength="x-weak"/>', 0.1),
        ("<break/>", 0.5),
        ('<break time="soon"/>', 0.5),
        ('<break time="1s"/> <break time="250ms"/>', 1.25),
        ('<break time="40s"/><break time="40s"/>', LONGEST_BREAK_SECONDS),
        ('<BREAK TIME="1S"/>', 1.0),
    ],
)
def test_breaks(tag: str, seconds: float) -> None:
    parsed = parse(f"before {tag}after")
    assert sum(each.seconds for each in parsed.breaks) == pytest.approx(seconds)
    assert parsed.text[: parsed.breaks[0].position].strip() == "before"
    assert parsed.text[parsed.breaks[0].position :].strip() == "after"


@pytest.mark.parametrize("tag", ['<break time="0s"/>', '<break strength="none"/>', '<break time="-3s"/>'])
def test_breaks_without_length_are_dropped(tag: str) -> None:
    assert parse(f"a {tag} b").breaks == []


def test_breaks_with_words_between_are_not_merged() -> None:
    assert parse('a <break time="1s"/>b <break time="2s"/>').breaks == [Break(2, 1.0), Break(4, 2.0)]


@pytest.mark.parametrize(
    ("attributes", "ipa"),
    [
        ('alphabet="ipa" ph="təˈmeɪtoʊ"', "təˈmeɪtoʊ"),
        ('ph="təˈmɑːtəʊ"', "təˈmɑːtəʊ"),
        ('alphabet="cmu-arpabet" ph="T AH0 M EY1 T OW0"', "təmˈeɪtoʊ"),
        ('alphabet="x-arpabet" ph="hh ah0 l ow1"', "həlˈoʊ"),
        ('alphabet="ipa" ph="&#x259;"', "ə"),
        ("alphabet='x-sampa' ph='t@\"meItoU'", "təˈmeɪtoʊ"),
        ('alphabet="x-sampa" ph="r\\Ed"', "ɹɛd"),
    ],
)
def test_phoneme_tags(attributes: str, ipa: str) -> None:
    parsed = parse(f"a <phoneme {attributes}><b>tomato</b></phoneme> b")
    assert parsed.text == "a tomato b"
    assert parsed.replacements == [Pronunciation(2, 8, ipa)]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<script>alert(1 < 2)</script>Welcome", "Welcome"),
        ("<style type='text/css'>p { color: red }</style>Text", "Text"),
        ("the <script> tag comes first", "the  tag comes first"),
        ("#include <stdio.h>", "#include <stdio.h>"),
        ("E=mc<sup>2</sup>", "E=mc²"),
        ("10<sup>-9</sup> m", "10⁻⁹ m"),
        ("1<sup>st</sup> and word<sup>3</sup>", "1st and word3"),
    ],
)
def test_html_that_is_left_over(text: str, plain: str) -> None:
    assert parse(text).text == plain


def test_an_exponent_stands_for_its_own_characters() -> None:
    parsed = parse("x<sup>12</sup>!")
    assert (parsed.text, parsed.origins) == ("x¹²!", [0, 6, 7, 14, 15])


@pytest.mark.parametrize("text", ["A <script>" + "x" * 500 + "</script> b", "A<sup>2</sup> and <style>x</style>b"])
def test_elements_in_a_stream_do_not_depend_on_its_pieces(text: str) -> None:
    def stream(size: int) -> str:
        parser, plain, pending = MarkupParser(), "", ""
        for start in range(0, len(text), size):
            pending += text[start : start + size]
            certain = find_holdback(pending)
            plain += ParsedText.join(parser.feed(pending[:certain], whole=False)).text
            pending = pending[certain:]
        return plain + ParsedText.join(parser.feed(pending, whole=False)).text

    assert len({stream(size) for size in (1, 7, 100, 1000)}) == 1


@pytest.mark.parametrize(
    "text",
    [
        "<phoneme>word</phoneme>",
        '<phoneme ph="">word</phoneme>',
        '<phoneme ph="x">word',
        "word</phoneme>",
        'word<phoneme ph="x"></phoneme>',
        'word<phoneme ph="x"/>',
    ],
)
def test_a_phoneme_tag_needs_a_word_and_phonemes(text: str) -> None:
    parsed = parse(text)
    assert parsed.text == "word"
    assert parsed.replacements == []


def test_origins_are_positions_in_the_callers_text() -> None:
    text = '<p>One</p> two<break time="1s"/>three'
    parsed = parse(text)
    for word in ("One", "two", "three"):
        assert parsed.origins[parsed.text.index(word)] == text.index(word)
    assert parsed.origins[-1] == len(text)


@given(PIECES)
@settings(max_examples=400)
def test_any_text_can_be_parsed(text: str) -> None:
    parsed = parse(text)
    assert len(parsed.origins) == len(parsed.text) + 1
    assert parsed.origins == sorted(parsed.origins)
    kept = [(character, origin) for character, origin in zip(parsed.text, parsed.origins, strict=False)]
    assert all(text[origin] == character or character.isspace() for character, origin in kept)
    assert all(0 <= each.position <= len(parsed.text) and 0 < each.seconds <= 10 for each in parsed.breaks)
    assert all(0 <= each.start < each.end <= len(parsed.text) for each in parsed.replacements)


@pytest.mark.parametrize(
    "text",
    [
        "<" * 40_000,
        "<!--" * 10_000,
        "<![CDATA[" * 4_000,
        "<a b='" * 6_000,
        "<break/>" * 5_000,
        "<a " * 13_000,
        "<p>x" * 10_000,
    ],
    ids=lambda text: text[:9],
)
def test_hostile_markup_can_be_parsed(text: str) -> None:
    parsed = parse(text)
    assert len(parsed.origins) == len(parsed.text) + 1


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Hello", ""),
        ("Hello <", "<"),
        ("Hello <bre", "<bre"),
        ('Hello <break time="1', '<break time="1'),
        ("Hello </pho", "</pho"),
        ("Hello <!-", "<!-"),
        ('Hello <break time="1s"/>', '<break time="1s"/>'),
        ('Hello <break time="1s"/>w', ""),
        ("5 < 6", ""),
        ("I <3", ""),
        ('Say <phoneme ph="x">tom', '<phoneme ph="x">tom'),
        ('Say <phoneme ph="x">tomato</pho', '<phoneme ph="x">tomato</pho'),
        ('Say <phoneme ph="x">tomato</phoneme>', ""),
        ("Hello <b " + "x" * LONGEST_TAG, ""),
    ],
)
def test_unfinished_tags_are_held_back(text: str, held: str) -> None:
    assert text[find_holdback(text) :] == held


@given(PIECES)
def test_no_more_than_one_tag_is_held_back(text: str) -> None:
    assert len(text) - LONGEST_TAG <= find_holdback(text) <= len(text)
