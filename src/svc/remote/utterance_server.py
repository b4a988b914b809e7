"""Where a replica of the engine takes utterances, and sends their audio as it is made; or a sentence, and its words."""

import asyncio
import hmac
import logging
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress

import msgspec

from svc.engine.protocol import Utterance
from svc.remote.wire import (
    NONCE_BYTES,
    PROOF_BYTES,
    TOKEN_BYTES,
    Deadline,
    End,
    Failure,
    Message,
    SpeechAnswer,
    SpeechRequest,
    WordsAnswer,
    WordsRequest,
    pack,
    prove,
    read_message,
)

log = logging.getLogger(__name__)

Speak = Callable[[Utterance, Deadline], AsyncGenerator[SpeechAnswer]]
FindWords = Callable[[WordsRequest], AsyncGenerator[WordsAnswer]]

_PROOF_SECONDS = 10.0


class UtteranceServer:
    def __init__(self, speak: Speak, find_words: FindWords) -> None:
        self._speak = speak
        self._find_words = find_words
        self._connections: set[asyncio.StreamWriter] = set()
        self.token = secrets.token_bytes(TOKEN_BYTES)
        self.ongoing = 0
        """Utterances that are being spoken or wait."""
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self, host: str) -> int:
        """Listens there; the port."""
        self._server = await asyncio.start_server(self._serve, host, 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def drain(self, seconds: float) -> None:
        """Takes no more utterances, and finishes those that it has for so long."""
        self._server.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)
        for writer in tuple(self._connections):
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            with suppress(EOFError, OSError, TimeoutError, msgspec.DecodeError):
                async with asyncio.timeout(_PROOF_SECONDS):
                    is_server = await self._exchange_proofs(reader, writer)
                if is_server:
                    await self._take_requests(reader, writer)
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _exchange_proofs(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the other end knows the token."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        nonces = await reader.readexactly(NONCE_BYTES) + nonce
        writer.write(nonce + prove(self.token, "replica", nonces))
        proof = await reader.readexactly(PROOF_BYTES)
        return hmac.compare_digest(proof, prove(self.token, "server", nonces))

    async def _take_requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        coming = asyncio.ensure_future(read_message(reader))
        answering: asyncio.Task[None] | None = None
        try:
            while self._server.is_serving():
                request = await coming
                # The next one comes after the answer; if the connection ends before that, nobody listens any more.
                coming = asyncio.ensure_future(read_message(reader))
                answering = asyncio.create_task(self._answer(request, writer))
                await asyncio.wait([answering, coming], return_when=asyncio.FIRST_COMPLETED)
                if coming.done() and coming.exception():
                    return
                await answering
        finally:
            tasks = [task for task in (coming, answering) if task]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, request: Message, writer: asyncio.StreamWriter) -> None:
        """Chunks or words, then the end or the failure."""
        self.ongoing += 1
        self._idle.clear()
        end: Message = End()
        try:
            try:
                async with aclosing(self._begin(request)) as parts:
                    async for part in parts:
                        writer.write(pack(part))
                        await writer.drain()
            except ConnectionError:
                raise
            except Exception as error:
                log.exception("an utterance or a sentence has failed")
                end = Failure.of(error)
            writer.write(pack(end))
            await writer.drain()
        finally:
            self.ongoing -= 1
            if not self.ongoing:
                self._idle.set()

    def _begin(self, request: Message) -> AsyncGenerator[SpeechAnswer] | AsyncGenerator[WordsAnswer]:
        match request:
            case SpeechRequest(utterance, deadline):
                return self._speak(utterance, deadline)
            case WordsRequest():
                return self._find_words(request)
        raise ValueError(f"{type(request).__name__} is not a request")
