"""Streams of text, split into sentences."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from svc.text.sentences.split import LONGEST_CJK_SENTENCE, LONGEST_SENTENCE, Sentence, Splitter, ends_sentence

# Mostly what the rules look at, so that they are combined in every order.
PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["Dr.", "U.S.", "The", "the", "No.", "e.g.", ".", "!", "?", "…", "\n", "\n\n", "- ", "。", "」", "と", "你",
             "।", "5", "3.5", "J.", '"', ")", "word", "Name", "# ", "1. ", " ", "  ", "a" * 130, "b " * 90, "漢" * 50]
        ),
        st.text(max_size=8),
    ),
    max_size=40,
)  # fmt: skip


def split(*feeds: str) -> list[str]:
    splitter = Splitter()
    sentences = [sentence for text in feeds for sentence in splitter.feed(text)] + splitter.flush()
    return [sentence.text for sentence in sentences]


@pytest.mark.parametrize(
    "sentences",
    [
        ["Hello there. ", "How are you? ", "Fine!"],
        ["He said “Stop.” ", "Then he left."],
        ["(It rained.) ", "We stayed."],
        ["Really?! ", "Yes."],
        ["Wait… ", "What?"],
        ["On Jan. 5 we met. ", "It was cold."],
        ["Dr. Smith is in. ", "Mr. Jones is not."],
        ["The U.S. economy grew. ", "The U.S. Army did not."],
        ["He lives in the U.S. ", "She does not."],
        ["Use tools, e.g. Hammers. ", "Or not."],
        ["It costs 3.50 today. ", "Buy 2."],
        ["J. K. Rowling and George W. Bush met. ", "Nobody knows why."],
        ["Go to example.com/a.b?c=d. ", "Then click."],
        ["See https://example.com/x.html now. ", "Done."],
        ["We meet at 7 a.m. on Monday. ", "We leave at 8 p.m. ", "It is late."],
        ["No. 5 is alive. ", "No. ", "I will not."],
        ["Apple Inc. is big. ", "So is Acme Inc. ", "They compete."],
        ["“Why?” he asked. ", "Nobody answered."],
        ["hello. ", "this is all lower case. ", "ok?"],
        ["First paragraph\n\n", "Second paragraph"],
        ["# A heading\n", "Some text\n", "- one\n", "- two\n", "1. First. ", "Second"],
        ["東京へ行く。", "「行こう。」と言った。", "そうか！", "はい"],
        ["你好！", "你好吗？", "我很好。"],
        ["यह पहला है। ", "यह दूसरा है।"],
        ["Roses are red\n", "Violets are blue"],
        ["El Sr. García llegó. ", "La Dra. López no."],
        ["¿Qué tal? ", "¡Muy bien! ", "Gracias."],
        ["I wonder (really?) about it. ", "Hm."],
        ["**Bold.** ", "Plain."],
    ],
    ids=lambda sentences: sentences[0][:24],
)
def test_sentences(sentences: list[str]) -> None:
    assert split("".join(sentences)) == sentences


def test_a_wrapped_line_continues_the_sentence() -> None:
    text = "This sentence was wrapped by an editor at about seventy columns, right before\nLondon was named."
    assert split(text) == [text]


def test_positions_count_from_the_start_of_the_stream() -> None:
    splitter = Splitter()
    found = (
        splitter.feed("One. Two")
        + splitter.feed(". Three")
        + splitter.flush()
        + splitter.feed("Four")
        + splitter.flush()
    )
    assert found == [Sentence("One. ", 0), Sentence("Two. ", 5), Sentence("Three", 10), Sentence("Four", 15)]


@pytest.mark.parametrize(
    ("text", "next_character"),
    [("It is over. ", "N"), ("Is it over? ", "n"), ("終わった。", "次"), ("Over\n\n", "N"), ("Ask Mr. X. ", "W")],
)
def test_a_sentence_is_certain_with_the_next_character(text: str, next_character: str) -> None:
    splitter = Splitter()
    assert splitter.feed(text) == []
    expected = [] if text.startswith("Ask") else [Sentence(text, 0)]  # after an initial, a whole word decides
    assert splitter.feed(next_character) == expected


def test_after_an_abbreviation_the_next_word_decides() -> None:
    splitter = Splitter()
    assert splitter.feed("I love the U.S. The") == []
    assert splitter.feed(" rest") == [Sentence("I love the U.S. ", 0)]


@given(PIECES)
@example(["a" * 130, "b " * 90, ", ", "c" * 300, ". ", "The", " end"])
@settings(max_examples=400, deadline=None)
def test_sentences_do_not_depend_on_the_pieces_fed(pieces: list[str]) -> None:
    text = "".join(pieces)
    whole = split(text)
    assert "".join(whole) == text
    assert split(*pieces) == whole
    assert split(*text) == whole


@given(st.text(), st.text())
@settings(deadline=None)
def test_no_text_is_lost_across_a_flush(first: str, second: str) -> None:
    splitter = Splitter()
    found = splitter.feed(first) + splitter.flush() + splitter.feed(second) + splitter.flush()
    assert "".join(sentence.text for sentence in found) == first + second
    position = 0
    for sentence in found:
        assert sentence.start == position
        position += len(sentence.text)


@pytest.mark.parametrize(
    ("text", "longest"),
    [
        ("a" * 5_000, LONGEST_SENTENCE),
        ("word " * 8_000, LONGEST_SENTENCE),
        ("!" * 10_000, LONGEST_SENTENCE),
        (" " * 5_000, LONGEST_SENTENCE),
        ("\n" * 5_000, LONGEST_SENTENCE),
        ("Mr. " * 5_000, LONGEST_SENTENCE),
        ("漢字" * 2_000, LONGEST_CJK_SENTENCE),
        ("\ud800\x00\u200b" * 1_000, LONGEST_SENTENCE),
    ],
    ids=lambda value: ascii(str(value)[:8]),
)
def test_sentences_have_a_maximum_length(text: str, longest: int) -> None:
    sentences = split(text)
    assert "".join(sentences) == text
    assert max(map(len, sentences)) <= longest
    assert len(sentences) <= 1 + 2 * len(text) // longest


def test_a_long_sentence_is_cut_after_a_clause() -> None:
    clause = "and so the story went on for a good while without anything new, "
    assert all(sentence.endswith(", ") for sentence in split(clause * 20)[:-1])


def test_a_long_sentence_is_never_cut_inside_a_word() -> None:
    text = "incomprehensibilities " * 100
    assert all(sentence.endswith(" ") for sentence in split(text))


def test_a_number_is_not_cut_at_its_comma() -> None:
    text = "a" * (LONGEST_SENTENCE - 4) + " 1,000 and so on and on"
    assert split(text)[0] == "a" * (LONGEST_SENTENCE - 4) + " "


@pytest.mark.parametrize("text", ["It is over.", "Is it?", "“Stop!” ", "終わった。"])
def test_texts_that_end_a_sentence(text: str) -> None:
    assert ends_sentence(text)


@pytest.mark.parametrize("text", ["", "It is", "Ask Mr.", "On Jan.", "No.", "the U.S.", "costs 3.", "one, "])
def test_texts_that_may_continue(text: str) -> None:
    assert not ends_sentence(text)


@pytest.mark.parametrize(
    ("character", "longest"), [("a", 400), ("日", 120), ("9", 100), ("½", 50), ("㍿", 30), ("ﷺ", 23)]
)
def test_a_sentence_is_bounded_by_how_long_it_takes_to_say(character: str, longest: int) -> None:
    sentences = Splitter().feed(2000 * character)
    assert longest // 2 < max(len(each.text) for each in sentences) <= longest
