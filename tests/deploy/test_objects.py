"""The object store of compose.yaml, started as it is there: svc's mirror can write to it and read from it."""

import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import obstore
import pytest
import yaml  # type: ignore[import-untyped]
from obstore.exceptions import BaseError

from svc.settings import Settings
from svc.voices.object_store import open_object_store
from tests.voices.s3_server import free_port

ROOT = Path(__file__).parents[2]
RCLONE = Path(sys.executable).with_name("rclone")


@pytest.fixture
def services(tmp_path: Path) -> dict[str, Any]:
    """Those of compose.yaml on this machine, with every secret filled in."""
    text = re.sub(r"\$\{(\w+):\?[^}]*\}", r"a-\1-of-the-tests", (ROOT / "compose.yaml").read_text())
    port = free_port()
    text = text.replace("objects:9000", f"127.0.0.1:{port}").replace(":9000", f"127.0.0.1:{port}")
    found: dict[str, Any] = yaml.safe_load(re.sub(r"/data\b(?=/voices|\n)", f"{tmp_path}", text))["services"]
    return found


def _rclone(service: dict[str, Any]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([RCLONE, "--config", "", *service["command"]], stderr=subprocess.DEVNULL)


def test_mirror_can_use_it(services: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in services["svc"]["environment"].items():
        monkeypatch.setenv(name, str(value))
    settings = Settings()
    assert settings.api_keys_table
    assert settings.voice_mirror
    assert _rclone(services["bucket"]).wait() == 0
    with _rclone(services["objects"]) as store:
        try:
            remote = open_object_store(settings.voice_mirror)
            _when_it_answers(lambda: obstore.put(remote, "voice.json", b"{}"), store)
            assert bytes(obstore.get(remote, "voice.json").bytes()) == b"{}"
        finally:
            store.terminate()


def _when_it_answers(action: Any, store: "subprocess.Popen[bytes]") -> None:
    while True:
        assert store.poll() is None, "the store did not start"
        with suppress(BaseError):
            action()
            return
        time.sleep(0.05)
