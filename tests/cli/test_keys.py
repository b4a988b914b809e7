"""`svc keys`, as people call it."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import pytest

from svc.auth.keys import KeyLimits
from svc.cli.main import main


class Result(NamedTuple):
    code: object
    stdout: str
    stderr: str


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Runs `svc keys …` and says how it ended and what it wrote."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("SVC_API_KEYS_TABLE", f"sqlite:///{tmp_path}/keys.db")

    def run(*arguments: str) -> Result:
        monkeypatch.setattr("sys.argv", ["svc", "keys", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return Result(end.value.code, *capsys.readouterr())

    return run


def test_the_life_of_a_key(keys: Callable[..., Result]) -> None:
    created = keys("create", "--name", "Ann's [bold] app", "--expires", "30d")
    key = created.stdout.strip()
    assert re.fullmatch(r"svc_[A-Za-z0-9]{43}", key), created
    assert "not shown again" in " ".join(created.stderr.split())
    assert keys("create", "--name", "browser", "--scope", "tts").code == 0

    listed = json.loads(keys("list", "--json").stdout)
    assert [each["name"] for each in listed] == ["Ann's [bold] app", "browser"]
    assert [each["scopes"] for each in listed] == [["full"], ["tts"]]
    assert [each["state"] for each in listed] == ["valid", "valid"]
    assert listed[0]["expires_at"] - listed[0]["created_at"] == 30 * 86_400
    assert listed[1]["expires_at"] is None
    assert key.startswith(listed[0]["prefix"])

    for which in (listed[0]["prefix"] + "…", listed[1]["id"]):
        assert "Revoked" in keys("revoke", which).stderr
    shown = keys("list").stdout
    assert key not in shown
    assert listed[0]["prefix"] in shown
    assert "Ann's [bold] app" in shown
    assert shown.count("revoked") == 2


def test_the_whole_key_names_itself(keys: Callable[..., Result]) -> None:
    key = keys("create", "--name", "Ann").stdout.strip()
    assert keys("revoke", key).code == 0
    assert json.loads(keys("list", "--json").stdout)[0]["state"] == "revoked"


def test_limits_of_a_key(keys: Callable[..., Result]) -> None:
    key = keys("create", "--name", "Ann", "--max-streams", "4", "--max-characters-per-minute", "60000").stdout.strip()
    assert keys("create", "--name", "Bob").code == 0

    def list_limits() -> list[dict[str, int | None]]:
        return [each["limits"] for each in json.loads(keys("list", "--json").stdout)]

    none = asdict(KeyLimits())
    assert list_limits() == [{**none, "max_streams": 4, "max_characters_per_minute": 60_000}, none]
    shown = " ".join(keys("list").stdout.split())
    assert "4 streams" in shown
    assert "default" in shown

    changed = keys("change", key, "--max-streams", "default", "--max-waiting", "0")
    assert changed.code == 0
    assert "0 waiting, 60000 characters/min" in " ".join(changed.stderr.split())
    assert list_limits() == [{**none, "max_waiting": 0, "max_characters_per_minute": 60_000}, none]
    stored = ("--max-sockets", "5", "--max-voices", "0", "--max-dictionaries", "7")
    assert "5 sockets, 0 voices, 7 dictionaries" in " ".join(keys("change", key, *stored).stderr.split())
    assert keys("create", "--name", "Cid", *stored).code == 0
    assert list_limits()[2] == {**none, "max_sockets": 5, "max_voices": 0, "max_dictionaries": 7}


def test_an_empty_table(keys: Callable[..., Result]) -> None:
    assert keys("list").code == 0
    assert json.loads(keys("list", "--json").stdout) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["create"], "--name"),
        (["create", "--name", " "], "The name must have"),
        (["create", "--name", "x" * 101], "The name must have"),
        (["create", "--name", "a\nb"], "The name must have"),
        (["create", "--name", "Ann", "--expires", "soon"], "30d"),
        (["create", "--name", "Ann", "--expires", "0d"], "30d"),
        (["create", "--name", "Ann", "--expires", "999999w"], "100 years"),
        (["create", "--name", "Ann", "--scope", "everything"], "full"),
        (["create", "--name", "Ann", "--max-streams", "0"], "--max-streams"),
        (["create", "--name", "Ann", "--max-waiting", "-1"], "--max-waiting"),
        (["change", "svc_"], "at least one limit"),
        (["change", "nobody", "--max-streams", "3"], "svc keys list"),
        (["change", "svc_", "--max-streams", "0"], "a number from 1"),
        (["change", "svc_", "--max-characters-per-minute", "9" * 30], "a number from 1"),
        (["change", "svc_", "--max-waiting", "few"], "a number from 0"),
        (["revoke", "nobody"], "svc keys list"),
        (["revoke", "svc_"], "svc keys list"),
        (["revoke", ""], "svc keys list"),
    ],
)
def test_mistakes(keys: Callable[..., Result], arguments: list[str], expected: str) -> None:
    keys("create", "--name", "somebody")
    result = keys(*arguments)
    assert result.code != 0
    assert expected in result.stderr
    assert "Traceback" not in result.stderr
    assert [each["state"] for each in json.loads(keys("list", "--json").stdout)] == ["valid"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", "SVC_API_KEYS_TABLE"),
        ("mysql://u:hidden@h/d", "postgresql://user:password@host/name"),
        ("sqlite:////no/such/folder/keys.db", "/no/such/folder/keys.db"),
        ("postgresql://u:hidden@127.0.0.1:1/d", "is unavailable"),
    ],
)
def test_tables_that_cannot_be_used(
    keys: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, url: str, expected: str
) -> None:
    monkeypatch.setenv("SVC_API_KEYS_TABLE", url)
    result = keys("list")
    assert result.code == 1
    assert expected in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "hidden" not in result.stderr
