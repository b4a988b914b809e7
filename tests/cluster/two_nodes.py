"""A Ray cluster of two nodes on this machine with the service on it, as a process that the tests command.

python -m tests.cluster.two_nodes    reads a command from each line of its input, and answers each with a line
"""

import os
import sys
from typing import Any, TextIO

import ray
from ray import serve
from ray.cluster_utils import Cluster

import svc.serving.cluster.engine_replica
from svc.serving.cluster import cluster
from svc.settings import Settings
from tests.cluster.nodes import add_node, make_ray_folder
from tests.cluster.slow_engine import SlowEngineReplica


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever Ray prints goes into the log
    nodes = Cluster()
    with make_ray_folder() as folder:
        add_node(nodes, folder)
        second = add_node(nodes, folder)
        obey(nodes, second, answers)
    print("removed", file=answers)


def obey(nodes: Cluster, second: Any, answers: TextIO) -> None:
    ray.init(address=nodes.address)
    settings = Settings()
    if settings.engine == "fake":
        svc.serving.cluster.engine_replica.EngineReplica = SlowEngineReplica  # type: ignore[misc]
    cluster.deploy(settings)
    print("deployed", file=answers)
    for line in sys.stdin:
        match line.strip():
            case "upgrade":
                cluster.deploy(settings.model_copy(update={"model_aliases": "upgraded"}))
            case "kill node":
                nodes.remove_node(second, allow_graceful=False)
            case "remove":
                cluster.remove(settings)
                break
        print(cluster.describe_state(), file=answers)
    serve.shutdown()
    ray.shutdown()
    nodes.shutdown()


if __name__ == "__main__":
    main()
