"""Words with their phonemes, and the phrases that the engine speaks in one go."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from itertools import pairwise, takewhile

from svc.text.g2p import Phonemizer, from_ipa
from svc.text.g2p.tokenizer import PhonemeToken
from svc.text.language.languages import Language
from svc.text.markup.elements import LONGEST_BREAK_SECONDS
from svc.text.markup.parsed_text import Break, Pronunciation, Replacement, Substitution
from svc.text.markup.prosody import DEFAULT_MANNER, Manner
from svc.text.normalise import normalise
from svc.text.normalise.rules import Span
from svc.text.normalise.say_as import say_as
from svc.text.normalise.typography import fold

# In phonemes. The model was trained on sentences and speaks longer input too fast; it takes 510 with both contexts.
LONGEST_PHRASE = 350
LONGEST_CONTEXT = 80
_MARKS = frozenset(";:,.!?—…")


@dataclass(frozen=True, slots=True)
class Word:
    """A word or punctuation mark in its spoken form, for the characters `start:end` of the text.

    Several words may stand for the same characters: "five" and "dollars" for "$5".
    """

    start: int
    end: int
    spoken: str
    tail: str
    """What stands between it and the next word and has no phonemes: mostly a space."""
    phonemes: str
    space: bool
    """Whether the model gets a space after it."""
    share: tuple[float, float] = (0.0, 1.0)
    """Where its sound begins and ends in that of all words for these characters."""

    @property
    def spaced_phonemes(self) -> str:
        return self.phonemes + " " if self.space else self.phonemes

    def move(self, start: int, end: int) -> "Word":
        """The same word for other characters; `replace` takes twice as long, and every word is moved."""
        return Word(start, end, self.spoken, self.tail, self.phonemes, self.space, self.share)


Pronounce = Callable[[str, Language, Sequence[Replacement]], list[Word]]
"""`pronounce` with a phonemizer, here or elsewhere."""


class Reason(StrEnum):
    """Why a text is read in a language."""

    VOICE = auto()
    """The voice speaks it, and nothing else asks for another."""
    REQUEST = auto()
    MARKUP = auto()
    DETECTED = auto()


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words to speak, and the silence after them: a sentence, or part of one that is too long or contains breaks.

    `before` and `after` are neighbouring phonemes: they shape the intonation and are not part of the audio.
    """

    words: tuple[Word, ...]
    pause: float = 0.0
    before: str = ""
    after: str = ""
    ending: str = "."
    end: int = 0
    """The position in the caller's text that is reached when the phrase has been spoken."""
    language: Language = Language.ENGLISH_US
    """The language it is pronounced in."""
    manner: Manner = DEFAULT_MANNER
    """How it is spoken, as markup asks for it."""
    reason: Reason | None = None
    """Why it is pronounced in that language; None if its sentence has no words."""
    unread: frozenset[str] = frozenset()
    """The scripts in its sentence that nothing here reads."""

    @property
    def phonemes(self) -> str:
        phonemes = _join(self.words)
        if phonemes and not self.after and not _MARKS.intersection(phonemes.rstrip('"”) ')[-1:]):
            return phonemes.rstrip() + self.ending  # without a mark the voice stops abruptly
        return phonemes


NO_PHRASE = Phrase(())
"""Instead of a phrase, where a step has ended without one: neither words nor a pause."""


@dataclass(frozen=True, slots=True)
class Clause:
    """Words of a sentence that are spoken in the same manner and language."""

    words: list[Word]
    language: Language
    manner: Manner = DEFAULT_MANNER
    reason: Reason = Reason.VOICE


def pronounce(phonemizer: Phonemizer, text: str, language: Language, replacements: Sequence[Replacement]) -> list[Word]:
    """The words of a sentence, normalised and phonemized.

    `replacements` are what the caller wants read instead of parts of it, in the order of the text.
    """
    spans = _normalise(text, language, replacements)
    spoken = "".join(span.spoken for span in spans)
    copied = [_is_copy(span, text[span.start : span.end]) for span in spans]
    starts = []  # of each span in the spoken text
    length = 0
    for span in spans:
        starts.append(length)
        length += len(span.spoken)

    def find_origin(position: int) -> tuple[int, int]:
        """The characters of the sentence behind one character of the spoken text."""
        index = bisect_right(starts, position) - 1
        span = spans[index]
        if copied[index]:
            start = span.start + position - starts[index]
            return start, start + 1
        return span.start, span.end

    pronunciations = [each for each in replacements if isinstance(each, Pronunciation)]
    phonemes = {(each.start, each.end): from_ipa(each.ipa, language) for each in pronunciations}
    given = [
        PhonemeToken(start, start + len(span.spoken), found, spoken[start + len(span.spoken) :][:1].isspace())
        for start, span in zip(starts, spans, strict=True)
        if (found := phonemes.get((span.start, span.end)))
    ]
    tokens = _phonemize(spoken, language, given, phonemizer)
    next_starts = [*(token.start for token in tokens[1:]), len(spoken)]
    words = [
        Word(
            start=find_origin(token.start)[0],
            end=find_origin(token.end - 1)[1],
            spoken=spoken[token.start : token.end],
            tail=spoken[token.end : next_start],
            phonemes=token.phonemes,
            space=token.space,
        )
        for token, next_start in zip(tokens, next_starts, strict=False)
    ]
    return list(_share_characters(words))


def _phonemize(
    spoken: str, language: Language, given: Sequence[PhonemeToken], phonemizer: Phonemizer
) -> list[PhonemeToken]:
    """The tokens of the spoken text, with those that are given instead of the ones at their places.

    Where a word reaches over the edge of a given one, as in Chinese, whose words are not marked, it is cut there: the
    text is phonemized in several parts.
    """
    tokens = phonemizer(spoken, language)
    edges = {edge for token in given for edge in (token.start, token.end)}
    starts = [token.start for token in tokens]
    cuts = sorted(edge for edge in edges if (at := bisect_left(starts, edge)) and edge < tokens[at - 1].end)
    if cuts:
        tokens = [
            replace(token, start=start + token.start, end=start + token.end)
            for start, end in pairwise([0, *cuts, len(spoken)])
            for token in phonemizer(spoken[start:end], language)
        ]
    merged: list[PhonemeToken] = []
    at = 0
    for each in given:
        while at < len(tokens) and tokens[at].end <= each.start:
            merged.append(tokens[at])
            at += 1
        instead = at
        while at < len(tokens) and tokens[at].start < each.end:
            at += 1
        if instead < at:
            each = replace(each, space=tokens[at - 1].space)
        elif merged and spoken[each.start - 1].isspace():
            merged[-1] = replace(merged[-1], space=True)
        merged.append(each)
    return [*merged, *tokens[at:]]


def _is_copy(span: Span, text: str) -> bool:
    """Whether the text is read as it is written, up to look-alikes: each character stands for itself."""
    return len(span.spoken) == len(text) and (span.spoken == text or span.spoken == fold(text).text)


def _normalise(text: str, language: Language, replacements: Sequence[Replacement]) -> list[Span]:
    """The spans of the text and of what is read instead of parts of it."""
    spans: list[Span] = []
    position = 0
    for each in replacements:
        spans += _shift(normalise(text[position : each.start], language), position)
        spans += _replace(text[each.start : each.end], each, language)
        position = each.end
    return spans + _shift(normalise(text[position:], language), position)


def _replace(text: str, replacement: Replacement, language: Language) -> list[Span]:
    """Where the caller gave the pronunciation, the text stays as it is."""
    start, end = replacement.start, replacement.end
    if isinstance(replacement, Pronunciation):
        return [Span(start, end, text)]
    if isinstance(replacement, Substitution):
        return [Span(start, end, "".join(span.spoken for span in normalise(replacement.alias, language)))]
    spoken = say_as(text, replacement.interpret_as, replacement.format, language)
    return _shift(normalise(text, language), start) if spoken is None else [Span(start, end, spoken)]


def _shift(spans: list[Span], offset: int) -> list[Span]:
    return [Span(offset + span.start, offset + span.end, span.spoken) for span in spans]


def _share_characters(words: list[Word]) -> Iterator[Word]:
    """The same words; those that stand for the same characters know which part of their sound they are."""
    first = 0
    while first < len(words):
        last, end = first + 1, words[first].end
        while last < len(words) and words[last].start < end:
            end = max(end, words[last].end)
            last += 1
        if last - first == 1:
            yield words[first]
            first = last
            continue
        total = sum(len(word.phonemes) for word in words[first:last])
        spoken = 0
        for word in words[first:last]:
            begin, spoken = spoken, spoken + len(word.phonemes)
            yield replace(word, start=words[first].start, end=end, share=(begin / total, spoken / total))
        first = last


def make_phrases(clauses: list[Clause], breaks: list[Break], pause: float = 0.0, ending: str = ".") -> Iterator[Phrase]:
    """A sentence, cut at its breaks, where its manner changes, and where it is too long.

    `pause` is the silence after the sentence, `ending` the mark that it is spoken with if it has none of its own.
    """
    pending: Phrase | None = None
    for each in breaks:
        before, clauses = _cut(clauses, each.position)
        if pending and not before:  # no word between two breaks: they are one
            pending = replace(pending, pause=min(pending.pause + each.seconds, LONGEST_BREAK_SECONDS))
            continue
        for phrase in _cut_to_length(before, each.seconds, "," if clauses else ending):
            yield from [pending] if pending else []
            pending = phrase
    yield from [pending] if pending else []
    if clauses:
        yield from _cut_to_length(clauses, pause, ending)


def _cut(clauses: list[Clause], position: int) -> tuple[list[Clause], list[Clause]]:
    """The clauses before and after a position in the text."""
    for index, clause in enumerate(clauses):
        cut = next((i for i, word in enumerate(clause.words) if word.start >= position), None)
        if cut is not None:
            before = [replace(clause, words=clause.words[:cut])] if cut else []
            return [*clauses[:index], *before], [replace(clause, words=clause.words[cut:]), *clauses[index + 1 :]]
    return clauses, []


def last_phonemes(words: Sequence[Word]) -> str:
    """The end of a text, as context for what follows it."""
    phonemes = _join(words).strip() + " "
    return phonemes if len(phonemes) <= LONGEST_CONTEXT else phonemes[phonemes.find(" ", -LONGEST_CONTEXT) + 1 :]


def first_phonemes(words: Sequence[Word]) -> str:
    """The beginning of a text, as context for what goes before it."""
    phonemes = " " + _join(words).strip()
    return phonemes if len(phonemes) <= LONGEST_CONTEXT else phonemes[: phonemes.rfind(" ", 0, LONGEST_CONTEXT)]


def _join(words: Sequence[Word]) -> str:
    return "".join(word.spaced_phonemes for word in words)


def _cut_to_length(clauses: list[Clause], pause: float, ending: str) -> Iterator[Phrase]:
    """Phrases that the engine can take; the pause comes after the last of them."""
    groups = [replace(clause, words=group) for clause in clauses for group in _group(clause.words)]
    if not groups:
        yield Phrase((), pause)
    for index, group in enumerate(groups):
        last = index == len(groups) - 1
        before = [word for each in reversed(_same_voice(groups[:index][::-1], group)) for word in each.words]
        after = [word for each in _same_voice(groups[index + 1 :], group) for word in each.words]
        yield Phrase(
            tuple(group.words),
            pause if last else 0.0,
            last_phonemes(before) if before else "",
            first_phonemes(after) if after else "",
            ending if last else ",",
            language=group.language,
            manner=group.manner,
            reason=group.reason,
        )


def _same_voice(neighbours: list[Clause], clause: Clause) -> list[Clause]:
    """The nearest neighbours that the same voice speaks: another one is another person, whose sentence ends there."""
    return list(takewhile(lambda each: each.manner.voice == clause.manner.voice, neighbours))


def _group(words: list[Word]) -> list[list[Word]]:
    """Words in groups of at most LONGEST_PHRASE phonemes, cut after a mark if there is one, else between words."""
    groups: list[list[Word]] = []
    current: list[Word] = []
    length = 0
    for word in _split_long_words(words):
        if length + len(word.spaced_phonemes) > LONGEST_PHRASE:
            cut = _find_cut(current)
            groups.append(current[:cut])
            current = current[cut:]
            length = len(_join(current))
        current.append(word)
        length += len(word.spaced_phonemes)
    return [*groups, current] if current else groups


def _find_cut(words: list[Word]) -> int:
    """After the last mark in the second half, or after the last word."""
    for index in range(len(words) - 1, len(words) // 2, -1):
        if words[index].phonemes in _MARKS:
            return index + 1
    return len(words)


def _split_long_words(words: list[Word]) -> Iterator[Word]:
    """The same words; one with very many phonemes becomes several, each with its part of the characters' sound."""
    for word in words:
        count = -(-len(word.phonemes) // (LONGEST_PHRASE // 2))
        if count == 1:
            yield word
            continue
        low, high = word.share
        for index in range(count):
            begin, end = index / count, (index + 1) / count
            yield replace(
                word,
                spoken=word.spoken[int(begin * len(word.spoken)) : int(end * len(word.spoken))],
                tail=word.tail if index == count - 1 else "",
                phonemes=word.phonemes[index * (LONGEST_PHRASE // 2) : (index + 1) * (LONGEST_PHRASE // 2)],
                share=(low + begin * (high - low), low + end * (high - low) if index < count - 1 else high),
            )
