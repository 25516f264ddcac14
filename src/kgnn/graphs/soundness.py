"""Whether the arrays of a dataset belong together: for datasets that come out of files."""

from __future__ import annotations

import numpy as np

from kgnn.errors import GraphDataError
from kgnn.graphs.graph import GraphDataset


def require_sound(graphs: GraphDataset) -> None:
    """Refuse a dataset whose arrays point outside each other.

    Loaders build nothing else; but code that trusts a damaged file would read memory that is not
    its own.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from kgnn.graphs.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(3)
    >>> require_sound(graphs)
    >>> require_sound(replace(graphs, neighbors=graphs.neighbors + 1))
    Traceback (most recent call last):
      ...
    kgnn.errors.GraphDataError: 'cycles-and-trees' is damaged: neighbors
    """
    n_graphs, n_nodes = len(graphs.targets), len(graphs.arc_offsets) - 1
    n_arcs = len(graphs.neighbors)
    checks = {
        "node_offsets": _are_offsets(graphs.node_offsets, n_graphs, n_nodes),
        "arc_offsets": _are_offsets(graphs.arc_offsets, n_nodes, n_arcs),
        "neighbors": _are_below(graphs.neighbors, n_nodes),
        "targets": _are_below(graphs.targets + 1, len(graphs.class_names) + 1),
        "node_labels": _are_codes(graphs.node_labels, n_nodes, graphs.node_label_names),
        "edge_labels": _are_codes(graphs.edge_labels, n_arcs, graphs.edge_label_names),
        "node_attributes": graphs.node_attributes is None
        or (graphs.node_attributes.ndim == 2 and len(graphs.node_attributes) == n_nodes),
        "edge_weights": graphs.edge_weights is None or len(graphs.edge_weights) == n_arcs,
        "graph_names": graphs.graph_names is None or len(graphs.graph_names) == n_graphs,
    }
    for field, is_sound in checks.items():
        if not is_sound:
            raise GraphDataError(f"'{graphs.name}' is damaged: {field}")


def _are_offsets(offsets: np.ndarray, n: int, end: int) -> bool:
    return (
        offsets.shape == (n + 1,)
        and offsets[0] == 0
        and offsets[-1] == end
        and bool((np.diff(offsets) >= 0).all())
    )


def _are_below(values: np.ndarray, end: int) -> bool:
    return values.ndim == 1 and (
        len(values) == 0 or (int(values.min()) >= 0 and int(values.max()) < end)
    )


def _are_codes(codes: np.ndarray | None, n: int, names: tuple[str, ...]) -> bool:
    return codes is None or (len(codes) == n and _are_below(codes, len(names)))
