"""Malformed HTTP requests and socket messages: does the server answer each, without a traceback, a 500 or growing?"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rich.progress import Progress

from bench.load import mutations, processes
from bench.load.options import Options
from bench.report import Report
from svc.text.language.languages import Language

TITLE = "Malformed requests and messages"
_REQUESTS, _MESSAGES = 20_000, 10_000
_QUICK_REQUESTS, _QUICK_MESSAGES = 1_000, 500
_AT_ONCE = 32
_BATCH = 200
_MESSAGES_A_SOCKET = 8
_CLOSES_WITHIN = 1.5  # seconds that a socket may take to close; after them its client goes
_BOUND = 30.0  # seconds within which every request is answered or its connection closed
_GROWTH_BAR = 1.05
_SHOWN_OFFENCES = 20

_STATUS = re.compile(rb"^HTTP/1\.[01] (\d{3})", re.MULTILINE)
_DOCUMENTED = frozenset({501, 503, 505})  # of the statuses above 499
_LAST_LINE = re.compile(r"^\s*([\w.]*(?:Error|Exception|Exit|Interrupt|Group|Disconnect)\b.*)", re.MULTILINE)

Exchange = Callable[[str, bytes], Awaitable["Outcome"]]


@dataclass(frozen=True, slots=True)
class Outcome:
    statuses: tuple[int, ...] = ()
    hung: bool = False
    problem: str = ""

    @property
    def offence(self) -> str:
        bad = [status for status in self.statuses if status >= 500 and status not in _DOCUMENTED]
        return self.problem or (f"status {bad[0]}" if bad else "") or ("no answer" if self.hung else "")


@dataclass
class Tally:
    statuses: Counter[str] = field(default_factory=Counter)
    offences: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    sent: int = 0

    def add(self, number: int, content: bytes, outcome: Outcome) -> None:
        self.statuses.update(map(str, outcome.statuses) if outcome.statuses else ["closed"])
        if outcome.offence:
            self.note(outcome.offence, number, content)

    def note(self, offence: str, number: int, content: bytes) -> None:
        self.offences[offence] += 1
        if self.offences[offence] <= 3 and len(self.examples) < _SHOWN_OFFENCES:
            self.examples.append(f"{offence}, number {number}: {content[:1500]!r}{'…' if len(content) > 1500 else ''}")


def measure(options: Options) -> Report:
    requests, messages = (_QUICK_REQUESTS, _QUICK_MESSAGES) if options.quick else (_REQUESTS, _MESSAGES)
    with processes.run("fake", **SETTINGS) as server, Progress() as progress:
        check_speech(server.address)
        bar = progress.add_task("malformed", total=requests + messages)

        def advance(count: int) -> None:
            progress.advance(bar, count)

        http, http_sizes = asyncio.run(attack(server, options.seed, requests, make_http, exchange_http, advance))
        sockets, socket_sizes = asyncio.run(
            attack(server, options.seed, messages // _MESSAGES_A_SOCKET, make_socket, exchange_frames, advance)
        )
        check_speech(server.address)
        tracebacks = server.count_tracebacks()
    sizes = {"HTTP requests": http_sizes, "socket messages": socket_sizes}
    tallies = {"HTTP requests": http, "socket messages": sockets}
    report = Report("load-malformed", TITLE, ["what", "sent", "answers", "offences", "tracebacks", "memory", "bar"])
    for what, tally in tallies.items():
        early, late = sizes[what][2], sizes[what][-1]
        failed = tally.offences or tracebacks or late > _GROWTH_BAR * early
        answers = ", ".join(f"{count} × {status}" for status, count in sorted(tally.statuses.items()))
        report.rows.append([
            what, str(tally.sent), answers,
            ", ".join(f"{count} × {name}" for name, count in tally.offences.items()) or "none",
            str(tracebacks), f"{', '.join(f'{size:.0f}' for size in sizes[what])} MB", "missed" if failed else "met",
        ])  # fmt: skip
        report.notes += tally.examples
        report.figures[what] = {
            "offences": dict(tally.offences),
            "statuses": dict(tally.statuses),
            "megabytes": sizes[what],
        }
    report.notes.insert(
        0,
        f"Seed {options.seed}. An offence is a status above 499 that is not documented, an internal error on a "
        f"socket, a "
        f"traceback in the log, or no answer within {_BOUND:.0f} s. Memory is that after each fifth; from the "
        f"third to the last it may grow by 5 %. Tracebacks are those of both.",
    )
    report.figures["tracebacks"] = tracebacks
    return report


# Short timeouts: a request that breaks off is answered soon.
SETTINGS: dict[str, object] = {
    "api_key": mutations.KEY,
    "max_body_seconds": 1,
    "header_seconds": 1,
    "stall_seconds": 2,
    "max_clip_bytes": 2_000_000,
}


def make_http(rng: random.Random) -> bytes:
    return mutations.make_request(rng)


def make_socket(rng: random.Random) -> bytes:
    """A handshake and the frames after it."""
    frames = [mutations.make_frame(rng) for _ in range(_MESSAGES_A_SOCKET)]
    return mutations.make_handshake(rng) + b"".join(frames)


async def attack(
    server: processes.ServerProcess,
    seed: int,
    count: int,
    make: Callable[[random.Random], bytes],
    exchange: Exchange,
    advance: Callable[[int], None] = lambda count: None,
) -> tuple[Tally, list[float]]:
    """Sends `count` contents, each made from the seed and its number; memory after each fifth, in megabytes."""
    tally, sizes = Tally(), list[float]()
    weight = _MESSAGES_A_SOCKET if make is make_socket else 1
    limit = asyncio.Semaphore(_AT_ONCE)

    async def send(number: int) -> None:
        content = make(random.Random(f"{seed}-{number}"))
        async with limit:
            tally.add(number, content, await exchange(server.address, content))

    for first in range(0, count, _BATCH):
        numbers = range(first, min(first + _BATCH, count))
        position = server.log.stat().st_size
        await asyncio.gather(*map(send, numbers))
        if not server.alive():
            raise SystemExit(f"the server ended: numbers {numbers.start} to {numbers.stop}")
        if server.count_tracebacks(position):
            await _find_tracebacks(server, seed, numbers, make, exchange, tally)
        tally.sent += weight * len(numbers)
        advance(weight * len(numbers))
        if numbers.stop >= count * (len(sizes) + 1) / 5:
            sizes.append(server.resident_megabytes())
    return tally, sizes


async def _find_tracebacks(
    server: processes.ServerProcess,
    seed: int,
    numbers: range,
    make: Callable[[random.Random], bytes],
    exchange: Exchange,
    tally: Tally,
) -> None:
    """Sends a batch again, one by one, to find what caused a traceback."""
    for number in numbers:
        if len(tally.examples) >= _SHOWN_OFFENCES:
            tally.offences["traceback, not traced"] += 1
            return
        content = make(random.Random(f"{seed}-{number}"))
        position = server.log.stat().st_size
        await exchange(server.address, content)
        await asyncio.sleep(0.05)
        if server.count_tracebacks(position):
            causes = _LAST_LINE.findall(server.read_log(position).replace("\\n", "\n"))  # logged on one line
            cause = re.sub(r"0x\w+|\d+", "…", causes[-1][:120]) if causes else "?"
            tally.note(f"traceback, {cause}", number, content)


async def exchange_http(address: str, content: bytes) -> Outcome:
    """Sends bytes on a connection of their own and reads until the answer is whole or the connection closed."""
    return await _exchange(address, content)


async def exchange_frames(address: str, content: bytes) -> Outcome:
    """The same for a handshake with frames, which go out once the server has accepted the socket."""
    handshake, separator, frames = content.partition(b"\r\n\r\n")
    return await _exchange(address, handshake + separator, frames + mutations.encode_frame(8, b"\x03\xe8"))


async def _exchange(address: str, content: bytes, frames: bytes | None = None) -> Outcome:
    url = urlsplit(address)
    try:
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
    except OSError as error:
        return Outcome(problem=f"cannot connect: {error}")
    data, hung = bytearray(), False
    try:
        writer.write(content)
        with suppress(ConnectionError):
            async with asyncio.timeout(_BOUND):
                await _read(reader, data)
                if frames is not None and data.startswith(b"HTTP/1.1 101"):
                    await _send_frames(reader, writer, frames, data)
    except TimeoutError:
        hung = True
    finally:
        writer.transport.abort()
    internal = frames is not None and b'"internal_error"' in data
    return Outcome(tuple(map(int, _STATUS.findall(data))), hung, "internal error on a socket" if internal else "")


async def _read(reader: asyncio.StreamReader, data: bytearray) -> None:
    """Reads an answer to its end, or until the connection closes."""
    while part := await reader.read(2**16):
        data += part
        if _is_whole(bytes(data)):
            return


async def _send_frames(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, frames: bytes, data: bytearray
) -> None:
    """Then reads until the server closes; at once if it has not been told to, because a frame swallowed the close."""
    writer.write(frames)
    try:
        async with asyncio.timeout(_CLOSES_WITHIN):
            while part := await reader.read(2**16):
                data += part
            return
    except TimeoutError:
        writer.write_eof()
    while part := await reader.read(2**16):
        data += part


def _is_whole(data: bytes) -> bool:
    head, separator, body = data.partition(b"\r\n\r\n")
    if not separator:
        return False
    if head.startswith((b"HTTP/1.1 100", b"HTTP/1.0 100")):
        return _is_whole(body)
    lower = head.lower()
    if b"transfer-encoding: chunked" in lower:
        return body.endswith(b"0\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", lower)
    # An answer to HEAD has a length and no body; the next read would wait for the connection's end.
    return not length or len(body) >= int(length[1]) or not body


def check_speech(address: str) -> None:
    """The server speaks, in every language: what it loads for one is no growth of its memory under attack."""
    from bench.load import client

    for language in Language:
        body = {"text": "Yes, 12.", "language_code": language.value}
        answer = asyncio.run(client.post(address, f"/v1/text-to-speech/{client.VOICE}", body, key=mutations.KEY))
        if answer.status != 200 or len(answer.body) < 1000:
            raise SystemExit(f"the server does not speak: {answer.status}")
