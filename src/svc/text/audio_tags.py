"""Audio tags: `[laughs]`, `[whispers]`, `[long pause]`. They are never read aloud; other brackets are ordinary text.

A bracket is a tag if it holds letters, spaces, hyphens and apostrophes only, at most MOST_WORDS words, and one of these
holds:

1. a word at its beginning is a sound, a manner of speaking or an emotion ("laughs", "excited", "clears throat"), or
   the whole is one of a list in other languages ("risas", "笑");
2. it begins or ends with an adverb in -ly of manner ("nervously", "speaking very softly");
3. it ends with "voice", "tone", "accent" or the like ("French accent", "in a low voice");
4. it says how long a pause is ("pause", "long pause", "pause 2s");
5. it stands before a sentence, is written in lower case, and begins with no function word and holds none that editors
   and web pages put into brackets ("door creaks", but not "emphasis added").

After an article, a form of "to be", a preposition or the like, only sounds and verbs of speaking are tags: the bracket
in "She was [upset] about it." completes the sentence. A bracket before "(" is a Markdown link.
"""

import re
from dataclasses import dataclass

from svc.text.audio_tag_words import (
    ACTS,
    DEMANDING,
    DETERMINERS,
    EDITORIAL,
    FUNCTION_WORDS,
    KNOWN,
    OTHER_LANGUAGES,
    SENTENCE_ADVERBS,
    SOUNDS,
    VOICES,
)
from svc.text.prosody import PLAIN, Prosody

LONGEST_AUDIO_TAG = 60
MOST_WORDS = 4
LONGEST_PAUSE_SECONDS = 3.0

_BRACKET = re.compile(rf"\[([^\[\]<>\n]{{1,{LONGEST_AUDIO_TAG}}})\](?!\()")
_UNFINISHED = re.compile(rf"\[[^\[\]<>\n]{{0,{LONGEST_AUDIO_TAG}}}\]?\Z")
_WORDS = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*(?:,? [^\W\d_]+(?:['’-][^\W\d_]+)*)*")
_TIMED_PAUSE = re.compile(
    r"(?:pause|break|silence|wait)s?:?(?: for| of)? (?P<after>\d{1,4}(?:\.\d{1,3})?) ?"
    r"(?P<unit_after>ms|s|sec(?:ond)?s?)"
    r"|(?P<before>\d{1,4}(?:\.\d{1,3})?)[ -]?(?P<unit_before>ms|s|sec(?:ond)?s?) (?:pause|break|silence)"
)

_SOFT = Prosody(rate=0.93, pitch_range=0.7, volume=-7.0)
_CALM = Prosody(rate=0.93, pitch_range=0.75)
_LIVELY = Prosody(rate=1.05, pitch=1.04, pitch_range=1.35, volume=1.5)
_LOUD = Prosody(pitch=1.07, pitch_range=1.3, volume=5.0)
_TENSE = Prosody(rate=1.05, pitch_range=1.25, volume=2.5)
_NERVOUS = Prosody(rate=1.06, pitch=1.04, pitch_range=1.1)
_SLOW = Prosody(rate=0.78)
_FAST = Prosody(rate=1.25)
_WRY = Prosody(rate=0.92, pitch_range=1.25)

# The beginnings of words that ask for a delivery. A tag may hold several: "whispers excitedly".
_DELIVERIES: tuple[tuple[Prosody, str], ...] = (
    (_SOFT, "whisper murmur mutter mumbl hush soft quiet gentl tender intima secretiv"),
    (_LIVELY, "excit enthusias energetic cheer happ joy delight thrill elat amaz playful giddy ecstatic eager upbeat "
              "lively animated proud triumph mischie surpris"),
    (_LOUD, "shout yell scream loud bellow roar shriek exclaim"),
    (_TENSE, "angr angry furious annoy frustrat irritat rag urgent fierce stern dramatic intense passion"),
    (_NERVOUS, "nervous anxious scared afraid panic fear worr hesita tremb"),
    (_CALM, "calm sooth serene relax sad sorrow melanchol depress tired wear exhaust sleepy bored monoton deadpan flat "
            "solemn somber grave thoughtful pensive reflect resign wistful regret disappoint dejected lonely reassur "
            "warm sympathetic"),
    (_SLOW, "slow drawn drawl deliberate"),
    (_FAST, "rush fast quick hurr rapid brisk"),
    (_WRY, "sarcas ironic wry dry mock skeptic"),
)  # fmt: skip
_RESETS = frozenset({"normal", "normally", "neutral", "neutrally", "regular"})


@dataclass(frozen=True, slots=True)
class AudioTag:
    """What a tag asks for: a pause in seconds, and the prosody of the text after it; None leaves that as it is."""

    pause: float = 0.0
    prosody: Prosody | None = None


def match_bracket(text: str, start: int) -> re.Match[str] | None:
    """The bracket at `start`, if it may be a tag."""
    return _BRACKET.match(text, start)


def find_unfinished(text: str) -> int:
    """The position of a bracket at the end of the text that may be a tag: the next character decides."""
    start = text.rfind("[", max(0, len(text) - LONGEST_AUDIO_TAG - 2))
    return start if start >= 0 and _UNFINISHED.match(text, start) else len(text)


def interpret(content: str, word_before: str = "", *, begins_sentence: bool = False) -> AudioTag | None:
    """What the text in a bracket asks for; None if it is no audio tag."""
    content = content.strip()
    lower = content.lower().replace("’", "'")
    timed = _TIMED_PAUSE.fullmatch(lower)
    if timed:
        return AudioTag(_parse_pause(timed))
    if lower in OTHER_LANGUAGES:
        known = OTHER_LANGUAGES[lower]
        return interpret(known) if known else AudioTag()
    if not _WORDS.fullmatch(lower):
        return None
    words = lower.replace(",", "").split(" ")
    if len(words) > MOST_WORDS + 2 * (words[0] in ("in", "with", "speaking")):
        return None
    if word_before.lower() in DEMANDING and ACTS.isdisjoint((words[0], words[-1])):
        return None
    if not (_is_known(words) or (begins_sentence and content == lower and _is_direction(words))):
        return None
    if "pause" in words or "pauses" in words or words in (["beat"], ["silence"], ["long", "silence"]):
        return AudioTag(_choose_pause(words))
    return AudioTag(0.0, _choose_prosody(words))


def _is_known(words: list[str]) -> bool:
    """Rules 1 to 4."""
    if words[-1] in ("pause", "pauses") and len(words) <= 3 and words[0] not in DETERMINERS:
        return True
    if words[0] in KNOWN or words[0] in _RESETS:
        return True
    if any(word.endswith("ly") and len(word) > 4 and word not in SENTENCE_ADVERBS for word in (words[0], words[-1])):
        return words[0] not in FUNCTION_WORDS
    return len(words) > 1 and words[-1] in VOICES and words[0] not in DETERMINERS


def _is_direction(words: list[str]) -> bool:
    """Rule 5."""
    return len("".join(words)) > 2 and words[0] not in FUNCTION_WORDS and EDITORIAL.isdisjoint(words)


def _parse_pause(timed: re.Match[str]) -> float:
    number, unit = timed["after"] or timed["before"], timed["unit_after"] or timed["unit_before"]
    return min(float(number) / (1000 if unit == "ms" else 1), LONGEST_PAUSE_SECONDS)


def _choose_pause(words: list[str]) -> float:
    if not {"short", "brief", "slight", "quick", "small", "briefly"}.isdisjoint(words):
        return 0.3
    return 1.2 if not {"long", "longer", "dramatic", "lengthy", "extended"}.isdisjoint(words) else 0.6


def _choose_prosody(words: list[str]) -> Prosody | None:
    """All deliveries that the words name, combined. The adverb of a sound describes only that: "laughs softly"."""
    if words[0] in SOUNDS:
        return None
    if not _RESETS.isdisjoint(words):
        return PLAIN
    found = [prosody for prosody, stems in _DELIVERIES if any(word.startswith(tuple(stems.split())) for word in words)]
    if {"low", "hushed"}.intersection(words) and words[-1] in ("voice", "tone") and _SOFT not in found:
        found.append(_SOFT)
    combined = PLAIN
    for prosody in found:
        combined = combined.combine(prosody)
    return combined if found else None
