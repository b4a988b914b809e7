"""The figures that the service keeps about itself, for Prometheus.

Labels are bounded: never a key, a text or a custom voice's name. What is known elsewhere is read when it is asked for:
see `svc.api.metrics`.
"""

import logging
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import Metric

from svc import __version__
from svc.errors import SvcError

log = logging.getLogger(__name__)

_LATENCY_BUCKETS = (0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30)
_STALL_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)
_CLONE_BUCKETS = (1, 2, 5, 10, 20, 30, 60, 120, 300)

# The HTTP statuses of errors that turn a client away; the others are mistakes in a request.
_REFUSALS = frozenset({401, 403, 408, 413, 429, 503})


class _Registry(CollectorRegistry):
    def collect(self) -> Iterator[Metric]:
        """Leaves out what cannot be read just now: the rest is wanted most when something is wrong."""
        with self._lock:
            collectors = list(self._collector_to_names)
        for collector in collectors:
            try:
                yield from list(collector.collect())
            except Exception:
                log.exception("some metrics could not be read")


class Metrics:
    """In a registry of its own, because one process may hold several services: tests do."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # a second series for each counter, which nobody reads
        self.registry = registry = _Registry()
        self.requests = Counter(
            "svc_requests",
            "Requests and sockets, by method, route and status of the response. A client that hung up has status 499.",
            ["method", "route", "status"],
            registry=registry,
        )
        self.first_byte_seconds = Histogram(
            "svc_first_byte_seconds",
            "Time from the request to its first audio.",
            buckets=_LATENCY_BUCKETS,
            registry=registry,
        )
        self.queue_seconds = Histogram(
            "svc_queue_seconds",
            "Time that requests waited to be admitted.",
            buckets=_LATENCY_BUCKETS,
            registry=registry,
        )
        self.waiting = Gauge("svc_waiting", "Requests that wait to be admitted.", registry=registry)
        self.streams = Gauge("svc_streams", "Texts that are being synthesized.", registry=registry)
        self.real_time_factor = Gauge(
            "svc_real_time_factor",
            "Seconds that the engine takes for a second of audio, as measured lately.",
            registry=registry,
        )
        self.load = Gauge("svc_load", "The share of the engine's time that admitted requests need.", registry=registry)
        self.characters = Counter("svc_characters", "Characters of admitted requests.", registry=registry)
        self.audio_seconds = Counter("svc_audio_seconds", "Seconds of audio made.", registry=registry)
        self.starved_seconds = Counter(
            "svc_starved_seconds",
            "Seconds that listeners waited for audio in the middle of a text.",
            registry=registry,
        )
        self.refusals = Counter(
            "svc_refusals", "Requests refused, by the status string of the error.", ["reason"], registry=registry
        )
        self.clones = Counter("svc_clones", "Voices cloned, by result.", ["result"], registry=registry)
        self.clones_removed = Counter("svc_clones_removed", "Cloned voices removed.", registry=registry)
        self.clone_seconds = Histogram(
            "svc_clone_seconds", "Time that a clone took.", buckets=_CLONE_BUCKETS, registry=registry
        )
        self.event_loop_stall_seconds = Histogram(
            "svc_event_loop_stall_seconds",
            "The longest time that the event loop was busy or late, of each short interval.",
            buckets=_STALL_BUCKETS,
            registry=registry,
        )
        self.event_loop_stall_max_seconds = Gauge(
            "svc_event_loop_stall_max_seconds",
            "The longest time that the event loop was busy or late, of the last minute.",
            registry=registry,
        )
        Info("svc_build", "The release that runs.", registry=registry).info(
            {"version": __version__, "python": platform.python_version()}
        )
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        """Makes series that are known beforehand, so that the first increase is seen as one."""
        for error in _subclasses(SvcError):
            if error.http_status in _REFUSALS:
                self.refusals.labels(error.status)
        for result in ("made", "failed"):
            self.clones.labels(result)

    def count_refusal(self, error: SvcError) -> None:
        """Counts an error that turns the client away; others are counted among the requests only."""
        if error.http_status in _REFUSALS:
            self.refusals.labels(error.status).inc()

    @contextmanager
    def measure_clone(self) -> Iterator[None]:
        """Counts the clone that is made in the block, and the time that it takes."""
        begin = time.perf_counter()
        try:
            yield
        except Exception:
            self.clones.labels("failed").inc()
            raise
        self.clones.labels("made").inc()
        self.clone_seconds.observe(time.perf_counter() - begin)


def _subclasses(parent: type[SvcError]) -> Iterator[type[SvcError]]:
    for child in parent.__subclasses__():
        yield child
        yield from _subclasses(child)
