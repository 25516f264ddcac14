"""Shortest paths node by node, with queues and dictionaries: slow, obvious."""

from __future__ import annotations

from collections import Counter, deque

import numpy as np

from kgnn.graphs.graph import Graph, GraphDataset


def distances_from(graph: Graph, source: int) -> dict[int, int]:
    """Return the distance of every node that can be reached, the source included."""
    found = {source: 0}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for neighbor in graph.neighbors(node).tolist():
            if neighbor not in found:
                found[neighbor] = found[node] + 1
                queue.append(neighbor)
    return found


def path_counts(graph: Graph, *, labels: bool = True, max_distance: int | None = None) -> Counter:
    """Count unordered pairs of nodes by distance and names of labels, or by distance alone."""
    counts: Counter = Counter()
    for source in range(graph.n_nodes):
        for node, distance in distances_from(graph, source).items():
            if source < node and (max_distance is None or distance <= max_distance):
                ends = [graph.node_labels[source], graph.node_labels[node]] if labels else []
                counts[(distance, *sorted(ends))] += 1
    return counts


def sp_gram(graphs: GraphDataset, *, labels: bool = True, max_distance: int | None = None):
    """Return the Gram matrix by counting equal paths, pair by pair."""
    counts = [path_counts(graph, labels=labels, max_distance=max_distance) for graph in graphs]
    return np.array(
        [[float(sum(n * b[key] for key, n in a.items())) for b in counts] for a in counts]
    )
