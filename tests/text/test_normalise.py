"""Written text and its spoken form: tables of cases, positions, and text that must not break it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from svc.text import normalise as package
from svc.text.language.languages import Language
from svc.text.normalise import LONGEST_WINDOW, normalise, split_windows
from svc.text.normalise.rules import Rule, Span, apply_rules

HERE = Path(__file__).parent

# The tables keep a few cases that fail.
MIN_PASS_RATE = 0.97

# Long texts are a little longer than two windows.
HOSTILE = (
    "",
    " ",
    "\ud800",
    "a\ud83db\udc00c",
    "\x00\x01\x02",
    "!" * 4200,
    "9" * 4200,
    "1," * 2100,
    "1.2" * 1400,
    "a" * 4200,
    "a." * 2100,
    "A1" * 2100,
    "$" * 4200,
    "$1-" * 1400,
    "/a" * 2100,
    "@a." * 1400,
    "http://" * 600,
    "[a](" * 1050,
    "*_`~|" * 840,
    "1/2/" * 1050,
    "1:2:" * 1050,
    "² ³ ½" * 840,
    "x²³" * 1400,
    "①Ⅳ㎏℃" * 1050,
    "é" + "\u0301" * 4200,
    "\u200b\u200d\ufeff" * 1400,
    "مرحبا 123 שלום",
    "١٢٣ १२३ 一二三",
    "&amp;&#0;&#xD800;&#99999999;&nosuch;" * 116,
    "𝟏𝟐𝟑 𝐁𝐨𝐥𝐝",
    "👍🏽👨‍👩‍👧‍👦🇫🇷",
    "- " * 2100,
    "> " * 2100,
    "-" * 4200,
    "1-" * 2100,
    "a.b_" * 1050,
    "AB_" * 1400,
    "0xf-" * 1050,
    "--a " * 1050,
    "ctrl+" * 840,
    "1 000 " * 700,
    "a1:" * 1400,
    "Main St N. " * 380,
    "(°°°" * 1050,
    "0123 456 " * 466,
    "'" * 4200 + '"' * 5_000,
)

ANY_LANGUAGE = st.sampled_from(list(Language))
# Mostly the characters that rules look at, so that they are combined in every order.
WRITTEN = st.text(st.one_of(st.sampled_from("0123456789.,:/-–$€%°²½'\" \nAaMmPpIVX&@#*_()[]<>+=~|"), st.characters()))


def read_table(name: str) -> Iterator[tuple[str, str, str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()[1:]
    for line in lines:
        first, written, expected = (line.replace("\\n", "\n") + "\t\t").split("\t")[:3]
        yield first, written, expected


# Parts of the cases, in random order.
PARTS = sorted(
    {
        part
        for name in ("english_cases.tsv", "english_reading.tsv", "other_cases.tsv")
        for _, written, _ in read_table(name)
        for part in re.findall(r"\S+|\s", written)
    }
)
SHUFFLED = st.lists(st.sampled_from(PARTS), max_size=12).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda glue: glue.join(parts))
)


def say(text: str, language: Language) -> str:
    joined = "".join(span.spoken for span in normalise(text, language))
    return re.sub("[ ]+", " ", joined).strip()


def find_failures(cases: list[tuple[Language, str, str]]) -> list[str]:
    found = []
    for language, written, expected in cases:
        spoken = say(written, language)
        if spoken != expected:
            found.append(f"{language}: {written!r} is spoken as {spoken!r}, not {expected!r}")
    return found


def assert_covers(text: str, spans: list[Span]) -> None:
    position = 0
    for span in spans:
        assert span.start == position
        assert span.end > span.start
        position = span.end
    assert position == len(text)


def test_english_table(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [(Language.ENGLISH_US, written, expected) for _, written, expected in read_table("english_cases.tsv")]
    failures = find_failures(cases)
    rate = 1 - len(failures) / len(cases)
    with capsys.disabled():
        print(f"\n{len(cases)} English cases, {rate:.1%} as expected", *failures, sep="\n")
    assert len(cases) >= 200
    assert rate >= MIN_PASS_RATE


@pytest.mark.parametrize("language", {Language(code): None for code, _, _ in read_table("other_cases.tsv")})
def test_table_of_language(language: Language) -> None:
    cases = [
        (language, written, expected) for code, written, expected in read_table("other_cases.tsv") if code == language
    ]
    failures = find_failures(cases)
    print(
        f"\n{len(cases)} cases of {language}, {1 - len(failures) / len(cases):.1%} as expected",
        *failures,
        sep="\n",
    )
    assert len(cases) >= 15
    assert len(failures) <= 1


@given(SHUFFLED | WRITTEN, ANY_LANGUAGE)
@example("㎏ 5㎏ №5", Language.ENGLISH_US)
@settings(max_examples=300, deadline=None)
def test_spans_cover_any_text(text: str, language: Language) -> None:
    assert_covers(text, normalise(text, language))


@given(SHUFFLED | WRITTEN, ANY_LANGUAGE)
@settings(max_examples=300, deadline=None)
def test_no_digit_is_left(text: str, language: Language) -> None:
    assert not re.search(r"\d", say(text, language))


# English has its own rules; the other languages share theirs, with or without spaces between words.
@pytest.mark.parametrize("language", [Language.ENGLISH_US, Language.SPANISH, Language.MANDARIN])
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:8]))
def test_hostile_text_is_normalised(text: str, language: Language) -> None:
    assert_covers(text, normalise(text, language))


@pytest.mark.parametrize("text", ["word " * 8_000, "9" * 40_000, "$1,000.00 " * 4_000, " " * 40_000])
def test_work_grows_linearly_with_the_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns see windows of bounded length, and each character is in one window."""
    seen: list[int] = []

    def record(rules: object, window: str) -> list[object]:
        seen.append(len(window))
        return []

    monkeypatch.setattr(package, "apply_rules", record)
    normalise(text, Language.ENGLISH_US)
    assert max(seen) <= LONGEST_WINDOW
    assert sum(seen) == len(text)
    assert len(seen) <= 2 * len(text) // LONGEST_WINDOW + 1


def test_windows_end_between_words() -> None:
    text = "seven and $1,000.00 " * 500
    pieces = [text[start:end] for start, end in split_windows(text)]
    assert "".join(pieces) == text
    assert all(piece.endswith(" ") for piece in pieces)


def test_an_expression_is_one_span() -> None:
    assert normalise("Pay $5 to Dr. Lee.", Language.ENGLISH_US) == [
        Span(0, 4, "Pay "),
        Span(4, 6, "five dollars"),
        Span(6, 10, " to "),
        Span(10, 13, "Doctor"),
        Span(13, 18, " Lee."),
    ]


def test_plain_text_is_one_span() -> None:
    text = "It’s a “plain” sentence, isn’t it?"
    assert normalise(text, Language.ENGLISH_US) == [Span(0, len(text), "It's a “plain” sentence, isn't it?")]


def test_dropped_characters_are_silent_spans() -> None:
    assert normalise("won\u200bder", Language.ENGLISH_US) == [
        Span(0, 3, "won"),
        Span(3, 4, ""),
        Span(4, 7, "der"),
    ]


@pytest.mark.parametrize("text", ["👍🏽", "🎉 🎉", "👨‍👩‍👧‍👦", "*** \n ---", ":) ;-)"])
def test_emoji_and_markup_alone_are_silent(text: str) -> None:
    assert say(text, Language.ENGLISH_US) == ""


def test_the_first_rule_that_applies_wins() -> None:
    rules = [Rule("ab", lambda _: None), Rule("abc", "first"), Rule("abcd", "second"), Rule("z*", "never")]
    assert [(span.start, span.spoken) for span in apply_rules(rules, "xabcd")] == [(1, "first")]
