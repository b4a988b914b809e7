"""`svc serve --cluster`: joins a Ray cluster or starts one on this machine, deploys the service, and drains it."""

import math
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType

import ray
from ray import serve
from ray.cluster_utils import Cluster
from ray.serve.config import ProxyLocation
from ray.serve.exceptions import RayServeException

from svc.cluster import application
from svc.engine.cpus import count_cpus
from svc.settings import Settings

_OBJECT_STORE_BYTES = 256 * 2**20  # audio on its way to the API
_POLL_SECONDS = 2.0


def run(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT."""
    ended = threading.Event()
    _end_at_signal(ended)
    with ExitStack() as stack:
        address = os.environ.get("RAY_ADDRESS") or stack.enter_context(start_ray(settings))
        ray.init(address=address)
        stack.callback(ray.shutdown)
        _end_at_signal(ended)  # Ray has set its own
        stack.callback(remove, settings)
        deploy(settings)
        _report(settings, ended)


@contextmanager
def start_ray(settings: Settings) -> Iterator[str]:
    """Ray on this machine, which only this machine can reach; its address."""
    head = {
        "node_ip_address": "127.0.0.1",
        "num_cpus": count_cpus(),
        "num_gpus": math.ceil(settings.cluster_gpus * settings.cluster_max_replicas),
        "object_store_memory": _OBJECT_STORE_BYTES,
        "include_dashboard": False,
    }
    started = Cluster(initialize_head=True, head_node_args=head | choose_agent_ports())
    try:
        yield started.address
    finally:
        started.shutdown()


def choose_agent_ports() -> dict[str, int]:
    """Free ports for the agents of a node. A node waits but 15 seconds for an agent that chooses its own, which is too
    short on a machine that is busy."""
    names = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
    with ExitStack() as sockets:
        opened = [sockets.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in names]
        return {name: each.getsockname()[1] for name, each in zip(names, opened, strict=True)}


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
    print(f"svc serves on http://{host}:{settings.port}", flush=True)
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
