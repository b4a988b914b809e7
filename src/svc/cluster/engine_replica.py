"""A replica of the engine: speaks the utterances of all API replicas, those first whose audio is due first."""

import time
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from dataclasses import dataclass

from svc import logs, memory
from svc.app import create_engine
from svc.cluster.remote_engine import Due, EngineDescription
from svc.engine.protocol import Chunk, Utterance
from svc.settings import Settings
from svc.synthesis.playback import Playback
from svc.synthesis.scheduler import Scheduler

STARVED = "starved"
"""The share of the time in which listeners waited for audio that was due; of several listeners, the sum."""


class EngineReplica:
    """Ray Serve calls its methods by their names."""

    async def __init__(self, settings: Settings) -> None:  # type: ignore[misc]  # Ray Serve awaits it
        logs.configure(settings.log_format)
        self._engine = create_engine(settings)
        self._scheduler = Scheduler(self._engine.load, workers=settings.workers)
        self._scheduler.start()
        await self._scheduler.wait_until_loaded()
        memory.freeze()
        self._reported = time.monotonic(), 0.0

    async def describe(self) -> EngineDescription:
        return EngineDescription(self._engine.fingerprint)

    async def speak(self, utterance: Utterance, due: Due) -> AsyncGenerator[Chunk]:
        """The audio of an utterance; when the caller cancels, the work stops within a chunk."""
        # The listener counts as one who has audio until it is due: what is held back at a beginning, the API decides.
        playback = Playback(due.key_id, live=due.live, buffered=due.seconds)
        async with aclosing(self._scheduler.run(self._synthesize(utterance), playback)) as parts:
            async for part in parts:
                yield part.chunk

    async def record_autoscaling_stats(self) -> dict[str, float]:
        """What `choose_replicas` gets."""
        (last, starved), self._reported = self._reported, (time.monotonic(), self._scheduler.starved_seconds)
        return {STARVED: (self._reported[1] - starved) / max(self._reported[0] - last, 0.001)}

    def _synthesize(self, utterance: Utterance) -> Generator["_Part"]:
        for chunk in self._engine.synthesize(utterance):
            yield _Part(chunk, len(chunk.samples) / self._engine.sample_rate)


@dataclass(frozen=True, slots=True)
class _Part:
    chunk: Chunk
    seconds: float
