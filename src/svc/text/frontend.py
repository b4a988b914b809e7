"""The text frontend: follows the caller's text as it arrives and turns it into phrases for the engine.

The steps for each sentence: take out the markup, split, detect the language, apply the pronunciation rules, normalise,
phonemize, cut into phrases.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from svc.text.language.detection import detect_language
from svc.text.language.languages import Language
from svc.text.language.unread_scripts import find_unread_scripts
from svc.text.markup import parser as markup
from svc.text.markup.parsed_text import Break, Change, ParsedText, Replacement
from svc.text.markup.parser import LONGEST_PIECE, MarkupParser
from svc.text.markup.prosody import DEFAULT_MANNER, Manner
from svc.text.pronunciation_rules import Rules, apply_rules
from svc.text.sentences.clauses import make_clauses
from svc.text.sentences.phrases import (
    NO_PHRASE,
    Clause,
    Phrase,
    Pronounce,
    Reason,
    Word,
    first_phonemes,
    last_phonemes,
    make_phrases,
)
from svc.text.sentences.split import Sentence, Splitter


class _Located(Protocol):
    @property
    def start(self) -> int: ...


T = TypeVar("T", bound=_Located)

# How much of the neighbouring text influences the intonation: about a phrase.
CONTEXT_CHARACTERS = 150

PARAGRAPH_PAUSE_SECONDS = 0.3


class Frontend:
    """`feed` text in any pieces, then `flush`: phrases come as soon as the end of a sentence is certain.

    Each step of an iterator is a bounded piece of work: one that has made no phrase yields one without words or pause.

    `language` is the one that the caller named. Without it, each sentence is spoken in the voice's language unless
    it is clearly in another. With a `schedule`, a long sentence is spoken before it is complete: see `Splitter`.
    `find_language` tells the language of a voice that markup names, None if there is no such voice.
    """

    def __init__(
        self,
        pronounce: Pronounce,
        voice_language: Language,
        language: Language | None,
        schedule: Sequence[int] = (),
        find_language: Callable[[str], Language | None] = lambda name: None,
        rules: Sequence[Rules] = (),
    ) -> None:
        """`rules` are those of the pronunciation dictionaries, the first of which wins."""
        self._pronounce = pronounce
        self._voice_language = voice_language
        self._language = language
        self._find_language = find_language
        self._splitter = Splitter(schedule)
        self._rules = rules
        self._parser = MarkupParser()
        self._context = ""  # last phonemes of a sentence that was cut short: its intonation continues
        self._held_back = ""  # may be the first half of a tag
        self._held_sentence: Sentence | None = None  # ends within text that is read as a whole
        self._manner = DEFAULT_MANNER  # where the text that has not become phrases yet begins
        self._source_length = 0  # characters of the caller's text so far
        self._plain_length = 0  # characters of it without markup
        # Of plain text that has not become phrases yet: its markup, and its characters' positions in the caller's text.
        self._breaks: deque[Break] = deque()
        self._replacements: deque[Replacement] = deque()
        self._changes: deque[Change] = deque()
        self._origins: deque[int] = deque()

    def read(self, text: str, previous: str = "", following: str = "") -> Iterator[Phrase]:
        """The phrases of a whole text; `previous` and `following` only shape the intonation at its ends."""
        current: Phrase | None = None
        for upcoming in self._read_whole(text):
            if not (upcoming.words or upcoming.pause):
                yield upcoming
            elif current:
                yield current
                current = upcoming
            elif previous.strip():
                before = last_phonemes(self._pronounce_context(previous[-CONTEXT_CHARACTERS:]))
                current = replace(upcoming, before=before)
            else:
                current = upcoming
        if current is None:
            return
        if following.strip():
            current = replace(current, after=first_phonemes(self._pronounce_context(following[:CONTEXT_CHARACTERS])))
        yield current

    def feed(self, text: str) -> Iterator[Phrase]:
        """Adds text and yields the phrases that no further text can change."""
        text = self._held_back + text
        certain = markup.find_holdback(text)
        self._held_back = text[certain:]
        yield from self._read(text[:certain], whole=False)

    def flush(self, pause: bool = True) -> Iterator[Phrase]:
        """Yields the rest, as if the text ended here; more may follow, at once or after a `pause`."""
        rest, self._held_back = self._held_back, ""
        yield from self._read(rest, whole=False)
        yield from self._make_phrases(self._splitter.flush(pause))
        for phrase in make_phrases([], list(self._breaks)):
            yield replace(phrase, end=self._source_length)
        self._breaks.clear()

    def _read_whole(self, text: str) -> Iterator[Phrase]:
        yield from self._read(text, whole=True)
        yield from self.flush()

    def _read(self, text: str, *, whole: bool) -> Iterator[Phrase]:
        """The phrases that no further text can change; each step parses a piece of the text, or reads a sentence."""
        source_start = self._source_length
        self._source_length += len(text)
        for number, parsed in enumerate(self._parser.feed(text, whole=whole)):
            if number:
                yield NO_PHRASE
            self._keep_markup(parsed, source_start)
            for begin in range(0, len(parsed.text), LONGEST_PIECE):
                yield from self._make_phrases(self._splitter.feed(parsed.text[begin : begin + LONGEST_PIECE]))

    def _keep_markup(self, parsed: ParsedText, source_start: int) -> None:
        """What the markup asks for, and the positions of the characters, are kept for `_make_phrases`."""
        start = self._plain_length
        self._breaks += [each.shift(start) for each in parsed.breaks]
        self._replacements += [each.shift(start) for each in parsed.replacements]
        self._changes += [each.shift(start) for each in parsed.changes]
        self._origins += [source_start + origin for origin in parsed.origins[:-1]]
        self._plain_length += len(parsed.text)

    def _make_phrases(self, sentences: list[Sentence]) -> Iterator[Phrase]:
        for sentence in self._join(sentences):
            start, end = sentence.start, sentence.start + len(sentence.text)
            breaks = [each.shift(-start) for each in _take(self._breaks, end)]
            origins = [self._origins.popleft() for _ in sentence.text]
            clauses = self._make_clauses(sentence)
            words = [word for clause in clauses for word in clause.words]
            pause = PARAGRAPH_PAUSE_SECONDS if _ends_paragraph(sentence.text) else 0.0
            before, self._context = self._context, last_phonemes(words) if sentence.unfinished and words else ""
            phrases = list(make_phrases(clauses, breaks, pause, "," if sentence.unfinished else "."))
            unread = find_unread_scripts(sentence.text)
            spoken = next((phrase for phrase in phrases if phrase.words), NO_PHRASE)
            for index, phrase in enumerate(phrases):
                located = tuple(_locate(word, origins) for word in phrase.words)
                end = _find_end(phrase, phrases[index + 1 :], origins)
                phrase = replace(phrase, words=located, before=phrase.before or before, end=end, unread=unread)
                yield phrase if located else replace(phrase, language=spoken.language, reason=spoken.reason)
                before = ""
            if not phrases:
                yield Phrase((), unread=unread)

    def _join(self, sentences: list[Sentence]) -> Iterator[Sentence]:
        """The same sentences; one that ends within text that is read as a whole goes on with the next."""
        for sentence in sentences:
            if held := self._held_sentence:
                sentence = replace(sentence, text=held.text + sentence.text, start=held.start)
            end = sentence.start + len(sentence.text)
            self._held_sentence = sentence if self._is_inside_replacement(end) else None
            if self._held_sentence is None:
                yield sentence

    def _is_inside_replacement(self, position: int) -> bool:
        for each in self._replacements:
            if each.end > position:
                return each.start < position
        return False

    def _make_clauses(self, sentence: Sentence) -> list[Clause]:
        start, end = sentence.start, sentence.start + len(sentence.text)
        changes = [
            Change(0, self._manner),
            *(each.shift(-start) for each in _take(self._changes, end)),
        ]
        self._manner = changes[-1].manner
        replacements = apply_rules(
            self._rules, sentence.text, [each.shift(-start) for each in _take(self._replacements, end)]
        )
        return make_clauses(sentence.text, changes, replacements, self._choose_language, self._pronounce)

    def _pronounce_context(self, text: str) -> list[Word]:
        return self._pronounce(text, self._choose_language(text)[0], ())

    def _choose_language(self, text: str, manner: Manner = DEFAULT_MANNER) -> tuple[Language, Reason]:
        """What markup or the caller names, else the language of the voice unless the text is clearly in another."""
        other_voice = self._find_language(manner.voice) if manner.voice else None
        voice_language = other_voice or self._voice_language
        if manner.language and (named := Language.parse(manner.language, voice_language)):
            return named, Reason.MARKUP
        if self._language:
            return self._language, Reason.REQUEST
        detected = detect_language(text, voice_language)
        if detected is not voice_language:
            return detected, Reason.DETECTED
        return voice_language, Reason.MARKUP if other_voice else Reason.VOICE


def _take(items: deque[T], end: int) -> list[T]:
    """Takes those off that begin before the end of a sentence."""
    taken = []
    while items and items[0].start < end:
        taken.append(items.popleft())
    return taken


def _find_end(phrase: Phrase, following: list[Phrase], origins: list[int]) -> int:
    """The position in the caller's text after a phrase. The pause after it holds what is not read up to the next."""
    if not following:
        return origins[-1] + 1
    if phrase.pause:
        return next((origins[upcoming.words[0].start] for upcoming in following if upcoming.words), origins[-1] + 1)
    return origins[phrase.words[-1].end - 1] + 1 if phrase.words else 0


def _locate(word: Word, origins: list[int]) -> Word:
    """The word with its position in the caller's text instead of the sentence."""
    return word.move(origins[word.start], origins[word.end - 1] + 1)


def _ends_paragraph(sentence: str) -> bool:
    return sentence[len(sentence.rstrip()) :].count("\n") > 1
