"""An engine whose utterances are spoken by replicas on this machine or others."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from concurrent.futures import CancelledError
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from ray.exceptions import RayError, RayTaskError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle, DeploymentResponseGenerator

from svc.engine.protocol import Chunk, Engine, Utterance
from svc.errors import EngineUnavailable
from svc.synthesis.playback import current_playback

log = logging.getLogger(__name__)

T = TypeVar("T")

# For work that nobody listens to yet.
_BACKGROUND_SECONDS = 2.0
_DESCRIBE_SECONDS = 10.0
_PAUSE_SECONDS = 0.25


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
            with suppress(RayError, RayServeException, TimeoutError):
                handle = self._open_handle()
                description = self._wait(_await(handle.describe.remote()), _DESCRIBE_SECONDS)
                self.fingerprint = description.fingerprint
                self._handle = handle.options(stream=True).speak
                return
            self._closed.wait(_PAUSE_SECONDS)
        raise EngineUnavailable("The server was shut down before the engine had started.")

    def close(self) -> None:
        """Ends the waiting for a first replica."""
        self._closed.set()

    def synthesize(self, utterance: Utterance) -> Iterator[Chunk]:
        # Of the table, which is large, the engine reads one row.
        sent = replace(utterance, style=utterance.style_vector)
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
            except (RayError, RayServeException, TimeoutError, CancelledError) as error:
                if time.monotonic() - progress_at > self._give_up_seconds or self._closed.is_set():
                    raise EngineUnavailable("The engine does not answer. Try again in a few seconds.") from error
                log.warning("a replica of the engine was lost in the middle of a text: %s", type(error).__name__)
                time.sleep(_PAUSE_SECONDS)

    def _ask(self, utterance: Utterance) -> Generator[Chunk]:
        """Closing this cancels the call."""
        response = self._handle.remote(utterance, _find_due())
        try:
            while (chunk := self._wait(_await_next(response), self._chunk_seconds)) is not None:
                yield chunk
        except BaseException:
            _cancel(response)
            raise

    def _wait(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """The sync methods of Ray Serve have no timeout."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise


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
        # A copy, which gives the memory back to Ray.
        samples = np.array(chunk.samples[max(0, self._samples - start) :])
        timings = tuple(timing for timing in chunk.timings if timing.phoneme >= self._phonemes)
        self._samples = self._position
        self._phonemes += len(timings)
        return Chunk(samples, timings)


def _find_due() -> Due:
    playback = current_playback.get()
    return Due(playback.buffered_seconds, playback.key_id, playback.live) if playback else Due()


async def _await(response: Any) -> Any:
    return await response


async def _await_next(response: DeploymentResponseGenerator[Any]) -> Chunk | None:
    chunk: Chunk | None = await anext(response, None)
    return chunk


def _cancel(response: DeploymentResponseGenerator[Any]) -> None:
    with suppress(RayError, RayServeException, CancelledError):
        response.cancel()
