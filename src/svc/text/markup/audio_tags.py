"""Audio tags: `[laughs]`, `[whispers]`, `[long pause]`. They are never read aloud; other brackets are ordinary text.

A bracket is a tag if it says how long a pause is ("pause 2s", "break:500ms", "2s"), names what it is about ("emotion:
happy", "sfx: thunder"), or holds letters, spaces, hyphens and apostrophes only, at most MOST_WORDS words, and one of
these holds:

1. a word at its beginning is a sound, a manner of speaking or an emotion ("laughs", "excited", "clears throat"), or
   the whole is one of a list in other languages ("risas", "笑");
2. it begins or ends with an adverb in -ly of manner ("nervously", "speaking very softly");
3. it ends with "voice", "tone", "accent" or the like ("French accent", "in a low voice");
4. it is a pause ("pause", "long pause");
5. it stands before a sentence, is written in lower case, or in capitals if it has several words ("DOOR SLAMS"), and
   begins with no function word and holds none that editors and web pages put into brackets ("door creaks", but not
   "emphasis added").

How strong an emotion is may follow it ("happy: 0.8"). A tag with a slash ("/whispers") ends the delivery.

After an article, a form of "to be", a preposition or the like, only sounds and verbs of speaking are tags: the bracket
in "She was [upset] about it." completes the sentence. A bracket before "(" is a Markdown link.

Asterisks and parentheses are tags ("*laughs*", "(laughs)") where they stand alone: at the beginning of a text or a
line, or after a mark. Between asterisks, which also emphasise words, only sounds and verbs of speaking count.
"""

import re
from dataclasses import dataclass

from svc.text.g2p.vocabulary import VOCABULARY
from svc.text.markup.audio_tag_words import (
    ACTS,
    DEMANDING,
    DETERMINERS,
    EDITORIAL,
    FUNCTION_WORDS,
    INTERJECTIONS,
    KNOWN,
    OTHER_LANGUAGES,
    SENTENCE_ADVERBS,
    SOUNDS,
    SUBJECTS,
    VOICES,
)
from svc.text.markup.pauses import parse_pause
from svc.text.markup.prosody import PLAIN, Prosody

LONGEST_AUDIO_TAG = 60
MOST_WORDS = 4
LONGEST_PHONEMES = 100

_BRACKET = re.compile(rf"\[([^\[\]<>\n]{{1,{LONGEST_AUDIO_TAG}}})\](?!\()")
_ASIDE = re.compile(
    rf"\*(?P<emphasis>[^\s*()\[\]<>][^*()\[\]<>\n]{{0,{LONGEST_AUDIO_TAG}}})\*(?![*\w])"
    rf"|[(（](?P<remark>[^\s*()（）\[\]<>][^*()（）\[\]<>\n]{{0,{LONGEST_AUDIO_TAG}}})[)）]"
)
# As users of Kokoro give a pronunciation: [Kokoro](/kˈOkəɹO/).
_PRONOUNCED = re.compile(
    rf"\[(?P<word>[^\[\]<>\n]{{1,{LONGEST_AUDIO_TAG}}})\]\(/(?P<phonemes>[^()/\n]{{1,{LONGEST_PHONEMES}}})/\)"
)
_UNFINISHED = re.compile(
    rf"\[[^\[\]<>\n]{{0,{LONGEST_AUDIO_TAG}}}(?:\](?:\((?:/(?:[^()/\n]{{1,{LONGEST_PHONEMES}}}/?)?)?)?)?\Z"
    rf"|\[[^\[\]<>\na-z]{{1,{LONGEST_AUDIO_TAG}}}\] ?\Z"  # the next word decides
    rf"|[*(（](?:[^\W_]+(?:[ '’.,:=-]{{1,2}}[^\W_]+){{0,5}}[ '’.,:=-]?)?[*)）]?\Z"
)
_LONGEST_UNFINISHED = LONGEST_AUDIO_TAG + LONGEST_PHONEMES + len("[](//)")
_KEYED = re.compile(
    r"(?:emotions?|mood|style|tone|delivery|manner|feeling|expression|voice|s?fx|sounds?(?: effects?)?)"
    r"\s*[:=]\s*(?P<value>.+)"
)
_STRENGTH = re.compile(r"(?P<tag>.+?)\s*[:=,]\s*(?:\d(?:[.,]\d{1,2})?|\d{1,3} ?%)")
_WORDS = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*(?:,? [^\W\d_]+(?:['’-][^\W\d_]+)*)*")
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


def match_aside(text: str, start: int) -> re.Match[str] | None:
    """What stands between asterisks or parentheses at `start`, if it may be a tag."""
    return _ASIDE.match(text, start)


def match_pronounced(text: str, start: int) -> re.Match[str] | None:
    """The word in brackets at `start` with its `phonemes`: those of Kokoro, which a path on a web site has none of."""
    found = _PRONOUNCED.match(text, start)
    if found is None or found["phonemes"].isascii():
        return None
    return found if VOCABULARY.keys() >= set(found["phonemes"]) else None


def find_unfinished(text: str) -> int:
    """The position of a bracket at the end of the text that may be a tag: what follows decides."""
    found = _UNFINISHED.search(text, max(0, len(text) - _LONGEST_UNFINISHED))
    return found.start() if found else len(text)


def interpret(
    content: str, word_before: str = "", *, begins_sentence: bool = False, sentence_follows: bool = False
) -> AudioTag | None:
    """What the text in a bracket asks for; None if it is no audio tag."""
    content = content.strip()
    lower = content.lower().replace("’", "'")
    if (pause := parse_pause(lower)) is not None:
        return AudioTag(pause)
    if lower in OTHER_LANGUAGES:
        known = OTHER_LANGUAGES[lower]
        return interpret(known) if known else AudioTag()
    if lower.startswith("/"):
        ended = interpret(lower[1:])
        return ended and AudioTag(0.0, PLAIN if ended.prosody else None)
    if keyed := _KEYED.fullmatch(lower):
        return interpret(keyed["value"]) or AudioTag()
    if strength := _STRENGTH.fullmatch(lower):
        return interpret(strength["tag"], word_before)
    if not _WORDS.fullmatch(lower):
        return None
    words = lower.replace(",", "").split(" ")
    if len(words) > MOST_WORDS + 2 * (words[0] in ("in", "with", "speaking")):
        return None
    if word_before.lower() in DEMANDING and ACTS.isdisjoint((words[0], words[-1])):
        return None
    directs = content == lower or (content.isupper() and len(words) > 1 and sentence_follows)
    if not (_is_known(words) or (begins_sentence and directs and _is_direction(words))):
        return None
    if "pause" in words or "pauses" in words or words in (["beat"], ["silence"], ["long", "silence"]):
        return AudioTag(_choose_pause(words))
    return AudioTag(0.0, _choose_prosody(words))


def interpret_aside(aside: re.Match[str], word_before: str, *, alone: bool) -> AudioTag | None:
    """The same for text between asterisks or parentheses; `alone` says that no word goes before it."""
    content = (aside["emphasis"] or aside["remark"]).strip()
    words = content.lower().replace("’", "'").split()
    if words[0] in OTHER_LANGUAGES:
        # A laugh in a script without spaces stands after the words that it is about: すごい（笑）
        unspaced = aside["remark"] is not None and words[0][0] >= "\u0900"
        return interpret(content) if alone or unspaced else None
    if aside["emphasis"]:
        acts = words[0] in ACTS and (alone or _interrupts(words[0], word_before))
        return interpret(content) if acts else None
    is_pause = words[-1] in ("pause", "beat") or parse_pause(content) is not None
    return interpret(content) if alone and (words[0] in KNOWN or is_pause) else None


def _interrupts(verb: str, word_before: str) -> bool:
    """Whether a verb in the third person has no subject before it: "Well *sighs* I do", but "She *laughs* a lot"."""
    subject = not word_before or word_before[0].isupper() or word_before in SUBJECTS or word_before in DEMANDING
    return verb.endswith("s") and not (subject and word_before not in INTERJECTIONS)


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
