"""Pronunciation rules: what they match, what is read instead, and that alignment keeps to the caller's characters."""

import random
import string
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.text.frontend import Frontend
from svc.text.g2p import Phonemizer
from svc.text.language.languages import Language
from svc.text.markup.parsed_text import Substitution
from svc.text.pronunciation_rules import Alphabet, PronunciationRule, RuleMatcher, apply_rules
from svc.text.sentences.phrases import Phrase, pronounce


def alias(word: str, text: str, *, case: bool = True, words: bool = True) -> PronunciationRule:
    return PronunciationRule(word, text, None, case, words)


def phoneme(word: str, phonemes: str, alphabet: Alphabet = Alphabet.IPA, *, words: bool = True) -> PronunciationRule:
    return PronunciationRule(word, phonemes, alphabet, word_boundaries=words)


def read(text: str, *rules: PronunciationRule) -> str:
    """The text with its aliases."""
    for each in reversed(apply_rules([RuleMatcher(rules)], text, [])):
        if isinstance(each, Substitution):
            text = text[: each.start] + each.alias + text[each.end :]
    return text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The UN met.", "The United Nations met."),
        ("UN", "United Nations"),
        ("The UN's plan, UN-led (UN).", "The United Nations's plan, United Nations-led (United Nations)."),
        ("UNESCO, RUN, UN1, _UN and un stay.", "UNESCO, RUN, UN1, _United Nations and un stay."),
        ("K8s and k8S run.", "Kubernetes and Kubernetes run."),
        ("I like New York City.", "I like the Big Apple City."),
        ("I like New\nYork and New  York.", "I like the Big Apple and New  York."),
        ("C++20 and C++", "see plus plus 20 and see plus plus"),
        ("Rust’s borrowck", "Rust's borrow checker"),
    ],
)
def test_what_matches(text: str, expected: str) -> None:
    rules = (
        alias("UN", "United Nations"),
        alias("k8s", "Kubernetes", case=False),
        alias("New York", "the Big Apple"),
        alias("C++", "see plus plus"),
        alias("Rust's borrowck", "Rust's borrow checker"),
    )
    assert read(text, *rules) == expected


def test_the_first_rule_wins_and_nothing_is_replaced_twice() -> None:
    assert read("a b c", alias("a", "b"), alias("a b", "never"), alias("b", "c")) == "b c c"
    assert read("a b c", alias("a b", "x"), alias("a", "never"), alias("b", "never")) == "x c"
    assert read("read", alias("READ", "never"), alias("read", "first"), alias("READ", "never", case=False)) == "first"
    assert read("Read", alias("read", "never"), alias("read", "second", case=False)) == "second"
    assert read("reader", alias("read", "never"), alias("read", "reed", words=False)) == "reeder"


def test_one_dictionary_after_the_other() -> None:
    first, second = (
        RuleMatcher([alias("b", "1")]),
        RuleMatcher([alias("a b", "2"), alias("a", "3"), alias("1", "never")]),
    )
    assert apply_rules([first, second], "a b", []) == [Substitution(0, 1, "3"), Substitution(2, 3, "1")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我住在重庆市。", "我住在山城市。"),
        ("東京タワー", "とうきょうタワー"),
        ("ไปกรุงเทพฯ", "ไปบางกอกฯ"),
        ("用AI写作", "用人工智能写作"),
    ],
)
def test_scripts_without_spaces_have_no_word_boundaries(text: str, expected: str) -> None:
    rules = (alias("重庆", "山城"), alias("東京", "とうきょう"), alias("กรุงเทพ", "บางกอก"), alias("AI", "人工智能"))
    assert read(text, *rules) == expected


def test_composed_and_decomposed_letters_are_the_same() -> None:
    assert read("un cafe\u0301", alias("café", "bar")) == "un bar"
    assert read("un café", alias("cafe\u0301", "bar")) == "un bar"
    assert read("cafe\u0301", alias("cafe", "never")) == "cafe\u0301"


def test_many_rules_and_a_long_text_take_bounded_steps() -> None:
    generator = random.Random(1)
    words = ["".join(generator.choices(string.ascii_lowercase, k=generator.randint(1, 12))) for _ in range(2000)]
    matcher = RuleMatcher([alias(word, "x", case=index % 2 == 0) for index, word in enumerate(words)])
    text = " ".join(generator.choices([*words, "and", "other", "words"], k=8000))[:40_000]
    lookups = 0
    find = matcher._exact.find

    class Counting:
        def find(self, string: str, whole: bool) -> int | None:
            nonlocal lookups
            lookups += 1
            return find(string, whole)

    matcher._exact = Counting()  # type: ignore[assignment]
    assert matcher.find(text, [])
    assert lookups < 12 * len(text), "at most one for each length, not for each rule"


def test_hostile_strings_take_bounded_steps() -> None:
    matcher = RuleMatcher([alias("a" * length, "x", words=False) for length in range(2, 101)])
    assert len(matcher.find("ab" * 20_000, [])) == 0
    assert matcher.find("a" * 10_000, [])


@given(st.lists(st.tuples(st.text("abAB 'é", min_size=1, max_size=4), st.booleans(), st.booleans()), max_size=12),
       st.text("abAB '’é\n", max_size=40))  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_matches_like_a_plain_search(rules: list[tuple[str, bool, bool]], text: str) -> None:
    from svc.text.pronunciation_rules import is_boundary

    given_rules = [alias(word, "x", case=case, words=words) for word, case, words in rules]

    def fold(word: str) -> str:
        return word.replace("’", "'").replace("\n", " ")

    expected, position = [], 0
    while position < len(text):
        for rule in given_rules:
            end = position + len(rule.string)
            same = (lambda word: word) if rule.case_sensitive else str.lower
            whole = is_boundary(text, position) and is_boundary(text, end) if end <= len(text) else False
            if same(fold(text[position:end])) == same(rule.string) and (whole or not rule.word_boundaries):
                expected.append((position, end, rule))
                break
        position = expected[-1][1] if expected and expected[-1][0] == position else position + 1
    found = RuleMatcher(given_rules).find(text, [])
    assert [(match.start, match.end, match.rule) for match in found] == expected


def make_phrases(
    phonemizer: Phonemizer, text: str, *rules: PronunciationRule, language: Language | None = None
) -> list[Phrase]:
    return list(
        Frontend(partial(pronounce, phonemizer), Language.ENGLISH_US, language, rules=[RuleMatcher(rules)]).read(text)
    )


def words_of(phrases: list[Phrase], text: str) -> list[tuple[str, str]]:
    return [(text[word.start : word.end], word.spoken) for phrase in phrases for word in phrase.words]


def test_an_alias_is_normalised_and_aligned_with_the_callers_characters(phonemizer: Phonemizer) -> None:
    text = "K8s costs $5 at the UN."
    phrases = make_phrases(phonemizer, text, alias("K8s", "Kubernetes 2"), alias("UN", "United Nations"))
    assert words_of(phrases, text) == [
        ("K8s", "Kubernetes"),
        ("K8s", "two"),
        ("costs", "costs"),
        ("$5", "five"),
        ("$5", "dollars"),
        ("at", "at"),
        ("the", "the"),
        ("UN", "United"),
        ("UN", "Nations"),
        (".", "."),
    ]


def test_phonemes_of_a_rule(phonemizer: Phonemizer) -> None:
    ipa = make_phrases(phonemizer, "A tomato soup.", phoneme("tomato", "təˈmɑːtoʊ"))
    arpabet = make_phrases(phonemizer, "A tomato soup.", phoneme("tomato", "T AH0 M AA1 T OW0", Alphabet.ARPABET))
    assert "təmˈɑtO" in ipa[0].phonemes
    assert "təmˈɑtO" in arpabet[0].phonemes


def test_markup_wins_over_rules(phonemizer: Phonemizer) -> None:
    text = 'Say <phoneme alphabet="ipa" ph="bəˈnænə">apple</phoneme> and apple.'
    (phrase,) = make_phrases(phonemizer, text, phoneme("apple", "ˈkɪwi"))
    assert phrase.phonemes.count("ænə") == phrase.phonemes.count("kˈɪwi") == 1


def test_markup_inside_a_match_does_not_matter(phonemizer: Phonemizer) -> None:
    text = "The <b>U</b>N met."
    words = words_of(make_phrases(phonemizer, text, alias("UN", "United Nations")), text)
    assert words[1] == ("U</b>N", "United")


def test_phonemes_of_a_part_of_a_chinese_word_leave_the_rest(phonemizer: Phonemizer) -> None:
    text = "我住在重庆市。"
    plain = make_phrases(phonemizer, text, language=Language.MANDARIN)
    ruled = make_phrases(phonemizer, text, phoneme("重庆", "ʈʂʰʊŋ˧˥tɕʰɪŋ˥˩"), language=Language.MANDARIN)
    assert "".join(original for original, _ in words_of(ruled, text)) == text
    assert ("重庆", "重庆") in words_of(ruled, text)
    last = [phrase.words[-2].phonemes for phrase in (plain[0], ruled[0])]
    assert ruled[0].words[-2].spoken == "市"
    assert last[0].endswith(last[1])


@pytest.mark.parametrize("language", list(Language))
def test_rules_apply_in_every_language(phonemizer: Phonemizer, language: Language) -> None:
    text = "OpenAI."
    phrases = make_phrases(phonemizer, text, phoneme("OpenAI", "ˈkɪwi"), language=language)
    assert "kˈɪwi" in phrases[0].phonemes
    assert words_of(make_phrases(phonemizer, text, alias("OpenAI", "kiwi"), language=language), text)[0][1] == "kiwi"


@pytest.mark.parametrize("text", ["→", "911", "😀 x", "§", "x_y"])
def test_phonemes_of_what_is_not_a_word(phonemizer: Phonemizer, text: str) -> None:
    phrases = make_phrases(phonemizer, f"Press {text} now.", phoneme(text, "ˈkɪwi"))
    assert "kˈɪwi" in phrases[0].phonemes
    assert (text, text) in words_of(phrases, f"Press {text} now.")
