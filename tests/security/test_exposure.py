"""A server without keys that others can reach says so: in its log, on its page, in `/readyz` and on the terminal."""

import logging
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.serving.server import describe_access
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer

KEYS = [{"api_key": "one"}, {"api_keys": "one,two"}, {"api_keys_table": "sqlite:///keys.db"}]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org"])
def test_beyond_loopback_a_server_without_keys_is_exposed(host: str) -> None:
    assert Settings(host=host).is_exposed
    assert not any(Settings.model_validate({"host": host, **keys}).is_exposed for keys in KEYS)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_on_loopback_it_is_not(host: str) -> None:
    assert not Settings(host=host).is_exposed


@pytest.mark.parametrize("host", ["0.0.0.0", ""])
def test_the_address_that_the_command_gives_counts(host: str) -> None:
    assert Settings().model_copy(update={"host": host}).is_exposed


@pytest.mark.parametrize(
    ("settings", "is_exposed"), [({}, True), ({"host": "127.0.0.1"}, False), ({"api_key": "one"}, False)]
)
def test_it_says_so_everywhere(
    settings: dict[str, str],
    is_exposed: bool,
    phonemizer: Phonemizer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    chosen = Settings.model_validate({"host": "0.0.0.0", "data_dir": tmp_path, **settings})
    with TestClient(create_app(chosen, Pipeline(FakeEngine(), phonemizer)), base_url="http://localhost") as client:
        assert client.get("/readyz").json()["exposed"] is is_exposed
        assert ("This server is open" in client.get("/").text) is is_exposed
    assert ("this server is OPEN" in caplog.text) is is_exposed
    assert ("OPEN" in describe_access(chosen)) is is_exposed
