"""What goes between the API and a replica of the engine: utterances one way, their audio the other, over TCP.

Ray, or the first process of a machine, tells where the replicas are, and starts what is missing. Audio does not pass
through Ray: its calls take ten times as long for each chunk as the connection itself.

A connection begins with the replica's token, which only those are told who may call it. Then come requests, each of
which is answered before the next. Closing it cancels the request. A message is pickled, and its arrays follow as they
are, so that pickle does not copy them: first the number of these parts, then their lengths, then the parts.
"""

import asyncio
import pickle
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from svc.engine.protocol import Chunk, Utterance

TOKEN_BYTES = 32

_NUMBER = struct.Struct("!I")
_CONNECT_SECONDS = 5.0
# For work that nobody listens to yet.
_BACKGROUND_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Due:
    """For whom an utterance is spoken, and in how many seconds its audio is due."""

    seconds: float = _BACKGROUND_SECONDS
    key_id: str = ""
    live: bool = False


@dataclass(frozen=True, slots=True)
class Spoken:
    """A chunk, and how many seconds a worker of the replica took for it."""

    chunk: Chunk
    worked_seconds: float


@dataclass(frozen=True, slots=True)
class EngineDescription:
    """What a replica says about its engine, and where it is."""

    fingerprint: str
    host: str
    port: int
    token: bytes


def pack(message: object) -> bytes:
    arrays: list[pickle.PickleBuffer] = []
    content = pickle.dumps(message, 5, buffer_callback=arrays.append)
    parts: list[bytes | memoryview] = [content, *(array.raw() for array in arrays)]
    return b"".join([*map(_NUMBER.pack, [len(parts), *map(len, parts)]), *parts])


async def read_message(reader: asyncio.StreamReader) -> Any:
    """Raises `EOFError` where the connection ends."""
    (count,) = _NUMBER.unpack(await reader.readexactly(_NUMBER.size))
    lengths = _unpack_lengths(await reader.readexactly(count * _NUMBER.size))
    return _unpack([bytearray(await reader.readexactly(length)) for length in lengths])


def _unpack_lengths(content: bytes | bytearray) -> list[int]:
    return [length for (length,) in _NUMBER.iter_unpack(content)]


def _unpack(parts: Sequence[bytearray]) -> Any:
    """The arrays are in the memory of their parts."""
    content, *arrays = parts
    return pickle.loads(content, buffers=arrays)


class Connection:
    """To a replica. It blocks: it is used in the threads of the scheduler, which wait for their audio anyway."""

    def __init__(self, replica: EngineDescription, seconds: float) -> None:
        """Every answer must come within so many seconds. Raises `OSError` if the replica cannot be reached."""
        self._socket = socket.create_connection((replica.host, replica.port), timeout=_CONNECT_SECONDS)
        self._socket.settimeout(seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")
        self._socket.sendall(replica.token)

    def ask(self, utterance: Utterance, due: Due) -> Iterator[Spoken]:
        """Raises `OSError` or `EOFError` when the replica is lost, and what the engine raised when that has failed."""
        self._socket.sendall(pack((utterance, due)))
        while (answer := self._read()) is not None:
            if isinstance(answer, Exception):
                raise EngineFailure from answer
            yield answer

    def _read(self) -> Any:
        (count,) = _NUMBER.unpack(self._read_exactly(_NUMBER.size))
        lengths = _unpack_lengths(self._read_exactly(count * _NUMBER.size))
        return _unpack([self._read_exactly(length) for length in lengths])

    def _read_exactly(self, count: int) -> bytearray:
        content = bytearray(count)
        if self._file.readinto(content) < count:
            raise EOFError
        return content

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class EngineFailure(Exception):
    """The engine of a replica has raised the cause of this: another replica would, too."""
