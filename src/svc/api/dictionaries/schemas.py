"""Pronunciation dictionaries, in the shapes of the commercial API, and the bodies that make and change them."""

import base64
import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field

from svc.api.speech.schemas import Description, Line
from svc.auth.keys import Principal
from svc.dictionaries.dictionary import Dictionary, Version
from svc.dictionaries.rules import MAX_RULES, InvalidRule, make_alias, make_phoneme, rule_to_json
from svc.errors import InvalidCursor
from svc.text.pronunciation_rules import Alphabet, PronunciationRule

_MAX_PAGE_SIZE, _DEFAULT_PAGE_SIZE = 100, 30
_Parameter = Annotated[str, Field(max_length=2_000)]


class RuleBody(BaseModel):
    """A rule: an alias, which is read instead of a string, or the phonemes of the string."""

    type: Literal["alias", "phoneme"]
    string_to_replace: Line
    alias: Line | None = Field(None, description="Of an alias rule: the text that is read.")
    phoneme: Line | None = Field(None, description="Of a phoneme rule.")
    alphabet: Line | None = Field(
        None, description=f"Of a phoneme rule: {', '.join(f'`{each}`' for each in Alphabet)}."
    )
    case_sensitive: bool | None = Field(None, description="Default true.")
    word_boundaries: bool | None = Field(None, description="Whether it matches whole words only. Default true.")

    def to_rule(self) -> PronunciationRule:
        flags = self.case_sensitive is not False, self.word_boundaries is not False
        if self.type == "alias":
            return make_alias(self.string_to_replace, _require("alias", self.alias), *flags)
        alphabet = self.alphabet if self.alphabet is not None else Alphabet.IPA
        return make_phoneme(self.string_to_replace, _require("phoneme", self.phoneme), alphabet, *flags)


def _require(field: str, value: str | None) -> str:
    if value is None:
        raise InvalidRule(field, "is required")
    return value


class RulesBody(BaseModel):
    rules: list[RuleBody] = Field(max_length=MAX_RULES, fail_fast=True)

    def to_rules(self) -> list[PronunciationRule]:
        """Takes a tenth of a second for thousands of rules: call it in a thread."""
        rules = []
        for index, rule in enumerate(self.rules):
            try:
                rules.append(rule.to_rule())
            except InvalidRule as problem:
                location = ("body", "rules", index, problem.field)
                raise RequestValidationError([{"loc": location, "msg": str(problem), "type": "value_error"}]) from None
        return rules


class NewDictionaryBody(RulesBody):
    name: Line
    description: Description | None = None


class RuleStringsBody(BaseModel):
    rule_strings: list[Line] = Field(max_length=MAX_RULES, fail_fast=True)


class DictionaryChanges(BaseModel):
    """Missing or null fields stay as they are."""

    name: Line | None = None
    archived: bool | None = None


class AddedDictionary(BaseModel):
    id: str
    name: str
    created_by: str
    creation_time_unix: int
    version_id: str
    version_rules_num: int
    description: str | None
    permission_on_resource: Literal["admin"] = "admin"

    @classmethod
    def describe(cls, dictionary: Dictionary) -> "AddedDictionary":
        return cls(
            id=dictionary.dictionary_id,
            name=dictionary.name,
            created_by=dictionary.key_id,
            creation_time_unix=dictionary.created_at,
            version_id=dictionary.version_id,
            version_rules_num=dictionary.rules_num,
            description=dictionary.description or None,
        )


class ChangedRules(BaseModel):
    id: str
    version_id: str
    version_rules_num: int

    @classmethod
    def describe(cls, dictionary: Dictionary) -> "ChangedRules":
        return cls(
            id=dictionary.dictionary_id, version_id=dictionary.version_id, version_rules_num=dictionary.rules_num
        )


class DictionaryShape(BaseModel):
    id: str
    latest_version_id: str
    latest_version_rules_num: int
    name: str
    permission_on_resource: Literal["admin", "viewer"]
    created_by: str
    creation_time_unix: int
    archived_time_unix: int | None
    description: str | None

    @classmethod
    def describe(cls, dictionary: Dictionary, caller: Principal, **more: Any) -> "DictionaryShape":
        return cls(
            id=dictionary.dictionary_id,
            latest_version_id=dictionary.version_id,
            latest_version_rules_num=dictionary.rules_num,
            name=dictionary.name,
            permission_on_resource="admin" if caller.may_change(dictionary.key_id) else "viewer",
            created_by=dictionary.key_id,
            creation_time_unix=dictionary.created_at,
            archived_time_unix=dictionary.archived_at,
            description=dictionary.description or None,
            **more,
        )


class RuleShape(BaseModel):
    type: Literal["alias", "phoneme"]
    string_to_replace: str
    alias: str | None = None
    phoneme: str | None = None
    alphabet: str | None = None
    case_sensitive: bool
    word_boundaries: bool


class DictionaryWithRules(DictionaryShape):
    rules: list[RuleShape]


def render_with_rules(dictionary: Dictionary, version: Version, caller: Principal) -> str:
    """The JSON of a `DictionaryWithRules`. Written as it is stored: thousands of rules need no further validation."""
    shape = DictionaryShape.describe(dictionary, caller).model_dump()
    return json.dumps({**shape, "rules": [rule_to_json(rule) for rule in version.rules]})


class DictionaryPage(BaseModel):
    pronunciation_dictionaries: list[DictionaryShape]
    next_cursor: str | None
    has_more: bool


class DictionaryQuery(BaseModel):
    cursor: _Parameter | None = None
    page_size: int = _DEFAULT_PAGE_SIZE
    sort: _Parameter | None = Field(None, description="`creation_time_unix` (the default) or `name`.")
    sort_direction: _Parameter | None = Field(None, description="`ascending` or `descending` (the default).")
    include_archived: bool = False

    def cut_page(self, dictionaries: Iterable[Dictionary], caller: Principal) -> DictionaryPage:
        """The page after the one that the cursor was sent with, whatever was added or removed since."""
        descending = not (self.sort_direction or "").lower().startswith("asc")
        found = [each for each in dictionaries if self.include_archived or each.archived_at is None]
        found.sort(key=self._sort_key, reverse=descending)
        if self.cursor:
            last = _decode_cursor(self.cursor)
            if isinstance(last[0], str) is not (self.sort == "name"):
                raise InvalidCursor
            keys = [self._sort_key(each) for each in found]
            found = [each for each, key in zip(found, keys, strict=True) if (key < last if descending else key > last)]
        page = found[: min(max(self.page_size, 1), _MAX_PAGE_SIZE)]
        more = len(found) > len(page)
        return DictionaryPage(
            pronunciation_dictionaries=[DictionaryShape.describe(each, caller) for each in page],
            next_cursor=_encode_cursor(self._sort_key(page[-1])) if more else None,
            has_more=more,
        )

    def _sort_key(self, dictionary: Dictionary) -> tuple[Any, str]:
        first = dictionary.name.lower() if self.sort == "name" else dictionary.created_at
        return first, dictionary.dictionary_id


def _encode_cursor(key: Sequence[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(key, ensure_ascii=False).encode()).decode()


def _decode_cursor(cursor: str) -> tuple[Any, str]:
    """The key that a cursor of `_encode_cursor` stands for; raises on any other text."""
    try:
        key = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        if isinstance(key, list) and _encode_cursor(key) == cursor:
            first, dictionary_id = key
            if isinstance(first, str | int) and isinstance(dictionary_id, str):
                return first, dictionary_id
    except (ValueError, RecursionError):  # also what base64 raises
        pass
    raise InvalidCursor
