"""Nodes of Ray whose agents may take their time to start.

A node waits 15 seconds for the files in which its agents write their ports, and no setting of Ray changes that: too
short on a busy machine. So the files are written here, before the agents are there.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from ray._raylet import persist_port
from ray.cluster_utils import Cluster

from bench.load.processes import wait_until

_NODE = {"num_cpus": 1, "object_store_memory": 150 * 2**20, "include_dashboard": False}
# Of the agent of the dashboard, which `without_dashboard` has it not open.
_NO_PORTS = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port")
_WITHIN = 300.0


@contextmanager
def make_ray_folder() -> Iterator[Path]:
    """Has a short path, which becomes that of sockets. Ray also writes the address of the newest cluster into the
    folder that it would take by itself, so that is this one, too.
    """
    with TemporaryDirectory(prefix="ray-", dir="/tmp") as parent:
        os.environ["RAY_TMPDIR"] = parent
        folder = Path(parent, "ray")
        folder.mkdir()
        yield folder


def add_node(nodes: Cluster, folder: Path) -> Any:
    """The first one is the head. `folder` is Ray's, the same for all nodes."""
    node_id = token_hex(28)
    with socket.create_server(("", 0)) as free:
        port = free.getsockname()[1]
    ports = {"runtime_env_agent_port": port, **dict.fromkeys(_NO_PORTS, -1)}
    writing = Thread(target=_write_ports, args=[folder, node_id, ports])
    writing.start()
    node = nodes.add_node(
        **_NODE,
        runtime_env_agent_port=port,
        temp_dir=str(folder),
        env_vars={"RAY_OVERRIDE_NODE_ID_FOR_TESTING": node_id},
    )
    writing.join()
    return node


def _write_ports(folder: Path, node_id: str, ports: dict[str, int]) -> None:
    """As soon as Ray has made the folder of its session."""
    wait_until(lambda: any(folder.glob("session_2*")), _WITHIN, "Ray has a session", every=0.02)
    (session,) = folder.glob("session_2*")
    for name, port in ports.items():
        persist_port(str(session), node_id, name, port)
