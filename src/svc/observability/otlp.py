"""The exporters of the extra `otel`. Only `svc.observability.telemetry` imports this, and only if they are wanted."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from uuid import uuid4

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import export as points
from opentelemetry.sdk.metrics.export import AggregationTemporality, HistogramDataPoint, NumberDataPoint
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import StatusCode, Tracer
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric, Sample

from svc import __version__
from svc.process.tasks import Supervisor

_SCOPE = InstrumentationScope("svc", __version__)
_FLUSH_MILLISECONDS = 2_000  # for the last spans and figures of a server that stops
_UNITS = {"_seconds": "s", "_bytes": "By"}
_SUFFIXES = {"counter": "_total", "info": "_info"}  # as in Prometheus' text


class Telemetry:
    """Exports the spans of its tracer, and every figure of the registry."""

    def __init__(self, registry: CollectorRegistry, *, traces: bool, metrics: bool) -> None:
        resource = Resource(
            {"service.name": "svc", "service.version": __version__, "service.instance.id": uuid4().hex}
        ).merge(OTELResourceDetector().detect())  # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
        self._provider = self._create_provider(resource) if traces else None
        self._bridge = PrometheusBridge(registry, resource) if metrics else None

    @staticmethod
    def _create_provider(resource: Resource) -> TracerProvider:
        # Not the global provider, which other packages would write to.
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        return provider

    @property
    def tracer(self) -> Tracer | None:
        return self._provider.get_tracer("svc", __version__) if self._provider else None

    @asynccontextmanager
    async def running(self, supervisor: Supervisor) -> AsyncIterator[None]:
        try:
            if self._bridge:
                async with supervisor.running("telemetry", self._bridge.run):
                    yield
            else:
                yield
        finally:
            await asyncio.to_thread(self._close)

    def _close(self) -> None:
        if self._provider:
            self._provider.force_flush(_FLUSH_MILLISECONDS)
            self._provider.shutdown()
        if self._bridge:
            self._bridge.close()


@contextmanager
def start_child(tracer: Tracer, name: str) -> Iterator[None]:
    """A span below the current one, which does not become the current one: generators may be closed elsewhere."""
    span = tracer.start_span(name)
    try:
        yield
    except Exception as error:
        # Its type and not its message, which may hold what the client sent.
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(StatusCode.ERROR)
        raise
    finally:
        span.end()


class PrometheusBridge:
    """Exports what Prometheus would read, under the same names; one definition serves both."""

    def __init__(self, registry: CollectorRegistry, resource: Resource) -> None:
        self._registry = registry
        self._resource = resource
        self._exporter = OTLPMetricExporter()
        self._seconds = float(os.environ.get("OTEL_METRIC_EXPORT_INTERVAL") or 60_000) / 1000
        self._began = time.time_ns()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            await asyncio.to_thread(self._export)

    def close(self) -> None:
        self._export(_FLUSH_MILLISECONDS)
        self._exporter.shutdown()

    def _export(self, timeout_milliseconds: float = 10_000) -> None:
        now = time.time_ns()
        families = [converted for each in self._registry.collect() if (converted := self._convert(each, now))]
        scope = points.ScopeMetrics(scope=_SCOPE, metrics=families, schema_url="")
        resource = points.ResourceMetrics(resource=self._resource, scope_metrics=[scope], schema_url="")
        # A collector that is down is logged by the exporter; the next round has all figures anyway.
        self._exporter.export(points.MetricsData(resource_metrics=[resource]), timeout_milliseconds)

    def _convert(self, family: Metric, now: int) -> points.Metric | None:
        data: points.Sum | points.Gauge | points.Histogram
        cumulative = AggregationTemporality.CUMULATIVE
        if family.type == "histogram":
            data = points.Histogram(list(self._histogram_points(family, now)), cumulative)
        else:
            numbers = [
                NumberDataPoint(each.labels, self._began, now, float(each.value))
                for each in family.samples
                if not each.name.endswith("_created")
            ]
            counts = family.type == "counter"
            data = points.Sum(numbers, cumulative, is_monotonic=True) if counts else points.Gauge(numbers)
        if not data.data_points:
            return None
        unit = next((unit for suffix, unit in _UNITS.items() if family.name.endswith(suffix)), "")
        name = family.name + _SUFFIXES.get(family.type, "")
        return points.Metric(name, family.documentation, unit, data)

    def _histogram_points(self, family: Metric, now: int) -> Iterator[HistogramDataPoint]:
        series: dict[tuple[tuple[str, str], ...], list[Sample]] = {}
        for sample in family.samples:
            series.setdefault(tuple(each for each in sample.labels.items() if each[0] != "le"), []).append(sample)
        for labels, samples in series.items():
            buckets = [each for each in samples if each.name.endswith("_bucket")]
            total = next(each.value for each in samples if each.name.endswith("_sum"))
            yield HistogramDataPoint(
                dict(labels),
                self._began,
                now,
                count=int(buckets[-1].value),
                sum=total,
                bucket_counts=_differences(int(each.value) for each in buckets),
                explicit_bounds=[float(each.labels["le"]) for each in buckets[:-1]],
                min=None,  # type: ignore[arg-type] # Prometheus does not know them, and OTLP can do without
                max=None,  # type: ignore[arg-type]
            )


def _differences(cumulative: Iterable[int]) -> list[int]:
    """Prometheus' buckets include the lower ones, those of OTLP do not."""
    return [after - before for before, after in pairwise([0, *cumulative])]
