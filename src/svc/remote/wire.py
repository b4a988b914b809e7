"""What goes between the API and a replica of the engine: utterances one way, their audio the other, over TCP.

Where there are more processes with the engine than servers, sentences go there, too, and come back as words.

Ray, or the first process of a machine, tells where the replicas are, and starts what is missing. Audio does not pass
through Ray: its calls take ten times as long for each chunk as the connection itself.

A connection begins with proofs from both ends that they know the replica's token, which itself is not sent: what they
exchange afterwards is unpickled, and that can run any code. Then come requests, each of which is answered before the
next. Closing it cancels the request. A message is pickled, and its arrays follow as they are, so that pickle does not
copy them: first the number of these parts, then their lengths, then the parts.
"""

import asyncio
import hmac
import pickle
import secrets
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Any, Literal

import numpy as np

from svc.engine.protocol import Chunk, Utterance
from svc.text.language import Language
from svc.text.parsed_text import Replacement
from svc.text.phrases import Word

TOKEN_BYTES = NONCE_BYTES = PROOF_BYTES = 32

_NUMBER = struct.Struct("!I")
_RECEIVED_BYTES = 256 * 1024  # at a time: a few seconds of audio
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
class Written:
    """A sentence whose words are asked for."""

    text: str
    language: Language
    replacements: Sequence[Replacement]


@dataclass(frozen=True, slots=True)
class Spoken:
    """A chunk, and how many seconds a worker of the replica took for it."""

    chunk: Chunk
    worked_seconds: float

    @classmethod
    def join(cls, parts: Sequence["Spoken"]) -> "Spoken":
        if len(parts) == 1:
            return parts[0]
        samples = np.concatenate([each.chunk.samples for each in parts])
        timings = tuple(chain.from_iterable(each.chunk.timings for each in parts))
        return cls(Chunk(samples, timings), sum(each.worked_seconds for each in parts))


@dataclass(frozen=True, slots=True)
class EngineDescription:
    """What a replica says about its engine, and where it is."""

    fingerprint: str
    host: str
    port: int
    token: bytes


class NotTheReplica(ConnectionError):
    """Something else listens where a replica was."""


def prove(token: bytes, role: Literal["server", "replica"], nonces: bytes) -> bytes:
    """What shows that its sender knows the token. `nonces` are the random bytes of the server, then of the replica; the
    role keeps one end from sending back what it got from the other."""
    return hmac.digest(token, role.encode() + nonces, "sha256")


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
        """Every answer must come within so many seconds. Raises `OSError` or `EOFError` if the replica cannot be
        reached."""
        self._socket = socket.create_connection((replica.host, replica.port), timeout=_CONNECT_SECONDS)
        self._received = bytearray()  # and not yet read
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._exchange_proofs(replica.token)
            self._socket.settimeout(seconds)
        except BaseException:
            self.close()
            raise

    def _exchange_proofs(self, token: bytes) -> None:
        nonce = secrets.token_bytes(NONCE_BYTES)
        self._socket.sendall(nonce)
        while len(self._received) < NONCE_BYTES + PROOF_BYTES:
            self._receive()
        nonces = nonce + self._received[:NONCE_BYTES]
        if not hmac.compare_digest(self._received[NONCE_BYTES:], prove(token, "replica", nonces)):
            raise NotTheReplica
        self._received.clear()
        self._socket.sendall(prove(token, "server", nonces))

    def ask(self, utterance: Utterance, due: Due) -> Iterator[Spoken]:
        """Raises `OSError` or `EOFError` when the replica is lost, and what the engine raised when that has failed.

        What came while the last audio was taken care of comes as one: the busier a server is, the less often it has to
        encode and send.
        """
        self._send((utterance, due))
        while True:
            *spoken, last = self._read_messages()
            if isinstance(last, Spoken):
                spoken.append(last)
            if spoken:
                yield Spoken.join(spoken)
            if isinstance(last, Exception):
                raise EngineFailure from last
            if last is None:
                return

    def pronounce(self, written: Written) -> list[Word]:
        """The words of a sentence. Raises what `ask` raises."""
        self._send(written)
        answers = self._read_messages()
        while len(answers) < 2 and not isinstance(answers[-1], Exception):
            answers += self._read_messages()
        if isinstance(answers[-1], Exception):
            raise EngineFailure from answers[-1]
        words: list[Word] = answers[0]
        return words

    def _send(self, request: object) -> None:
        self._socket.sendall(pack(request))

    def _read_messages(self) -> list[Any]:
        """Those that have come; waits for the first."""
        messages: list[Any] = []
        while not messages:
            self._receive()
            messages = list(self._take_messages())
        return messages

    def _receive(self) -> None:
        received = self._socket.recv(_RECEIVED_BYTES)
        if not received:
            raise EOFError
        self._received += received

    def _take_messages(self) -> Iterator[Any]:
        """Those that are complete."""
        while (ends := self._find_parts()) and len(self._received) >= ends[-1]:
            yield _unpack([self._received[start:end] for start, end in pairwise(ends)])
            del self._received[: ends[-1]]

    def _find_parts(self) -> list[int]:
        """Where the first part begins, and where each ends; nothing if the lengths have not come yet."""
        if len(self._received) < _NUMBER.size:
            return []
        (count,) = _NUMBER.unpack_from(self._received)
        begin = (1 + count) * _NUMBER.size
        if len(self._received) < begin:
            return []
        return list(accumulate(_unpack_lengths(self._received[_NUMBER.size : begin]), initial=begin))

    def close(self) -> None:
        self._socket.close()


class EngineFailure(Exception):
    """The engine of a replica has raised the cause of this: another replica would, too."""
