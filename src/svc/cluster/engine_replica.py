"""A replica of the engine: speaks the utterances of all API replicas, those first whose audio is due first."""

import time
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from dataclasses import dataclass

from ray.util import get_node_ip_address

from svc import logs, memory
from svc.app import create_engine
from svc.cluster.utterance_server import UtteranceServer
from svc.cluster.wire import Due, EngineDescription, Spoken
from svc.engine.protocol import Utterance
from svc.settings import Settings
from svc.synthesis.playback import Playback
from svc.synthesis.scheduler import Scheduler

STARVED = "starved"
"""The share of the time in which listeners waited for audio that was due; of several listeners, the sum."""
ONGOING = "ongoing"
"""Utterances that are being spoken or wait."""


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
        self._shutdown_seconds = settings.shutdown_seconds
        self._server = UtteranceServer(self._speak)
        host = get_node_ip_address()
        port = await self._server.start(host)
        self._description = EngineDescription(self._engine.fingerprint, host, port, self._server.token)

    async def describe(self) -> EngineDescription:
        return self._description

    async def __del__(self) -> None:
        """Drains: Ray Serve calls and awaits this before it ends the process."""
        await self._server.drain(self._shutdown_seconds)

    async def _speak(self, utterance: Utterance, due: Due) -> AsyncGenerator[Spoken]:
        """The audio of an utterance; when the caller cancels, the work stops within a chunk."""
        # The listener counts as one who has audio until it is due: what is held back at a beginning, the API decides.
        playback = Playback(due.key_id, live=due.live, buffered=due.seconds)
        async with aclosing(self._scheduler.run(self._synthesize(utterance), playback)) as parts:
            async for part in parts:
                yield part.spoken

    async def record_autoscaling_stats(self) -> dict[str, float]:
        """What `choose_replicas` gets."""
        (last, starved), self._reported = self._reported, (time.monotonic(), self._scheduler.starved_seconds)
        starved_share = (self._reported[1] - starved) / max(self._reported[0] - last, 0.001)
        return {STARVED: starved_share, ONGOING: float(self._server.ongoing)}

    def _synthesize(self, utterance: Utterance) -> Generator["_Part"]:
        began = time.perf_counter()
        for chunk in self._engine.synthesize(utterance):
            spoken = Spoken(chunk, time.perf_counter() - began)
            yield _Part(spoken, len(chunk.samples) / self._engine.sample_rate)
            began = time.perf_counter()


@dataclass(frozen=True, slots=True)
class _Part:
    spoken: Spoken
    seconds: float
