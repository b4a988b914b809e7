"""`svc serve --cluster`: joins a Ray cluster or starts one on this machine, deploys the service, and drains it."""

import os
import signal
import threading
import time
from contextlib import suppress
from types import FrameType

import ray
from ray import serve
from ray.serve.config import ProxyLocation
from ray.serve.exceptions import RayServeException

from svc.serving.cluster import application
from svc.serving.server import describe_access
from svc.settings import Settings

_OBJECT_STORE_BYTES = 256 * 2**20  # audio on its way to the API
_POLL_SECONDS = 2.0


def run(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT."""
    ended = threading.Event()
    _end_at_signal(ended)
    if address := os.environ.get("RAY_ADDRESS"):
        ray.init(address=address)
    else:
        # Ray would let everything else on the machine go before speech.
        os.environ.setdefault("RAY_worker_niceness", "0")
        ray.init(address="local", include_dashboard=False, object_store_memory=_OBJECT_STORE_BYTES)
    _end_at_signal(ended)  # Ray has set its own
    try:
        deploy(settings)
        _report(settings, ended)
    finally:
        remove(settings)
        ray.shutdown()


def deploy(settings: Settings) -> None:
    """Deploys both applications, or replaces those that run replica by replica; returns once the API listens."""
    with suppress(RayServeException):  # it runs already, with options of its own
        serve.start(proxy_location=ProxyLocation.Disabled)
    engine = serve.RunTarget(application.create_engine_application(settings), application.ENGINE, route_prefix=None)
    api = serve.RunTarget(application.create_api_application(settings), application.API, route_prefix=None)
    serve.run_many([engine], wait_for_applications_running=False)
    serve.run_many([api])


def remove(settings: Settings) -> None:
    """Drains the API first, which needs the engine for what it has begun."""
    for name in (application.API, application.ENGINE):
        serve.delete(name, _blocking=False)
        deadline = time.monotonic() + settings.shutdown_seconds + 60
        while name in serve.status().applications and time.monotonic() < deadline:
            time.sleep(0.2)


def _report(settings: Settings, ended: threading.Event) -> None:
    """Prints where the service is, and its state whenever that changes."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    print(f"svc serves on http://{host}:{settings.port}{describe_access(settings)}", flush=True)
    shown = ""
    while not ended.wait(_POLL_SECONDS):
        if (state := describe_state()) != shown:
            print(shown := state, flush=True)


def describe_state() -> str:
    """Such as `API: running, 2 replicas running. Engine: deploying, 1 replica starting.`"""
    parts = []
    applications = serve.status().applications
    for title, name in (("API", application.API), ("Engine", application.ENGINE)):
        app = applications.get(name)
        counts = [
            f"{count} {'replica' if count == 1 else 'replicas'} {state.lower()}"
            for deployment in (app.deployments.values() if app else ())
            for state, count in deployment.replica_states.items()
        ]
        parts.append(", ".join([f"{title}: {app.status.lower() if app else 'not deployed'}", *counts]))
    return ". ".join(parts) + "."


def _end_at_signal(ended: threading.Event) -> None:
    """The first signal drains; a second one ends the process at once."""

    def end(number: int, _: FrameType | None) -> None:
        if ended.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
