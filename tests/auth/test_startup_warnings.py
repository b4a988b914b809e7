"""An open service that others can reach says so."""

import pytest

from svc.auth.verifier import warn_if_exposed


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", ""])
def test_loud(host: str, caplog: pytest.LogCaptureFixture) -> None:
    warn_if_exposed(host, is_open=True)
    assert "this service is OPEN" in caplog.text


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_silent_on_loopback(host: str, caplog: pytest.LogCaptureFixture) -> None:
    warn_if_exposed(host, is_open=True)
    assert not caplog.text


def test_silent_with_keys(caplog: pytest.LogCaptureFixture) -> None:
    warn_if_exposed("0.0.0.0", is_open=False)
    assert not caplog.text
