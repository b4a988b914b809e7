"""The JSON of clients: what a schema has is kept whatever surrounds it, and the rest costs little."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.api.json_objects import OVERSIZED, InvalidJson, parse_object

MANY = 200_000
JUNK = ",".join(["1"] * 61_000)
_NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
_SCALARS = st.none() | st.booleans() | _NUMBERS | st.text(max_size=20)
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner))


_NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters='"\\'), max_size=8)


@settings(max_examples=30)
@given(
    document=st.dictionaries(_NAMES, _VALUES, max_size=8),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 1]),
    position=st.integers(0, 8),
)
def test_fields_are_found_among_too_many_elements(
    document: dict[str, Any], ascii_only: bool, indent: int | None, position: int
) -> None:
    names = set(document)
    fields = [*document.items()]
    fields.insert(position, ("a name that no schema has", [1] * 61_000))
    text = json.dumps(dict(fields), ensure_ascii=ascii_only, indent=indent)
    assert parse_object(text, names) == document


@settings(max_examples=30)
@given(document=st.dictionaries(st.text(max_size=8), _VALUES))
def test_what_is_small_is_whole(document: dict[str, Any]) -> None:
    assert parse_object(json.dumps(document), set(document)) == document
    assert parse_object(json.dumps(document), ()) == {}


@pytest.mark.parametrize(
    "junk",
    [
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        "[" + ",".join(["{}"] * MANY) + "]",
        '"' + "z" * 1_000_000 + '"',
        '"' + '\\"],' * MANY + '"',
        "1" * 10_000,
        "-" + "9" * 10_000 + ".5e4000",
    ],
    ids=["deep list", "deep object", "long list", "long string", "quotes", "long number", "large number"],
)
@pytest.mark.parametrize("place", ['{"text": "Hi.", "junk": %s}', '{"junk": %s, "text": "Hi."}'])
def test_no_unknown_field_fails_an_object(junk: str, place: str) -> None:
    assert parse_object(place % junk, {"text"}) == {"text": "Hi."}


def test_what_is_nested_too_deeply_in_known_fields_is_left_out() -> None:
    deep = '{"inputs": [{"text": "Hi. [", "junk": %s}], "text": "]"}' % ("[1," * MANY + "2" + "]" * MANY)
    fields = parse_object(deep, {"inputs", "text"})
    assert fields == {"inputs": [{"text": "Hi. [", "junk": [1, [1, [1, [1, []]]]]}], "text": "]"}


@pytest.mark.parametrize("item", ["{}", "1", '"a"', "[]", '{"text":"a"}'])
def test_too_many_elements_are_never_made(item: str) -> None:
    text = f'{{"inputs": [{",".join([item] * MANY)}], "text": "Hi."}}'
    tracemalloc.start()
    try:
        fields = parse_object(text, {"inputs", "text"})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert fields == {"inputs": OVERSIZED, "text": "Hi."}
    assert peak < 5 * len(text) + 5_000_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"text": "Hi."} {}',
        '{"text": "Hi."}}',
        '{"text": "Hi."',
        '{"text": "Hi.}',
        '{"text" "Hi."}',
        '{text: "Hi."}',
        '{"text": "Hi.",}',
        '{"text": oops}',
    ],
)
@pytest.mark.parametrize("many", ["", f'"junk": [{JUNK}], '], ids=["small", "large"])
def test_what_is_no_json_is_refused(text: str, many: str) -> None:
    with pytest.raises(InvalidJson):
        parse_object(text.replace("{", "{" + many, 1) if "{" in text else text + many, {"text"})


def test_the_last_of_two_fields_counts() -> None:
    assert parse_object(f'{{"text": "a", "junk": [{JUNK}], "te\\u0078t": "b"}}', {"text"}) == {"text": "b"}


def test_thousands_of_unknown_fields_are_skipped() -> None:
    many: dict[str, object] = {"text": "Hi."} | {str(number): {} for number in range(MANY)}
    assert parse_object(json.dumps(many), {"text"}) == {"text": "Hi."}


def test_without_names_there_is_a_limit() -> None:
    with pytest.raises(InvalidJson, match="too many"):
        parse_object(f'{{"text": "a", "junk": [{JUNK}]}}')
