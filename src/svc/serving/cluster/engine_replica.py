"""A replica of the engine, in a process that Ray Serve places and watches."""

import time

from ray.util import get_node_ip_address

from svc.engine.protocol import Engine
from svc.observability import logs
from svc.remote.engine_host import EngineHost
from svc.remote.wire import EngineDescription
from svc.service import create_engine
from svc.settings import Settings

STARVED = "starved"
"""The share of the time in which listeners waited for audio that was due; of several listeners, the sum."""
ONGOING = "ongoing"
"""Utterances that are being spoken or wait."""


class EngineReplica:
    """Ray Serve calls its methods by their names. Utterances come over a connection of their own, past it."""

    async def __init__(self, settings: Settings) -> None:  # type: ignore[misc]  # Ray Serve awaits it
        logs.configure(settings.log_format)
        self._host = EngineHost(self._create_engine(settings), settings.workers)
        self._description = await self._host.start(get_node_ip_address())
        self._shutdown_seconds = settings.shutdown_seconds
        self._reported = time.monotonic(), 0.0

    def _create_engine(self, settings: Settings) -> Engine:
        return create_engine(settings)

    async def describe(self) -> EngineDescription:
        return self._description

    async def record_autoscaling_stats(self) -> dict[str, float]:
        """What `choose_replicas` gets."""
        (last, starved), self._reported = self._reported, (time.monotonic(), self._host.starved_seconds)
        starved_share = (self._reported[1] - starved) / max(self._reported[0] - last, 0.001)
        return {STARVED: starved_share, ONGOING: float(self._host.ongoing)}

    async def __del__(self) -> None:
        """Drains: Ray Serve calls and awaits this before it ends the process."""
        await self._host.drain(self._shutdown_seconds)
