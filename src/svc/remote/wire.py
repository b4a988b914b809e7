"""What goes between the API and a replica of the engine: utterances one way, their audio the other, over TCP.

Where there are more processes with the engine than servers, sentences go there, too, and come back as words.

Ray, or the first process of a machine, tells where the replicas are, and starts what is missing. Audio does not pass
through Ray: its calls take ten times as long for each chunk as the connection itself.

A connection begins with proofs from both ends that they know the replica's token, which itself is not sent. Then come
requests, each of which is answered before the next. Closing it cancels the request. A message is its length, then
MessagePack, which can hold data alone.
"""

import asyncio
import hmac
import secrets
import socket
import struct
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec
import numpy as np

from svc.engine.protocol import Chunk, Utterance
from svc.errors import EngineUnavailable
from svc.text.language.languages import Language
from svc.text.markup.parsed_text import Pronunciation, Replacement, SayAs, Substitution
from svc.text.sentences.phrases import Word

TOKEN_BYTES = NONCE_BYTES = PROOF_BYTES = 32

_LENGTH = struct.Struct("!I")
_RECEIVED_BYTES = 256 * 1024  # at a time: a few seconds of audio
_CONNECT_SECONDS = 5.0
# For work that nobody listens to yet.
_BACKGROUND_SECONDS = 2.0


class Deadline(msgspec.Struct, frozen=True, array_like=True):
    """For whom an utterance is spoken, and in how many seconds its audio is due."""

    seconds: float = _BACKGROUND_SECONDS
    key_id: str = ""
    live: bool = False


class _Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    pass


class SpeechRequest(_Message, frozen=True):
    """Answered by `SpeechAnswer`s."""

    utterance: Utterance
    deadline: Deadline


class WordsRequest(_Message, frozen=True):
    """A sentence whose words are asked for; answered by one `WordsAnswer`."""

    text: str
    language: Language
    pronunciations: list[Pronunciation] = []
    substitutions: list[Substitution] = []
    said_as: list[SayAs] = []

    @classmethod
    def of(cls, text: str, language: Language, replacements: Sequence[Replacement]) -> "WordsRequest":
        def choose(kind: type) -> list[Any]:
            return [each for each in replacements if isinstance(each, kind)]

        return cls(text, language, choose(Pronunciation), choose(Substitution), choose(SayAs))

    @property
    def replacements(self) -> list[Replacement]:
        return sorted([*self.pronunciations, *self.substitutions, *self.said_as], key=lambda each: each.start)


class SpeechAnswer(_Message, frozen=True):
    """A chunk, and how many seconds a worker of the replica took for it."""

    chunk: Chunk
    worked_seconds: float

    @classmethod
    def join(cls, parts: Sequence["SpeechAnswer"]) -> "SpeechAnswer":
        if len(parts) == 1:
            return parts[0]
        samples = np.concatenate([each.chunk.samples for each in parts])
        timings = tuple(chain.from_iterable(each.chunk.timings for each in parts))
        return cls(Chunk(samples, timings), sum(each.worked_seconds for each in parts))


class WordsAnswer(_Message, frozen=True):
    words: list[Word]


class End(_Message, frozen=True):
    """The request is answered."""


class Failure(_Message, frozen=True):
    """The request cannot be answered, by this replica or by another one."""

    message: str
    unavailable: bool
    """Whether the engine lacks something, which the message says in words for the caller."""

    @classmethod
    def of(cls, error: Exception) -> "Failure":
        if isinstance(error, EngineUnavailable):
            return cls(error.message, unavailable=True)
        return cls(f"{type(error).__name__}: {error}", unavailable=False)

    def throw(self) -> None:
        raise EngineUnavailable(self.message) if self.unavailable else EngineFailure(self.message)


Message = SpeechRequest | WordsRequest | SpeechAnswer | WordsAnswer | End | Failure


class EngineFailure(Exception):
    """The engine of a replica has failed: another replica would, too."""


class EngineDescription(msgspec.Struct, frozen=True):
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


def _write_array(value: object) -> tuple[tuple[int, ...], bytes]:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value).__name__} is no part of a message")
    return value.shape, value.astype(np.float32, copy=False).tobytes()


def _read_array(_: type, value: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    shape, content = value
    return np.frombuffer(bytearray(content), np.float32).reshape(shape)


_encoder = msgspec.msgpack.Encoder(enc_hook=_write_array)
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message, dec_hook=_read_array)


def pack(message: Message) -> bytes:
    content = _encoder.encode(message)
    return _LENGTH.pack(len(content)) + content


async def read_message(reader: asyncio.StreamReader) -> Message:
    """Raises `EOFError` where the connection ends, and `msgspec.DecodeError` for anything but a message."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return _decoder.decode(await reader.readexactly(length))


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

    def ask(self, utterance: Utterance, deadline: Deadline) -> Iterator[SpeechAnswer]:
        """Raises `OSError` or `EOFError` when the replica is lost, and `EngineFailure` or `EngineUnavailable` when its
        engine has failed.

        What came while the last audio was taken care of comes as one: the busier a server is, the less often it has to
        encode and send.
        """
        self._socket.sendall(pack(SpeechRequest(utterance, deadline)))
        ended = False
        while not ended:
            answers = self._read_answers()
            ended = isinstance(answers[-1], End)
            if spoken := [each for each in answers if isinstance(each, SpeechAnswer)]:
                yield SpeechAnswer.join(spoken)
            if isinstance(answers[-1], Failure):
                answers[-1].throw()

    def pronounce(self, request: WordsRequest) -> list[Word]:
        """The words of a sentence. Raises what `ask` raises."""
        self._socket.sendall(pack(request))
        words: list[Word] = []
        while True:
            for answer in self._read_answers():
                if isinstance(answer, WordsAnswer):
                    words = answer.words
                elif isinstance(answer, Failure):
                    answer.throw()
                else:
                    return words

    def _read_answers(self) -> list[Message]:
        """Those that have come; waits for the first."""
        answers: list[Message] = []
        while not answers:
            self._receive()
            answers = list(self._take_messages())
        return answers

    def _receive(self) -> None:
        received = self._socket.recv(_RECEIVED_BYTES)
        if not received:
            raise EOFError
        self._received += received

    def _take_messages(self) -> Iterator[Message]:
        """Those that are complete."""
        while len(self._received) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._received)[0]
            if len(self._received) < end:
                return
            yield _decoder.decode(bytes(self._received[_LENGTH.size : end]))
            del self._received[:end]

    def close(self) -> None:
        self._socket.close()
