"""espeak-ng in a process of its own: what it can reach, what it costs when it dies, and when it ends."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from svc.text.g2p import Phonemizer, espeak_process
from svc.text.g2p.espeak_process import Espeak
from svc.text.language.languages import Language

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

DIES = "Donnerstag"
HANGS = "Herbst"
FILLS = "Ferien"
# The program itself, with words that do what a hole in espeak-ng would do.
FRAIL = f"""
import ctypes, os, sys
sys.path.insert(0, {str(Path(espeak_process.__file__).parent)!r})
import espeak_program

def phonemize(library, clause, read=espeak_program.phonemize):
    if b"{DIES}" in clause:
        ctypes.string_at(0)
    while b"{HANGS}" in clause:
        pass
    if b"{FILLS}" in clause:
        bytearray(1 << 30)
    return read(library, clause)

espeak_program.phonemize = phonemize
espeak_program.main(*sys.argv[1:])
"""


def replace_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(code)
    monkeypatch.setattr(espeak_process, "_PROGRAM", program)


@pytest.fixture
def frail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    replace_program(monkeypatch, tmp_path, FRAIL)


@pytest.fixture
def espeak() -> Iterator[Espeak]:
    espeak = Espeak(kept=0)
    yield espeak
    if espeak._process:
        espeak._process.end()


def read(espeak: Espeak, *clauses: str) -> list[str]:
    return [" ".join(words) for words in espeak(clauses, "de")]


def find_process(espeak: Espeak) -> int:
    assert espeak._process
    process: int = espeak._process._popen.pid
    return process


def wait_for_end(process: int) -> None:
    end = time.monotonic() + 60
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < end, f"process {process} is still there"
        time.sleep(0.05)


def test_each_clause_has_its_words(espeak: Espeak) -> None:
    assert espeak(["guten Tag", "", "a\tb\nc"], "de") == [["ɡˈuːtən", "tˈɑːk"], [], ["ˈɑː", "bˈeː", "t^sˈeː"]]
    assert espeak(["guten Tag"], "xx-unknown") == [[]]
    assert espeak(["guten Tag", "guten Tag"], "de") == [["ɡˈuːtən", "tˈɑːk"]] * 2


@linux
def test_the_library_is_not_in_the_server(phonemizer: Phonemizer) -> None:
    for language in Language:
        assert phonemizer("1 a", language)
    assert "libespeak-ng" not in Path("/proc/self/maps").read_text()
    assert "libespeak-ng" in Path(f"/proc/{find_process(phonemizer._espeak)}/maps").read_text()


@linux
def test_the_process_has_no_secret_and_no_socket_of_the_server(
    espeak: Espeak, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SVC_API_KEY", "a secret")
    with socket.create_server(("127.0.0.1", 0)) as listening, (tmp_path / "secrets").open("w") as file:
        for each in (listening, file):
            os.set_inheritable(each.fileno(), True)
        read(espeak, "ja")
    folder = Path(f"/proc/{find_process(espeak)}")
    variables = {each.partition(b"=")[0] for each in (folder / "environ").read_bytes().split(b"\0") if each}
    assert variables <= {name.encode() for name in espeak_process._ENVIRONMENT}
    opened = {int(each.name): str(each.readlink()) for each in (folder / "fd").iterdir()}
    assert set(opened) == {0, 1, 2}
    assert opened[0].startswith("pipe:")
    assert opened[1].startswith("pipe:")
    assert opened[2] == "/dev/null"
    limits = (folder / "limits").read_text()
    for name in ("address space", "core file size", "file size", "open files"):
        [line] = [line for line in limits.splitlines() if line.lower().startswith(f"max {name}")]
        assert "unlimited" not in line


@pytest.mark.usefixtures("frail")
@pytest.mark.parametrize("word", [DIES, HANGS, FILLS])
def test_a_text_that_kills_it_costs_its_own_words(word: str, caplog: pytest.LogCaptureFixture) -> None:
    espeak = Espeak(kept=0, seconds=2)  # that is how long the one that hangs takes
    tag, nacht = read(espeak, "guten Tag", "gute Nacht")
    found = read(espeak, "guten Tag", f"am {word}", "gute Nacht")
    assert found == [tag, "", nacht]
    assert "a clause is left out" in caplog.text
    assert word not in caplog.text
    assert read(espeak, "guten Morgen") == ["ɡˈuːtən mˈɔɾɡən"]


@pytest.mark.usefixtures("frail")
@pytest.mark.parametrize("word", [DIES, HANGS, FILLS])
def test_the_rest_of_the_text_is_spoken(word: str) -> None:
    text = f"Guten Tag, am {word} ist Markt."
    words = [text[token.start : token.end] for token in Phonemizer()(text, Language.GERMAN)]
    assert words == ["Guten", "Tag", ",", "am", "ist", "Markt", "."]


RUBBISH = """
import sys
print(flush=True)
for _ in sys.stdin:
    sys.stdout.buffer.write({answer})
    sys.stdout.flush()
"""


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"a\tb\tc\n", id="of more clauses"),
        pytest.param(b"a" * (5 << 20), id="without end"),
        pytest.param(b"\xff\xfe\n", id="not UTF-8"),
    ],
)
def test_rubbish_is_no_answer(answer: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    replace_program(monkeypatch, tmp_path, RUBBISH.format(answer=answer))
    assert Espeak()(["ja"], "de") == [[]]


@pytest.mark.usefixtures("frail")
def test_a_text_full_of_searches_without_end_is_given_up() -> None:
    phonemizer = Phonemizer(espeak=Espeak(seconds=1))
    before = time.monotonic()
    assert phonemizer(f"{HANGS}, " * 200, Language.GERMAN)
    assert time.monotonic() - before < 100
    assert phonemizer("Guten Tag", Language.GERMAN)


def test_one_that_died_meanwhile_is_replaced(espeak: Espeak) -> None:
    before = read(espeak, "guten Tag", "gute Nacht")
    process = find_process(espeak)
    os.kill(process, signal.SIGKILL)
    assert read(espeak, "guten Tag", "gute Nacht") == before
    assert find_process(espeak) != process


def test_what_stops_the_service_does_not_stop_it(espeak: Espeak) -> None:
    """A terminal and a supervisor send it to all processes, and the server still has texts to finish."""
    read(espeak, "ja")
    process = find_process(espeak)
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(process, each)
    assert read(espeak, "guten Tag") == ["ɡˈuːtən tˈɑːk"]
    assert find_process(espeak) == process


def test_one_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    espeak = Espeak()
    answer = read(espeak, "guten Tag")
    replace_program(monkeypatch, tmp_path, "raise SystemExit(3)")
    os.kill(find_process(espeak), signal.SIGKILL)
    assert read(espeak, "guten Tag") == answer  # is remembered
    with pytest.raises(RuntimeError, match=r"could not be started .* ended with 3"):
        read(espeak, "gute Nacht")


def test_so_many_answers_are_kept() -> None:
    espeak = Espeak(kept=3)
    for each in ("eins", "zwei", "drei", "vier", "fünf"):
        read(espeak, each)
    assert [clause for _, clause in espeak._answers] == ["drei", "vier", "fünf"]
    assert read(espeak, "drei") == read(espeak, "drei") != read(espeak, "eins")


def test_it_answers_several_threads(espeak: Espeak) -> None:
    clauses = [f"{number} Tage" for number in range(40)]
    alone = [read(espeak, clause) for clause in clauses]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda clause: read(espeak, clause), clauses)) == alone


def test_only_who_needs_it_waits_for_it() -> None:
    phonemizer = Phonemizer()
    phonemizer("Tag", Language.GERMAN)
    with ThreadPoolExecutor(2) as pool:
        with phonemizer._espeak._lock:
            german = pool.submit(phonemizer, "Nacht", Language.GERMAN)
            assert pool.submit(phonemizer, "night", Language.ENGLISH_US).result(60)
            assert not german.done()
        assert german.result(60)


@linux
def test_it_ends_with_what_asks_it(espeak: Espeak) -> None:
    owner = Phonemizer()
    owner("Tag", Language.GERMAN)
    process = find_process(owner._espeak)
    del owner
    wait_for_end(process)


SERVER = """
import time
from svc.text.g2p.espeak_process import Espeak
espeak = Espeak()
espeak(["ja"], "de")
print(espeak._process._popen.pid, flush=True)
time.sleep(600)
"""


@linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_the_server(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE) as server:
        assert server.stdout
        process = int(server.stdout.readline())
        server.send_signal(number)
    wait_for_end(process)
