"""Pronunciation dictionaries through unmodified SDKs; an alias and a phoneme rule, heard by Whisper."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from svc.app import create_app
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from tests.clients.conftest import KEY, Report, run, serving, wait_until_ready

TEXT = "I saw three big ZZT, and she ate a yellow Xq."
HEARD = "elephants and she ate a yellow banana"
DRIVERS = {
    "python": ("dictionaries_python_2.py", "elevenlabs-2"),
    "javascript": ("dictionaries_javascript_2.cjs", "js/node_modules"),
}


@pytest.fixture(scope="module", params=DRIVERS)
def report(
    request: pytest.FixtureRequest, pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Report]:
    folder: Path = tmp_path_factory.mktemp("data")
    with serving(create_app(Settings(api_key=KEY, data_dir=folder), pipeline)) as address:
        wait_until_ready(address)
        driver, packages = DRIVERS[request.param]
        yield run(driver, packages, address, "", "", KEY, TEXT, "svcAmMichael00000000")


def test_what_is_heard(report: Report, transcribe: Callable[..., str]) -> None:
    def hear(call: str) -> str:
        audio = base64.b64decode(report.get_result(call))
        return transcribe(np.frombuffer(audio, "<i2").astype(np.float32) / 32_768)

    assert HEARD in hear("spoken")
    first = hear("spoken_first")
    assert "elephants" in first
    assert "banana" not in first


def test_every_route(report: Report) -> None:
    added, changed, got = (report.get_result(name) for name in ("added", "added_rules", "got"))
    assert (added["name"], added["version_rules_num"], added["description"]) == ("Animals", 1, "Some.")
    assert (changed["id"], changed["version_rules_num"]) == (added["id"], 2)
    assert (got["latest_version_id"], got["latest_version_rules_num"]) == (changed["version_id"], 2)
    alias, phoneme = got["rules"]
    assert (alias["type"], alias["alias"], alias["case_sensitive"]) == ("alias", "elephants", False)
    assert (phoneme["type"], phoneme["phoneme"], phoneme["word_boundaries"]) == ("phoneme", "bəˈnænə", True)
    assert b"<alias>elephants</alias>" in base64.b64decode(report.get_result("downloaded"))
    copied = report.get_result("copied")
    assert copied["rules"] == got["rules"]
    assert copied["id"] != added["id"]
    assert report.get_result("listed") == ["Animals", "Copy"]
    assert report.get_result("set")["version_rules_num"] == 1
    assert report.get_result("removed_rules")["version_rules_num"] == 0
    updated = report.get_result("updated")
    assert updated["name"] == "Beasts"
    assert updated["archived_time_unix"] >= added["creation_time_unix"]
    assert set(report.get_result("archived")) == {"Copy", "Beasts"}
    assert report.get_result("not_archived") == ["Copy"]
    assert report.get_error("unknown")["status_code"] == 404
    assert report.get_error("invalid")["status_code"] == 422
    assert report.get_error("unknown_cursor")["body"]["detail"]["status"] == "invalid_cursor"
