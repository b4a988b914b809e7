"""`svc dictionaries`, as people call it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from svc.cli.main import main
from tests.cli.test_keys import Result


@pytest.fixture
def dictionaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    """Runs `svc dictionaries …` and says how it ended and what it wrote."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("SVC_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        monkeypatch.setattr("sys.argv", ["svc", "dictionaries", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return Result(end.value.code, *capsys.readouterr())

    return run


def test_the_life_of_a_dictionary(dictionaries: Callable[..., Result], tmp_path: Path) -> None:
    added = dictionaries(
        "add", "--name", "My [bold] names", "--rule", "UN=United Nations", "--rule", "tomato=/təˈmɑːtoʊ/"
    )
    dictionary_id = added.stdout.strip()
    assert re.fullmatch(r"[A-Za-z0-9]{20}", dictionary_id), added
    listed = json.loads(dictionaries("list", "--json").stdout)
    assert [(each["id"], each["name"], each["rules"]) for each in listed] == [(dictionary_id, "My [bold] names", 2)]
    assert "My [bold] names" in dictionaries().stdout
    assert "United Nations" in dictionaries("show", dictionary_id).stdout
    shown = json.loads(dictionaries("show", dictionary_id, "--json").stdout)
    assert [rule["type"] for rule in shown["rules"]] == ["alias", "phoneme"]
    assert dictionaries("export", dictionary_id, "-o", "names.pls", "--version", listed[0]["version_id"]).code == 0
    copy = dictionaries("add", "names.pls", "--rule", "EU=European Union").stdout.strip()
    copied = json.loads(dictionaries("show", copy, "--json").stdout)
    assert copied["name"] == "names"
    assert copied["rules"][:2] == shown["rules"]
    assert copied["rules"][2]["alias"] == "European Union"
    assert dictionaries("remove", dictionary_id).code == 0
    assert [each["id"] for each in json.loads(dictionaries("list", "--json").stdout)] == [copy]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["add"], "Give a name"),
        (["add", "--name", "x"], "Give a file, or rules"),
        (["add", "--name", "x", "--rule", "UN"], "Invalid rule UN"),
        (["add", "--name", "x", "--rule", "UN="], "must not be blank"),
        (["add", "--name", "x", "--rule", "UN=/☃/"], "IPA"),
        (["add", "bad.pls"], "not a lexicon (PLS 1.0), line 1"),
        (["add", "none.pls"], "No such file"),
        (["show", "x" * 20], "not found"),
        (["remove", "x" * 20], "not found"),
        (["export", "../..", "-o", "x"], "not found"),
    ],
)
def test_errors(dictionaries: Callable[..., Result], tmp_path: Path, arguments: list[str], problem: str) -> None:
    (tmp_path / "bad.pls").write_text("<!DOCTYPE x><lexicon/>")
    result = dictionaries(*arguments)
    assert result.code != 0
    assert problem in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.stderr
