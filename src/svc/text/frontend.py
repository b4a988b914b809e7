"""The text frontend: follows the caller's text as it arrives and turns it into phrases for the engine.

The steps for each sentence: take out the markup, split, detect the language, apply the pronunciation rules, normalise,
phonemize, cut into phrases.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from svc.text import markup
from svc.text.g2p import Phonemizer
from svc.text.language import Language
from svc.text.language_detection import detect_language
from svc.text.markup import Break, Pronunciation
from svc.text.phrases import Phrase, Word, first_phonemes, last_phonemes, make_phrases, pronounce
from svc.text.pronunciation_rules import Rules, apply_rules
from svc.text.split import Sentence, Splitter

# How much of the neighbouring text influences the intonation: about a phrase.
CONTEXT_CHARACTERS = 150

PARAGRAPH_PAUSE_SECONDS = 0.3


class Frontend:
    """`feed` text in any pieces, then `flush`: phrases come as soon as the end of a sentence is certain.

    `language` is the one that the caller named. Without it, each sentence is spoken in the voice's language unless
    it is clearly in another. With a `schedule`, a long sentence is spoken before it is complete: see `Splitter`.
    """

    def __init__(
        self,
        phonemizer: Phonemizer,
        voice_language: Language,
        language: Language | None,
        schedule: Sequence[int] = (),
        rules: Sequence[Rules] = (),
    ) -> None:
        """`rules` are those of the pronunciation dictionaries, the first of which wins."""
        self._phonemizer = phonemizer
        self._voice_language = voice_language
        self._language = language
        self._splitter = Splitter(schedule)
        self._rules = rules
        self._context = ""  # last phonemes of a sentence that was cut short: its intonation continues
        self._held_back = ""  # may be the first half of a tag
        self._last_characters = ""  # of the plain text; the next tag depends on them
        self._source_length = 0  # characters of the caller's text so far
        self._plain_length = 0  # characters of it without markup
        # Of plain text that has not become phrases yet: its markup, and its characters' positions in the caller's text.
        self._breaks: list[Break] = []
        self._pronunciations: list[Pronunciation] = []
        self._origins: deque[int] = deque()

    def read(self, text: str, previous: str = "", following: str = "") -> Iterator[Phrase]:
        """The phrases of a whole text; `previous` and `following` only shape the intonation at its ends."""
        phrases = self._read_whole(text)
        current = next(phrases, None)
        if current is None:
            return
        if previous.strip():
            before = last_phonemes(self._pronounce(previous[-CONTEXT_CHARACTERS:]))
            current = replace(current, before=before)
        for upcoming in phrases:
            yield current
            current = upcoming
        if following.strip():
            current = replace(current, after=first_phonemes(self._pronounce(following[:CONTEXT_CHARACTERS])))
        yield current

    def feed(self, text: str) -> Iterator[Phrase]:
        """Adds text and yields the phrases that no further text can change."""
        text = self._held_back + text
        certain = markup.find_holdback(text)
        self._held_back = text[certain:]
        yield from self._make_phrases(self._splitter.feed(self._strip_markup(text[:certain], whole=False)))

    def flush(self, pause: bool = True) -> Iterator[Phrase]:
        """Yields the rest, as if the text ended here; more may follow, at once or after a `pause`."""
        rest, self._held_back = self._held_back, ""
        yield from self._make_phrases(self._splitter.feed(self._strip_markup(rest, whole=False)))
        yield from self._make_phrases(self._splitter.flush(pause))
        yield from make_phrases([], self._breaks)
        self._breaks = []

    def _read_whole(self, text: str) -> Iterator[Phrase]:
        yield from self._make_phrases(self._splitter.feed(self._strip_markup(text, whole=True)))
        yield from self.flush()

    def _strip_markup(self, text: str, *, whole: bool) -> str:
        """The plain text; its breaks, pronunciations and positions are kept for `_make_phrases`."""
        parsed = markup.parse(text, self._last_characters, whole)
        self._last_characters = (self._last_characters + parsed.text[-2:])[-2:]
        start = self._plain_length
        self._breaks += [each.shift(start) for each in parsed.breaks]
        self._pronunciations += [each.shift(start) for each in parsed.pronunciations]
        self._origins += [self._source_length + origin for origin in parsed.origins[:-1]]
        self._plain_length += len(parsed.text)
        self._source_length += len(text)
        return parsed.text

    def _make_phrases(self, sentences: list[Sentence]) -> Iterator[Phrase]:
        for sentence in sentences:
            start, end = sentence.start, sentence.start + len(sentence.text)
            breaks = [each.shift(-start) for each in self._breaks if each.position < end]
            pronunciations = [each.shift(-start) for each in self._pronunciations if each.start < end]
            self._breaks = [each for each in self._breaks if each.position >= end]
            self._pronunciations = [each for each in self._pronunciations if each.start >= end]
            origins = [self._origins.popleft() for _ in sentence.text]
            language = self._choose_language(sentence.text)
            pronunciations, aliases = apply_rules(self._rules, sentence.text, pronunciations)
            words = pronounce(sentence.text, language, pronunciations, self._phonemizer, aliases)
            pause = PARAGRAPH_PAUSE_SECONDS if _ends_paragraph(sentence.text) else 0.0
            before, self._context = self._context, last_phonemes(words) if sentence.unfinished and words else ""
            phrases = list(make_phrases(words, breaks, pause, "," if sentence.unfinished else "."))
            for index, phrase in enumerate(phrases):
                last = index == len(phrases) - 1  # the spaces after a sentence belong to it
                located = tuple(_locate(word, origins) for word in phrase.words)
                end = origins[-1] + 1 if last else max((word.end for word in located), default=0)
                yield replace(phrase, words=located, before=phrase.before or before, end=end, language=language)
                before = ""

    def _pronounce(self, text: str) -> list[Word]:
        return pronounce(text, self._choose_language(text), (), self._phonemizer)

    def _choose_language(self, text: str) -> Language:
        return self._language or detect_language(text, self._voice_language)


def _locate(word: Word, origins: list[int]) -> Word:
    """The word with its position in the caller's text instead of the sentence."""
    return replace(word, start=origins[word.start], end=origins[word.end - 1] + 1)


def _ends_paragraph(sentence: str) -> bool:
    return sentence[len(sentence.rstrip()) :].count("\n") > 1
