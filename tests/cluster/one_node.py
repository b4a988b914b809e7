"""A Ray cluster of one node, as a process that prints its address and ends when its input does."""

import os
import sys

from ray.cluster_utils import Cluster

from tests.cluster.nodes import add_node, make_ray_folder


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever Ray prints goes into the log
    nodes = Cluster()
    with make_ray_folder() as folder:
        add_node(nodes, folder)
        print(nodes.address, file=answers)
        sys.stdin.read()
        nodes.shutdown()


if __name__ == "__main__":
    main()
