"""Whether the arrays of a dataset belong together: for datasets that come out of files."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgnn.errors import GraphDataError
from kgnn.graphs.graph import GraphDataset, Ints

_KINDS = {
    "node_offsets": "i",
    "arc_offsets": "i",
    "neighbors": "i",
    "targets": "i",
    "node_labels": "i",
    "node_attributes": "f",
    "edge_labels": "i",
    "edge_weights": "f",
    "graph_names": "U",
}
_NAMES = ("class_names", "node_label_names", "edge_label_names")


def require_sound(graphs: GraphDataset) -> None:
    """Refuse a dataset whose arrays point outside each other.

    Loaders build nothing else; but code that trusts a damaged file would read memory that is not
    its own. A hundred million arcs take less than a second.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(3)
    >>> require_sound(graphs)
    >>> require_sound(replace(graphs, neighbors=graphs.neighbors + 1))
    Traceback (most recent call last):
      ...
    kgnn.errors.GraphDataError: 'cycles-and-trees' is damaged: neighbors
    """
    for field, kind in _KINDS.items():
        if not _is_of_kind(getattr(graphs, field), kind, may_lack=field in _OPTIONAL):
            raise _damaged(graphs, field)
    if not (isinstance(graphs.name, str) and all(_are_names(getattr(graphs, n)) for n in _NAMES)):
        raise _damaged(graphs, "names")
    n_graphs, n_nodes = len(graphs.targets), len(graphs.arc_offsets) - 1
    n_arcs = len(graphs.neighbors)
    checks = {
        "node_offsets": lambda: _are_offsets(graphs.node_offsets, n_graphs, n_nodes),
        "arc_offsets": lambda: _are_offsets(graphs.arc_offsets, n_nodes, n_arcs),
        "neighbors": lambda: _stay_within(graphs),
        "targets": lambda: _are_below(graphs.targets, len(graphs.class_names), least=-1),
        "node_labels": lambda: _are_codes(graphs.node_labels, n_nodes, graphs.node_label_names),
        "edge_labels": lambda: _are_codes(graphs.edge_labels, n_arcs, graphs.edge_label_names),
        "node_attributes": lambda: _are_numbers(graphs.node_attributes, n_nodes, n_dimensions=2),
        "edge_weights": lambda: _are_numbers(graphs.edge_weights, n_arcs, n_dimensions=1),
        "graph_names": lambda: (
            graphs.graph_names is None or _are_texts(graphs.graph_names, n_graphs)
        ),
    }
    for field, is_sound in checks.items():  # in this order: what is checked may be relied on
        if not is_sound():
            raise _damaged(graphs, field)


_OPTIONAL = ("node_labels", "node_attributes", "edge_labels", "edge_weights", "graph_names")


def _damaged(graphs: GraphDataset, field: str) -> GraphDataError:
    return GraphDataError(f"'{graphs.name}' is damaged: {field}")


def _is_of_kind(array: Any, kind: str, may_lack: bool) -> bool:
    if array is None:
        return may_lack
    return isinstance(array, np.ndarray) and array.dtype.kind == kind and array.dtype.isnative


def _are_names(names: Any) -> bool:
    return isinstance(names, tuple) and all(isinstance(name, str) for name in names)


def _are_offsets(offsets: Ints, n: int, end: int) -> bool:
    return (
        offsets.shape == (n + 1,)
        and offsets[0] == 0
        and offsets[-1] == end
        and bool((offsets[1:] >= offsets[:-1]).all())
    )


def _stay_within(graphs: GraphDataset) -> bool:
    """Tell whether each node's neighbors are in its own graph."""
    if graphs.neighbors.ndim != 1:
        return False
    first_arc = graphs.arc_offsets[graphs.node_offsets]
    has_arcs = np.flatnonzero(np.diff(first_arc))
    if not len(has_arcs):
        return True
    lowest = np.minimum.reduceat(graphs.neighbors, first_arc[has_arcs])
    highest = np.maximum.reduceat(graphs.neighbors, first_arc[has_arcs])
    return bool(
        (lowest >= graphs.node_offsets[has_arcs]).all()
        and (highest < graphs.node_offsets[has_arcs + 1]).all()
    )


def _are_below(values: np.ndarray, end: int, least: int = 0) -> bool:
    return values.ndim == 1 and (
        len(values) == 0 or (int(values.min()) >= least and int(values.max()) < end)
    )


def _are_codes(codes: np.ndarray | None, n: int, names: tuple[str, ...]) -> bool:
    return codes is None or (len(codes) == n and _are_below(codes, len(names)))


def _are_numbers(values: np.ndarray | None, n: int, n_dimensions: int) -> bool:
    return values is None or (
        values.ndim == n_dimensions and len(values) == n and bool(np.isfinite(values).all())
    )


def _are_texts(names: np.ndarray, n: int) -> bool:
    if names.shape != (n,):
        return False
    if not names.dtype.itemsize or not n:
        return True
    points = np.ascontiguousarray(names).view(np.uint32)
    return bool(((points < 0xD800) | ((points > 0xDFFF) & (points < 0x110000))).all())
