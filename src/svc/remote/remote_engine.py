"""An engine whose utterances are spoken by replicas on this machine or others."""

import logging
import time
from collections.abc import Generator, Iterator
from contextlib import closing

from svc.engine.protocol import Chunk, Engine, Utterance
from svc.errors import EngineUnavailable
from svc.remote.replicas import LOST, NoReplica, Replicas
from svc.remote.wire import Deadline
from svc.synthesis.playback import current_playback

log = logging.getLogger(__name__)


class RemoteEngine:
    """Asks a replica, and another one when that is lost.

    Synthesis is deterministic: what was delivered already is skipped, and the listener notices at most a pause.
    """

    def __init__(self, engine: Engine, replicas: Replicas, *, give_up_seconds: float = 60.0) -> None:
        """`engine` is one of the same kind, which is never loaded.

        After `give_up_seconds` without any audio, the utterance fails.
        """
        self.name = engine.name
        self.sample_rate = engine.sample_rate
        self.max_phonemes = engine.max_phonemes
        self.fingerprint = ""
        self._replicas = replicas
        self._give_up_seconds = give_up_seconds

    def load(self) -> None:
        """Waits for a first replica, however long that takes."""
        self._replicas.start()
        if (first := self._replicas.wait_for_first()) is None:
            raise EngineUnavailable("The server was shut down before the engine had started.")
        self.fingerprint = first.fingerprint

    def stop_waiting(self) -> None:
        """Ends the waiting for a first replica: the server shuts down. Texts that have begun are finished."""
        self._replicas.stop_waiting()

    def close(self) -> None:
        self._replicas.close()

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
            except LOST as error:
                left = progress_at + self._give_up_seconds - time.monotonic()
                if left < 0 or (isinstance(error, NoReplica) and not self._replicas.wait(left)):
                    raise EngineUnavailable("The engine does not answer. Try again in a few seconds.") from error
                if not isinstance(error, NoReplica):
                    log.warning("a replica of the engine was lost in the middle of a text: %s", type(error).__name__)

    def _ask(self, utterance: Utterance) -> Generator[Chunk]:
        """Closing this cancels the request."""
        playback = current_playback.get()
        deadline = Deadline(playback.buffered_seconds, playback.key_id, playback.live) if playback else Deadline()
        with self._replicas.connect() as connection:
            for answer in connection.ask(utterance, deadline):
                if playback := current_playback.get():
                    playback.worked_seconds = (playback.worked_seconds or 0.0) + answer.worked_seconds
                yield answer.chunk


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
        timings = tuple([timing for timing in chunk.timings if timing.phoneme >= self._phonemes])
        self._samples = self._position
        self._phonemes += len(timings)
        return Chunk(samples, timings)
