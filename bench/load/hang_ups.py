"""Clients that hang up or stop reading: how much work of the engine is wasted, and is any place lost?"""

import asyncio
import fcntl
import json
import socket
import struct
import termios
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Literal
from urllib.parse import urlsplit

from websockets.asyncio.client import connect

from bench.load import processes
from bench.load.client import VOICE, Incomplete, build_head, open_response, read_figures
from bench.load.listeners import BYTES_A_SECOND, PATHS, listen, make_long_text
from bench.load.options import Options
from bench.report import Report

TITLE = "Hang-ups: a third of the clients hang up, a tenth stop reading"
_REQUESTS, _QUICK_REQUESTS = 90, 30
_AT_ONCE = 6
_MAX_STREAMS = 8
_STALL_SECONDS = 3
_CHARACTERS = 1_200  # more than a minute of speech, so that a hang-up saves something
_STALLED_CHARACTERS = 12_000  # more audio than the buffers of two sockets hold
_CLIP_CHARACTERS = 3_000
_ROUNDS = 5  # of hang-ups in each other kind of request
_FORMAT = "pcm_24000"
_RATE = BYTES_A_SECOND[_FORMAT]
_RECEIVE_BUFFER = 64 * 1024
_BAR = 0.05

Behaviour = Literal["listens", "hangs up", "stops reading"]


@dataclass(slots=True)
class Fate:
    behaviour: Behaviour
    status: int = 0
    received: int = 0
    """Bytes of audio that the client read."""
    in_flight: int = 0
    """Bytes that had left the server's process but were not read: in the sockets' buffers on both sides."""
    whole: bool = False
    cut_off: bool = False
    """Whether the server broke off the response of a client that does not read."""


def measure(options: Options) -> Report:
    requests = _QUICK_REQUESTS if options.quick else _REQUESTS
    with processes.run(options.engine, max_streams=_MAX_STREAMS, stall_seconds=_STALL_SECONDS) as server:
        return asyncio.run(_run(server.address, options, requests))


async def _run(address: str, options: Options, requests: int) -> Report:
    made_before = await _read_made(address)
    fates = await run_clients(address, Random(options.seed), requests, _AT_ONCE, _CHARACTERS, _STALL_SECONDS)
    streams = await settle(address)
    made_after = await _read_made(address)
    after_hang_up = {
        kind: await _measure_kind(address, kind, Random(options.seed)) for kind in ("clip", "with-timestamps", "socket")
    }
    streams_left = max(streams, await settle(address))
    taken = await _count_taken(address)
    report = Report("load-hang-ups", TITLE, ["", "measured", "bar"])

    def add(name: str, cell: str, met: bool | None = None) -> None:
        report.rows.append([name, cell, "" if met is None else "met" if met else "missed"])

    statuses = Counter(f"{each.behaviour}, {each.status}" for each in fates)
    add("clients", ", ".join(f"{count} × {name}" for name, count in sorted(statuses.items())))
    stalled = [each for each in fates if each.behaviour == "stops reading" and each.status == 200]
    cut = sum(each.cut_off for each in stalled)
    add("clients that stop reading, cut off", f"{cut} of {len(stalled)}", cut == len(stalled))
    listening = [each for each in fates if each.behaviour == "listens" and each.status == 200]
    whole = sum(each.whole for each in listening)
    add("responses of the others, whole", f"{whole} of {len(listening)}", whole == len(listening))
    if made_before is not None and made_after is not None:
        made = made_after - made_before
        received, in_flight = (sum(getattr(each, name) for each in fates) / _RATE for name in ("received", "in_flight"))
        wasted = max(0.0, made - received - in_flight) / made
        add("audio made, received, in flight", f"{made:.0f} s, {received:.0f} s, {in_flight:.0f} s")
        add("engine work wasted", f"{wasted:.1%}", wasted < _BAR)
        add("made and not received", f"{max(0.0, made - received) / made:.1%}")
        report.figures |= {"made": made, "received": received, "in_flight": in_flight, "wasted": wasted}
    else:
        add("engine work wasted", "the server does not show svc_audio_seconds_total", False)
    for kind, shares in after_hang_up.items():
        if shares:
            worst, usual = max(shares), median(shares)
            add(
                f"{kind}: made after the hang-up", f"median {usual:.1%}, at most {worst:.1%} of the audio", usual < _BAR
            )
    add("streams left afterwards", f"{streams_left:.0f}", streams_left == 0)
    add("places of the key that stay taken afterwards", str(taken), taken == 0)
    report.notes = [
        f"{requests} requests for POST /stream with {_CHARACTERS} characters, {_AT_ONCE} at once: a third hang up at "
        f"a random "
        f"byte, a tenth stop reading at one and keep the connection (SVC_STALL_SECONDS={_STALL_SECONDS}). Wasted is "
        f"audio that "
        "the engine made, less what clients read, less what was in the buffers of the two sockets when the client "
        "hung up "
        f"or was cut off (the kernel's own count; the clients' receive buffers have {_RECEIVE_BUFFER // 1024} KiB); "
        f"all over "
        f"what was made. Other kinds: {_ROUNDS} hang-ups each, one at a time, with {_CLIP_CHARACTERS} characters."
    ]
    report.figures |= {"fates": [asdict(each) for each in fates], "after_hang_up": after_hang_up}
    return report


async def run_clients(
    address: str, rng: Random, requests: int, at_once: int, characters: int, stall_seconds: float
) -> list[Fate]:
    """What became of every client; a client that is refused asks again, a few times."""
    text, long_text = make_long_text(characters), make_long_text(max(characters, _STALLED_CHARACTERS))
    size = int((await listen(address, "stream", text, _FORMAT)).seconds * _RATE)
    behaviours: list[Behaviour] = [
        "stops reading" if number % 10 == 9 else "hangs up" if number % 3 == 0 else "listens"
        for number in range(requests)
    ]
    rng.shuffle(behaviours)
    limit = asyncio.Semaphore(at_once)

    async def ask(behaviour: Behaviour, at: int) -> Fate:
        async with limit:
            for _ in range(20):
                asked = long_text if behaviour == "stops reading" else text
                fate = await _ask(address, asked, behaviour, at, stall_seconds)
                if fate.status != 429:
                    break
                await asyncio.sleep(1)
        return fate

    moments = [rng.randrange(max(1, size)) for _ in behaviours]
    return list(await asyncio.gather(*map(ask, behaviours, moments)))


async def _ask(address: str, text: str, behaviour: Behaviour, at: int, stall_seconds: float) -> Fate:
    """One request on a socket of its own, read only as far as the test says; `at` is in bytes of audio."""
    fate = Fate(behaviour)
    url, loop = urlsplit(address), asyncio.get_running_loop()
    content = json.dumps({"text": text}).encode()
    head = build_head(
        address, "POST", f"/v1/text-to-speech/{VOICE}/stream?output_format={_FORMAT}", content, "application/json", None
    )
    with socket.socket() as connection:
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        try:
            await loop.sock_connect(connection, (url.hostname, url.port))
            await loop.sock_sendall(connection, head + content)
            async with asyncio.timeout(90):
                data = b""
                while b"\r\n\r\n" not in data:
                    part = await loop.sock_recv(connection, 4096)
                    if not part:
                        return fate
                    data += part
                fate.status = int(data.split(maxsplit=2)[1])
                last = data.partition(b"\r\n\r\n")[2]
                fate.received = len(last)
                while fate.status == 200 and (behaviour == "listens" or fate.received < at):
                    part = await loop.sock_recv(connection, 2**16)
                    if not part:
                        break
                    last = (last + part)[-8:]
                    fate.received += len(part)
                fate.whole = last.endswith(b"0\r\n\r\n")
        except (OSError, TimeoutError):
            return fate
        if fate.status != 200 or fate.whole:
            return fate
        if behaviour == "stops reading":
            await _hold(fate, connection, stall_seconds)
        elif behaviour == "hangs up":
            fate.in_flight = _count_buffered(connection)
    return fate


async def _hold(fate: Fate, connection: socket.socket, stall_seconds: float) -> None:
    """Reads nothing until the server ends the connection, within a bound."""
    # The server notices nothing before the kernel's buffers are full, which takes a minute and more of audio.
    deadline = time.monotonic() + 3 * stall_seconds + 120
    while time.monotonic() < deadline:
        unsent = _count_unsent(connection)
        if unsent is None:
            fate.cut_off = _is_broken_off(connection)
            return
        with suppress(OSError):
            fate.in_flight = max(fate.in_flight, unsent + _count_unread(connection))
        await asyncio.sleep(0.25)


def _is_broken_off(connection: socket.socket) -> bool:
    """Whether the connection was reset, not ended after a whole response that the buffers hold."""
    last = b""
    try:
        while part := connection.recv(2**16):
            last = (last + part)[-8:]
    except BlockingIOError:
        return False
    except OSError:
        return True
    return not last.endswith(b"0\r\n\r\n")


def _count_buffered(connection: socket.socket) -> int:
    return (_count_unsent(connection) or 0) + _count_unread(connection)


def _count_unread(connection: socket.socket) -> int:
    """Bytes in the client's receive buffer."""
    return int(struct.unpack("i", fcntl.ioctl(connection, termios.FIONREAD, bytes(4)))[0])


def _count_unsent(connection: socket.socket) -> int | None:
    """Bytes in the send buffer of the server's socket; None if that socket is closed."""
    try:
        client, server = connection.getsockname()[1], connection.getpeername()[1]
    except OSError:
        return None
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, state, queues, *_ = line.split()
        if int(local.split(":")[1], 16) == server and int(remote.split(":")[1], 16) == client:
            return int(queues.split(":")[0], 16) if state == "01" else None
    return None


async def _measure_kind(address: str, kind: str, rng: Random) -> list[float]:
    """For each of some hang-ups, one at a time: the audio made afterwards, as a share of the whole text's."""
    text = make_long_text(_CLIP_CHARACTERS)
    began = time.monotonic()
    heard = await listen(address, kind, text)
    seconds = time.monotonic() - began
    shares = []
    for _ in range(_ROUNDS):
        asking = asyncio.create_task(_ask_and_wait(address, kind, text))
        await asyncio.sleep(seconds * rng.uniform(0.1, 0.8))
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        before = await _read_made(address)
        await settle(address)
        after = await _read_made(address)
        if before is None or after is None or not heard.seconds:
            return []
        shares.append((after - before) / heard.seconds)
    return shares


async def _ask_and_wait(address: str, kind: str, text: str) -> None:
    if kind != "socket":
        async with open_response(address, f"/v1/text-to-speech/{VOICE}{PATHS[kind]}", {"text": text}) as response:
            async for _ in response.chunks():
                pass
        return
    socket = await connect(
        f"{address.replace('http', 'ws', 1)}/v1/text-to-speech/{VOICE}/stream-input", compression=None
    )
    try:
        for part in (" ", text + " ", ""):
            await socket.send(json.dumps({"text": part}))
        async for _ in socket:
            pass
    finally:
        socket.transport.abort()


async def count_places(address: str, count: int) -> int:
    """How many of `count` requests at once are accepted; none ends before all are answered."""
    text = make_long_text(_CLIP_CHARACTERS)
    answered = 0
    everybody = asyncio.Event()

    async def ask() -> bool:
        nonlocal answered
        try:
            async with open_response(
                address, f"/v1/text-to-speech/{VOICE}/stream?output_format={_FORMAT}", {"text": text}
            ) as response:
                answered += 1
                if answered == count:
                    everybody.set()
                with suppress(TimeoutError):
                    await asyncio.wait_for(everybody.wait(), 30)
                return response.status == 200
        except (Incomplete, OSError):
            return False

    accepted = sum(await asyncio.gather(*(ask() for _ in range(count))))
    await settle(address)
    return accepted


async def _count_taken(address: str) -> int:
    """How many places the key has taken, from the headers of a response that takes none itself."""
    async with open_response(address, "/v1/models", method="GET") as response:
        return int(response.headers["current-concurrent-requests"])


async def settle(address: str, seconds: float = 30) -> float:
    """Waits until nothing is synthesized any more; the streams that are left."""
    deadline = time.monotonic() + seconds
    while True:
        streams = (await read_figures(address)).get("svc_streams") or 0.0
        if not streams or time.monotonic() > deadline:
            return streams
        await asyncio.sleep(0.2)


async def _read_made(address: str) -> float | None:
    return (await read_figures(address)).get("svc_audio_seconds_total")
