"""The server's end of espeak-ng's process: starts it, asks it, and starts it anew when it dies."""

import logging
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from weakref import finalize

import espeakng_loader

log = logging.getLogger(__name__)

# An answer takes milliseconds; this is for a machine that is too busy.
_SECONDS = 2
_SECONDS_TO_START = 20
_LONGEST_ANSWER = 4 << 20
# So many answers are kept, most of them words that are asked for again and again.
_KEPT = 2_000
_PROGRAM = Path(__file__).with_name("espeak_program.py")
# Where an interpreter may need to find its own libraries. Nothing else of the environment is passed on.
_ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
# espeak-ng marks a word that it pronounces by another language's rules: "(en)computer(hi)".
_LANGUAGE_SWITCH = re.compile(r"\([^()]*\)")


class Espeak:
    """The IPA of clauses, one string per word, with "^" between the letters of a diphthong or affricate.

    Its process is started by the first question, and ends with this object. Safe to use from several threads.
    """

    def __init__(self, kept: int = _KEPT, seconds: int = _SECONDS) -> None:
        """`kept` answers are remembered; a question may take `seconds`, with its repetitions three times that."""
        self._kept, self._seconds = kept, seconds
        self._answers: dict[tuple[str, str], list[str]] = {}
        self._process: _Process | None = None
        self._lock = Lock()

    def __call__(self, clauses: Sequence[str], voice: str) -> list[list[str]]:
        """The words of each clause; none where the voice is unknown, espeak-ng dies of it or no time is left."""
        with self._lock:
            found = {clause: self._answers.get((voice, clause)) for clause in clauses}
            unknown = [clause for clause, answer in found.items() if answer is None]
            for clause, answer in zip(unknown, self._ask(unknown, voice), strict=True):
                found[clause] = answer
                if answer is not None:
                    self._answers[voice, clause] = answer
            while len(self._answers) > self._kept:
                del self._answers[next(iter(self._answers))]
        return [found[clause] or [] for clause in clauses]

    def _ask(self, clauses: list[str], voice: str) -> list[list[str] | None]:
        """If the process dies, each clause is asked alone once more: the one that kills it costs only its own words."""
        if not clauses:
            return []
        deadline = time.monotonic() + 3 * self._seconds
        try:
            return [*self._exchange(clauses, voice, deadline)]
        except OSError:
            return [self._ask_again(clause, voice, deadline) for clause in clauses]

    def _ask_again(self, clause: str, voice: str, deadline: float) -> list[str] | None:
        try:
            return self._exchange([clause], voice, deadline)[0]
        except OSError as error:
            log.warning("espeak-ng failed (%s): a clause is left out", error, extra={"voice": voice})
            return None

    def _exchange(self, clauses: list[str], voice: str, deadline: float) -> list[list[str]]:
        if time.monotonic() > deadline:
            raise TimeoutError("no time is left")
        self._process = self._process or _Process(self._seconds)
        fields = [keep_printable(field).encode("utf-8", "ignore") for field in (voice, *clauses)]
        try:
            answers = self._process.ask(fields, min(deadline, time.monotonic() + self._seconds))
        except OSError:
            self._process.end()
            self._process = None
            raise
        return [to_words(answer) for answer in answers]


class _Process:
    """A running `espeak_program.py`. It inherits neither environment nor files and sockets."""

    def __init__(self, seconds: int) -> None:
        library, data = espeakng_loader.get_library_path(), espeakng_loader.get_data_path()
        self._popen = subprocess.Popen(
            # Isolated, and without installed packages.
            [sys.executable, "-I", "-S", str(_PROGRAM), library, data, str(seconds + 1)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
        assert self._popen.stdin
        assert self._popen.stdout
        self.end = finalize(self, _end, self._popen)
        self._questions, self._answers = self._popen.stdin.fileno(), self._popen.stdout.fileno()
        os.set_blocking(self._questions, False)
        self._writable, self._readable = select.poll(), select.poll()
        self._writable.register(self._questions, select.POLLOUT)
        self._readable.register(self._answers, select.POLLIN)
        try:
            self._receive(time.monotonic() + _SECONDS_TO_START)
        except OSError as error:
            self.end()
            raise RuntimeError(f"espeak-ng could not be started with {library!r} and {data!r}: {error}") from None

    def ask(self, fields: list[bytes], deadline: float) -> list[bytes]:
        """`fields`: a voice and clauses."""
        question = b"\t".join(fields) + b"\n"
        while question:
            _wait(self._writable, deadline)
            question = question[os.write(self._questions, question) :]
        answers = self._receive(deadline).split(b"\t")
        if len(answers) != len(fields) - 1:
            raise ConnectionError("it answered something else")
        return answers

    def _receive(self, deadline: float) -> bytes:
        """The next line."""
        received = b""
        while not received.endswith(b"\n"):
            _wait(self._readable, deadline)
            part = os.read(self._answers, 1 << 16)
            if not part:
                self._popen.kill()
                raise ConnectionError(f"it ended with {self._popen.wait()}")
            received += part
            if len(received) > _LONGEST_ANSWER:
                raise ConnectionError("its answer has no end")
        return received[:-1]


def _wait(pipe: select.poll, deadline: float) -> None:
    if not pipe.poll(max(0, 1000 * (deadline - time.monotonic()))):
        raise TimeoutError("it took too long")


def to_words(answer: bytes) -> list[str]:
    """The words of a clause, from its line of IPA."""
    return _LANGUAGE_SWITCH.sub("", answer.decode("utf-8", "ignore")).split()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
    process.wait()


def keep_printable(clause: str) -> str:
    if clause.isprintable():
        return clause
    return "".join(character if character.isprintable() else " " for character in clause)
