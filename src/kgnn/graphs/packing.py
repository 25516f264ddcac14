"""From loose nodes and edges to a `GraphDataset`: the only place that builds one from scratch."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgnn.errors import GraphDataError
from kgnn.graphs.arcs import arcs_with_data, checked_ends, plain_arcs
from kgnn.graphs.given_values import class_name
from kgnn.graphs.graph import Floats, GraphDataset, Ints, ShortInts, offsets_of


def pack(
    name: str,
    node_counts: ArrayLike,
    sources: ArrayLike,
    destinations: ArrayLike,
    *,
    targets: Sequence[Hashable | None] | None = None,
    class_names: Sequence[str] | None = None,
    node_labels: Sequence[Hashable] | NDArray[Any] | None = None,
    node_attributes: ArrayLike | None = None,
    edge_labels: Sequence[Hashable] | NDArray[Any] | None = None,
    edge_weights: ArrayLike | None = None,
    graph_names: Sequence[str] | None = None,
) -> GraphDataset:
    """Pack graphs into a dataset.

    Every edge may come in one direction or in both, once or repeatedly; it is stored once. Labels
    and class names become text: the label 1 and the label "1" are one label.

    Parameters
    ----------
    name : str
    node_counts : (n_graphs,) int
    sources, destinations : (n_edges,) int
        End nodes of each edge, numbered through over all graphs.
    targets : sequence, optional
        Class of each graph; None for unlabeled.
    class_names : sequence of str, optional
        Order of the classes; default: sorted, numbers by value.
    node_labels, node_attributes : optional
        One per node.
    edge_labels, edge_weights : optional
        One per edge given; repeats of an edge must agree.
    graph_names : sequence of str, optional

    Examples
    --------
    >>> pack("two", [3, 2], [0, 1, 3], [1, 2, 4], targets=["path", None])
    GraphDataset('two': 2 graphs, 1 classes, 1 labeled)
    """
    node_offsets = _node_offsets(node_counts)
    n_graphs, n_nodes = len(node_offsets) - 1, int(node_offsets[-1])
    u, v = checked_ends(sources, destinations, node_offsets)
    target_codes, target_names = encode_targets(targets, n_graphs, class_names)
    node_codes, node_names = _encode(node_labels, n_nodes, "node labels")
    edge_codes, edge_names = _encode(edge_labels, len(u), "edge labels")
    weights = _finite(edge_weights, len(u), "edge weights")
    if edge_codes is None and weights is None:
        arc_offsets, neighbors = plain_arcs(u, v, n_nodes)
    else:
        arc_offsets, neighbors, edge_of_arc = arcs_with_data(u, v, n_nodes, edge_codes, weights)
        edge_codes = None if edge_codes is None else edge_codes[edge_of_arc]
        weights = None if weights is None else weights[edge_of_arc]
    return GraphDataset(
        name=name,
        node_offsets=node_offsets,
        arc_offsets=arc_offsets,
        neighbors=neighbors,
        targets=target_codes,
        class_names=target_names,
        node_labels=node_codes,
        node_label_names=node_names,
        node_attributes=_attribute_table(node_attributes, n_nodes),
        edge_labels=edge_codes,
        edge_label_names=edge_names,
        edge_weights=weights,
        graph_names=_names(graph_names, n_graphs),
    )


def encode_targets(
    targets: Sequence[Hashable | None] | None,
    n_graphs: int,
    class_names: Sequence[str] | None = None,
) -> tuple[Ints, tuple[str, ...]]:
    """Turn classes into positions in a list of names; None becomes −1."""
    if targets is None:
        return np.full(n_graphs, -1, dtype=np.int64), tuple(class_names or ())
    _require_length(targets, n_graphs, "targets")
    texts = [None if target is None else class_name(target) for target in targets]
    names = ordered(t for t in texts if t is not None) if class_names is None else class_names
    codes: dict[str | None, int] = {name: code for code, name in enumerate(names)} | {None: -1}
    if unknown := [text for text in texts if text not in codes]:
        raise GraphDataError(f"target '{unknown[0]}' is not one of the classes {list(names)}")
    return np.array([codes[text] for text in texts], dtype=np.int64), tuple(names)


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """Sort distinct names: numbers by value, then text by alphabet.

    Examples
    --------
    >>> ordered(["b", "10", "9", "b"])
    ('9', '10', 'b')
    """
    return tuple(sorted(set(names), key=_label_order))


def _label_order(name: str) -> tuple[int, int, str]:
    try:
        return (0, int(name), name)
    except ValueError:
        return (1, 0, name)


def _node_offsets(node_counts: ArrayLike) -> Ints:
    counts = np.asarray(node_counts, dtype=np.int64)
    if counts.ndim != 1 or (counts < 0).any():
        raise GraphDataError(f"node counts must be a list of numbers ≥ 0, got {node_counts!r}")
    offsets = offsets_of(counts)
    if offsets[-1] > np.iinfo(np.int32).max:
        raise GraphDataError(f"a dataset holds at most 2147483647 nodes, got {offsets[-1]}")
    return offsets


def _encode(
    labels: Sequence[Hashable] | NDArray[Any] | None, n: int, what: str
) -> tuple[ShortInts | None, tuple[str, ...]]:
    """Turn labels into positions in a list of names."""
    if labels is None:
        return None, ()
    _require_length(labels, n, what)
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":  # much faster than text
        values, positions = np.unique(labels, return_inverse=True)
        return positions.astype(np.int32), tuple(map(str, values.tolist()))
    texts = [label if type(label) is str else class_name(label) for label in labels]
    names = ordered(texts)
    codes = {name: code for code, name in enumerate(names)}
    return np.array([codes[text] for text in texts], dtype=np.int32), names


def _names(names: Sequence[str] | None, n_graphs: int) -> NDArray[np.str_] | None:
    if names is None:
        return None
    _require_length(names, n_graphs, "graph names")
    return np.array(names, dtype=np.str_)


def _attribute_table(attributes: ArrayLike | None, n_nodes: int) -> Floats | None:
    table = _finite(attributes, n_nodes, "node attributes")
    if table is None or table.ndim == 2:
        return table
    return table.reshape(n_nodes, int(np.prod(table.shape[1:])))


def _finite(values: ArrayLike | None, n: int, what: str) -> Floats | None:
    """Return an array of our own, one finite row for each of ``n``."""
    if values is None:
        return None
    try:
        table = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphDataError(f"{what} must be numbers, as many for each: {error}") from error
    _require_length(table, n, what)
    if not np.isfinite(table).all():
        row = int(np.argwhere(~np.isfinite(table))[0][0])
        raise GraphDataError(f"{what} must be finite numbers, got {table[row]} in row {row}")
    return table


def _require_length(values: Sequence[Any] | NDArray[Any], n: int, what: str) -> None:
    if len(values) != n:
        raise GraphDataError(f"expected {n} {what}, got {len(values)}")
