"""From text to phrases: markup, language, context, length, and text that arrives in pieces."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.engine.phonemes import MAX_PHONEMES
from svc.text.frontend import Frontend
from svc.text.g2p import Phonemizer
from svc.text.g2p.vocabulary import VOCABULARY
from svc.text.language.languages import Language
from svc.text.sentences.phrases import LONGEST_PHRASE, Phrase, pronounce

CreateFrontend = Callable[..., Frontend]


@pytest.fixture(scope="session")
def create_frontend(phonemizer: Phonemizer) -> CreateFrontend:
    """Frontends of an American voice; the caller may name a language."""

    def create(language: Language | None = None) -> Frontend:
        return Frontend(partial(pronounce, phonemizer), Language.ENGLISH_US, language)

    return create


def _join_spoken(phrases: list[Phrase]) -> str:
    return " ".join(word.spoken for phrase in phrases for word in phrase.words)


def test_words_have_positions_in_the_callers_text(create_frontend: CreateFrontend) -> None:
    text = "Dr. Smith paid $5."
    (phrase,) = create_frontend().read(text)
    assert [(text[word.start : word.end], word.spoken) for word in phrase.words] == [
        ("Dr.", "Doctor"),
        ("Smith", "Smith"),
        ("paid", "paid"),
        ("$5", "five"),
        ("$5", "dollars"),
        (".", "."),
    ]


def test_a_break_cuts_the_sentence_and_adds_a_pause(create_frontend: CreateFrontend) -> None:
    before, after = create_frontend().read('Wait <break time="1.5s"/> for me.')
    assert (before.phonemes[-1], before.pause) == (",", 1.5)
    assert after.pause == 0
    assert _join_spoken([before, after]) == "Wait for me ."


def test_breaks_at_both_ends(create_frontend: CreateFrontend) -> None:
    phrases = list(create_frontend().read('<break time="1s"/>Hello.<break time="2s"/>'))
    assert [phrase.pause for phrase in phrases] == [1.0, 0.0, 2.0]


def test_a_phoneme_tag_replaces_the_pronunciation(create_frontend: CreateFrontend) -> None:
    (phrase,) = create_frontend().read('Say <phoneme alphabet="ipa" ph="bəˈnænə">apple</phoneme> now.')
    assert "nˈænə" in phrase.phonemes.replace(" ", "")


def test_each_sentence_is_spoken_in_its_own_language(create_frontend: CreateFrontend) -> None:
    english, spanish = create_frontend().read("Good morning to all of you. ¿Dónde está la biblioteca, por favor?")
    assert "mˈɔɹnɪŋ" in english.phonemes
    assert "dˈonde" in spanish.phonemes
    assert (english.language, spanish.language) == (Language.ENGLISH_US, Language.SPANISH)


def test_a_language_given_by_the_caller_decides(create_frontend: CreateFrontend) -> None:
    (phrase,) = create_frontend(Language.SPANISH).read("no")
    assert phrase.phonemes.startswith("nˈo")


def test_neighbouring_text_is_only_context(create_frontend: CreateFrontend) -> None:
    (phrase,) = create_frontend().read("went to the", previous="Yesterday we", following="market.")
    assert phrase.before.endswith("wi ")
    assert phrase.after.startswith(" mˈɑɹkət")
    assert _join_spoken([phrase]) == "went to the"


def test_long_sentences_fit_the_engine(create_frontend: CreateFrontend) -> None:
    text = "and so the story went on and on without a single pause to breathe " * 30
    phrases = list(create_frontend().read(text))
    assert len(phrases) > 3
    for phrase in phrases:
        assert len(phrase.phonemes) <= LONGEST_PHRASE + 1
        assert len(phrase.before + phrase.phonemes + phrase.after) <= MAX_PHONEMES
    assert _join_spoken(phrases).split() == text.split()


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40))
@settings(max_examples=30, deadline=None)
def test_phrases_do_not_depend_on_the_pieces_fed(create_frontend: CreateFrontend, cuts: list[int]) -> None:
    text = 'Mr. Fox paid $3.50 at 5 p.m. <break time="1s"/> for it. "Really?" she asked… He said: yes!\n\nThe end'
    frontend, phrases, position = create_frontend(), list[Phrase](), 0
    for cut in cuts:
        phrases += frontend.feed(text[position : position + cut])
        position += cut
    phrases += [*frontend.feed(text[position:]), *frontend.flush()]
    assert phrases == list(create_frontend().read(text))


@given(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_text_becomes_symbols_of_the_vocabulary(create_frontend: CreateFrontend, text: str) -> None:
    for phrase in create_frontend().read(text):
        assert set(phrase.phonemes) <= set(VOCABULARY)
        assert len(phrase.before + phrase.phonemes + phrase.after) <= MAX_PHONEMES
