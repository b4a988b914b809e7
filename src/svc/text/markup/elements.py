"""What the elements of SSML mean: breaks, text that is read differently, and how text is spoken."""

import re
from collections.abc import Callable
from dataclasses import replace

from svc.text.g2p.ipa import arpabet_to_ipa
from svc.text.g2p.xsampa import xsampa_to_ipa
from svc.text.markup.parsed_text import Pronunciation, Replacement, SayAs, Substitution
from svc.text.markup.prosody import Manner, Prosody, parse_emphasis, parse_prosody

# Limits how much audio one small tag can ask for.
LONGEST_BREAK_SECONDS = 60.0

STRENGTH_SECONDS = {
    "none": 0.0,
    "x-weak": 0.1,
    "weak": 0.25,
    "medium": 0.5,
    "strong": 0.75,
    "x-strong": 1.0,
}

_DURATION = re.compile(r"\s*([+-]?\d{0,9}(?:\.\d{0,9})?)\s*(ms|s|)\s*", re.IGNORECASE)


def parse_seconds(attributes: dict[str, str]) -> float:
    duration = _DURATION.fullmatch(attributes.get("time", ""))
    if duration and any(character.isdigit() for character in duration[1]):
        seconds = float(duration[1]) / (1000 if duration[2].lower() == "ms" else 1)
    else:
        seconds = STRENGTH_SECONDS.get(attributes.get("strength", "").lower(), STRENGTH_SECONDS["medium"])
    return min(max(seconds, 0.0), LONGEST_BREAK_SECONDS)


def _make_pronunciation(start: int, end: int, attributes: dict[str, str]) -> Replacement | None:
    phonemes, alphabet = attributes.get("ph", ""), attributes.get("alphabet", "ipa").lower()
    if "arpabet" in alphabet:
        phonemes = arpabet_to_ipa(phonemes)
    elif "sampa" in alphabet:
        phonemes = xsampa_to_ipa(phonemes)
    return Pronunciation(start, end, phonemes.strip()) if phonemes.strip() else None


def _make_substitution(start: int, end: int, attributes: dict[str, str]) -> Replacement | None:
    alias = attributes.get("alias", "").strip()
    return Substitution(start, end, alias) if alias else None


def _make_say_as(start: int, end: int, attributes: dict[str, str]) -> Replacement | None:
    kind = attributes.get("interpret-as", "").strip().lower()
    return SayAs(start, end, kind, attributes.get("format", "").strip().lower()) if kind else None


REPLACEMENTS: dict[str, Callable[[int, int, dict[str, str]], Replacement | None]] = {
    "phoneme": _make_pronunciation,
    "sub": _make_substitution,
    "say-as": _make_say_as,
}


def _with_prosody(parse: Callable[[dict[str, str], Prosody], Prosody]) -> Callable[[dict[str, str], Manner], Manner]:
    return lambda attributes, manner: replace(manner, prosody=parse(attributes, manner.prosody))


def apply_language(attributes: dict[str, str], manner: Manner) -> Manner:
    return replace(manner, language=attributes.get("xml:lang", "").strip() or manner.language)


def _apply_voice(attributes: dict[str, str], manner: Manner) -> Manner:
    name = attributes.get("name", "").strip() or manner.voice
    return apply_language(attributes, replace(manner, voice=name))


MANNERS: dict[str, Callable[[dict[str, str], Manner], Manner]] = {
    "prosody": _with_prosody(parse_prosody),
    "emphasis": _with_prosody(parse_emphasis),
    "lang": apply_language,
    "voice": _apply_voice,
}
