"""What is not available on a system is said in one line."""

import sys

import pytest

from svc.process import platforms


def test_windows_is_refused_in_one_line() -> None:
    with pytest.raises(SystemExit, match=r"^svc runs on Linux and macOS\. On Windows, .* WSL 2 or as a container\.$"):
        platforms.require_posix("win32")
    for supported in ("linux", "darwin"):
        platforms.require_posix(supported)


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_linux_lacks_nothing() -> None:
    assert [each for each in platforms.list_missing() if not each.startswith("malloc_trim")] == []  # musl has none


def test_a_mac_lacks_three_things(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    missing = platforms.list_missing()
    assert len(missing) == 3
    assert all("(" in each for each in missing), "each says what follows from it"
