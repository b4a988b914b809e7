"""A table that is read from its text gives what reading all of it would give."""

import json

import pytest

from svc.text.g2p.json_table import JsonTable
from svc.text.g2p.lexicon import read_asset


@pytest.mark.parametrize("name", ["lexicon_us_gold.json.gz", "lexicon_gb_silver.json.gz"])
def test_entries_of_a_lexicon(name: str) -> None:
    text = read_asset(name)
    expected, table = json.loads(text), JsonTable(text)
    assert {word: table.get(word) for word in expected} == expected


def test_keys_with_escapes_and_collisions() -> None:
    expected = {"\\": "a", 'say "': {"NN": 1.5}, "ü": "ʏ", "}": "b", **{str(number): "n" for number in range(300)}}
    table = JsonTable(json.dumps(expected, ensure_ascii=False, separators=(",", ":")).encode())
    assert {key: table.get(key) for key in expected} == expected
    for missing in ("", "u", "say", "NN", "300", "\ud800", '":"'):
        assert missing not in table


def test_an_empty_table_has_nothing() -> None:
    assert JsonTable(b"{}").get("a") is None
