"""Words with their phonemes, and the phrases that the engine speaks in one go."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from svc.text.g2p import Phonemizer, from_ipa
from svc.text.g2p.tokenizer import PhonemeToken
from svc.text.language import Language
from svc.text.markup import Break, Pronunciation
from svc.text.normalise import normalise
from svc.text.normalise.rules import Span
from svc.text.pronunciation_rules import Alias

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

    @property
    def spaced_phonemes(self) -> str:
        return self.phonemes + " " if self.space else self.phonemes


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

    @property
    def phonemes(self) -> str:
        phonemes = _join(self.words)
        if phonemes and not self.after and not _MARKS.intersection(phonemes.rstrip('"”) ')[-1:]):
            return phonemes.rstrip() + self.ending  # without a mark the voice stops abruptly
        return phonemes


def pronounce(
    text: str,
    language: Language,
    pronunciations: Sequence[Pronunciation],
    phonemizer: Phonemizer,
    aliases: Sequence[Alias] = (),
) -> list[Word]:
    """The words of a sentence, normalised and phonemized; `pronunciations` are those that the caller gave."""
    spans = _normalise(text, language, pronunciations, aliases)
    spoken = "".join(span.spoken for span in spans)
    starts = []  # of each span in the spoken text
    length = 0
    for span in spans:
        starts.append(length)
        length += len(span.spoken)

    def find_origin(position: int) -> tuple[int, int]:
        """The characters of the sentence behind one character of the spoken text."""
        index = bisect_right(starts, position) - 1
        span = spans[index]
        if span.spoken == text[span.start : span.end]:
            start = span.start + position - starts[index]
            return start, start + 1
        return span.start, span.end

    phonemes = {(each.start, each.end): from_ipa(each.ipa, language) for each in pronunciations}
    given = [
        PhonemeToken(start, start + len(span.spoken), found, spoken[start + len(span.spoken) :][:1].isspace())
        for start, span in zip(starts, spans, strict=True)
        if (found := phonemes.get((span.start, span.end)))
    ]
    tokens = _phonemize(spoken, language, given, phonemizer)
    next_starts = [*(token.start for token in tokens[1:]), len(spoken)]
    return [
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


def _phonemize(
    spoken: str, language: Language, given: Sequence[PhonemeToken], phonemizer: Phonemizer
) -> list[PhonemeToken]:
    """The tokens of the spoken text, with those that are given instead of the ones at their places.

    Where a word reaches over the edge of a given one, as in Chinese, whose words are not marked, it is cut there: the
    text is phonemized in several parts.
    """
    tokens = phonemizer(spoken, language)
    edges = {edge for token in given for edge in (token.start, token.end)}
    cuts = sorted(edge for edge in edges if any(token.start < edge < token.end for token in tokens))
    if cuts:
        tokens = [
            replace(token, start=start + token.start, end=start + token.end)
            for start, end in pairwise([0, *cuts, len(spoken)])
            for token in phonemizer(spoken[start:end], language)
        ]
    for each in given:
        before = [token for token in tokens if token.end <= each.start]
        inside = [token for token in tokens if each.start <= token.start < each.end]
        after = [token for token in tokens if token.start >= each.end]
        if inside:
            each = replace(each, space=inside[-1].space)
        elif before and spoken[each.start - 1].isspace():
            before[-1] = replace(before[-1], space=True)
        tokens = [*before, each, *after]
    return tokens


def _normalise(
    text: str, language: Language, pronunciations: Sequence[Pronunciation], aliases: Sequence[Alias]
) -> list[Span]:
    """The spans of the text; where the caller gave the pronunciation, the text stays as it is."""
    given = [Span(each.start, each.end, text[each.start : each.end]) for each in pronunciations]
    given += [Span(each.start, each.end, _verbalise(each.text, language)) for each in aliases]
    spans: list[Span] = []
    position = 0
    for each in sorted(given, key=lambda span: span.start):
        spans += _normalise_range(text, position, each.start, language)
        spans += [each] if each.start < each.end else []
        position = each.end
    return spans + _normalise_range(text, position, len(text), language)


def _normalise_range(text: str, start: int, end: int, language: Language) -> list[Span]:
    found = normalise(text[start:end], language)
    return [Span(start + span.start, start + span.end, span.spoken) for span in found]


def _verbalise(text: str, language: Language) -> str:
    return "".join(span.spoken for span in normalise(text, language))


def make_phrases(words: list[Word], breaks: list[Break], pause: float = 0.0, ending: str = ".") -> Iterator[Phrase]:
    """A sentence's words, cut at its breaks and where they are too long; `pause` is the silence after the sentence.

    `ending` is the mark that it is spoken with if it has none of its own.
    """
    position = 0
    for each in breaks:
        cut = next((i for i in range(position, len(words)) if words[i].start >= each.position), len(words))
        yield from _cut_to_length(words[position:cut], each.seconds, "," if cut < len(words) else ending)
        position = cut
    if position < len(words):
        yield from _cut_to_length(words[position:], pause, ending)


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


def _cut_to_length(words: list[Word], pause: float, ending: str) -> Iterator[Phrase]:
    """Phrases that the engine can take; the pause comes after the last of them."""
    groups = _group(words)
    if not groups:
        yield Phrase((), pause)
    for index, group in enumerate(groups):
        yield Phrase(
            tuple(group),
            pause if index == len(groups) - 1 else 0.0,
            last_phonemes(groups[index - 1]) if index else "",
            first_phonemes(groups[index + 1]) if index + 1 < len(groups) else "",
            ending,
        )


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
    """The same words; one with very many phonemes becomes several."""
    for word in words:
        for start in range(0, len(word.phonemes), LONGEST_PHRASE // 2):
            yield replace(word, phonemes=word.phonemes[start : start + LONGEST_PHRASE // 2])
