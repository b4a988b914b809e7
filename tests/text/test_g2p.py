"""Phonemes of each language: tables of words in context, token positions, and text that must not break it."""

import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.text.g2p import Phonemizer, from_ipa
from svc.text.g2p.espeak import align
from svc.text.g2p.heteronyms import _is_verb
from svc.text.g2p.japanese import kana_to_phonemes
from svc.text.g2p.tokenizer import PhonemeToken
from svc.text.g2p.vocabulary import VOCABULARY
from svc.text.language.languages import Language

# Differences that are inaudible, or only a matter of notation.
FOLDED = str.maketrans({"ˌ": None, "ᵊ": "ə", "T": "t", "ɾ": "t", "ᵻ": "ɪ", " ": None})


def join(tokens: list[PhonemeToken]) -> str:
    return "".join(token.phonemes + (" " if token.space else "") for token in tokens)


def check_tokens(text: str, tokens: list[PhonemeToken]) -> None:
    """Positions are in order, and all symbols are in the vocabulary."""
    end = 0
    for token in tokens:
        assert end <= token.start < token.end <= len(text)
        assert token.phonemes
        assert all(symbol in VOCABULARY for symbol in token.phonemes)
        end = token.end


def score(phonemizer: Phonemizer, name: str) -> tuple[int, list[str]]:
    """The number of rows of a table (a sentence with a word in brackets, its phonemes), and the wrong ones."""
    rows = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    wrong = []
    for row in rows:
        sentence, expected = row.split("\t")
        start, end = sentence.index("["), sentence.index("]") - 1
        text = sentence.replace("[", "").replace("]", "")
        tokens = phonemizer(text, Language.ENGLISH_US)
        found = "".join(token.phonemes for token in tokens if token.start < end and token.end > start)
        if found.translate(FOLDED) not in [variant.translate(FOLDED) for variant in expected.split("|")]:
            wrong.append(f"{sentence} {found}, not {expected}")
    print(f"{name}: {len(rows) - len(wrong)} of {len(rows)} right")
    return len(rows), wrong


def test_english_words_in_context(phonemizer: Phonemizer) -> None:
    rows, wrong = score(phonemizer, "english_pronunciations.tsv")
    assert rows > 150
    assert not wrong


def test_held_out_english_words(phonemizer: Phonemizer) -> None:
    rows, wrong = score(phonemizer, "english_pronunciations_held_out.tsv")
    assert len(wrong) <= 0.08 * rows, wrong


@pytest.mark.parametrize(
    ("language", "text", "phonemes"),
    [
        ("en-us", "Hello there, the apple is a fruit.", "həlˈO ðˈɛɹ, ði ˈæpᵊl ɪz ɐ fɹˈut."),
        ("en-gb", "Hello there, the apple is a fruit.", "həlˈQ ðˈɛː, ði ˈapᵊl ɪz ɐ fɹˈuːt."),
        ("en-us", "I want to eat to live.", "ˌI wˈɑnt tʊ ˈit tə lˈɪv."),
        ("en-us", "Wait - what?", "wˈAt — wˌʌt?"),
        ("en-us", "A well-known U.S. author...", "ɐ wˌɛlnˈOn jˌuˈɛs ˈɔθəɹ…"),
        ("en-us", "Gate A four, seat twelve A.", "ɡˈAt ˈA fˈɔɹ, sˈit twˈɛlv ˈA."),
        ("en-us", "Sooo gooood, yesss!", "sˌO ɡˈʊd, jˈɛs!"),
        ("es", "¿Dónde está la biblioteca?", "dˈonde estˈa la βˌiβliotˈeka?"),
        ("fr", "Il y a les amis de l'école !", "il i a lez amˈi də lekˈɔl!"),
        ("it", "L'amico di un'altra città è qui.", "lamˈiko dɪ ʊnˈaltra ʧitːˈa e kwˈi."),
        ("pt-br", "Eu não sei, mas isso é bom.", "eʊ nˌɐ̃ʊ̃ sˈA, maz ˈisw ɛ bˈoŋ."),
        ("hi", "मेरा नाम राहुल है।", "mˌeːɾaː nˈaːm ɾˈaːhʊl hɛː."),
        ("ja", "昨日、新聞を読みました。", "kʲinoː, ɕimbɯɴ o jomʲimaɕita."),
        ("zh", "我昨天去了图书馆。", "wo↓ ʦwo↗tʰjɛ→n ʨʰy↘ lɤ tʰu↗ʂu→kwa↓n."),
    ],
)
def test_phonemes_of_each_language(phonemizer: Phonemizer, language: str, text: str, phonemes: str) -> None:
    assert join(phonemizer(text, Language(language))) == phonemes


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en-us", "“Don't stop,” she said.", ["“", "Don't", "stop", ",", "”", "she", "said", "."]),
        ("en-us", "state-of-the-art", ["state", "of", "the", "art"]),
        ("fr", "Qu'est-ce que c'est ?", ["Qu'est-ce que", "c'est", "?"]),
        ("fr", "Comment allez-vous ?", ["Comment", "allez-vous", "?"]),
        ("es", "el año 1999 fue", ["el", "año", "1999", "fue"]),
        ("ja", "東京タワーを見に行きました。", ["東京タワー", "を", "見", "に", "行きました", "。"]),
        ("ja", "２５人のｶﾞｰﾙ", ["２５", "人", "の", "ｶﾞｰﾙ"]),
        ("zh", "今天天气很好。", ["今天天气", "很", "好", "。"]),
    ],
)
def test_tokens_are_the_words_of_the_text(phonemizer: Phonemizer, language: str, text: str, words: list[str]) -> None:
    tokens = phonemizer(text, Language(language))
    check_tokens(text, tokens)
    assert [text[token.start : token.end] for token in tokens] == words


def test_every_word_of_a_long_french_sentence_has_phonemes(phonemizer: Phonemizer) -> None:
    text = "Il n'y en a pas, mais les petits enfants ont été invités à un grand anniversaire chez eux " * 3
    tokens = phonemizer(text, Language.FRENCH)
    covered = {at for token in tokens for at in range(token.start, token.end)}
    assert all(at in covered for at, character in enumerate(text) if character.isalpha())


def test_capitals_are_acronyms_letters_or_emphasis(phonemizer: Phonemizer) -> None:
    def phonemes_of(text: str) -> str:
        return join(phonemizer(text, Language.ENGLISH_US))

    assert phonemes_of("NASA") == "nˈæsə"
    assert phonemes_of("The FBI called.").split()[1] == "ˌɛfbˌiˈI"
    assert phonemes_of("STOP DOING THAT NOW!").startswith("stˈɑp")
    assert phonemes_of("NASA LAUNCHES NEW ROCKET").startswith("nˈæsə lˈɔnʧᵻz")
    assert phonemes_of("They told us about the US economy.").split()[2] != phonemes_of("the US economy").split()[1]


def test_regular_endings_follow_the_accent(phonemizer: Phonemizer) -> None:
    words = "GPUs webhooks mentoring seeing voted GitHub's"
    assert join(phonemizer(words, Language.ENGLISH_US)) == ("ʤˌipˌijˈuz wˈɛbhˌʊks mˈɛntˌɔɹɪŋ sˈiɪŋ vˈOTᵻd ɡˈɪthˌʌbz")
    assert join(phonemizer(words, Language.ENGLISH_GB)) == (
        "ʤˌiːpˌiːjˈuːz wˈɛbhˌʊks mˈɛntɔːɹɪŋ sˈiːɪŋ vˈQtɪd ɡˈɪthˌʌbz"
    )


# How a nasal sounds depends on the word's end.
NASALS = str.maketrans("mŋɲɴ", "nnnn")


# Kana with the vowels a, i, u, e and o, and the kana that make them long.
LONG_VOWELS = (
    ("アカサタナハマヤラワガザダバパャ", "ア"),
    ("イキシチニヒミリギジビピ", "イ"),
    ("ウクスツヌフムユルグズブプュ", "ウ"),
    ("エケセテネヘメレゲゼデベペ", "イ"),
    ("オコソトノホモヨロゴゾドボポョ", "ウオ"),
)


def lengthen(kana: str) -> str:
    """The kana as they are pronounced: ウ after o and イ after e are long vowels."""
    for before, vowels in LONG_VOWELS:
        kana = re.sub(f"(?<=[{before}])[{vowels}]", "ー", kana)
    return kana


def test_japanese_words_in_context(phonemizer: Phonemizer) -> None:
    """Homographs, counters, names and irregular words: as many are right as with OpenJTalk's larger dictionaries."""
    rows = Path(__file__).with_name("japanese_readings.tsv").read_text(encoding="utf-8").splitlines()[1:]
    wrong = []
    for row in rows:
        written, readings = row.split("\t")
        found = "".join(token.phonemes for token in phonemizer(written, Language.JAPANESE)).translate(NASALS)
        expected = [kana_to_phonemes(lengthen(reading)).translate(NASALS) for reading in readings.split(" | ")]
        if not any(reading in found for reading in expected):
            wrong.append(f"{written} {found}, not {expected[0]}")
    print(f"{len(rows) - len(wrong)} of {len(rows)} right", *wrong, sep="\n")
    assert len(rows) >= 120
    assert len(wrong) <= 8


UNPACK = """
import sys
from pathlib import Path
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
Phonemizer(Path(sys.argv[1]))("はい", Language.JAPANESE)
"""


def test_the_japanese_dictionary_is_unpacked_into_the_cache_alone(tmp_path: Path) -> None:
    """In a process of its own, since it is unpacked once for all."""
    cache, home = tmp_path / "cache", tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    subprocess.run([sys.executable, "-c", UNPACK, cache], env=environment | {"HOME": str(home)}, check=True)
    assert any(path.stat().st_size > 50_000_000 for path in cache.rglob("*"))
    assert not any(home.iterdir())


def test_french_nouns_are_not_joined_with_the_next_word(phonemizer: Phonemizer) -> None:
    assert join(phonemizer("les enfants ont une maison", Language.FRENCH)).startswith("lez ɑ̃fˈɑ̃ ")
    assert join(phonemizer("c'est un chien", Language.FRENCH)).startswith("sɛt ")


def test_regions_have_phonemes_of_their_own(phonemizer: Phonemizer) -> None:
    assert "θ" in join(phonemizer("la cerveza", Language.SPANISH))
    assert "θ" not in join(phonemizer("la cerveza", Language.SPANISH_LATIN_AMERICA))
    assert "ʃ" in join(phonemizer("os carros", Language.PORTUGUESE_PT))
    assert "ʃ" not in join(phonemizer("os carros", Language.PORTUGUESE_BR))


def test_punctuation_is_kept(phonemizer: Phonemizer) -> None:
    for language in Language:
        for mark in ';:,.!?—…"()“”':
            assert mark in [token.phonemes for token in phonemizer(f"a {mark} a", language)], (language, mark)
    assert join(phonemizer("- one; two -- «three»", Language.ENGLISH_US)) == "wˈʌn; tˈu — “θɹˈi”"
    assert join(phonemizer("好，好。「好」", Language.MANDARIN)) == "xau↓, xau↓. “xau↓”"


@pytest.mark.slow
def test_one_phonemizer_serves_many_threads() -> None:
    phonemizer = Phonemizer()
    texts = [("Dónde está la casa", Language.SPANISH), ("les amis de l'école", Language.FRENCH)] * 10
    alone = [phonemizer(*text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: Phonemizer()(*text), texts)) == alone
        assert list(pool.map(lambda text: phonemizer(*text), texts)) == alone


def test_a_run_in_another_script_is_phonemized_in_its_own_language(phonemizer: Phonemizer) -> None:
    def phonemes_of(text: str, language: Language) -> str:
        return join(phonemizer(text, language))

    assert "toːkʲoː" in phonemes_of("I love 東京タワー!", Language.ENGLISH_US)
    assert "pei↓ʨi→ŋ" in phonemes_of("I love 北京!", Language.ENGLISH_US)
    assert "həlˈO" in phonemes_of("彼はhelloと言った。", Language.JAPANESE)
    assert "həlˈO" in phonemes_of("他说hello。", Language.MANDARIN)
    assert phonemes_of("Привет", Language.ENGLISH_US)
    for foreign in ("Γειά σου", "שלום", "مرحبا", "안녕하세요", "สวัสดี"):
        assert phonemes_of(foreign, Language.FRENCH)


@pytest.mark.parametrize(
    ("ipa", "language", "phonemes"),
    [
        ("təˈmeɪtoʊ", "en-us", "təmˈAtO"),
        ("təˈmɑːtəʊ", "en-gb", "təmˈɑːtQ"),
        ("/ˈtʃiːz/", "en-us", "ʧˈiz"),
        ("kæts", "en-us", "kæts"),
        ("ˈbʌtn̩", "en-us", "bˈʌtᵊn"),
        ("t͡saʊ", "it", "ʦaʊ"),
        ("bɔ̃.ʒuʁ", "fr", "bɔ̃ʒuʁ"),
        ("ma˥˩", "zh", "ma↘"),
        ("\ud800\x00", "en-us", ""),
        ("", "en-us", ""),
    ],
)
def test_ipa_of_phoneme_tags(ipa: str, language: str, phonemes: str) -> None:
    assert from_ipa(ipa, Language(language)) == phonemes


def test_joined_and_split_words_are_aligned() -> None:
    assert align(["il", "i", "a", "pa"], ["ilia", "pa"]) == [((0, 3), (0, 1)), ((3, 4), (1, 2))]
    assert align(["mil", "el"], ["mi", "l", "el"]) == [((0, 1), (0, 2)), ((1, 2), (2, 3))]


HOSTILE = {
    "a word of 5,000 letters": "a" * 5000,
    "10,000 exclamation marks": "!" * 10_000,
    "camel case": "aB" * 1000,
    "hyphens": "-".join("a" * 500),
    "initials": "a.b.c." * 300,
    "digits": "1234567890" * 100,
    "control characters": "".join(map(chr, range(32))) * 5,
    "lone surrogates": "\ud800abc\udfff" * 20,
    "right to left": "\u202eمرحبا بالعالم " * 20,
    "zero width": "a\u200bb\u200dc\ufeff" * 50,
    "combining marks": "e" + "\u0301" * 500,
    "symbols": "&@%+=#$€£¥°×÷<>*" * 5,
    "apostrophes": "'" * 500 + "a'b'c'" * 50,
    "small kana": "んっー" * 100,
    "one character of Han": "漢" * 500,
    "odd letters": "ǅ ŉ ﬁ ß İ ı ＡＢＣ １２３ ①②½ Ⅳ",
    "brackets": "[[a]] <b> {x} ((x))",
    "nothing": "",
    "a full stop": ".",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("language", Language)
def test_hostile_text_is_phonemized(phonemizer: Phonemizer, language: Language, name: str) -> None:
    tokens = phonemizer(HOSTILE[name], language)
    check_tokens(HOSTILE[name], tokens)
    # The engine takes 510 phonemes at once: no word may be longer.
    assert all(len(token.phonemes) < 300 for token in tokens)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80), st.sampled_from(Language))
def test_any_text_is_phonemized(phonemizer: Phonemizer, text: str, language: Language) -> None:
    check_tokens(text, phonemizer(text, language))


@pytest.mark.slow
def test_random_mixtures_of_scripts(phonemizer: Phonemizer) -> None:
    letters = "abcé 1.'-ñãअनु ंтпαβשלمر안녕สวัবাதம漢字アん&!"
    generator = random.Random(7)
    for _ in range(20):
        text = "".join(generator.choices(letters, k=generator.choice((5, 30, 120))))
        for language in Language:
            check_tokens(text, phonemizer(text, language))


@pytest.mark.parametrize("word", ["use", "record", "present"])
def test_the_end_of_a_text_says_nothing_about_its_beginning(word: str) -> None:
    assert not _is_verb(["you", word, "can"], ["PRP", "NN", "MD"], 1)
    assert _is_verb(["can", "you", word, "it"], ["MD", "PRP", "NN", "PRP"], 2)
    assert _is_verb([word, "the", "door"], ["NN", "DT", "NN"], 0)
    assert not _is_verb([word, "of", "the"], ["NN", "IN", "DT"], 0)
