"""Follows the caller's text as it arrives and says, phrase by phrase, what the engine is to speak."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from svc.text import markup
from svc.text.g2p import Phonemizer
from svc.text.language import Language
from svc.text.language_detection import recognise
from svc.text.markup import Break, Sound
from svc.text.phrases import Phrase, Word, first_sounds, last_sounds, phrases, pronounce
from svc.text.split import Sentence, Splitter

# How much of the neighbouring text lends its melody: about a phrase.
CONTEXT_CHARACTERS = 150

PARAGRAPH_PAUSE = 0.3


class Frontend:
    """`feed` text in any pieces, then `flush`: phrases come as soon as a sentence is certain.

    `language` is the one that the caller named; without it, each sentence is read in the voice's language
    unless it is clearly in another. With a `schedule`, a long sentence is spoken before it is complete: see `Splitter`.
    """

    def __init__(
        self,
        phonemizer: Phonemizer,
        voice_language: Language,
        language: Language | None,
        schedule: Sequence[int] = (),
    ) -> None:
        self._phonemizer = phonemizer
        self._voice_language = voice_language
        self._language = language
        self._splitter = Splitter(schedule)
        self._before = ""  # sounds of an unfinished sentence, whose melody goes on
        self._unfinished = ""  # may be the first half of a tag
        self._last = ""  # plain characters, which a tag after them looks at
        self._fed = 0  # characters of the caller's text, and of the plain text in it
        self._length = 0
        # Of plain text that is not yet spoken: its markup, and where its characters stand in the caller's text.
        self._breaks: list[Break] = []
        self._sounds: list[Sound] = []
        self._origins: deque[int] = deque()

    def read(self, text: str, previous: str = "", following: str = "") -> Iterator[Phrase]:
        """A whole text; its neighbours lend their melody to its beginning and its end."""
        rest = self._whole(text)
        current = next(rest, None)
        if current is None:
            return
        if previous.strip():
            before = last_sounds(self._pronounced(previous[-CONTEXT_CHARACTERS:]))
            current = replace(current, before=before)
        for upcoming in rest:
            yield current
            current = upcoming
        if following.strip():
            current = replace(current, after=first_sounds(self._pronounced(following[:CONTEXT_CHARACTERS])))
        yield current

    def feed(self, text: str) -> Iterator[Phrase]:
        """Adds text; gives what no further text can change."""
        text = self._unfinished + text
        certain = markup.holdback(text)
        self._unfinished = text[certain:]
        yield from self._spoken(self._splitter.feed(self._plain(text[:certain], whole=False)))

    def flush(self, pause: bool = True) -> Iterator[Phrase]:
        """Gives the rest, as if the text ended here; more may come at once, or after a `pause`."""
        rest, self._unfinished = self._unfinished, ""
        yield from self._spoken(self._splitter.feed(self._plain(rest, whole=False)))
        yield from self._spoken(self._splitter.flush(pause))
        yield from phrases([], self._breaks)
        self._breaks = []

    def _whole(self, text: str) -> Iterator[Phrase]:
        yield from self._spoken(self._splitter.feed(self._plain(text, whole=True)))
        yield from self.flush()

    def _plain(self, text: str, *, whole: bool) -> str:
        marked = markup.parse(text, self._last, whole)
        self._last = (self._last + marked.text[-2:])[-2:]
        start = self._length
        self._breaks += [Break(start + each.position, each.seconds) for each in marked.breaks]
        self._sounds += [Sound(start + each.start, start + each.end, each.ipa) for each in marked.sounds]
        self._origins += [self._fed + origin for origin in marked.origins[:-1]]
        self._length += len(marked.text)
        self._fed += len(text)
        return marked.text

    def _spoken(self, sentences: list[Sentence]) -> Iterator[Phrase]:
        for sentence in sentences:
            start, end = sentence.start, sentence.start + len(sentence.text)
            breaks = [Break(each.position - start, each.seconds) for each in self._breaks if each.position < end]
            sounds = [
                Sound(each.start - start, each.end - start, each.ipa) for each in self._sounds if each.start < end
            ]
            self._breaks = [each for each in self._breaks if each.position >= end]
            self._sounds = [each for each in self._sounds if each.start >= end]
            origins = [self._origins.popleft() for _ in sentence.text]
            language = self._language_of(sentence.text)
            words = pronounce(sentence.text, language, sounds, self._phonemizer)
            pause = PARAGRAPH_PAUSE if _ends_paragraph(sentence.text) else 0.0
            before, self._before = self._before, last_sounds(words) if sentence.unfinished and words else ""
            found = list(phrases(words, breaks, pause, "," if sentence.unfinished else "."))
            for index, phrase in enumerate(found):
                last = index == len(found) - 1  # the spaces after a sentence belong to it
                located = tuple(_located(word, origins) for word in phrase.words)
                end = origins[-1] + 1 if last else max((word.end for word in located), default=0)
                yield replace(phrase, words=located, before=phrase.before or before, end=end, language=language)
                before = ""

    def _pronounced(self, text: str) -> list[Word]:
        return pronounce(text, self._language_of(text), (), self._phonemizer)

    def _language_of(self, text: str) -> Language:
        return self._language or recognise(text, self._voice_language)


def _located(word: Word, origins: list[int]) -> Word:
    """The word with its place in the caller's text instead of the sentence."""
    return replace(word, start=origins[word.start], end=origins[word.end - 1] + 1)


def _ends_paragraph(sentence: str) -> bool:
    return sentence[len(sentence.rstrip()) :].count("\n") > 1
