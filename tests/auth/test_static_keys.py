"""The keys of the settings."""

import pickle

import pytest
from pydantic import ValidationError

from svc.auth import static_keys
from svc.auth.principal import Scope
from svc.auth.secret import digest
from svc.auth.static_keys import StaticKeys
from svc.settings import Settings


def test_every_key_is_a_full_one() -> None:
    keys = StaticKeys(["one", "two", "drei €"])
    for number, key in enumerate(["one", "two", "drei €"], 1):
        principal = keys.find(digest(key))
        assert principal is not None
        assert principal.key_id == f"static-{number}"
        assert principal.scopes == {Scope.FULL}
    for other in ("", "on", "one ", "ONE", "one,two"):
        assert keys.find(digest(other)) is None


def test_every_key_is_compared_whichever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def compare(a: str, b: str) -> bool:
        compared.append(a)
        return a == b

    monkeypatch.setattr(static_keys, "compare_digest", compare)
    keys = StaticKeys(["one", "two", "three"])
    for key in ("one", "three", "unknown"):
        compared.clear()
        keys.find(digest(key))
        assert len(compared) == 3


def test_keys_are_not_kept() -> None:
    assert b"very-secret" not in pickle.dumps(StaticKeys(["very-secret"]))


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        ({}, []),
        ({"api_key": " one "}, ["one"]),
        ({"api_keys": "one,two , three,,"}, ["one", "two", "three"]),
        ({"api_key": "one", "api_keys": "two"}, ["one", "two"]),
        ({"api_key": "a,b"}, ["a,b"]),
    ],
)
def test_settings_name_the_keys(settings: dict[str, str], keys: list[str]) -> None:
    assert Settings.model_validate(settings).static_keys() == keys


@pytest.mark.parametrize("name", ["SVC_API_KEY", "SVC_API_KEYS"])
@pytest.mark.parametrize("value", [",", " , ", "  "])
def test_a_setting_without_a_key_is_refused_instead_of_opening_the_service(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError, match="contains no key"):
        Settings()


def test_settings_show_no_secret() -> None:
    settings = Settings.model_validate(
        {"api_key": "secret-1", "api_keys": "secret-2,secret-3", "api_keys_table": "postgresql://u:secret-4@h/d"}
    )
    for shown in (str(settings), repr(settings), str(settings.model_dump()), settings.model_dump_json()):
        assert "secret-" not in shown
    with pytest.raises(ValidationError) as error:
        Settings.model_validate({"api_keys_table": "mysql://u:secret-5@h/d"})
    assert "secret-" not in str(error.value)
    assert "postgresql://" in str(error.value)
