"""The contents of a dataset in words."""

from __future__ import annotations

from collections import Counter

import numpy as np

from kgnn.graphs.graph import GraphDataset, Ints

_MAX_LABELS = 8  # to list


def describe(graphs: GraphDataset) -> list[str]:
    """Return the contents of a dataset as short sentences.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(4, max_nodes=4).with_targets([0, -1, 0, 1])
    >>> print(*describe(graphs), sep=chr(10))
    4 graphs of 4 nodes and 3 to 4 edges (half have at most 3.5)
    nodes have neither labels nor attributes
    3 graphs are labeled, 1 is not: 2 of class cycle, 1 of class tree
    """
    n, n_labeled = len(graphs), int((graphs.targets >= 0).sum())
    n_unlabeled = n - n_labeled
    nodes, edges = _range(graphs.graph_sizes, "nodes"), _range(graphs.edge_counts, "edges")
    half = ""
    if n and graphs.edge_counts.min() < graphs.edge_counts.max():
        half = f" (half have at most {np.median(graphs.edge_counts):,g})"
    return [
        f"{n:,} graph{_s(n)} of {nodes} and {edges}{half}",
        f"nodes have {_node_data(graphs)}{_edge_data(graphs)}",
        f"{n_labeled:,} graph{_s(n_labeled)} {_are(n_labeled)} labeled, "
        f"{n_unlabeled:,} {_are(n_unlabeled)} not: {_classes(graphs)}",
    ]


def _classes(graphs: GraphDataset) -> str:
    known = graphs.targets[graphs.targets >= 0].tolist()
    counts = Counter(graphs.class_names[target] for target in known)
    told = [f"{count:,} of class {name}" for name, count in sorted(counts.items())]
    return ", ".join(told) or "no classes"


def _range(values: Ints, what: str) -> str:
    least, most = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    return f"{most:,} {what}" if least == most else f"{least:,} to {most:,} {what}"


def _node_data(graphs: GraphDataset) -> str:
    parts = []
    if graphs.node_labels is not None:
        names = graphs.node_label_names
        shown = ", ".join(names[:_MAX_LABELS]) + (", …" if len(names) > _MAX_LABELS else "")
        parts.append(f"{len(names):,} label{_s(len(names))} ({shown})")
    if graphs.node_attributes is not None and (n := graphs.node_attributes.shape[1]):
        parts.append(f"{n:,} attribute{_s(n)}")
    return " and ".join(parts) or "neither labels nor attributes"


def _edge_data(graphs: GraphDataset) -> str:
    n = len(graphs.edge_label_names)
    parts = [] if graphs.edge_labels is None else [f"{n:,} label{_s(n)}"]
    parts += [] if graphs.edge_weights is None else ["weights"]
    parts += [] if graphs.edge_directions is None else ["directions"]
    if graphs.edge_attributes is not None and (d := graphs.edge_attributes.shape[1]):
        parts.append(f"{d:,} attribute{_s(d)}")
    return f", edges have {' and '.join(parts)}" if parts else ""


def _s(n: int) -> str:
    return "" if n == 1 else "s"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"
