"""Credentials, and the static keys of the settings."""

import math
import pickle

import pytest
from pydantic import ValidationError

from svc.auth import keys
from svc.auth.keys import Kind, Scope, StaticKeys, generate_credential, hash_credential, parse_kind, visible_prefix
from svc.settings import Settings

PREFIXES = {Kind.KEY: "svc_", Kind.EPHEMERAL: "svc_tmp_", Kind.SINGLE_USE: "svc_once_"}


@pytest.mark.parametrize("kind", Kind)
def test_kind_is_parsed(kind: Kind) -> None:
    for credential in {generate_credential(kind) for _ in range(200)}:
        assert credential.startswith(PREFIXES[kind])
        assert parse_kind(credential) is kind


@pytest.mark.parametrize("kind", Kind)
def test_visible_prefix_leaves_more_than_192_bits_secret(kind: Kind) -> None:
    credential = generate_credential(kind)
    visible = visible_prefix(credential)
    assert credential.startswith(visible)
    assert len(visible) == len(PREFIXES[kind]) + 8
    assert (len(credential) - len(visible)) * math.log2(62) > 192


def test_credentials_are_distinct() -> None:
    assert len({generate_credential(Kind.KEY) for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    "credential",
    [
        "",
        "svc_",
        "svc_tmp_",
        "hello",
        pytest.param(generate_credential(Kind.KEY)[:-1], id="too short"),
        pytest.param(generate_credential(Kind.KEY) + "a", id="too long"),
        "svc_" + "é" * 43,
        "x" * 47,
        "svc_" + "_" * 43,
        pytest.param(generate_credential(Kind.KEY).upper(), id="upper case"),
    ],
)
def test_other_strings_have_no_kind(credential: str) -> None:
    assert parse_kind(credential) is None


def test_every_string_has_a_hash() -> None:
    assert len({hash_credential(each) for each in ("", "a", "é", "\ud800", "\udfff", "\0")}) == 6


def test_static_keys_have_the_full_scope() -> None:
    static_keys = StaticKeys(["one", "two", "drei €"])
    for number, key in enumerate(["one", "two", "drei €"], 1):
        principal = static_keys.find(hash_credential(key))
        assert principal is not None
        assert principal.key_id == f"static-{number}"
        assert principal.scopes == {Scope.FULL}
    for other in ("", "on", "one ", "ONE", "one,two"):
        assert static_keys.find(hash_credential(other)) is None


def test_every_static_key_is_compared_without_an_early_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def compare(a: str, b: str) -> bool:
        compared.append(a)
        return a == b

    monkeypatch.setattr(keys, "compare_digest", compare)
    static_keys = StaticKeys(["one", "two", "three"])
    for key in ("one", "three", "unknown"):
        compared.clear()
        static_keys.find(hash_credential(key))
        assert len(compared) == 3


def test_static_keys_keep_hashes_only() -> None:
    assert b"very-secret" not in pickle.dumps(StaticKeys(["very-secret"]))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"api_key": " one "}, ["one"]),
        ({"api_keys": "one,two , three,,"}, ["one", "two", "three"]),
        ({"api_key": "one", "api_keys": "two"}, ["one", "two"]),
        ({"api_key": "a,b"}, ["a,b"]),
    ],
)
def test_settings_hold_the_static_keys(settings: dict[str, str], expected: list[str]) -> None:
    assert Settings.model_validate(settings).static_keys() == expected


@pytest.mark.parametrize("name", ["SVC_API_KEY", "SVC_API_KEYS", "SVC_API_KEYS_TABLE"])
@pytest.mark.parametrize("value", ["", ",", " , ", "  ", "\n"])
def test_setting_without_a_key_is_rejected_instead_of_opening_the_service(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError) as error:
        Settings()
    assert [each["loc"] for each in error.value.errors()] == [(name.removeprefix("SVC_").lower(),)]


def test_every_empty_variable_for_keys_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SVC_API_KEY", "SVC_API_KEYS", "SVC_API_KEYS_TABLE"):
        monkeypatch.setenv(name, "")
    with pytest.raises(ValidationError) as error:
        Settings()
    assert [each["loc"][0] for each in error.value.errors()] == ["api_key", "api_keys", "api_keys_table"]


@pytest.mark.parametrize(
    ("name", "value"), [("SVC_API_KEY", "one"), ("SVC_API_KEYS", "one"), ("SVC_API_KEYS_TABLE", "sqlite:///keys.db")]
)
def test_empty_variables_beside_a_key_count_as_not_set(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in ("SVC_API_KEY", "SVC_API_KEYS", "SVC_API_KEYS_TABLE", "SVC_PORT", "SVC_WYOMING_PORT"):
        monkeypatch.setenv(each, "")
    monkeypatch.setenv(name, value)
    settings = Settings()
    assert settings.static_keys() == (["one"] if value == "one" else [])
    assert (settings.api_keys_table is None) is (value == "one")
    assert (settings.port, settings.wyoming_port) == (8000, None)


def test_settings_show_no_secrets() -> None:
    settings = Settings.model_validate(
        {"api_key": "secret-1", "api_keys": "secret-2,secret-3", "api_keys_table": "postgresql://u:secret-4@h/d"}
    )
    for shown in (str(settings), repr(settings), str(settings.model_dump()), settings.model_dump_json()):
        assert "secret-" not in shown
    with pytest.raises(ValidationError) as error:
        Settings.model_validate({"api_keys_table": "mysql://u:secret-5@h/d"})
    assert "secret-" not in str(error.value)
    assert "postgresql://" in str(error.value)
