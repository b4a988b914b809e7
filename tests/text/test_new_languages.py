"""The languages of the table: numbers and dates, sentences, phonemes, and the rows themselves."""

import re
from collections import Counter
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from svc.text.frontend import Frontend
from svc.text.g2p import Phonemizer
from svc.text.g2p.korean import KoreanG2P
from svc.text.g2p.vocabulary import VOCABULARY
from svc.text.language.languages import Language, Script, find_script
from svc.text.language.table import load_table
from svc.text.normalise import normalise
from svc.text.normalise.locale_data import load_locale
from svc.text.sentences.phrases import pronounce
from svc.text.sentences.split import Splitter
from svc.voices.built_in import load_built_in_voices

NEW = [language for language in Language if language.row]
CASES = [
    line.split("\t")
    for line in Path(__file__).with_name("new_language_cases.tsv").read_text(encoding="utf-8").splitlines()[1:]
]


def say(text: str, language: Language) -> str:
    return re.sub("[ ]+", " ", "".join(span.spoken for span in normalise(text, language))).strip()


@pytest.fixture(scope="module")
def phonemizer() -> Phonemizer:
    return Phonemizer()


def test_the_table_has_24_languages_that_no_built_in_voice_speaks() -> None:
    native = {voice.language for voice in load_built_in_voices()}
    assert len(NEW) == 24
    assert {Language(code) for code in load_table()} == set(NEW) == {each.base for each in Language} - native
    assert {language.articulation for language in NEW} <= native


@pytest.mark.parametrize("language", NEW)
def test_a_row_is_complete(language: Language) -> None:
    row = language.row
    assert row is not None
    assert language.locale == row.locale
    assert {Language.parse(name) for name in (language.value, language.locale, *row.names)} == {language}
    letters = [find_script(each) for each in row.preview if find_script(each) is not Script.COMMON]
    assert Counter(letters).most_common(1)[0][0] is language.script
    assert set("".join(row.symbols.values())) <= set(VOCABULARY)
    assert set("".join(row.words)) | set("".join(row.words.values())) <= set(VOCABULARY)
    assert not [word for word, instead in row.words.items() if word == instead]
    rules = row.rules | row.clearer
    assert set(re.sub(r"\\\d", "", "".join(rules.values()))) <= set(VOCABULARY)
    assert all(re.compile(pattern) for pattern in rules)
    assert set(row.may_end) <= set(row.abbreviations)


@pytest.mark.parametrize(
    ("code", "number", "form"),
    [
        ("pl", "1", "złoty"),
        ("pl", "3", "złote"),
        ("pl", "12", "złotych"),
        ("pl", "22", "złote"),
        ("pl", "1.5", "złotego"),
        ("ro", "1", "leu"),
        ("ro", "19", "lei"),
        ("ro", "20", "de lei"),
        ("ro", "2.5", "lei"),
    ],
)
def test_a_number_asks_for_the_form_of_its_noun(code: str, number: str, form: str) -> None:
    money = load_table()[code].reading.money
    forms = money["zł" if code == "pl" else "lei"]
    assert load_locale(code).choose_form(forms, Decimal(number)) == form


def test_names_are_those_of_the_cldr(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.syspath_prepend(root / "scripts")
    from make_cldr import page  # type: ignore[import-not-found]

    assert (root / "src/svc/data/cldr.json").read_text(encoding="utf-8") == page(), "run: python scripts/make_cldr.py"


@pytest.mark.parametrize("language", NEW)
def test_cases(language: Language) -> None:
    cases = [(written, spoken) for code, written, spoken in CASES if code == language]
    assert len(cases) >= 8
    assert {written: say(written, language) for written, _ in cases} == dict(cases)


@pytest.mark.parametrize("language", NEW)
def test_phonemes_are_in_the_vocabulary_and_keep_their_characters(language: Language, phonemizer: Phonemizer) -> None:
    assert language.row is not None
    text = f"{language.row.preview} 25."
    words = [
        word
        for phrase in Frontend(partial(pronounce, phonemizer), language, language).read(text)
        for word in phrase.words
    ]
    spoken = [word for word in words if word.phonemes not in ".,!?;:"]
    assert set("".join(word.phonemes for word in words)) <= set(VOCABULARY)
    assert len("".join(word.phonemes for word in spoken)) > len(text) / 2
    assert text[spoken[0].start : spoken[0].end] == re.split(r"[\s!,;]", text)[0]
    assert text[spoken[-1].start : spoken[-1].end] == "25"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Er kam am 3. Mai. Dann ging er.", ["Er kam am 3. Mai. ", "Dann ging er."]),
        ("Im 19. Jahrhundert war das anders.", ["Im 19. Jahrhundert war das anders."]),
        ("Das kostet ca. 5 Euro.", ["Das kostet ca. 5 Euro."]),
        ("Wir haben z. B. Äpfel, bzw. Birnen.", ["Wir haben z. B. Äpfel, bzw. Birnen."]),
        ("Přišel 3. května. Pak odešel.", ["Přišel 3. května. ", "Pak odešel."]),
        ("Dne 3. 5. 2024 odešel. Konec.", ["Dne 3. 5. 2024 odešel. ", "Konec."]),
        ("Mieszka przy ul. Długiej. To blisko.", ["Mieszka przy ul. Długiej. ", "To blisko."]),
        ("Он живёт на ул. Мира. Там тихо.", ["Он живёт на ул. Мира. ", "Там тихо."]),
        ("I was there in 99. Then I left.", ["I was there in 99. ", "Then I left."]),
        ("He is ok. We are not.", ["He is ok. ", "We are not."]),
        ("كيف حالك؟ أنا بخير.", ["كيف حالك؟ ", "أنا بخير."]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    splitter = Splitter()
    assert [each.text for each in splitter.feed(text) + splitter.flush()] == sentences
    splitter = Splitter()
    pieces = [sentence.text for character in text for sentence in splitter.feed(character)]
    assert pieces + [each.text for each in splitter.flush()] == sentences


@pytest.mark.parametrize(
    ("word", "phonemes"),
    [
        ("안녕하세요", "ˈannjʌŋhasejo"),  # between vowels
        ("독립", "tˈoŋnip"),  # nasals
        ("신라", "ɕˈilla"),  # n becomes l
        ("같이", "kˈaʨʰi"),  # palatal
        ("좋아요", "ʨˈoajo"),  # silent h
        ("않고", "ˈankʰo"),  # aspirated
        ("읽어요", "ˈilɡʌjo"),  # of two consonants, one moves
        ("감사합니다", "kˈamsahamnida"),
        ("입학", "ˈipʰak"),
    ],
)
def test_korean_syllables_change_each_other(word: str, phonemes: str) -> None:
    assert [token.phonemes for token in KoreanG2P().phonemize(word)] == [phonemes]


@pytest.mark.parametrize(
    ("text", "language", "phonemes"),
    [
        # Soft signs after л and н, which espeak-ng leaves out.
        ("день", Language.RUSSIAN, "dʲˈeɲ"),
        ("соль", Language.RUSSIAN, "sˈolj"),
        ("осенью", Language.RUSSIAN, "ˈosʲɪɲju"),
        ("солнце", Language.RUSSIAN, "sˈonʦɨ"),
        ("дверь", Language.RUSSIAN, "dvʲˈerʲ"),
        # Stress, with an article or a linker, too.
        ("веднъж", Language.BULGARIAN, "vednˈəʃ"),
        ("улицата", Language.BULGARIAN, "ˈuliʦata"),
        ("помощта", Language.BULGARIAN, "pomoʃttˈa"),
        ("политиката", Language.BULGARIAN, "polˈitikata"),
        ("създаването", Language.BULGARIAN, "səzdˈavaneto"),
        ("ulan", Language.FILIPINO, "ulˈan"),
        ("siyang", Language.FILIPINO, "sijˈaŋ"),
        ("bata", Language.FILIPINO, "bˈata"),
    ],
)
def test_the_spelling_tells_what_espeak_does_not(
    text: str, language: Language, phonemes: str, phonemizer: Phonemizer
) -> None:
    assert "".join(token.phonemes for token in phonemizer(text, language)) == phonemes


def test_symbols_that_are_understood_better_come_last(phonemizer: Phonemizer) -> None:
    """espeak-ng's "y" is in the vocabulary; German has another symbol for it, and French has not."""
    (german,), (french,) = phonemizer("kühl", Language.GERMAN), phonemizer("lune", Language.FRENCH)
    assert "ɨ" in german.phonemes
    assert "y" not in german.phonemes
    assert "y" in french.phonemes


def test_a_script_in_a_foreign_text_is_read_by_its_own_rules(phonemizer: Phonemizer) -> None:
    inside = "".join(token.phonemes for token in phonemizer("the word 감사 there", Language.ENGLISH_US))
    assert "kˈamsa" in inside
    ukrainian = "".join(token.phonemes for token in phonemizer("вода", Language.UKRAINIAN))
    assert ukrainian != "".join(token.phonemes for token in phonemizer("вода", Language.RUSSIAN))
