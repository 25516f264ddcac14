"""Count how often each graph has each color, all levels in one sparse matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from kgnn.graphs.graph import Floats, GraphDataset, Ints, ShortInts, offsets_of
from kgnn.kernels.numbering import Colors, numbered

# Nodes counted at a time: what is sorted fits the second-level cache.
_NODES_PER_PIECE = 1 << 14
_COLUMN = np.int64((1 << 32) - 1)


class Counts(NamedTuple):
    """How often each graph has each color.

    Attributes
    ----------
    colors : list of (n_colors,) uint64
        Of each level, sorted.
    matrix : (n_graphs, n_colors of all levels) CSR of float64
        Columns are the colors of the first level, of the second, and so on.
    """

    colors: list[Colors]
    matrix: sparse.csr_array


def count_colors(graphs: GraphDataset, colorings: Iterable[Colors]) -> Counts:
    """Count colorings, each with one color per node of the graphs."""
    found: list[Colors] = []
    columns: list[ShortInts] = []  # of each node, by level
    n_columns = 0
    for coloring in colorings:
        distinct, column = numbered(coloring)
        column += np.int32(n_columns)
        n_columns += len(distinct)
        found.append(distinct)
        columns.append(column)
    return Counts(found, _count(graphs, columns, n_columns))


def _count(graphs: GraphDataset, columns: list[ShortInts], n_columns: int) -> sparse.csr_array:
    """Count the columns of each graph's nodes.

    Pairs (graph, column) are sorted as one number each; equal ones are then side by side, and what
    is left of each run is an entry of the matrix, in its place.
    """
    size = graphs.n_nodes * len(columns)
    indices, data = np.empty(size, dtype=np.int32), np.empty(size)
    lengths = np.zeros(len(graphs), dtype=np.int64)
    filled = 0
    for first, last in _runs_of_graphs(graphs):
        nodes = slice(graphs.node_offsets[first], graphs.node_offsets[last])
        graph = graphs.node_graphs[nodes].astype(np.int64) << 32
        pairs = np.concatenate([graph | column[nodes] for column in columns])
        pairs.sort()
        begins = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
        entries = pairs[begins]
        end = filled + len(entries)
        np.subtract(
            np.append(begins[1:], len(pairs)), begins, out=data[filled:end], casting="unsafe"
        )
        np.bitwise_and(entries, _COLUMN, out=indices[filled:end], casting="unsafe")
        lengths[first:last] = np.bincount((entries >> 32) - first, minlength=last - first)
        filled = end
    # Cut to size in place: a copy would hold the counts twice.
    indices.resize(filled, refcheck=False)
    data.resize(filled, refcheck=False)
    return short_csr(data, indices, offsets_of(lengths), (len(graphs), n_columns))


def short_csr(
    data: Floats, indices: ShortInts, offsets: Ints, shape: tuple[int, int]
) -> sparse.csr_array:
    """Return a CSR matrix with 32-bit indices where they suffice: half the memory.

    Much of scikit-learn takes no others.
    """
    if len(data) < np.iinfo(np.int32).max:
        indices, offsets = indices.astype(np.int32, copy=False), offsets.astype(np.int32)
    return sparse.csr_array((data, indices, offsets), shape=shape)


def _runs_of_graphs(graphs: GraphDataset) -> list[tuple[int, int]]:
    """Cut a dataset into runs of graphs ``first:last`` of bounded size that have nodes."""
    run = graphs.node_offsets[:-1] // _NODES_PER_PIECE
    cuts = [0, *(np.flatnonzero(np.diff(run)) + 1).tolist(), len(graphs)]
    return [
        (a, b)
        for a, b in zip(cuts[:-1], cuts[1:], strict=True)
        if graphs.node_offsets[a] < graphs.node_offsets[b]
    ]
