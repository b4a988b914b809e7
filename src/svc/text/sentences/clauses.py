"""Cuts a sentence where its manner or language changes, and pronounces each part."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from svc.text.language.languages import Language
from svc.text.markup.parsed_text import Change, Replacement
from svc.text.markup.prosody import Manner
from svc.text.sentences.phrases import Clause, Pronounce, Reason, Word


def make_clauses(
    text: str,
    changes: Sequence[Change],
    replacements: Sequence[Replacement],
    choose_language: Callable[[str, Manner], tuple[Language, Reason]],
    pronounce: Pronounce,
) -> list[Clause]:
    """The words of a sentence. The first of its `changes` is where it begins; text that is read as a whole is not cut.

    Where only the prosody changes, the words are those of the whole sentence.
    """
    changes = [each for each in changes if not any(other.start < each.start < other.end for other in replacements)]
    runs = list(_split_runs(changes, len(text)))
    # A few foreign words must not decide in which language the rest of the sentence is read.
    unmarked = "".join(text[start:end] for start, end, manner in runs if not manner.language)
    clauses: list[Clause] = []
    for start, end, manner in runs:
        language, reason = choose_language(text[start:end] if manner.language else unmarked, manner)
        inside = [each.shift(-start) for each in replacements if start <= each.start < end]
        words = pronounce(text[start:end], language, inside)
        if start:
            words = [word.move(word.start + start, word.end + start) for word in words]
        if clauses:
            _keep_space(clauses[-1].words, text, words[0].start if words else end)
        clauses += [
            Clause(list(part), language.base, manner, reason) for manner, part in _group_by_manner(words, changes)
        ]
    return clauses


def _keep_space(words: list[Word], text: str, end: int) -> None:
    """The space between two runs belongs to the word before it, as it does within a run."""
    last = words[-1]
    if not last.tail[-1:].isspace() and any(map(str.isspace, text[last.end : end])):
        words[-1] = replace(last, tail=last.tail + " ")


def _split_runs(changes: Sequence[Change], length: int) -> Iterator[tuple[int, int, Manner]]:
    """The ranges of text that one voice speaks in one language."""
    runs = [list(run) for _, run in groupby(changes, lambda each: (each.manner.voice, each.manner.language))]
    ends = [*(run[0].start for run in runs[1:]), length]
    for run, end in zip(runs, ends, strict=True):
        if run[0].start < end:
            yield run[0].start, end, run[0].manner


def _group_by_manner(words: list[Word], changes: Sequence[Change]) -> Iterator[tuple[Manner, Iterator[Word]]]:
    positions = [each.start for each in changes]
    return groupby(words, lambda word: changes[bisect_right(positions, word.start) - 1].manner)
