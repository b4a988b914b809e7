"""What the elements of SSML ask for: prosody, emphasis, voices, languages, and text that is read differently."""

import math
from functools import partial

import pytest

from svc.text.frontend import Frontend
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.text.markup.parsed_text import ParsedText, SayAs, Substitution
from svc.text.markup.parser import MarkupParser, find_holdback, parse
from svc.text.markup.prosody import FASTEST, HIGHEST, LOUDEST_DB, LOWEST, PLAIN, SLOWEST, Manner
from svc.text.normalise.say_as import say_as
from svc.text.sentences.phrases import Phrase, pronounce


def _find_manner(text: str, word: str = "word") -> Manner:
    parsed = parse(text)
    position = parsed.text.index(word)
    return next((each.manner for each in reversed(parsed.changes) if each.start <= position), Manner())


@pytest.mark.parametrize(
    ("rate", "factor"),
    [("slow", 0.8), ("x-fast", 1.6), ("medium", 1.0), ("default", 1.0), ("120%", 1.2), ("80%", 0.8), ("+20%", 1.2),
     ("-20%", 0.8), ("1.5", 1.5), ("500%", FASTEST), ("1%", SLOWEST), ("fastish", 1.0), ("", 1.0)],
)  # fmt: skip
def test_rate(rate: str, factor: float) -> None:
    assert _find_manner(f'<prosody rate="{rate}">word</prosody>').prosody.rate == pytest.approx(factor)


@pytest.mark.parametrize(
    ("pitch", "factor"),
    [("high", 1.13), ("x-low", 0.75), ("+10%", 1.1), ("-10%", 0.9), ("10%", 1.1), ("110%", 1.1),
     ("+2st", 2 ** (2 / 12)), ("-12st", LOWEST), ("+24st", HIGHEST), ("+16Hz", 1.1), ("-16Hz", 0.9), ("loud", 1.0)],
)  # fmt: skip
def test_pitch(pitch: str, factor: float) -> None:
    assert _find_manner(f'<prosody pitch="{pitch}">word</prosody>').prosody.pitch == pytest.approx(factor)


def test_absolute_pitch() -> None:
    prosody = _find_manner('<prosody pitch="200Hz">word</prosody>').prosody
    assert (prosody.hertz, prosody.pitch) == (200.0, 1.0)


@pytest.mark.parametrize(
    ("volume", "decibels"),
    [("+6dB", 6.0), ("-6dB", -6.0), ("soft", -6.0), ("loud", 4.0), ("silent", -math.inf), ("50", 20 * math.log10(0.5)),
     ("100", 0.0), ("0", -math.inf), ("+50%", 20 * math.log10(1.5)), ("+60dB", LOUDEST_DB), ("green", 0.0)],
)  # fmt: skip
def test_volume(volume: str, decibels: float) -> None:
    assert _find_manner(f'<prosody volume="{volume}">word</prosody>').prosody.volume == pytest.approx(decibels)


def test_nested_prosody_multiplies_and_ends_with_its_element() -> None:
    text = '<prosody rate="80%">one <prosody rate="50%" volume="-3dB">two</prosody> three</prosody> four'
    assert _find_manner(text, "one").prosody.rate == pytest.approx(0.8)
    assert _find_manner(text, "two").prosody.rate == pytest.approx(max(0.4, SLOWEST))
    assert _find_manner(text, "two").prosody.volume == -3.0
    assert _find_manner(text, "three").prosody.rate == pytest.approx(0.8)
    assert _find_manner(text, "four").prosody == PLAIN


def test_emphasis() -> None:
    strong, reduced = (
        _find_manner(f'<emphasis level="{level}">word</emphasis>').prosody for level in ("strong", "reduced")
    )
    assert strong.volume > 0 > reduced.volume
    assert strong.rate < 1 < reduced.rate
    assert _find_manner("<emphasis>word</emphasis>").prosody.volume > 0
    assert _find_manner('<emphasis level="none">word</emphasis>').prosody == PLAIN


def test_voice_and_language() -> None:
    manner = _find_manner('<voice name="am_adam" xml:lang="es">word</voice>')
    assert (manner.voice, manner.language) == ("am_adam", "es")
    assert _find_manner('<lang xml:lang="fr-FR">word</lang>').language == "fr-FR"
    assert _find_manner('<p xml:lang="it">word</p>').language == "it"
    assert _find_manner('<p xml:lang="it">other</p> word').language == ""


@pytest.mark.parametrize(
    "text", ["word</prosody>", "<prosody/>word", '<prosody rate="fast"/>word', "</voice>word", "<lang>word</lang>"]
)
def test_malformed_elements_change_nothing(text: str) -> None:
    assert parse(text).text == "word"
    assert _find_manner(text) == Manner()


def test_an_element_that_is_closed_closes_those_within() -> None:
    text = '<voice name="x"><prosody rate="slow">one</voice> two'
    assert _find_manner(text, "two") == Manner()


def test_elements_stay_open_over_pieces() -> None:
    parser = MarkupParser()
    list(parser.feed('<prosody rate="slow">one ', whole=False))
    assert ParsedText.join(parser.feed("two ", whole=False)).changes == []
    (change,) = ParsedText.join(parser.feed("three</prosody> four", whole=False)).changes
    assert (change.start, change.manner) == (len("three"), Manner())


def test_replacements() -> None:
    text = 'a <sub alias="World Wide Web">WWW</sub> <say-as interpret-as="DATE" format="mdy">5/1/24</say-as>'
    assert parse(text).replacements == [Substitution(2, 5, "World Wide Web"), SayAs(6, 12, "date", "mdy")]
    assert parse("H<sub>2</sub>O").replacements == []


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ('Say <sub alias="x">to', '<sub alias="x">to'),
        ('Say <say-as interpret-as="date">1/2</say-', '<say-as interpret-as="date">1/2</say-'),
        ('Say <sub alias="x">tom</sub>', ""),
        ('Say <prosody rate="slow">word', ""),
    ],
)
def test_text_that_is_read_differently_is_held_back(text: str, held: str) -> None:
    assert text[find_holdback(text) :] == held


@pytest.mark.parametrize(
    "text", ['<prosody rate="slow">' * 2_000 + "</voice>" * 4_000, '<sub alias="x">' * 3_000 + "</sub>" * 3_000]
)
def test_hostile_elements_can_be_parsed(text: str) -> None:
    parsed = parse(text)
    assert len(parsed.origins) == len(parsed.text) + 1


@pytest.mark.parametrize(
    ("text", "kind", "layout", "language", "spoken"),
    [
        ("SSML", "characters", "", "en-us", "S, S, M, L"),
        ("a1-", "spell-out", "", "en-us", "A, one, dash"),
        ("2024", "digits", "", "en-us", "two zero two four"),
        ("2024", "cardinal", "", "en-us", "two thousand twenty-four"),
        ("-12.5", "number", "", "en-us", "minus twelve point five"),
        ("VIII", "cardinal", "", "en-us", "eight"),
        ("3", "ordinal", "", "en-us", "third"),
        ("22nd", "ordinal", "", "en-us", "twenty-second"),
        ("5/1", "date", "", "en-us", "May first"),
        ("5/1", "date", "dm", "en-us", "January fifth"),
        ("01-02-2024", "date", "dmy", "en-us", "February first, twenty twenty-four"),
        ("20240501", "date", "ymd", "en-us", "May first, twenty twenty-four"),
        ("5/2024", "date", "my", "en-us", "May twenty twenty-four"),
        ("0330", "time", "", "en-us", "three thirty"),
        ("2:05pm", "time", "hms12", "en-us", "two oh five p.m."),
        ("5551234567", "telephone", "", "en-us", "five five five, one two three, four five six seven"),
        ("123", "cardinal", "", "es", "ciento veintitrés"),
        ("3", "ordinal", "", "fr", "troisième"),
        ("12", "digits", "", "es", "uno dos"),
        ("12", "characters", "", "zh", "一、二"),
        ("3", "ordinal", "", "zh", "第三"),
        ("1/5", "date", "dm", "es", "uno de mayo"),
        ("soon", "date", "", "en-us", None),
        ("99/99/99", "date", "mdy", "en-us", None),
        ("word", "cardinal", "", "en-us", None),
        ("$5", "currency", "", "en-us", None),
        ("x", "expletive", "", "en-us", None),
        ("", "characters", "", "en-us", None),
    ],
)
def test_say_as(text: str, kind: str, layout: str, language: str, spoken: str | None) -> None:
    assert say_as(text, kind, layout, Language(language)) == spoken


@pytest.mark.parametrize(
    "kind", ["characters", "digits", "telephone", "cardinal", "ordinal", "date", "time", "currency"]
)
@pytest.mark.parametrize(
    "text", ["", "5", "5/1/2024", "3:30", "+49 (30) 12345", "IX", "१२", "五", "99999999999999999999999", "º"]
)
def test_say_as_takes_any_text_in_any_language(kind: str, text: str) -> None:
    for language in Language:
        say_as(text, kind, "mdy", language)


def _read(phonemizer: Phonemizer, text: str, language: Language | None = None) -> list[Phrase]:
    languages = {"ff_siwis": Language.FRENCH}
    return list(Frontend(partial(pronounce, phonemizer), Language.ENGLISH_US, language, (), languages.get).read(text))


def test_a_sentence_is_cut_only_where_it_is_spoken_differently(phonemizer: Phonemizer) -> None:
    first, slow, last = _read(phonemizer, 'I said <prosody rate="slow">very slowly</prosody> that it works.')
    assert [word.spoken for word in slow.words] == ["very", "slowly"]
    assert slow.manner.prosody.rate == 0.8
    assert all([first.after, slow.before, slow.after, last.before])
    assert first.pause == slow.pause == 0


def test_a_foreign_phrase_is_read_in_its_language(phonemizer: Phonemizer) -> None:
    phrases = _read(phonemizer, 'He said <lang xml:lang="fr-FR">bonjour monsieur</lang> to me.')
    assert [phrase.language for phrase in phrases] == [Language.ENGLISH_US, Language.FRENCH, Language.ENGLISH_US]
    assert "bɔ̃ʒˈuʁ" in phrases[1].phonemes.replace("̃", "̃")


def test_another_voice_speaks_its_own_language(phonemizer: Phonemizer) -> None:
    english, french = _read(phonemizer, 'Hello there. <voice name="ff_siwis">Non.</voice>')
    assert (french.language, french.manner.voice) == (Language.FRENCH, "ff_siwis")
    assert (english.language, english.manner.voice) == (Language.ENGLISH_US, "")


def test_replaced_text_is_read_whole(phonemizer: Phonemizer) -> None:
    text = (
        'The <sub alias="Doctor Who. The end">D.W. Ok</sub> is <say-as interpret-as="characters">A.B. Cd</say-as> here.'
    )
    words = [word for phrase in _read(phonemizer, text) for word in phrase.words]
    spoken = " ".join(word.spoken for word in words)
    assert "Doctor Who" in spoken
    assert {text[word.start : word.end] for word in words if word.spoken == "Doctor"} == {"D.W. Ok"}
    assert "D . W" not in spoken
