"""Small generated datasets for documentation, examples and tests."""

from __future__ import annotations

import numpy as np

from kgnn.errors import ParameterError
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.packing import pack
from kgnn.seeds import generator


def cycles_and_trees(n_graphs: int = 40, *, max_nodes: int = 12, seed: int = 0) -> GraphDataset:
    """Generate cycles and random trees, in turn, of 4 to ``max_nodes`` nodes.

    Examples
    --------
    >>> cycles_and_trees(10).class_names
    ('cycle', 'tree')
    """
    rng = generator(seed, "cycles-and-trees")
    sizes = rng.integers(4, max_nodes + 1, size=n_graphs)
    edges, targets, first = [], [], 0
    for row, n in enumerate(sizes.tolist()):
        child = np.arange(1, n)
        if row % 2 == 0:
            ends = np.column_stack([np.arange(n), np.roll(np.arange(n), -1)])
        else:
            ends = np.column_stack([child, rng.integers(0, child)])
        edges.append(ends + first)
        targets.append("tree" if row % 2 else "cycle")
        first += n
    pairs = np.concatenate(edges) if edges else np.empty((0, 2), dtype=np.int64)
    return pack(
        "cycles-and-trees",
        sizes,
        pairs[:, 0],
        pairs[:, 1],
        targets=targets,
        class_names=("cycle", "tree"),
    )


def planted_motifs(
    n_graphs: int = 60, *, n_nodes: int = 20, n_node_labels: int = 3, seed: int = 0
) -> GraphDataset:
    """Generate sparse random graphs that carry a triangle fan, or a star of the same size.

    Both motifs have five nodes of one label; the rest is a random tree with a few chords and
    random labels. The motif occupies the first five nodes of each graph, so that explanations can
    be checked against the truth.
    """
    if n_nodes < 8:
        raise ParameterError(f"The 'n_nodes' parameter must be at least 8, got {n_nodes}.")
    rng = generator(seed, "planted-motifs")
    star = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])
    fan = np.concatenate([star, [[1, 2], [3, 4]]])
    edges = []
    targets = []
    for row in range(n_graphs):
        child = np.arange(5, n_nodes)
        tree = np.column_stack([child, rng.integers(0, child)])
        chords = rng.integers(5, n_nodes, size=(2, 2))
        edges.append(np.concatenate([fan if row % 2 else star, tree, chords]) + row * n_nodes)
        targets.append("fan" if row % 2 else "star")
    labels = rng.integers(0, n_node_labels, size=(n_graphs, n_nodes))
    labels[:, :5] = 0
    pairs = np.concatenate(edges) if edges else np.empty((0, 2), dtype=np.int64)
    return pack(
        "planted-motifs",
        np.full(n_graphs, n_nodes),
        pairs[:, 0],
        pairs[:, 1],
        targets=targets,
        class_names=("fan", "star"),
        node_labels=labels.ravel(),
    )


def random_graphs(
    n_graphs: int, *, n_nodes: int = 20, n_edges: int = 40, n_node_labels: int = 0, seed: int = 0
) -> GraphDataset:
    """Generate uniform random graphs of any number, quickly, for measurements."""
    rng = generator(seed, "random-graphs")
    first = np.repeat(np.arange(n_graphs, dtype=np.int64) * n_nodes, n_edges)
    ends = rng.integers(0, n_nodes, size=(2, n_graphs * n_edges)) + first
    labels = rng.integers(0, n_node_labels, n_graphs * n_nodes) if n_node_labels else None
    return pack(
        "random-graphs",
        np.full(n_graphs, n_nodes),
        ends[0],
        ends[1],
        targets=rng.integers(0, 2, n_graphs).tolist(),
        node_labels=labels,
    )
