"""Language codes, and which language a text is in."""

import subprocess
import sys
from pathlib import Path

import pytest

from svc.text.language.detection import detect_language
from svc.text.language.languages import Language

TABLE = [
    line.split("\t") for line in Path(__file__).with_name("languages.tsv").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("en", Language.ENGLISH_US),
        ("en-US", Language.ENGLISH_US),
        ("en_GB", Language.ENGLISH_GB),
        ("EN-gb", Language.ENGLISH_GB),
        ("en-AU", Language.ENGLISH_GB),
        ("en-CA", Language.ENGLISH_US),
        ("eng", Language.ENGLISH_US),
        ("English", Language.ENGLISH_US),
        ("es-ES", Language.SPANISH),
        ("es-419", Language.SPANISH_LATIN_AMERICA),
        ("es_MX", Language.SPANISH_LATIN_AMERICA),
        ("spa", Language.SPANISH),
        ("fr-CA", Language.FRENCH),
        ("fr-CH", Language.FRENCH_CH),
        ("fr-BE", Language.FRENCH_BE),
        ("fra", Language.FRENCH),
        ("hi", Language.HINDI),
        ("it-IT", Language.ITALIAN),
        ("ja", Language.JAPANESE),
        ("jpn", Language.JAPANESE),
        ("pt", Language.PORTUGUESE_BR),
        ("pt-BR", Language.PORTUGUESE_BR),
        ("pt-PT", Language.PORTUGUESE_PT),
        ("zh-CN", Language.MANDARIN),
        ("zh-Hans-CN", Language.MANDARIN),
        ("cmn", Language.MANDARIN),
        (" zh ", Language.MANDARIN),
        ("de", Language.GERMAN),
        ("de-AT", Language.GERMAN),
        ("Deutsch", Language.GERMAN),
        ("pol", Language.POLISH),
        ("nb-NO", Language.NORWEGIAN),
        ("tl", Language.FILIPINO),
        ("th", None),
        ("", None),
        ("-", None),
        ("nonsense", None),
    ],
)
def test_codes_and_names_are_parsed(code: str, language: Language | None) -> None:
    assert Language.parse(code) is language


def test_every_language_is_parsed_from_its_own_code() -> None:
    assert [Language.parse(language.value) for language in Language] == list(Language)


def test_a_region_has_the_voices_of_its_language() -> None:
    regions = {region: region.base for region in Language if region.base is not region}
    assert regions == {
        Language.SPANISH_LATIN_AMERICA: Language.SPANISH,
        Language.FRENCH_BE: Language.FRENCH,
        Language.FRENCH_CH: Language.FRENCH,
        Language.PORTUGUESE_PT: Language.PORTUGUESE_BR,
    }


def test_en_without_a_region_keeps_the_english_of_the_voice() -> None:
    assert Language.parse("en", Language.ENGLISH_GB) is Language.ENGLISH_GB
    assert Language.parse("en", Language.FRENCH) is Language.ENGLISH_US
    assert Language.parse("en-US", Language.ENGLISH_GB) is Language.ENGLISH_US


@pytest.mark.parametrize(
    ("text", "base", "language"),
    [
        ("¿Dónde está la biblioteca?", "en-us", "es"),
        ("Bonjour, comment allez-vous ?", "en-gb", "fr"),
        ("Hello there, how are you?", "en-gb", "en-gb"),
        ("Hello, how are you today?", "es", "en-us"),
        ("今日はいい天気ですね。", "en-us", "ja"),
        ("東京大学", "ja", "ja"),
        ("東京大学", "zh", "zh"),
        ("本に没頭している。", "zh", "ja"),
        ("नमस्ते", "en-us", "hi"),
        ("Привет", "en-us", "ru"),
        ("Мій собака спить під столом.", "ru", "uk"),
        ("안녕", "en-us", "ko"),
        ("Mio fratello lavora in una libreria del centro.", "en-us", "it"),
        ("Das Abendessen ist fast fertig.", "en-us", "de"),
        ("Das Abendessen ist fast fertig.", "de", "de"),
        ("Dinner is almost ready, and all the children are here.", "de", "en-us"),
    ],
)
def test_a_clear_text_is_detected(text: str, base: str, language: str) -> None:
    assert detect_language(text, Language(base)) == language


@pytest.mark.parametrize("text", ["", " ", "Hola", "Déjà vu!", "Los Angeles", "12345", "!!!", "\ud800", "😀"])
def test_an_unclear_text_keeps_the_language_of_the_voice(text: str) -> None:
    for base in (Language.ENGLISH_US, Language.ENGLISH_GB):
        assert detect_language(text, base) is base


def test_most_of_the_table_is_detected_with_at_most_one_false_switch() -> None:
    wrong = [row for row in TABLE if detect_language(row[1], Language(row[0])) != row[2]]
    false_switches = [row for row in wrong if row[0] == row[2]]
    print(f"languages: {len(TABLE) - len(wrong)} of {len(TABLE)} right, {len(false_switches)} false switches")
    assert len(wrong) <= 0.03 * len(TABLE), wrong
    assert len(false_switches) <= 1, false_switches


@pytest.mark.parametrize(("name", "most_wrong"), [("short_texts.tsv", 0.05), ("unseen_short_texts.tsv", 0.08)])
def test_short_texts_of_all_languages_are_recognised(name: str, most_wrong: float) -> None:
    """Danish and Norwegian, Indonesian and Malay, Czech and Slovak differ too little in some of them."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t") for line in lines]
    assert {code for code, _ in texts} == {language.code for language in Language}
    wrong = [(code, text) for code, text in texts if detect_language(text, Language.ENGLISH_US).code != code]
    print(f"{name}: {len(texts) - len(wrong)} of {len(texts)} right")
    assert len(wrong) <= most_wrong * len(texts), wrong
    assert not [text for code, text in wrong if code in ("en", "it", "pl", "ko", "tr")]


def test_a_name_in_a_text_does_not_change_its_language() -> None:
    assert detect_language("Meet me at Rio de Janeiro.", Language.ENGLISH_US) is Language.ENGLISH_US


def test_nothing_is_loaded_for_a_text_in_the_language_of_the_voice() -> None:
    program = (
        "import sys; from svc.text.language.languages import Language;"
        "from svc.text.language.detection import detect_language;"
        "from svc.text.language.ngrams import load_classifier;"
        "detect_language('This is the kind of text that we read all day.', Language.ENGLISH_US);"
        "assert not load_classifier.cache_info().currsize;"
        "assert 'unicode_rbnf' not in sys.modules;"
        "detect_language('Das Abendessen ist fast fertig.', Language.ENGLISH_US);"
        "assert load_classifier.cache_info().currsize"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
