"""A text cut where its writing system changes, so that each part is read in a language that writes so."""

from dataclasses import dataclass

from svc.text.language import Language
from svc.text.script import Script, script_of

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
    scripts = [script_of(character) for character in text]
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
