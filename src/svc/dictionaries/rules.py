"""What a rule may contain, how rules are stored, and how a list of them is edited."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any
from unicodedata import category

from svc.text.g2p import from_ipa
from svc.text.g2p.ipa import find_unknown_arpabet
from svc.text.language.languages import Language
from svc.text.pronunciation_rules import LONGEST_STRING, Alphabet, PronunciationRule

MAX_RULES = 5_000
LONGEST_REPLACEMENT = 200


class InvalidRule(ValueError):
    """The field that is wrong, as the API names it, and what is wrong with it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field


def make_alias(string: str, alias: str, case_sensitive: bool, word_boundaries: bool) -> PronunciationRule:
    """Raises `InvalidRule`, as `make_phoneme` does."""
    return PronunciationRule(
        _check_text("string_to_replace", string, LONGEST_STRING),
        _check_text("alias", alias, LONGEST_REPLACEMENT),
        None,
        case_sensitive,
        word_boundaries,
    )


def make_phoneme(
    string: str, phoneme: str, alphabet: str, case_sensitive: bool, word_boundaries: bool
) -> PronunciationRule:
    string = _check_text("string_to_replace", string, LONGEST_STRING)
    phoneme = _check_text("phoneme", phoneme, LONGEST_REPLACEMENT)
    try:
        found = Alphabet(alphabet.strip().lower())
    except ValueError:
        raise InvalidRule("alphabet", f"must be one of {', '.join(Alphabet)}") from None
    if found is Alphabet.ARPABET:
        if unknown := find_unknown_arpabet(phoneme):
            raise InvalidRule("phoneme", f"{unknown[:20]} is not a symbol of the ARPAbet")
    elif not from_ipa(phoneme, Language.ENGLISH_US).strip():
        raise InvalidRule("phoneme", "contains no letter of the IPA")
    return PronunciationRule(string, phoneme, found, case_sensitive, word_boundaries)


def _check_text(field: str, text: str, longest: int) -> str:
    """The text with single spaces."""
    text = " ".join(text.split())
    if not text:
        raise InvalidRule(field, "must not be blank")
    if len(text) > longest:
        raise InvalidRule(field, f"must have at most {longest} characters")
    if not is_xml(text):
        raise InvalidRule(field, "contains a control character")
    return text


def is_xml(text: str) -> bool:
    """Whether XML can hold the text: no control characters, halves of characters, nor the two that are none."""
    return not any(category(character) in ("Cc", "Cs") or character in "\ufffe\uffff" for character in text)


def add_rules(rules: Iterable[PronunciationRule], new: Iterable[PronunciationRule]) -> list[PronunciationRule]:
    """The rules with the new ones: each takes the place of those for the same string, or is added at the end."""
    pending = {rule.string: rule for rule in new}
    replaced = frozenset(pending)
    merged = []
    for rule in rules:
        if rule.string not in replaced:
            merged.append(rule)
        elif rule.string in pending:
            merged.append(pending.pop(rule.string))
    return merged + list(pending.values())


def remove_rules(rules: Iterable[PronunciationRule], strings: Collection[str]) -> list[PronunciationRule]:
    """The rules without those for these strings."""
    removed = {" ".join(string.split()) for string in strings}
    return [rule for rule in rules if rule.string not in removed]


def rule_to_json(rule: PronunciationRule) -> dict[str, Any]:
    """In the shape of the API, which is also how it is stored."""
    flags = {"case_sensitive": rule.case_sensitive, "word_boundaries": rule.word_boundaries}
    if rule.alphabet is None:
        return {"type": "alias", "string_to_replace": rule.string, "alias": rule.replacement, **flags}
    phoneme = {"phoneme": rule.replacement, "alphabet": rule.alphabet.value}
    return {"type": "phoneme", "string_to_replace": rule.string, **phoneme, **flags}


def rule_from_json(fields: Mapping[str, Any]) -> PronunciationRule:
    """Reads what `rule_to_json` wrote; raises `KeyError` or `ValueError` on anything else."""
    flags = bool(fields["case_sensitive"]), bool(fields["word_boundaries"])
    if fields["type"] == "alias":
        return PronunciationRule(str(fields["string_to_replace"]), str(fields["alias"]), None, *flags)
    alphabet = Alphabet(fields["alphabet"])
    return PronunciationRule(str(fields["string_to_replace"]), str(fields["phoneme"]), alphabet, *flags)
