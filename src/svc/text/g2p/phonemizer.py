"""Phonemes for text in any language: cuts the text by script and gives each run to the G2P of its language."""

from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Protocol

from svc.process.memory import trim_malloc
from svc.text.g2p.english import EnglishG2P
from svc.text.g2p.espeak import EspeakG2P
from svc.text.g2p.espeak_process import Espeak
from svc.text.g2p.ipa import restrict_to_vocabulary
from svc.text.g2p.tagger import Tagger
from svc.text.g2p.tokenizer import PhonemeToken
from svc.text.language.languages import Language, Script, find_script
from svc.text.language.table import load_table

_ESPEAK_VOICES: dict[str, str] = {
    Language.SPANISH: "es",
    Language.SPANISH_LATIN_AMERICA: "es-419",
    Language.FRENCH: "fr",
    Language.FRENCH_BE: "fr-be",
    Language.FRENCH_CH: "fr-ch",
    Language.HINDI: "hi",
    Language.ITALIAN: "it",
    Language.PORTUGUESE_BR: "pt-br",
    Language.PORTUGUESE_PT: "pt",
}
# Scripts of other languages, and the language or the espeak-ng voice that suits them best.
_FOREIGN_VOICES: dict[Script, str] = {
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
# No space comes before these, whatever was written.
_CLOSING_MARKS = frozenset(";:,.!?…)”")


class LanguageG2P(Protocol):
    """Turns text of one language into words and marks with phonemes."""

    def phonemize(self, text: str) -> list[PhonemeToken]: ...


class Phonemizer:
    """Phonemes for text in every language; dictionaries are loaded when a language is first used.

    What must be unpacked for that goes into `cache_dir`.

    Safe to use from several threads. They take turns, because the libraries of some languages keep global state; that
    costs little, because phonemes are a hundredth of the work of speech. Nobody waits for espeak-ng's process but who
    needs it.
    """

    def __init__(self, cache_dir: Path | None = None, espeak: Espeak | None = None) -> None:
        self._cache_dir = cache_dir
        self._lock = Lock()
        self._backends: dict[str, LanguageG2P] = {}
        self._espeak = espeak or Espeak()
        self._tagger: Tagger | None = None  # American and British English share it

    def __call__(self, text: str, language: Language) -> list[PhonemeToken]:
        """The words and marks of `text` with their phonemes, in order."""
        found: list[PhonemeToken] = []
        for run in _split_by_script(text, language):
            tokens = self._phonemize(run.backend, text[run.start : run.end])
            if found and tokens:
                found[-1] = replace(found[-1], space=True)
            found.extend(
                PhonemeToken(
                    run.start + token.start,
                    run.start + token.end,
                    restrict_to_vocabulary(token.phonemes),
                    token.space,
                )
                for token in tokens
            )
        return _fix_spaces([token for token in found if token.phonemes])

    def warm(self, language: Language) -> None:
        """Loads what the language needs, so that the first text does not wait for it."""
        self._phonemize(language, "a")

    def _phonemize(self, backend: str, text: str) -> list[PhonemeToken]:
        with self._lock:
            if backend not in self._backends:
                self._backends[backend] = self._load(backend)
                trim_malloc()
            g2p = self._backends[backend]
            if not isinstance(g2p, EspeakG2P):
                return g2p.phonemize(text)
        return g2p.phonemize(text)

    def _load(self, name: str) -> LanguageG2P:
        """The G2P of a language or an espeak-ng voice. The large libraries are imported only where they are used."""
        if name in (Language.ENGLISH_US, Language.ENGLISH_GB):
            self._tagger = self._tagger or Tagger()
            return EnglishG2P(self._tagger, british=name == Language.ENGLISH_GB)
        if name == Language.JAPANESE:
            from svc.text.g2p.japanese import JapaneseG2P

            return JapaneseG2P(self._cache_dir)
        if name == Language.MANDARIN:
            from svc.text.g2p.mandarin import MandarinG2P

            return MandarinG2P()
        if name == Language.KOREAN:
            from svc.text.g2p.korean import KoreanG2P

            return KoreanG2P()
        if name in load_table():
            row = load_table()[name]
            return EspeakG2P(self._espeak, row.espeak, row.symbols, row.words, row.rules | row.clearer, row.stressed)
        return EspeakG2P(self._espeak, _ESPEAK_VOICES.get(name, name))


def _fix_spaces(tokens: list[PhonemeToken]) -> list[PhonemeToken]:
    """No space before a closing mark, nor at the end."""
    following = [token.phonemes for token in tokens[1:]] + ["."]
    return [
        replace(token, space=False) if token.space and after in _CLOSING_MARKS else token
        for token, after in zip(tokens, following, strict=False)
    ]


@dataclass(frozen=True, slots=True)
class _Run:
    """The characters `start:end`, all for one `backend`: a language, or an espeak-ng voice."""

    backend: str
    start: int
    end: int


def _split_by_script(text: str, language: Language) -> list[_Run]:
    """The text in runs of one backend each; characters that all scripts use stay with the run before them."""
    scripts = {character: find_script(character) for character in set(text)}
    of_scripts = _choose_backends(set(scripts.values()), language)
    backends = {each: of_scripts[script] for each, script in scripts.items() if script is not Script.COMMON}
    runs: list[_Run] = []
    backend, start = None, 0
    for at, character in enumerate(text):
        needed = backends.get(character, backend)
        if needed == backend:
            continue
        if backend is not None:
            runs.append(_Run(backend, start, at))
            start = at
        backend = needed
    if text:
        runs.append(_Run(backend or language, start, len(text)))
    return runs


def _choose_backends(scripts: set[Script], language: Language) -> dict[Script, str]:
    east_asian = language in (Language.JAPANESE, Language.MANDARIN)
    han = language if east_asian else Language.JAPANESE if Script.KANA in scripts else Language.MANDARIN
    return {
        **_FOREIGN_VOICES,
        Script.LATIN: Language.ENGLISH_US,
        Script.DEVANAGARI: Language.HINDI,
        Script.KANA: Language.JAPANESE,
        Script.HAN: han,
        language.script: language,
    }
