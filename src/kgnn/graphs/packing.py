"""Build a `GraphDataset`: from loose nodes and edges, or by joining datasets."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kgnn.errors import GraphDataError, excerpt
from kgnn.graphs.graph import Floats, GraphDataset, Ints, ShortInts, offsets_of
from kgnn.graphs.labels import class_name, encode, ordered, recode, require_length

_DATA_FIELDS = (
    *("node_labels", "node_attributes"),
    *("edge_labels", "edge_weights", "edge_directions", "edge_attributes"),
)
MAX_NODES = np.iinfo(np.int32).max  # node numbers have 32 bits
# Edges to check at a time; few enough for the processor's cache.
_PIECE = 1 << 18


class ConflictingEdgesError(GraphDataError):
    """An edge occurs twice with different data; positions count from 0."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(
            f"edge {second} repeats edge {first} with another label, weight or attribute"
        )
        self.first, self.second = first, second


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
    edge_attributes: ArrayLike | None = None,
    graph_names: Sequence[str] | None = None,
    directed: bool = False,
) -> GraphDataset:
    """Pack graphs into a dataset.

    An edge may be given in one direction or in both, once or repeatedly; it is stored once. With
    ``directed``, it is kept which direction it was given in, and each may have its data. Labels
    and class names become text: the label 1 and the label "1" are the same.

    Parameters
    ----------
    name : str
    node_counts : (n_graphs,) int
    sources, destinations : (n_edges,) int
        End nodes of each edge, numbered over all graphs.
    targets : sequence, optional
        Class of each graph; None for unlabeled.
    class_names : sequence of str, optional
        Order of the classes; default: sorted, numbers by value.
    node_labels, node_attributes : optional
        One per node.
    edge_labels, edge_weights, edge_attributes : optional
        One per edge given; repeats of an edge must agree.
    graph_names : sequence of str, optional

    Examples
    --------
    >>> pack("two", [3, 2], [0, 1, 3], [1, 2, 4], targets=["path", None])
    GraphDataset('two': 2 graphs, 1 classes, 1 labeled)
    """
    node_offsets = _node_offsets(node_counts)
    n_graphs, n_nodes = len(node_offsets) - 1, int(node_offsets[-1])
    u, v = _checked_ends(sources, destinations, node_offsets)
    require_length(targets, n_graphs, "targets")
    require_length(graph_names, n_graphs, "graph names")
    target_codes, target_names = encode(
        [None] * n_graphs if targets is None else targets,
        class_names if targets is not None else class_names or (),
    )
    node_codes, node_names = _encoded(node_labels, n_nodes, "node labels")
    edge_codes, edge_names = _encoded(edge_labels, len(u), "edge labels")
    weights = finite(edge_weights, "edge weights")
    require_length(weights, len(u), "edge weights")
    attributes = _attribute_table(edge_attributes, len(u), "edge attributes")
    directions = None
    if directed:
        arc_offsets, neighbors, edge_of_arc, directions = _directed_arcs(
            u, v, n_nodes, (edge_codes, weights, attributes)
        )
    elif edge_codes is None and weights is None and attributes is None:
        arc_offsets, neighbors = plain_arcs(u, v, n_nodes)
    else:
        arc_offsets, neighbors, edge_of_arc = _arcs_with_data(
            u, v, n_nodes, (edge_codes, weights, attributes)
        )
    edge_codes = None if edge_codes is None else edge_codes[edge_of_arc]
    weights = None if weights is None else weights[edge_of_arc]
    attributes = None if attributes is None else attributes[edge_of_arc]
    return GraphDataset(
        name=name,
        node_offsets=node_offsets,
        arc_offsets=arc_offsets,
        neighbors=neighbors,
        targets=target_codes,
        class_names=target_names,
        node_labels=node_codes,
        node_label_names=node_names,
        node_attributes=_attribute_table(node_attributes, n_nodes, "node attributes"),
        edge_labels=edge_codes,
        edge_label_names=edge_names,
        edge_weights=weights,
        edge_directions=directions,
        edge_attributes=attributes,
        graph_names=None if graph_names is None else np.array(graph_names, dtype=np.str_),
    )


def _node_offsets(node_counts: ArrayLike) -> Ints:
    counts = np.asarray(node_counts, dtype=np.int64)
    if counts.ndim != 1 or (counts < 0).any():
        raise GraphDataError(f"node counts must be a list of numbers ≥ 0, got {node_counts!r}")
    offsets = offsets_of(counts)
    if offsets[-1] > MAX_NODES:
        raise GraphDataError(f"a dataset holds at most {MAX_NODES} nodes, got {offsets[-1]}")
    return offsets


def _encoded(
    labels: Sequence[Hashable] | NDArray[Any] | None, n: int, what: str
) -> tuple[ShortInts | None, tuple[str, ...]]:
    if labels is None:
        return None, ()
    require_length(labels, n, what)
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":  # much faster than text
        values, positions = np.unique(labels, return_inverse=True)
        return positions.astype(np.int32), tuple(map(str, values.tolist()))
    codes, names = encode([label if type(label) is str else class_name(label) for label in labels])
    return codes.astype(np.int32), names


def _attribute_table(attributes: ArrayLike | None, n: int, what: str) -> Floats | None:
    table = finite(attributes, what)
    require_length(table, n, what)
    if table is None or table.ndim == 2:
        return table
    return table.reshape(n, int(np.prod(table.shape[1:])))


def finite(values: ArrayLike | None, what: str) -> Floats | None:
    """Return a copy of the values as finite floats, or raise an error that says ``what`` is not."""
    if values is None:
        return None
    try:
        table = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphDataError(
            f"{what} must be numbers, as many for each: {excerpt(error)}"
        ) from error
    if not np.isfinite(table).all():
        row = int(np.argwhere(~np.isfinite(table))[0][0])
        raise GraphDataError(f"{what} must be finite numbers, got {table[row]} in row {row}")
    return table


# -- arcs -----------------------------------------------------------------------------------------


def _checked_ends(
    sources: ArrayLike, destinations: ArrayLike, node_offsets: Ints
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the end nodes of all edges as integers; each edge must stay within one graph."""
    u, v = _integers(sources), _integers(destinations)
    if len(u) != len(v):
        raise GraphDataError(f"got {len(u)} sources but {len(v)} destinations of edges")
    n_nodes = int(node_offsets[-1])
    graphs = np.arange(len(node_offsets) - 1, dtype=np.int32)
    graph_of_node = np.repeat(graphs, np.diff(node_offsets))
    for ends in (u, v):
        if len(ends) and not 0 <= ends.min() <= ends.max() < n_nodes:
            at = int(np.argmax((ends < 0) | (ends >= n_nodes)))
            raise GraphDataError(f"edge {at} names node {ends[at]}, which is not below {n_nodes}")
    for start in range(0, len(u), _PIECE):
        piece = slice(start, start + _PIECE)
        stray = graph_of_node[u[piece]] != graph_of_node[v[piece]]
        if stray.any():
            at = start + int(np.argmax(stray))
            a, b = graph_of_node[[u[at], v[at]]]
            raise GraphDataError(
                f"edge {at} joins node {u[at]} of graph {a} with node {v[at]} of graph {b}"
            )
    return u, v


def _integers(ends: ArrayLike) -> NDArray[Any]:
    array = np.asarray(ends)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise GraphDataError(
            f"ends of edges must be a flat list of integers, got {array.dtype} of {array.shape}"
        )
    return array if array.size else array.astype(np.int32)


def plain_arcs(u: NDArray[Any], v: NDArray[Any], n_nodes: int) -> tuple[Ints, ShortInts]:
    """Return both directions of every edge, without repeats, as offsets and neighbors."""
    shape = (n_nodes, n_nodes)
    # Booleans, so that the sum cannot overflow, however often an edge is repeated.
    there = sparse.coo_array((np.ones(len(u), dtype=np.bool_), (u, v)), shape=shape).tocsr()
    back = there.T.tocsr()  # a counting sort, in linear time
    if not (
        np.array_equal(there.indptr, back.indptr) and np.array_equal(there.indices, back.indices)
    ):
        there = there + back
        there.sort_indices()
    return there.indptr.astype(np.int64), there.indices.astype(np.int32, copy=False)


def _arcs_with_data(
    u: NDArray[Any],
    v: NDArray[Any],
    n_nodes: int,
    data: Sequence[NDArray[Any] | None],
) -> tuple[Ints, ShortInts, Ints]:
    """As `plain_arcs`; also the edge that each arc takes its data from."""
    keys = np.concatenate([u, v]).astype(np.int64) * n_nodes + np.concatenate([v, u])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    positions = order % max(len(u), 1)  # the second half are the same edges, reversed
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    edge_of_arc = positions[is_first]
    first = edge_of_arc[np.cumsum(is_first) - 1]
    for column in data:
        if column is not None and (clash := _differ(column[first], column[positions])).any():
            at = int(np.argmax(clash))
            raise ConflictingEdgesError(*sorted((int(first[at]), int(positions[at]))))
    sources, neighbors = np.divmod(keys[is_first], max(n_nodes, 1))
    arc_offsets = offsets_of(np.bincount(sources, minlength=n_nodes))
    return arc_offsets, neighbors.astype(np.int32), edge_of_arc


def _differ(some: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell row by row whether two columns or tables differ."""
    different = some != others
    return different if different.ndim == 1 else different.any(axis=1)


def _directed_arcs(
    u: NDArray[Any],
    v: NDArray[Any],
    n_nodes: int,
    data: Sequence[NDArray[Any] | None],
) -> tuple[Ints, ShortInts, Ints, NDArray[np.int8]]:
    """As `_arcs_with_data`, for edges that differ from those the other way; also the directions."""
    keys = np.concatenate([u, v]).astype(np.int64) * n_nodes + np.concatenate([v, u])
    order = np.argsort(keys, kind="stable")  # of equal keys, edges along the arc come first
    keys, is_along = keys[order], order < len(u)
    positions = order % max(len(u), 1)
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    arc = np.cumsum(is_first) - 1
    edge_of_arc = positions[is_first]
    for column in data:
        if column is None:
            continue
        clash = _differ(column[edge_of_arc[arc]], column[positions]) & is_along
        if clash.any():
            at = int(np.argmax(clash))
            first, second = int(edge_of_arc[arc[at]]), int(positions[at])
            raise ConflictingEdgesError(*sorted((first, second)))
    runs_back = np.bincount(arc[~is_along], minlength=len(edge_of_arc)) > 0
    directions = np.where(is_along[is_first], np.where(runs_back, 0, 1), -1).astype(np.int8)
    sources, neighbors = np.divmod(keys[is_first], max(n_nodes, 1))
    arc_offsets = offsets_of(np.bincount(sources, minlength=n_nodes))
    return arc_offsets, neighbors.astype(np.int32), edge_of_arc, directions


# -- joining --------------------------------------------------------------------------------------


def concatenate(datasets: Sequence[GraphDataset], name: str | None = None) -> GraphDataset:
    """Join datasets that have the same kinds of data; label and class names are merged.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(6)
    >>> concatenate([graphs[:2], graphs[2:]]).fingerprint == graphs.fingerprint
    True
    """
    if not datasets:
        raise GraphDataError("there is nothing to concatenate: the list of datasets is empty")
    _require_alike(datasets)
    node_shifts = offsets_of(np.array([d.n_nodes for d in datasets]))
    arc_shifts = offsets_of(np.array([d.n_arcs for d in datasets]))
    targets, class_names = _joined_codes(datasets, "targets", "class_names")
    node_labels, node_label_names = _joined_codes(datasets, "node_labels", "node_label_names")
    edge_labels, edge_label_names = _joined_codes(datasets, "edge_labels", "edge_label_names")
    return GraphDataset(
        name=name or datasets[0].name,
        node_offsets=_joined_offsets([d.node_offsets for d in datasets], node_shifts),
        arc_offsets=_joined_offsets([d.arc_offsets for d in datasets], arc_shifts),
        neighbors=np.concatenate(
            [d.neighbors + np.int32(s) for d, s in zip(datasets, node_shifts[:-1], strict=True)]
        ),
        targets=targets,
        class_names=class_names,
        node_labels=node_labels,
        node_label_names=node_label_names,
        node_attributes=_joined(datasets, "node_attributes"),
        edge_labels=edge_labels,
        edge_label_names=edge_label_names,
        edge_weights=_joined(datasets, "edge_weights"),
        edge_directions=_joined(datasets, "edge_directions"),
        edge_attributes=_joined(datasets, "edge_attributes"),
        graph_names=_joined(datasets, "graph_names"),
    )


def _require_alike(datasets: Sequence[GraphDataset]) -> None:
    for field in _DATA_FIELDS:
        parts = _with_any(datasets, field)
        for other in parts[1:]:
            one, two = getattr(parts[0], field), getattr(other, field)
            if (one is None) != (two is None):
                reason = f"only one of them has {field}"
            elif one is not None and one.shape[1:] != two.shape[1:]:
                reason = f"they have {one.shape[1]} and {two.shape[1]} {field}"
            else:
                continue
            raise GraphDataError(f"cannot join '{parts[0].name}' and '{other.name}': {reason}")
    if (n_nodes := sum(d.n_nodes for d in datasets)) > MAX_NODES:
        raise GraphDataError(f"a dataset holds at most {MAX_NODES} nodes, got {n_nodes}")


def _with_any(datasets: Sequence[GraphDataset], field: str) -> list[GraphDataset]:
    """Return the datasets with nodes or edges, if the field is about these."""
    if field.startswith("node_"):
        return [d for d in datasets if d.n_nodes > 0] or list(datasets)
    if field.startswith("edge_"):
        return [d for d in datasets if d.n_arcs > 0] or list(datasets)
    return list(datasets)


def _joined(datasets: Sequence[GraphDataset], field: str) -> Any:
    parts = [getattr(d, field) for d in _with_any(datasets, field)]
    return None if any(part is None for part in parts) else np.concatenate(parts)


def _joined_codes(
    datasets: Sequence[GraphDataset], field: str, names_field: str
) -> tuple[Any, tuple[str, ...]]:
    with_any = _with_any(datasets, field)
    lists = [getattr(d, names_field) for d in with_any]
    is_shared = all(names == lists[0] for names in lists)  # keep a given order of classes
    merged = lists[0] if is_shared else ordered(name for names in lists for name in names)
    parts = [
        recode(codes, names, merged)
        for d, names in zip(with_any, lists, strict=True)
        if (codes := getattr(d, field)) is not None
    ]
    return np.concatenate(parts) if parts else None, merged


def _joined_offsets(parts: Sequence[Ints], shifts: Ints) -> Ints:
    pieces = [part[:-1] + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
    return np.concatenate([*pieces, shifts[-1:]])
