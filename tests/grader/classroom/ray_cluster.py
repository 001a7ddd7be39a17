"""A Ray cluster of some nodes with one CPU each, all on this machine. Run in a process of its own.

`python -m tests.grader.classroom.ray_cluster NODES` prints the cluster's address and the process ids of its
nodes as JSON, and ends it when its input ends.
"""

from __future__ import annotations

import json
import sys

from ray.cluster_utils import Cluster


def main(nodes: int) -> None:
    given = {"num_cpus": 1, "object_store_memory": 80 << 20, "node_ip_address": "127.0.0.1"}
    head = {**given, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    added = [cluster.head_node, *(cluster.add_node(**given) for _ in range(nodes - 1))]
    pids = [node.all_processes["raylet"][0].process.pid for node in added]
    print(json.dumps({"address": cluster.address, "nodes": pids}), flush=True)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]))
