"""An engine whose utterances are spoken by replicas on this machine or others."""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent import futures
from contextlib import closing, suppress
from dataclasses import dataclass

from grpc import RpcError
from ray.exceptions import RayError, RayTaskError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from svc.engine.protocol import Chunk, Engine, Utterance
from svc.errors import EngineUnavailable
from svc.synthesis.playback import current_playback

log = logging.getLogger(__name__)

# For work that nobody listens to yet.
_BACKGROUND_SECONDS = 2.0
_DESCRIBE_SECONDS = 10.0
_PAUSE_SECONDS = 0.25

# What Ray raises when a replica does not answer, or not any more.
_LOST = (RayError, RayServeException, RpcError, TimeoutError, asyncio.CancelledError, futures.CancelledError)


# What came of an utterance: chunks, then None or what went wrong.
_Received = queue.SimpleQueue[Chunk | BaseException | None]


@dataclass(frozen=True, slots=True)
class Due:
    """For whom an utterance is spoken, and in how many seconds its audio is due."""

    seconds: float = _BACKGROUND_SECONDS
    key_id: str = ""
    live: bool = False


@dataclass(frozen=True, slots=True)
class EngineDescription:
    """What a replica says about its engine."""

    fingerprint: str


class RemoteEngine:
    """Asks the deployment of the engine, and asks again when a replica is lost.

    Synthesis is deterministic: what was delivered already is skipped, and the listener notices at most a pause.
    """

    def __init__(
        self,
        engine: Engine,
        open_handle: Callable[[], DeploymentHandle],
        *,
        chunk_seconds: float = 30.0,
        give_up_seconds: float = 60.0,
    ) -> None:
        """`engine` is one of the same kind, which is never loaded.

        A replica that makes no audio for `chunk_seconds` counts as lost. After `give_up_seconds` without any, the
        utterance fails.
        """
        self.name = engine.name
        self.sample_rate = engine.sample_rate
        self.max_phonemes = engine.max_phonemes
        self.fingerprint = ""
        self._open_handle = open_handle
        self._chunk_seconds = chunk_seconds
        self._give_up_seconds = give_up_seconds
        self._closed = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="engine replies", daemon=True)

    def load(self) -> None:
        """Waits for a first replica, however long that takes."""
        self._thread.start()
        while not self._closed.is_set():
            with suppress(*_LOST):
                self.fingerprint = self._connect().fingerprint
                return
            self._closed.wait(_PAUSE_SECONDS)
        raise EngineUnavailable("The server was shut down before the engine had started.")

    def _connect(self) -> EngineDescription:
        async def connect() -> EngineDescription:
            handle = self._open_handle()
            self._speak = handle.options(stream=True).speak
            async with asyncio.timeout(_DESCRIBE_SECONDS):
                description: EngineDescription = await handle.describe.remote()
                return description

        return asyncio.run_coroutine_threadsafe(connect(), self._loop).result()

    def close(self) -> None:
        """Ends the waiting for a first replica."""
        self._closed.set()

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        sent = utterance.trim_style()
        delivered = _Delivered()
        progress_at = time.monotonic()
        while True:
            delivered.restart()
            try:
                with closing(self._ask(sent)) as chunks:
                    for chunk in chunks:
                        if rest := delivered.add(chunk):
                            yield rest
                            progress_at = time.monotonic()
                return
            except RayTaskError as error:  # the engine itself has failed: another replica would, too
                raise error.cause if isinstance(error.cause, Exception) else error from None
            except _LOST as error:
                if time.monotonic() - progress_at > self._give_up_seconds or self._closed.is_set():
                    raise EngineUnavailable("The engine does not answer. Try again in a few seconds.") from error
                log.warning("a replica of the engine was lost in the middle of a text: %s", type(error).__name__)
                time.sleep(_PAUSE_SECONDS)

    def _ask(self, utterance: Utterance) -> Generator[Chunk]:
        """Closing this cancels the call."""
        received = _Received()
        call = asyncio.run_coroutine_threadsafe(self._receive(utterance, _find_due(), received), self._loop)
        try:
            while (each := _get(received, self._chunk_seconds)) is not None:
                if isinstance(each, BaseException):
                    raise each
                yield each
        finally:
            call.cancel()

    async def _receive(self, utterance: Utterance, due: Due, received: _Received) -> None:
        """Puts the chunks there as they come, without being asked for each; then None, or what went wrong."""
        response = None
        try:
            response = self._speak.remote(utterance, due)
            async for chunk in response:
                received.put(chunk)
            received.put(None)
        except BaseException as error:
            received.put(error)
            if response is not None:
                with suppress(*_LOST):
                    response.cancel()


def _get(received: _Received, seconds: float) -> Chunk | BaseException | None:
    try:
        return received.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None


class _Delivered:
    """What the listener has of an utterance."""

    def __init__(self) -> None:
        self._samples = 0
        self._phonemes = 0
        self._position = 0  # in the samples of the replica that speaks now

    def restart(self) -> None:
        """A replica begins the utterance anew."""
        self._position = 0

    def add(self, chunk: Chunk) -> Chunk | None:
        """The part of the chunk that is new; None if there is none."""
        start, self._position = self._position, self._position + len(chunk.samples)
        if self._position <= self._samples:
            return None
        samples = chunk.samples[max(0, self._samples - start) :]
        timings = tuple(timing for timing in chunk.timings if timing.phoneme >= self._phonemes)
        self._samples = self._position
        self._phonemes += len(timings)
        return Chunk(samples, timings)


def _find_due() -> Due:
    playback = current_playback.get()
    return Due(playback.buffered_seconds, playback.key_id, playback.live) if playback else Due()
