"""No text, however strange, makes a long step: other texts wait for it. 40,000 characters of many kinds.

What is measured is processor time of this thread, the least of several runs: another process cannot make it longer
each time.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import thread_time

import pytest

from svc.text.frontend import Frontend
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.text.markup.parsed_text import Replacement
from svc.text.sentences.phrases import NO_PHRASE, Phrase, Pronounce, Word, pronounce

KINDS: list[str] = json.loads(Path(__file__).with_name("kinds_of_text.json").read_text())
LENGTH = 40_000
RUNS = 4


def _measure_yardstick() -> float:
    """The processor time of work like that of reading."""
    started = thread_time()
    for _ in range(200):
        re.sub(r"\w+", lambda match: match[0].upper(), "the quick brown fox jumps over it " * 10)
    return thread_time() - started


# 50 ms where the yardstick takes 7 ms, and as much more on a machine that is slower.
LONGEST_STEP = 0.05 * max(1.0, min(_measure_yardstick() for _ in range(5)) / 0.007)


def _repeat(kind: str, length: int) -> str:
    return (kind * (length // len(kind) + 1))[:length]


def _remember(phonemizer: Phonemizer) -> Pronounce:
    """A sentence that comes again is not pronounced again: each is measured once."""
    known: dict[tuple[str, Language, tuple[Replacement, ...]], list[Word]] = {}

    def read(text: str, language: Language, replacements: Sequence[Replacement]) -> list[Word]:
        key = text, language, tuple(replacements)
        if key not in known:
            known[key] = pronounce(phonemizer, text, language, replacements)
        return known[key]

    return read


def _measure(read: Pronounce, text: str) -> list[float]:
    """The processor time of each step."""
    phrases = Frontend(read, Language.ENGLISH_US, None).read(text)
    steps = list[float]()
    phrase: Phrase | None = NO_PHRASE
    while phrase:
        started = thread_time()
        phrase = next(phrases, None)
        steps.append(thread_time() - started)
    return steps


def _least(measure: Callable[[], list[float]], enough: Callable[[list[float]], bool]) -> list[float]:
    """The least that each step took in several runs, of which more are made only if they are needed."""
    best = measure()
    for _ in range(RUNS - 1):
        if enough(best):
            break
        best = [min(pair) for pair in zip(best, measure(), strict=True)]
    return best


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=ascii)
def test_every_step_is_short(phonemizer: Phonemizer, kind: str) -> None:
    _measure(partial(pronounce, phonemizer), _repeat(kind, 900))  # loads what it needs
    text = _repeat(kind, LENGTH)
    steps = _least(lambda: _measure(_remember(phonemizer), text), lambda steps: max(steps) < LONGEST_STEP)
    assert max(steps) < LONGEST_STEP, f"step {steps.index(max(steps))} of {len(steps)}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=ascii)
def test_work_is_linear_in_the_length(phonemizer: Phonemizer, kind: str) -> None:
    """Twice the text takes at most three times as long: what is quadratic takes four times as long."""
    read = _remember(phonemizer)
    text = _repeat(kind, LENGTH // 2)
    once, twice = float("inf"), sum(_measure(read, text))
    for _ in range(RUNS):
        once = min(once, sum(_measure(read, text[: LENGTH // 4])))
        twice = min(twice, sum(_measure(read, text)))
        if twice < 3 * once + 0.02:
            return
    pytest.fail(f"{once:.3f} s for {LENGTH // 4} characters, {twice:.3f} s for {LENGTH // 2}")


def test_there_are_many_kinds() -> None:
    assert len(set(KINDS)) == len(KINDS) >= 200
