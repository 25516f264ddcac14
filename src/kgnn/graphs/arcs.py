"""Edges as they come → the sorted arcs of a packed dataset."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kgnn.errors import GraphDataError
from kgnn.graphs.graph import Floats, Ints, ShortInts, offsets_of

# Edges that are checked at a time: few enough to stay within the processor's cache.
_PIECE = 1 << 18


class EdgeError(GraphDataError):
    """An edge that cannot be; ``position`` counts from 0, for readers to turn into a line."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"edge {position} {reason}")
        self.position, self.reason = position, reason


class ConflictingEdgesError(EdgeError):
    """One edge was given twice with different labels or weights: ``first``, then ``position``."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(second, f"repeats edge {first} with another label or weight")
        self.first = first


def checked_ends(
    sources: ArrayLike, destinations: ArrayLike, node_offsets: Ints
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the end nodes of all edges as integers, each edge within one graph."""
    u, v = _integers(sources), _integers(destinations)
    if len(u) != len(v):
        raise GraphDataError(f"got {len(u)} sources but {len(v)} destinations of edges")
    n_nodes = int(node_offsets[-1])
    graphs = np.arange(len(node_offsets) - 1, dtype=np.int32)
    graph_of_node = np.repeat(graphs, np.diff(node_offsets))
    for ends in (u, v):
        if len(ends) and not 0 <= ends.min() <= ends.max() < n_nodes:
            at = int(np.argmax((ends < 0) | (ends >= n_nodes)))
            raise EdgeError(at, f"names node {ends[at]}, which is not below {n_nodes}")
    for start in range(0, len(u), _PIECE):
        piece = slice(start, start + _PIECE)
        stray = graph_of_node[u[piece]] != graph_of_node[v[piece]]
        if stray.any():
            at = start + int(np.argmax(stray))
            a, b = graph_of_node[[u[at], v[at]]]
            raise EdgeError(at, f"joins node {u[at]} of graph {a} with node {v[at]} of graph {b}")
    return u, v


def _integers(ends: ArrayLike) -> NDArray[Any]:
    array = np.asarray(ends)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise GraphDataError(
            f"ends of edges must be a flat list of integers, got {array.dtype} of {array.shape}"
        )
    return array if array.size else array.astype(np.int32)


def plain_arcs(u: NDArray[Any], v: NDArray[Any], n_nodes: int) -> tuple[Ints, ShortInts]:
    """Both directions of every edge, without repeats, as offsets and neighbors."""
    shape = (n_nodes, n_nodes)
    # Truth values: adding them up cannot overflow, however often an edge is repeated.
    there = sparse.coo_array((np.ones(len(u), dtype=np.bool_), (u, v)), shape=shape).tocsr()
    back = there.T.tocsr()  # transposing sorts by counting, in linear time
    if not (
        np.array_equal(there.indptr, back.indptr) and np.array_equal(there.indices, back.indices)
    ):
        there = there + back
        there.sort_indices()
    return there.indptr.astype(np.int64), there.indices.astype(np.int32, copy=False)


def arcs_with_data(
    u: NDArray[Any],
    v: NDArray[Any],
    n_nodes: int,
    edge_codes: ShortInts | None,
    weights: Floats | None,
) -> tuple[Ints, ShortInts, Ints]:
    """As `plain_arcs`; also the position of each arc in the input, to fetch its data from."""
    keys = np.concatenate([u, v]).astype(np.int64) * n_nodes + np.concatenate([v, u])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    positions = order % max(len(u), 1)  # the second half are the same edges, turned round
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    edge_of_arc = positions[is_first]
    _refuse_conflicts(edge_of_arc[np.cumsum(is_first) - 1], positions, edge_codes, weights)
    sources, neighbors = np.divmod(keys[is_first], max(n_nodes, 1))
    arc_offsets = offsets_of(np.bincount(sources, minlength=n_nodes))
    return arc_offsets, neighbors.astype(np.int32), edge_of_arc


def _refuse_conflicts(first: Ints, second: Ints, *columns: NDArray[Any] | None) -> None:
    for column in columns:
        if column is not None and (clash := column[first] != column[second]).any():
            at = int(np.argmax(clash))
            raise ConflictingEdgesError(*sorted((int(first[at]), int(second[at]))))
