"""Speech markup in otherwise plain text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.text.markup import LONGEST_BREAK_SECONDS, LONGEST_TAG, Break, Sound, holdback, parse

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
        ("a<!-- never said -->b", "ab"),
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
def test_tags_are_dropped_and_text_is_not(text: str, plain: str) -> None:
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
        ('<break time="60s"/>', LONGEST_BREAK_SECONDS),
        ('<break strength="strong"/>', 0.75),
        ('<break strength="x-weak"/>', 0.1),
        ("<break/>", 0.5),
        ('<break time="soon"/>', 0.5),
        ('<break time="1s"/> <break time="250ms"/>', 1.25),
        ('<break time="8s"/><break time="8s"/>', LONGEST_BREAK_SECONDS),
        ('<BREAK TIME="1S"/>', 1.0),
    ],
)
def test_breaks(tag: str, seconds: float) -> None:
    marked = parse(f"before {tag}after")
    assert [each.seconds for each in marked.breaks] == [pytest.approx(seconds)]
    assert marked.text[: marked.breaks[0].position].strip() == "before"
    assert marked.text[marked.breaks[0].position :].strip() == "after"


@pytest.mark.parametrize("tag", ['<break time="0s"/>', '<break strength="none"/>', '<break time="-3s"/>'])
def test_a_break_of_no_length_is_none(tag: str) -> None:
    assert parse(f"a {tag} b").breaks == []


def test_breaks_that_words_part_stay_apart() -> None:
    assert parse('a <break time="1s"/>b <break time="2s"/>').breaks == [Break(2, 1.0), Break(4, 2.0)]


@pytest.mark.parametrize(
    ("attributes", "ipa"),
    [
        ('alphabet="ipa" ph="təˈmeɪtoʊ"', "təˈmeɪtoʊ"),
        ('ph="təˈmɑːtəʊ"', "təˈmɑːtəʊ"),
        ('alphabet="cmu-arpabet" ph="T AH0 M EY1 T OW0"', "təmˈeɪtoʊ"),
        ('alphabet="x-arpabet" ph="hh ah0 l ow1"', "həlˈoʊ"),
        ('alphabet="ipa" ph="&#x259;"', "ə"),
    ],
)
def test_sounds(attributes: str, ipa: str) -> None:
    marked = parse(f"a <phoneme {attributes}><b>tomato</b></phoneme> b")
    assert marked.text == "a tomato b"
    assert marked.sounds == [Sound(2, 8, ipa)]


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
def test_a_sound_needs_a_word_and_phonemes(text: str) -> None:
    marked = parse(text)
    assert marked.text == "word"
    assert marked.sounds == []


def test_origins_lead_back_to_the_callers_text() -> None:
    text = '<p>One</p> two<break time="1s"/>three'
    marked = parse(text)
    for word in ("One", "two", "three"):
        assert marked.origin(marked.text.index(word)) == text.index(word)
    assert marked.origin(len(marked.text)) == len(text)


@given(PIECES)
@settings(max_examples=400)
def test_any_text_is_parsed(text: str) -> None:
    marked = parse(text)
    assert len(marked.origins) == len(marked.text) + 1
    assert marked.origins == sorted(marked.origins)
    kept = [(character, origin) for character, origin in zip(marked.text, marked.origins, strict=False)]
    assert all(text[origin] == character or character.isspace() for character, origin in kept)
    assert all(0 <= each.position <= len(marked.text) and 0 < each.seconds <= 10 for each in marked.breaks)
    assert all(0 <= each.start < each.end <= len(marked.text) for each in marked.sounds)


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
def test_hostile_markup_is_parsed(text: str) -> None:
    marked = parse(text)
    assert len(marked.origins) == len(marked.text) + 1


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
def test_holdback(text: str, held: str) -> None:
    assert text[holdback(text) :] == held


@given(PIECES)
def test_what_is_held_back_is_short(text: str) -> None:
    assert len(text) - LONGEST_TAG <= holdback(text) <= len(text)
