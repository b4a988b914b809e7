"""What people write, and the words that are read: markup, sentences and normalisation together."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from svc.text.g2p.technical import RESPELLINGS
from svc.text.language.languages import Language
from svc.text.markup import parser as markup
from svc.text.normalise import normalise
from svc.text.sentences.split import Splitter

HERE = Path(__file__).parent

_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def read_cases(name: str) -> Iterator[tuple[str, list[str]]]:
    """What is written, and the readings that are right: where people differ there are several."""
    for line in (HERE / name).read_text(encoding="utf-8").splitlines()[1:]:
        _, written, spoken = line.split("\t")
        yield written.replace("\\n", "\n"), spoken.split(" | ")


def read_aloud(text: str) -> str:
    splitter = Splitter()
    sentences = splitter.feed(markup.parse(text).text) + splitter.flush()
    spans = (span for sentence in sentences for span in normalise(sentence.text, Language.ENGLISH_US))
    return "".join(span.spoken for span in spans)


def list_words(spoken: str) -> list[str]:
    """The words as they are heard: no marks and no case, and letter by letter what is spelt."""
    words = _WORD.findall(_CAMEL_CASE.sub(" ", spoken))
    return [part.lower() for word in words for part in (word if _is_spelt(word) else [word])]


def _is_spelt(word: str) -> bool:
    """G2P spells capitals, short words without a vowel, and the initialisms that it knows."""
    consonants = len(word) <= 5 and not set(word.lower()) & set("aeiouy")
    return word.isupper() or consonants or all(len(part) == 1 for part in RESPELLINGS.get(word.lower(), [word]))


def measure(name: str, capsys: pytest.CaptureFixture[str]) -> float:
    cases = list(read_cases(name))
    failures = [
        f"{written!r} is read as {read_aloud(written)!r}, not {spoken[0]!r}"
        for written, spoken in cases
        if list_words(read_aloud(written)) not in map(list_words, spoken)
    ]
    rate = 1 - len(failures) / len(cases)
    with capsys.disabled():
        print(f"\n{name}: {len(cases)} cases, {rate:.1%} as expected", *failures, sep="\n")
    return rate


def test_cases_that_the_rules_were_written_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert measure("english_reading.tsv", capsys) >= 0.97


def test_held_out_cases(capsys: pytest.CaptureFixture[str]) -> None:
    """Scored once, after the last change of a rule: that share is the floor."""
    assert measure("english_reading_held_out.tsv", capsys) >= 0.957


@pytest.mark.parametrize(
    ("text", "written", "spoken"),
    [
        ("Pay 20,50 € now", "20,50 €", "twenty euros and fifty cents"),
        ("at 4512 N. Main St. today", "4512", "forty-five twelve"),
        ("hit ctrl+shift+p twice", "ctrl+shift+p", "control shift P"),
        ("ring 07911 123456 now", "07911 123456", "zero seven nine one one, one two three four five six"),
        ("so a → b", " → ", " to "),
    ],
)
def test_words_stand_for_the_characters_that_were_sent(text: str, written: str, spoken: str) -> None:
    found = {text[span.start : span.end]: span.spoken for span in normalise(text, Language.ENGLISH_US)}
    assert found[written] == spoken
