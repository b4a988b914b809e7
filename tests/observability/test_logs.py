"""No client can forge a line of the log."""

import json
import logging

import pytest

from svc.observability.logs import JsonFormatter, TextFormatter

EVIL = "custom-x\nINFO:     key admin cloned the voice \x1b[2K\u2028custom-y"


def make_record(message: str, *args: object, error: Exception | None = None) -> logging.LogRecord:
    exc_info = (type(error), error, None) if error else None
    return logging.LogRecord("svc.x", logging.INFO, "x.py", 1, message, args, exc_info)


def test_arguments_cannot_end_a_line() -> None:
    line = TextFormatter().format(make_record("the voice %s is damaged: %s, %d times", EVIL, ValueError(EVIL), 3))
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line
    assert line.endswith("3 times")


def test_tracebacks_cannot_begin_a_line() -> None:
    lines = TextFormatter().format(make_record("it failed", error=ValueError(EVIL))).splitlines()
    assert all(line.startswith("    ") for line in lines[1:])


def test_fields_follow_the_message() -> None:
    record = make_record("GET / %s", 200)
    record.fields = {"key": "a\nb", "bytes": 3, "voice": None}
    assert TextFormatter().format(record).endswith("GET / 200 key=a\\nb bytes=3")


@pytest.mark.parametrize("error", [None, ValueError(EVIL)])
def test_json_is_one_object_on_a_line(error: Exception | None) -> None:
    record = make_record("the voice %s", EVIL, error=error)
    record.fields = {"status": 200, "voice": EVIL}
    line = JsonFormatter().format(record)
    assert len(line.splitlines()) == 1
    parsed = json.loads(line)
    assert (parsed["level"], parsed["message"], parsed["status"]) == ("info", f"the voice {EVIL}", 200)
    assert ("exception" in parsed) is (error is not None)


def test_messages_of_our_own_may_have_several_lines() -> None:
    assert TextFormatter().format(make_record("\n%s\n  WARNING", "!!!")).endswith("\n!!!\n  WARNING")
