"""`/metrics`: what it counts, in which formats, and that it always answers."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from svc import __version__
from svc.api.metrics import ServiceState
from svc.api.middleware.request_metrics import RequestMetrics, RouteTemplates
from svc.api.realtime.connections import Connections
from svc.app import create_app
from svc.engine.fake import FakeEngine
from svc.errors import ClipDamaged, SvcError
from svc.observability.metrics import Metrics
from svc.process.tasks import TaskState
from svc.service import create_custom_voices, create_dictionaries
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.synthesis.scheduler import Scheduler
from svc.text.g2p import Phonemizer
from svc.voices.catalogue import VoiceCatalogue
from tests.clients.conftest import serving, wait_until_ready
from tests.cloning.fakes import load_fake_encoder

KEY = {"xi-api-key": "a-secret-key"}
SPEECH = "/v1/text-to-speech/af_heart"


@contextmanager
def _serve(settings: Settings, pipeline: Pipeline, ready: bool = True) -> Iterator[httpx.Client]:
    with (
        serving(create_app(settings, pipeline, encoder=load_fake_encoder)) as address,
        httpx.Client(base_url=address, timeout=300) as client,
    ):
        if ready:
            wait_until_ready(address)
        yield client


def _open_socket(client: httpx.Client) -> ClientConnection:
    return connect(f"{str(client.base_url).replace('http', 'ws', 1)}{SPEECH}/stream-input")


def read_metrics(client: httpx.Client, **headers: str) -> dict[str, float]:
    """Every sample, as `name{label="value"}`."""
    response = client.get("/metrics", headers=headers)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = {}
    for family in text_string_to_metric_families(response.text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            samples[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return samples


@pytest.fixture
def client(phonemizer: Phonemizer, tmp_path: Path) -> Iterator[httpx.Client]:
    """A service whose figures nobody else changes."""
    settings = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache")
    with _serve(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        yield client


def test_requests_are_counted_by_route_and_status(client: httpx.Client) -> None:
    client.post(SPEECH, json={"text": "Hello."})
    client.post("/v1/text-to-speech/am_michael", json={"text": "Hello."})
    client.post(SPEECH, json={"text": 1})
    client.get(SPEECH)
    client.get("/page/nothing.js")
    with _open_socket(client) as socket:
        socket.send('{"text": ""}')
    samples = read_metrics(client)
    route = 'route="/v1/text-to-speech/{voice_id}"'
    assert samples[f'svc_requests_total{{method="POST",{route},status="200"}}'] == 2
    assert samples[f'svc_requests_total{{method="POST",{route},status="422"}}'] == 1
    assert samples[f'svc_requests_total{{method="GET",{route},status="405"}}'] == 1
    assert samples['svc_requests_total{method="GET",route="/page/{path}",status="404"}'] == 1
    route = 'route="/v1/text-to-speech/{voice_id}/stream-input"'
    assert samples[f'svc_requests_total{{method="WEBSOCKET",{route},status="101"}}'] == 1


def test_strange_paths_and_methods_share_one_label(client: httpx.Client) -> None:
    for number in range(20):
        client.request(f"METHOD{number}", f"/nothing/{number}")
        client.get(f"/nothing/{number}")
        client.get(f"/v1/voices/custom-{number}")
    strange = [name for name in read_metrics(client) if name.startswith("svc_requests_total")]
    assert 'svc_requests_total{method="other",route="unmatched",status="404"}' in strange
    assert 'svc_requests_total{method="GET",route="unmatched",status="404"}' in strange
    assert len(strange) <= 6
    assert not any("nothing" in name or "custom" in name or "METHOD" in name for name in strange)


def test_refusals_are_counted_by_reason(phonemizer: Phonemizer) -> None:
    settings = Settings(api_key="a-secret-key", max_sockets=1)
    with _serve(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        client.post(SPEECH, json={"text": "Hello."})
        client.post(SPEECH, json={"text": "Hello."}, headers={"xi-api-key": "wrong"})
        client.post(SPEECH, content=b" " * 3_000_000, headers=KEY)
        client.post(SPEECH, json={"text": "Hello."}, params={"output_format": "tape"}, headers=KEY)
        with _open_socket(client) as socket:
            socket.send('{"text": " ", "xi_api_key": "wrong"}')
            with suppress(ConnectionClosed):
                list(socket)
        with _open_socket(client) as socket:
            socket.send('{"text": "Hello.", "xi_api_key": "a-secret-key", "flush": true}')
            socket.recv()  # one that has spoken does not make room for others
            with pytest.raises(InvalidStatus, match="429"):
                _open_socket(client)
        samples = read_metrics(client, **KEY)
    refusals = {name: value for name, value in samples.items() if name.startswith("svc_refusals_total") and value}
    assert refusals == {
        'svc_refusals_total{reason="missing_api_key"}': 1,
        'svc_refusals_total{reason="invalid_api_key"}': 2,
        'svc_refusals_total{reason="request_too_large"}': 1,
        'svc_refusals_total{reason="system_busy"}': 1,
    }
    assert samples['svc_refusals_total{reason="model_loading"}'] == 0, "known reasons begin at zero"
    assert samples['svc_requests_total{method="POST",route="/v1/text-to-speech/{voice_id}",status="401"}'] == 2, (
        "also those that were refused before they got to their route"
    )


def test_clones_are_counted(client: httpx.Client, wav: bytes) -> None:
    files = {"files": ("clip.wav", wav)}
    made = client.post("/voices", data={"name": "Anna Example"}, files=files)
    assert made.status_code == 200, made.text
    assert client.post("/voices", data={"name": "Berta"}, files={"files": ("clip.wav", b"no audio")}).status_code == 400
    samples = read_metrics(client)
    assert samples['svc_clones_total{result="made"}'] == 1
    assert samples['svc_clones_total{result="failed"}'] == 1
    assert samples["svc_clone_seconds_count"] == 1
    assert samples["svc_custom_voices"] == 1
    client.delete(f"/voices/{made.json()['voice_id']}")
    samples = read_metrics(client)
    assert samples["svc_clones_removed_total"] == 1
    assert samples["svc_custom_voices"] == 0
    assert "Anna" not in client.get("/metrics").text


def test_state_of_the_service(client: httpx.Client) -> None:
    with _open_socket(client):
        samples = read_metrics(client)
    assert samples["svc_sockets"] == 1
    assert samples["svc_streams"] == 0
    assert [samples[f'svc_engine_state{{state="{state}"}}'] for state in ("loading", "ready", "failed")] == [0, 1, 0]
    assert any(name.startswith("svc_engine_info{") and 'name="fake"' in name for name in samples)
    assert samples['svc_background_task_running{task="event_loop"}'] == 1
    assert samples['svc_background_task_failures_total{task="event_loop"}'] == 0
    assert any(name.startswith("svc_build_info{") and f'version="{__version__}"' in name for name in samples)
    assert samples["process_resident_memory_bytes"] > 0
    assert not any("mirror" in name for name in samples)


class _Broken(FakeEngine):
    def load(self) -> None:
        raise OSError("no such file")


def test_an_engine_that_failed(phonemizer: Phonemizer) -> None:
    with _serve(Settings(), Pipeline(_Broken(), phonemizer), ready=False) as client:
        while client.get("/health").json()["status"] == "model_loading":
            pass
        assert read_metrics(client)['svc_engine_state{state="failed"}'] == 1


def test_a_mirror_is_described(phonemizer: Phonemizer, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", voice_mirror=f"file://{tmp_path}/mirror")
    with _serve(settings, Pipeline(FakeEngine(), phonemizer)) as client:
        samples = read_metrics(client)
        assert samples["svc_voice_mirror_waiting"] == 0
        assert samples["svc_voice_mirror_lag_seconds"] == 0
        while "svc_voice_mirror_fetched_seconds_ago" not in read_metrics(client):
            pass


@pytest.mark.parametrize(
    "accept",
    [
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5",
    ],
)
def test_openmetrics_on_request(client: httpx.Client, accept: str) -> None:
    response = client.get("/metrics", headers={"accept": accept})
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    parsed = openmetrics.text_string_to_metric_families(response.text)  # type: ignore[no-untyped-call]
    names = {family.name for family in parsed}
    assert {"svc_requests", "svc_first_byte_seconds", "svc_engine"} <= names


@pytest.mark.parametrize(
    "accept",
    ["", "*/*", "application/openmetrics-text; version=abc", "text/plain; version===", ";;,,=", "application/json"],
)
def test_any_accept_header_gets_an_answer(client: httpx.Client, accept: str) -> None:
    response = client.get("/metrics", headers={"accept": accept})
    assert response.status_code == 200
    assert "svc_streams 0.0\n" in response.text


def test_metrics_need_a_key_if_there_are_keys(phonemizer: Phonemizer) -> None:
    with _serve(Settings(api_key="a-secret-key"), Pipeline(FakeEngine(), phonemizer)) as client:
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers={"authorization": "Bearer a-secret-key"}).status_code == 200


def test_what_cannot_be_read_is_left_out(
    phonemizer: Phonemizer, voices: VoiceCatalogue, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> dict[str, TaskState]:
        raise OSError("the disk is gone")

    scheduler = Scheduler(lambda: None)
    custom_voices = create_custom_voices(Settings(data_dir=tmp_path), voices)
    dictionaries = create_dictionaries(Settings(data_dir=tmp_path))
    state = ServiceState(
        Pipeline(FakeEngine(), phonemizer), scheduler, Connections({}, 1), custom_voices, None, dictionaries, None, fail
    )
    metrics = Metrics()
    state.register(metrics.registry)
    metrics.waiting.set_function(lambda: 1 // 0)
    names = {family.name for family in metrics.registry.collect()}
    assert {"svc_engine_state", "svc_engine", "svc_sockets", "svc_custom_voices", "svc_streams"} <= names
    assert not {"svc_background_task_running", "svc_waiting"} & names
    assert "some metrics could not be read" in caplog.text


def test_background_tasks_that_failed(phonemizer: Phonemizer, voices: VoiceCatalogue, tmp_path: Path) -> None:
    states = {"mirror": TaskState("restarting", 0.0, 2, 3, "OSError", "no such file")}
    custom_voices = create_custom_voices(Settings(data_dir=tmp_path), voices)
    scheduler = Scheduler(lambda: None)
    registry = CollectorRegistry()
    dictionaries = create_dictionaries(Settings(data_dir=tmp_path))
    pipeline = Pipeline(FakeEngine(), phonemizer)
    ServiceState(
        pipeline, scheduler, Connections({}, 1), custom_voices, None, dictionaries, None, lambda: states
    ).register(registry)
    assert registry.get_sample_value("svc_background_task_running", {"task": "mirror"}) == 0
    assert registry.get_sample_value("svc_background_task_failures_total", {"task": "mirror"}) == 3


def test_only_what_turns_clients_away_is_a_refusal() -> None:
    metrics = Metrics()
    metrics.count_refusal(ClipDamaged())
    assert metrics.registry.get_sample_value("svc_refusals_total", {"reason": "clip_damaged"}) is None


def test_every_metric_has_a_conventional_name(client: httpx.Client) -> None:
    text = client.get("/metrics").text
    for name, kind in re.findall(r"^# TYPE (svc_\S+) (\w+)$", text, re.MULTILINE):
        assert (kind == "counter") == name.endswith("_total"), name
        assert not re.search(r"_(ms|milliseconds|minutes|count)(_|$)", name), name
    for name, description in re.findall(r"^# HELP (svc_\S+) (.*)$", text, re.MULTILINE):
        assert description.endswith("."), name


async def _call(metrics: Metrics, *messages: Message, error: type[BaseException] | None = None) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)
        if error:
            raise error

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        pass

    middleware = RequestMetrics(app, metrics, RouteTemplates([Route("/a/{b}", lambda: None)]))
    await middleware({"type": "http", "method": "GET", "path": "/a/c"}, receive, send)


@pytest.mark.parametrize(("error", "status"), [(None, "499"), (asyncio.CancelledError, "499"), (SvcError, "500")])
def test_requests_without_a_response(error: type[BaseException] | None, status: str) -> None:
    metrics = Metrics()
    with suppress(asyncio.CancelledError, SvcError):
        asyncio.run(_call(metrics, error=error))
    labels = {"method": "GET", "route": "/a/{b}", "status": status}
    assert metrics.registry.get_sample_value("svc_requests_total", labels) == 1
