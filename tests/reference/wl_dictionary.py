"""Weisfeiler-Lehman as in the paper, node by node, with one dictionary per depth: slow, obvious."""

from __future__ import annotations

from collections import Counter

import numpy as np

from kgnn.graphs.graph import GraphDataset


def start_labels(graphs: GraphDataset, start: str) -> list[list[str]]:
    if start == "labels":
        return [graph.node_labels for graph in graphs]
    if start == "degree":
        return [[str(len(graph.neighbors(v))) for v in range(graph.n_nodes)] for graph in graphs]
    return [["."] * graph.n_nodes for graph in graphs]


def edge_label_of(graph, use: bool) -> dict[tuple[int, int], str]:
    if not use:
        return {}
    found = {}
    for (u, v), label in zip(graph.edges.tolist(), graph.edge_labels, strict=True):
        found[u, v] = found[v, u] = label
    return found


def wl_gram(graphs: GraphDataset, iterations: int, start: str, edge_labels: bool = False):
    """Return the Gram matrix by counting equal labels, pair by pair."""
    labels = start_labels(graphs, start)
    kernel = _histogram_products(labels)
    for _ in range(iterations):
        names: dict = {}
        refined = []
        for graph, own in zip(graphs, labels, strict=True):
            kind = edge_label_of(graph, edge_labels)
            refined.append([])
            for v in range(graph.n_nodes):
                around = sorted((kind.get((v, u), ""), own[u]) for u in graph.neighbors(v).tolist())
                refined[-1].append(names.setdefault((own[v], tuple(around)), f"n{len(names)}"))
        labels = refined
        kernel = kernel + _histogram_products(labels)
    return kernel


def _histogram_products(labels: list[list[str]]):
    counts = [Counter(each) for each in labels]
    return np.array(
        [[float(sum(n * b[key] for key, n in a.items())) for b in counts] for a in counts]
    )
