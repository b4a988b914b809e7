"""Text in any of the languages, turned into what Kokoro reads."""

from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from svc.memory import trim_malloc
from svc.text.g2p.ipa import within
from svc.text.g2p.tokenizer import Token
from svc.text.language import Language, Script, find_script

if TYPE_CHECKING:
    from svc.text.g2p.tagger import Tagger

_ESPEAK_VOICES: dict[str, str] = {
    Language.SPANISH: "es",
    Language.FRENCH: "fr",
    Language.HINDI: "hi",
    Language.ITALIAN: "it",
    Language.PORTUGUESE_BR: "pt-br",
}
# These stand against the word before them, whatever was written.
_CLOSING_MARKS = frozenset(";:,.!?…)”")


class Reader(Protocol):
    """Turns text of one language into tokens."""

    def read(self, text: str) -> list[Token]: ...


class Phonemizer:
    """Phonemes for text in every language; dictionaries are loaded when a language is first read."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._readers: dict[str, Reader] = {}
        self._tagger: Tagger | None = None  # both kinds of English use it

    def __call__(self, text: str, language: Language) -> list[Token]:
        """The words and marks of `text` with their sounds, in order."""
        found: list[Token] = []
        for run in runs(text, language):
            tokens = self._reader(run.reader).read(text[run.start : run.end])
            if found and tokens:
                found[-1] = replace(found[-1], space=True)
            found.extend(
                Token(run.start + token.start, run.start + token.end, within(token.phonemes), token.space)
                for token in tokens
            )
        return _spaced([token for token in found if token.phonemes])

    def warm(self, language: Language) -> None:
        """Loads what the language needs, so that the first text does not wait for it."""
        self._reader(language).read("a")

    def _reader(self, name: str) -> Reader:
        with self._lock:
            if name not in self._readers:
                self._readers[name] = self._load(name)
                trim_malloc()
            return self._readers[name]

    def _load(self, name: str) -> Reader:
        """The reader for a language, or for an espeak-ng voice. Imported here: most servers read few languages."""
        if name in (Language.ENGLISH_US, Language.ENGLISH_GB):
            from svc.text.g2p.english import EnglishReader
            from svc.text.g2p.tagger import Tagger

            self._tagger = self._tagger or Tagger()
            return EnglishReader(self._tagger, british=name == Language.ENGLISH_GB)
        if name == Language.JAPANESE:
            from svc.text.g2p.japanese import JapaneseReader

            return JapaneseReader()
        if name == Language.MANDARIN:
            from svc.text.g2p.mandarin import MandarinReader

            return MandarinReader()
        from svc.text.g2p.espeak import Espeak, EspeakReader

        return EspeakReader(Espeak(), _ESPEAK_VOICES.get(name, name))


def _spaced(tokens: list[Token]) -> list[Token]:
    """No space before a closing mark, nor at the end."""
    following = [token.phonemes for token in tokens[1:]] + ["."]
    return [
        replace(token, space=token.space and after not in _CLOSING_MARKS)
        for token, after in zip(tokens, following, strict=False)
    ]


# Scripts of languages that the engine was not trained on, and the espeak-ng voice that reads them best.
FOREIGN_VOICES: dict[Script, str] = {
    Script.GREEK: "el",
    Script.CYRILLIC: "ru",
    Script.ARMENIAN: "hy",
    Script.HEBREW: "he",
    Script.ARABIC: "ar",
    Script.BENGALI: "bn",
    Script.GURMUKHI: "pa",
    Script.GUJARATI: "gu",
    Script.ORIYA: "or",
    Script.TAMIL: "ta",
    Script.TELUGU: "te",
    Script.KANNADA: "kn",
    Script.MALAYALAM: "ml",
    Script.SINHALA: "si",
    Script.THAI: "th",
    Script.MYANMAR: "my",
    Script.GEORGIAN: "ka",
    Script.ETHIOPIC: "am",
    Script.HANGUL: "ko",
}


@dataclass(frozen=True, slots=True)
class Run:
    """The characters `start:end`, all to be read by `reader`: a language, or an espeak-ng voice."""

    reader: str
    start: int
    end: int


def runs(text: str, language: Language) -> list[Run]:
    """The whole of `text` in runs; what all scripts share stays with the run before it."""
    scripts = [find_script(character) for character in text]
    readers = _readers(set(scripts), language)
    found: list[Run] = []
    reader, start = None, 0
    for at, script in enumerate(scripts):
        if script is Script.COMMON or readers[script] == reader:
            continue
        if reader is not None:
            found.append(Run(reader, start, at))
            start = at
        reader = readers[script]
    if text:
        found.append(Run(reader or language, start, len(text)))
    return found


def _readers(scripts: set[Script], language: Language) -> dict[Script, str]:
    east_asian = language in (Language.JAPANESE, Language.MANDARIN)
    han = language if east_asian else Language.JAPANESE if Script.KANA in scripts else Language.MANDARIN
    return {
        **FOREIGN_VOICES,
        Script.LATIN: language if language.latin else Language.ENGLISH_US,
        Script.DEVANAGARI: Language.HINDI,
        Script.KANA: Language.JAPANESE,
        Script.HAN: han,
    }
