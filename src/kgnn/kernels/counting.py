"""Count how often each graph has each color: one sort per depth, in pieces that fit the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kgnn.graphs.graph import Floats, GraphDataset, Ints, ShortInts
from kgnn.kernels.colors import Colors

# Nodes counted at a time. Colors are content hashes, so that pieces can be counted apart; joining
# them costs a sort, which pays from a few pieces on.
_NODES_PER_PIECE = 1 << 16
_PIECES_THAT_PAY = 8


@dataclass
class Level:
    """The colors of one depth, and how often each graph has each of them.

    Attributes
    ----------
    colors : (n_colors,) uint64
        Sorted.
    offsets : (n_graphs + 1,) int64
        Where the entries of each graph begin.
    columns : (n_entries,) int32
        Positions in ``colors``, increasing within a graph.
    counts : (n_entries,) float64
    """

    colors: Colors
    offsets: Ints
    columns: ShortInts
    counts: Floats

    @property
    def rows(self) -> ShortInts:
        """Graph of each entry."""
        graphs = np.arange(len(self.offsets) - 1, dtype=np.int32)
        return np.repeat(graphs, np.diff(self.offsets))


def count_colors(
    graphs: GraphDataset, colorings: Callable[[GraphDataset], Iterable[Colors]]
) -> list[Level]:
    """Count every coloring that ``colorings`` gives for a piece of the graphs."""
    pieces = [
        [_count(piece, coloring) for coloring in colorings(piece)] for piece in _pieces(graphs)
    ]
    return [_joined(list(levels)) for levels in zip(*pieces, strict=True)]


def _pieces(graphs: GraphDataset) -> Iterator[GraphDataset]:
    """Cut a dataset into runs of graphs with a bounded number of nodes."""
    if graphs.n_nodes <= _NODES_PER_PIECE * _PIECES_THAT_PAY:
        yield graphs
        return
    run = graphs.node_offsets[:-1] // _NODES_PER_PIECE
    cuts = [0, *(np.flatnonzero(np.diff(run)) + 1).tolist(), len(graphs)]
    yield from (graphs[a:b] for a, b in zip(cuts[:-1], cuts[1:], strict=True))


def _count(graphs: GraphDataset, at_depth: Colors) -> Level:
    """Count the colors of one depth.

    Sorted by color, the nodes become entries (graph, column) in column order; turning them into
    rows is a counting sort that keeps that order, so that equal entries end up side by side.
    """
    order = np.argsort(at_depth)
    distinct, columns = _numbered(at_depth[order])
    entries = (np.ones(len(order)), (graphs.node_graphs[order], columns))
    counted = sparse.coo_array(entries, shape=(len(graphs), len(distinct))).tocsr()
    return Level(distinct, counted.indptr.astype(np.int64), counted.indices, counted.data)


def _joined(levels: list[Level]) -> Level:
    """Merge the levels of consecutive pieces, one list of colors for all."""
    if len(levels) == 1:
        return levels[0]
    listed = np.concatenate([level.colors for level in levels])
    order = np.argsort(listed)
    distinct, columns = _numbered(listed[order])
    position = np.empty(len(listed), dtype=np.int32)
    position[order] = columns
    shifts = np.cumsum([0] + [len(level.colors) for level in levels])
    ends = np.cumsum([0] + [len(level.columns) for level in levels])
    return Level(
        distinct,
        np.concatenate(
            [level.offsets[:-1] + end for level, end in zip(levels, ends, strict=False)]
            + [ends[-1:]]
        ),
        np.concatenate(
            [position[s:][level.columns] for level, s in zip(levels, shifts, strict=False)]
        ),
        np.concatenate([level.counts for level in levels]),
    )


def _numbered(ordered: Colors) -> tuple[Colors, ShortInts]:
    """Return the distinct ones of sorted values, and for each value its position among them."""
    is_new = np.empty(len(ordered), dtype=np.bool_)
    is_new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    position = np.cumsum(is_new, dtype=np.int32)
    position -= 1
    return ordered[is_new], position
