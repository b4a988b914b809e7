from pathlib import Path

import pytest

from svc.text.language import Language
from svc.text.language_detection import recognise

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
        ("es-419", Language.SPANISH),
        ("spa", Language.SPANISH),
        ("fr-CA", Language.FRENCH),
        ("fra", Language.FRENCH),
        ("hi", Language.HINDI),
        ("it-IT", Language.ITALIAN),
        ("ja", Language.JAPANESE),
        ("jpn", Language.JAPANESE),
        ("pt", Language.PORTUGUESE_BR),
        ("pt-BR", Language.PORTUGUESE_BR),
        ("zh-CN", Language.MANDARIN),
        ("zh-Hans-CN", Language.MANDARIN),
        ("cmn", Language.MANDARIN),
        (" zh ", Language.MANDARIN),
        ("de", None),
        ("", None),
        ("-", None),
        ("nonsense", None),
    ],
)
def test_a_code_names_a_language(code: str, language: Language | None) -> None:
    assert Language.parse(code) is language


def test_every_language_answers_to_its_own_code() -> None:
    assert [Language.parse(language.value) for language in Language] == list(Language)


def test_a_bare_en_keeps_the_english_of_the_voice() -> None:
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
    ],
)
def test_a_clear_text_is_recognised(text: str, base: str, language: str) -> None:
    assert recognise(text, Language(base)) == language


@pytest.mark.parametrize("text", ["", " ", "Hola", "Déjà vu!", "Los Angeles", "12345", "!!!", "Привет", "\ud800", "😀"])
def test_what_is_not_clear_stays_with_the_voice(text: str) -> None:
    for base in (Language.ENGLISH_US, Language.ENGLISH_GB):
        assert recognise(text, base) is base


def test_the_table_is_recognised_and_seldom_switched_in_error() -> None:
    wrong = [row for row in TABLE if recognise(row[1], Language(row[0])) != row[2]]
    switched = [row for row in wrong if row[0] == row[2]]
    print(f"languages: {len(TABLE) - len(wrong)} of {len(TABLE)} right, {len(switched)} switched in error")
    assert len(wrong) <= 0.03 * len(TABLE), wrong
    assert len(switched) <= 1, switched
