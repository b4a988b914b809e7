"""A replica of the API: the web server of `svc serve`, in a process that Ray Serve places and watches."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from ray import serve
from ray.serve.schema import ApplicationStatusOverview

from svc.app import create_app
from svc.observability import logs
from svc.process import memory
from svc.remote.remote_engine import RemoteEngine
from svc.remote.replicas import Replicas, share_workers
from svc.service import create_engine
from svc.serving.cluster import application
from svc.serving.server import create_server, open_socket
from svc.settings import Settings
from svc.synthesis.pipeline import Pipeline
from svc.text.g2p import Phonemizer

_STATUS_SECONDS = 10.0
_CHUNK_SECONDS = 30.0
_PING_SECONDS = 5.0


class ApiReplica:
    """Listens on a port of its own accord: no request passes a proxy of Ray Serve, which would be a second server with
    limits of its own. Several replicas on one machine share the port."""

    async def __init__(self, settings: Settings) -> None:  # type: ignore[misc]  # Ray Serve awaits it
        logs.configure(settings.log_format)
        replicas = Replicas(application.EngineFinder().find, _CHUNK_SECONDS)
        self._engine = RemoteEngine(create_engine(settings), replicas)
        pipeline = Pipeline(self._engine, Phonemizer(), settings.watermark, settings.max_audio_seconds)
        capacity = Capacity(settings.workers)
        wyoming = None
        if settings.wyoming_port is not None:
            wyoming = open_socket(settings.host, settings.wyoming_port, "SVC_WYOMING_PORT", share_port=True)
        app = create_app(
            settings,
            pipeline,
            after_load=memory.freeze,
            wyoming_socket=wyoming,
            count_workers=capacity.count_workers,
        )
        app.openapi()
        self._server = create_server(app, settings, share_port=True)
        app.state.lifecycle.on_drain(self._engine.stop_waiting)
        self._loop = asyncio.new_event_loop()
        self._socket = open_socket(settings.host, settings.port, "--port", share_port=True)
        # An event loop of its own, as without a cluster: the calls of Ray Serve cannot hold it up.
        self._thread = threading.Thread(target=self._run, name="web server", daemon=True)
        self._thread.start()
        while not self._server.started:
            self._require_alive()
            await asyncio.sleep(0.05)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        with self._socket:
            self._loop.run_until_complete(self._server.serve([self._socket]))

    async def check_health(self) -> None:
        """Whether the server answers. Without an engine it does, with 503: a restart would not help."""
        self._require_alive()
        ping = asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop)
        await asyncio.wait_for(asyncio.wrap_future(ping), _PING_SECONDS)

    async def __del__(self) -> None:
        """Drains: Ray Serve calls and awaits this before it ends the process."""
        self._server.should_exit = True
        await asyncio.to_thread(self._thread.join)
        self._engine.close()

    def _require_alive(self) -> None:
        if not self._thread.is_alive():
            raise RuntimeError("the web server has ended")


class Capacity:
    """The share of the engine's workers that one replica of the API may use."""

    def __init__(self, workers_each: int) -> None:
        self._workers_each = workers_each
        # Of its own: while Ray does not answer, no thread of others is held.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="capacity")

    async def count_workers(self) -> int:
        async with asyncio.timeout(_STATUS_SECONDS):
            status = await asyncio.get_running_loop().run_in_executor(self._thread, serve.status)
        engines = _count_running(status.applications.get(application.ENGINE))
        servers = _count_running(status.applications.get(application.API))
        return share_workers(engines * self._workers_each, servers)


def _count_running(app: ApplicationStatusOverview | None) -> int:
    deployments = app.deployments.values() if app else ()
    return sum(each.replica_states.get("RUNNING", 0) for each in deployments)
