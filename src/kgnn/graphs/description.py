"""What a dataset holds, in numbers and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from kgnn.graphs.graph import GraphDataset, Ints

_NAMED = 8  # labels that are written out


def describe(graphs: GraphDataset, labels: Sequence[str | None]) -> dict[str, Any]:
    """Return what there is, as plain values.

    Parameters
    ----------
    graphs : GraphDataset
    labels : sequence of str or None
        Of the graphs.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> told = describe(cycles_and_trees(4, max_nodes=4), ["ring", None, "ring", "tree"])
    >>> told["nodes"], told["labeled"], told["classes"]
    ({'least': 4, 'median': 4.0, 'most': 4}, 3, {'ring': 2, 'tree': 1})
    """
    classes = Counter(label for label in labels if label is not None)
    attributes = graphs.node_attributes
    return {
        "name": graphs.name,
        "graphs": len(graphs),
        "nodes": _spread(graphs.graph_sizes),
        "edges": _spread(graphs.edge_counts),
        "node_labels": None if graphs.node_labels is None else list(graphs.node_label_names),
        "node_attributes": 0 if attributes is None else attributes.shape[1],
        "edge_labels": None if graphs.edge_labels is None else list(graphs.edge_label_names),
        "edge_weights": graphs.edge_weights is not None,
        "labeled": sum(classes.values()),
        "classes": dict(sorted(classes.items())),
    }


def in_words(description: dict[str, Any]) -> list[str]:
    """Return a description as short sentences.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(4, max_nodes=4)
    >>> print(*in_words(describe(graphs, ["ring", None, "ring", "tree"])), sep=chr(10))
    4 graphs of 4 nodes and 3 to 4 edges (half have at most 3.5)
    nodes have neither labels nor attributes
    3 graphs are labeled, 1 is not: 2 of class ring, 1 of class tree
    """
    d = description
    n_hidden = d["graphs"] - d["labeled"]
    counts = ", ".join(f"{n:,} of class {name}" for name, n in d["classes"].items())
    return [
        f"{d['graphs']:,} graph{_s(d['graphs'])} of {_range(d['nodes'], 'nodes', False)} and "
        f"{_range(d['edges'], 'edges', True)}",
        f"nodes have {_node_data(d)}{_edge_data(d)}",
        f"{d['labeled']:,} graph{_s(d['labeled'])} {_are(d['labeled'])} labeled, "
        f"{n_hidden:,} {_are(n_hidden)} not: {counts or 'no classes'}",
    ]


def _spread(values: Ints) -> dict[str, float]:
    if not len(values):
        return {"least": 0, "median": 0.0, "most": 0}
    median = float(np.median(values))
    return {"least": int(values.min()), "median": median, "most": int(values.max())}


def _range(spread: dict[str, float], what: str, tells_median: bool) -> str:
    least, most = spread["least"], spread["most"]
    if least == most:
        return f"{most:,} {what}"
    half = f" (half have at most {spread['median']:,g})" if tells_median else ""
    return f"{least:,} to {most:,} {what}{half}"


def _node_data(d: dict[str, Any]) -> str:
    labels, n = d["node_labels"], d["node_attributes"]
    parts = []
    if labels is not None:
        named = ", ".join(labels[:_NAMED]) + (", …" if len(labels) > _NAMED else "")
        parts.append(f"{len(labels):,} label{_s(len(labels))} ({named})")
    if n:
        parts.append(f"{n:,} attribute{_s(n)}")
    return " and ".join(parts) or "neither labels nor attributes"


def _edge_data(d: dict[str, Any]) -> str:
    parts = []
    if d["edge_labels"] is not None:
        parts.append(f"{len(d['edge_labels']):,} label{_s(len(d['edge_labels']))}")
    if d["edge_weights"]:
        parts.append("weights")
    return f", edges have {' and '.join(parts)}" if parts else ""


def _s(n: int) -> str:
    return "" if n == 1 else "s"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"
