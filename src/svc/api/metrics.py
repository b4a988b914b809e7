"""`GET /metrics`: metrics for Prometheus."""

import asyncio
from collections.abc import Callable, Iterator, Mapping

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, generate_latest
from prometheus_client.registry import Collector

from svc.api.realtime.connections import Connections
from svc.dictionaries.catalogue import Dictionaries
from svc.dictionaries.sync import DictionarySync
from svc.errors import ModelLoading, SvcError
from svc.process.tasks import TaskState
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.scheduler import Scheduler
from svc.voices.custom_voices import CustomVoices
from svc.voices.sync import VoiceSync

_ENGINE_STATES = ("loading", "ready", "failed")


class ServiceState:
    """What the parts of the service know about themselves, read when it is asked for."""

    def __init__(
        self,
        pipeline: Pipeline,
        scheduler: Scheduler,
        connections: Connections,
        custom_voices: CustomVoices,
        voice_sync: VoiceSync | None,
        dictionaries: Dictionaries,
        dictionary_sync: DictionarySync | None,
        task_states: Callable[[], Mapping[str, TaskState]],
    ) -> None:
        self._pipeline = pipeline
        self._scheduler = scheduler
        self._connections = connections
        self._custom_voices = custom_voices
        self._voice_sync = voice_sync
        self._dictionaries = dictionaries
        self._dictionary_sync = dictionary_sync
        self._task_states = task_states

    def register(self, registry: CollectorRegistry) -> None:
        """Each part by itself, so that one that cannot be read does not take the others with it."""
        for read in (self._read_engine, self._read_counts, self._read_mirror, self._read_tasks):
            registry.register(_Part(read))

    def _read_engine(self) -> Iterator[Metric]:
        state = GaugeMetricFamily("svc_engine_state", "1 for the state that the engine is in.", labels=["state"])
        current = _engine_state(self._scheduler)
        for each in _ENGINE_STATES:
            state.add_metric([each], each == current)
        yield state
        engine = {"name": self._pipeline.engine_name, "fingerprint": self._pipeline.engine_fingerprint}
        yield InfoMetricFamily("svc_engine", "The engine that synthesizes, and its weights.", engine)

    def _read_counts(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("svc_sockets", "Open realtime sockets.", len(self._connections))
        yield GaugeMetricFamily("svc_custom_voices", "Custom voices.", len(self._custom_voices))
        yield GaugeMetricFamily("svc_dictionaries", "Pronunciation dictionaries.", len(self._dictionaries))

    def _read_mirror(self) -> Iterator[Metric]:
        for name, sync in (("voice", self._voice_sync), ("dictionary", self._dictionary_sync)):
            if sync is None:
                continue
            lag, prefix = sync.lag(), f"svc_{name}_mirror"
            yield GaugeMetricFamily(f"{prefix}_waiting", "Changes that the mirror does not have yet.", lag.waiting)
            yield GaugeMetricFamily(f"{prefix}_lag_seconds", "The age of the oldest of them.", lag.seconds)
            if lag.fetched_ago is not None:
                yield GaugeMetricFamily(
                    f"{prefix}_fetched_seconds_ago", "Time since the last complete fetch.", lag.fetched_ago
                )

    def _read_tasks(self) -> Iterator[Metric]:
        running = GaugeMetricFamily(
            "svc_background_task_running", "Whether a background task runs; 0 after a failure.", labels=["task"]
        )
        failures = CounterMetricFamily(
            "svc_background_task_failures", "Failures of a background task.", labels=["task"]
        )
        for name, state in self._task_states().items():
            running.add_metric([name], state.state == "running")
            failures.add_metric([name], state.failures_total)
        yield running
        yield failures


class _Part(Collector):
    def __init__(self, read: Callable[[], Iterator[Metric]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        return self._read()

    def describe(self) -> Iterator[Metric]:
        """Nothing: what there is depends on the moment."""
        return iter(())


def _engine_state(scheduler: Scheduler) -> str:
    try:
        scheduler.require_ready()
    except ModelLoading:
        return "loading"
    except SvcError:
        return "failed"
    return "ready"


def router(registry: CollectorRegistry) -> APIRouter:
    router = APIRouter(tags=["operations"])

    @router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics(request: Request) -> Response:
        """Metrics in the Prometheus text format, or in OpenMetrics if asked for. Needs a key if keys are configured."""
        try:
            encode, content_type = choose_encoder(request.headers.get("accept", ""))
        except (TypeError, ValueError):  # a version that is no number
            encode, content_type = generate_latest, CONTENT_TYPE_PLAIN_0_0_4
        # Off the event loop: the lag of the mirror is read from disk.
        return Response(await asyncio.to_thread(encode, registry), media_type=content_type)

    return router
