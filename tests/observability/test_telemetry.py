"""Traces and metrics over OTLP, as a real collector gets them."""

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from websockets.sync.client import connect

from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer
from tests.clients.conftest import serving, wait_until_ready

SPEECH = "/v1/text-to-speech/{voice_id}"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@dataclass
class Collector:
    """An OTLP server, and what it was sent."""

    address: str = ""
    bodies: list[bytes] = field(default_factory=list)
    traces: list[ExportTraceServiceRequest] = field(default_factory=list)
    metrics: list[ExportMetricsServiceRequest] = field(default_factory=list)

    def take(self, path: str, body: bytes) -> None:
        self.bodies.append(body)
        if path == "/v1/traces":
            self.traces.append(ExportTraceServiceRequest.FromString(body))
        elif path == "/v1/metrics":
            self.metrics.append(ExportMetricsServiceRequest.FromString(body))
        else:
            raise ValueError(path)

    def spans(self) -> list[Span]:
        return [
            span
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def last_metrics(self) -> dict[str, Metric]:
        (resource,) = self.metrics[-1].resource_metrics
        (scope,) = resource.scope_metrics
        return {metric.name: metric for metric in scope.metrics}


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.path, self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    collector.address = f"http://127.0.0.1:{server.server_port}"
    yield collector
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def create(phonemizer: Phonemizer) -> Any:
    def create(**settings: Any) -> FastAPI:
        return create_app(Settings(**settings), Pipeline(FakeEngine(), phonemizer))

    return create


def _attributes(attributes: Any) -> dict[str, Any]:
    return {each.key: each.value.string_value or each.value.int_value for each in attributes}


def test_requests_and_their_work_are_traced(collector: Collector, create: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "speech")
    with serving(create(api_key="a-secret-key")) as address:
        wait_until_ready(address)
        headers = {"xi-api-key": "a-secret-key", "traceparent": f"00-{TRACE}-{PARENT}-01"}
        answer = httpx.post(
            f"{address}/v1/text-to-speech/custom-anna", json={"text": "Unspeakable."}, headers=headers, timeout=300
        )
        assert answer.status_code == 200
        httpx.get(f"{address}/v1/voices", headers={"xi-api-key": "a-wrong-key"})
        url = f"{address.replace('http', 'ws')}/v1/text-to-speech/custom-anna/stream-input?authorization=a-secret-key"
        with connect(url) as socket:
            socket.send('{"text": "Unspeakable. "}')
            socket.send('{"text": ""}')
            list(socket)
    spans = {span.name: span for span in collector.spans() if not span.name.endswith("/health")}
    speech, socket_span = spans[f"POST {SPEECH}"], spans[f"WEBSOCKET {SPEECH}/stream-input"]
    assert speech.trace_id.hex() == TRACE
    assert speech.parent_span_id.hex() == PARENT
    assert speech.kind == Span.SPAN_KIND_SERVER
    assert _attributes(speech.attributes) == {
        "http.request.method": "POST",
        "http.route": SPEECH,
        "http.response.status_code": 200,
        "svc.observability.request_id": answer.headers["request-id"],
    }
    assert _attributes(socket_span.attributes)["http.response.status_code"] == 101
    refused = _attributes(spans["GET /v1/voices"].attributes)
    assert (refused["http.response.status_code"], refused["svc.error"]) == (401, "invalid_api_key")
    for work in ("admission", "synthesis"):
        parents = {span.parent_span_id for span in collector.spans() if span.name == work}
        assert parents == {speech.span_id, socket_span.span_id}
    (resource,) = {request.resource_spans[0].resource.SerializeToString() for request in collector.traces}
    assert b"speech" in resource
    secrets = [b"Unspeakable", b"a-secret-key", b"a-wrong-key", b"custom-anna"]
    assert [secret for secret in secrets for body in collector.bodies if secret in body] == []


def test_every_figure_is_exported(collector: Collector, create: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{collector.address}/v1/metrics")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
    with serving(create()) as address:
        wait_until_ready(address)
        httpx.get(f"{address}/v1/models")
        text = httpx.get(f"{address}/metrics").text
        deadline = time.monotonic() + 120
        while len(collector.metrics) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert collector.traces == [], "only the endpoint of metrics is set"
    exported = collector.last_metrics()
    assert set(exported) == {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    requests = exported["svc_requests_total"].sum
    assert requests.is_monotonic
    assert {"method": "GET", "route": "/v1/models", "status": "200"} in [
        _attributes(point.attributes) for point in requests.data_points
    ]
    assert exported["svc_streams"].gauge.data_points[0].as_double == 0
    stalls = exported["svc_event_loop_stall_seconds"]
    (point,) = stalls.histogram.data_points
    assert stalls.unit == "s"
    assert point.count == sum(point.bucket_counts) > 0
    assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
    assert not point.HasField("min")


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "{}", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "{}", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
    ],
)
def test_nothing_is_exported_unless_asked_for(
    collector: Collector, create: Any, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(collector.address))
    with serving(create()) as address:
        wait_until_ready(address)
    assert collector.bodies == []


def test_a_collector_that_is_down_disturbs_nobody(create: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
    with serving(create()) as address:
        wait_until_ready(address)
        assert httpx.post(f"{address}/v1/text-to-speech/a", json={"text": "Hello."}, timeout=300).status_code == 200


def test_a_missing_extra_is_named_in_the_log(
    create: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.delitem(sys.modules, "svc.observability.otlp", raising=False)
    with caplog.at_level(logging.WARNING, "svc"):
        create()
    assert "pip install '.[otel]'" in caplog.text


def test_the_extra_is_not_loaded_without_an_endpoint() -> None:
    code = "import sys, svc.app; raise SystemExit('svc.observability.otlp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
