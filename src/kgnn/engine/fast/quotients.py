"""Graphs shrunk to their colors, so that message passing computes nothing twice.

After l layers, a GIN cannot tell apart two nodes with the same Weisfeiler-Lehman color of depth l:
their vectors are equal. So each graph keeps one row per *color* instead of one per node, depth by
depth. With ``M_l[c, d]`` the number of times that a node of color c (depth l) has itself or a
neighbor of color d (depth l − 1), and ``m_l[c]`` the number of nodes of color c,

    H_l = BN(MLP_l(M_l H_{l−1}), weights m_l)      pooled at depth l = Σ_c m_l[c] H_l[c]

are exactly the rows, the normalization and the sum over all nodes of plain message passing, and so
are the gradients. ARCHITECTURE.md has a picture.

Each graph has its own colors. Sharing them between the graphs of a batch would save a little more
(docs/decisions.md has the numbers), but this way all that belongs to a graph is contiguous, and a
batch is assembled by copying.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from kgnn.engine.batch import Batch, Batches, GraphBatches
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.sparse import OverGraphs, Product, Weighted, Weights
from kgnn.graphs.graph import GraphDataset, Ints, ShortInts, offsets_of, ranges
from kgnn.kernels.colors import mix, numbered, refine

# A row goes through two matrix products, which take as long as adding some hundred rows.
_ROW = 100
# Colors need weights and a second matrix, so they must save some work to be worth it.
_LESS = 0.9


@dataclass(frozen=True)
class Packed:
    """Several lists for each graph, flat: list j of graph g is a run of ``values``."""

    starts: Ints  # (n_graphs, n_lists)
    sizes: Ints  # (n_graphs, n_lists)
    values: ShortInts  # (n_values,)

    @classmethod
    def of(cls, lists: Sequence[NDArray[Any]], firsts: Sequence[Ints]) -> Packed:
        """Pack arrays that hold the lists of all graphs, given where each graph's begins."""
        begins = offsets_of(np.array([len(each) for each in lists]))
        starts = np.stack(
            [first[:-1] + b for first, b in zip(firsts, begins, strict=False)], axis=1
        )
        sizes = np.stack([np.diff(first) for first in firsts], axis=1)
        return cls(starts, sizes, np.concatenate(lists, dtype=np.int32, casting="same_kind"))


@dataclass(frozen=True)
class ColorBatch(Batch):
    """Several graphs side by side, one row per color."""

    features: Tensor  # (n_colors at depth 0, d) float32
    n_nodes: int  # of all graphs
    counts: Sequence[Tensor]  # for each depth, (n_colors,) float32: nodes of each color
    graph_offsets: Sequence[Tensor]  # for each depth, (n_graphs + 1,) int32
    products: list[Weighted]  # M and its transpose, for each depth from 1 on

    def __len__(self) -> int:
        return len(self.graph_offsets[0]) - 1

    def sums(self, depth: int) -> Weighted:
        """Return the sums over a node of each color and its neighbors."""
        return self.products[depth - 1]

    def weights(self, depth: int) -> Weights:
        """Return how many nodes each color stands for."""
        return Weights(self.counts[depth], self.n_nodes)

    def graph_sums(self, depth: int) -> OverGraphs:
        """Return the sums over the nodes of each graph."""
        return OverGraphs(self.graph_offsets[depth].numpy(), self.counts[depth].numpy())


class ColorBatches:
    """Graphs shrunk to their colors, from which batches are taken, any rows at a time.

    ``kinds`` distinguish nodes before the first layer; ``vectors`` maps them to node vectors.

    Attributes
    ----------
    lists : Packed
        What each graph consists of. For each depth from 1 on, M and its transpose: columns of the
        entries, matrix by matrix, then where the entries of each row begin, both counted within
        the graph. Then, for each depth, how many nodes have each color. Last the kinds of depth 0.
    values : (n_entries,) float32
        The entries, in the order of their columns.
    """

    def __init__(
        self,
        graphs: GraphDataset,
        kinds: ShortInts,
        vectors: Callable[[ShortInts], Tensor],
        layers: int,
    ) -> None:
        self.sizes, self.vectors = graphs.graph_sizes, vectors
        counts, firsts, matrices = [], [], []
        before = np.empty(0, dtype=np.int64)  # color of each node one depth up
        for depth, coloring in enumerate(refine(graphs, mix(kinds.astype(np.uint64)), layers)):
            color, examples, first = _colors_of_graphs(graphs, coloring)
            counts.append(np.bincount(color, minlength=len(examples)))
            firsts.append(first)
            if depth == 0:
                kinds_of_colors = kinds[examples]
            else:
                shape = (len(examples), len(counts[-2]))
                matrix = _sums(graphs, examples, before, shape)
                matrices += [(matrix, depth, depth - 1), (matrix.T.tocsr(), depth - 1, depth)]
            before = color
        starts, columns, entry_firsts = [], [], []
        for matrix, row_depth, column_depth in matrices:
            first, entry_first = firsts[row_depth], matrix.indptr[firsts[row_depth]]
            starts.append(matrix.indptr[:-1] - np.repeat(entry_first[:-1], np.diff(first)))
            shift = np.repeat(firsts[column_depth][:-1], np.diff(entry_first))
            columns.append(matrix.indices - shift)
            entry_firsts.append(entry_first.astype(np.int64))
        self.lists = Packed.of(
            [*columns, *starts, *counts, kinds_of_colors],
            [*entry_firsts, *(firsts[depth] for _, depth, _ in matrices), *firsts, firsts[0]],
        )
        self.values = np.concatenate([m.data for m, *_ in matrices])
        self.layers, self._column_depths = layers, [depth for *_, depth in matrices]

    @property
    def n_rows(self) -> Ints:
        """Number of colors of each graph, for each depth, ``(n_graphs, n_depths)``."""
        return self.lists.sizes[:, 4 * self.layers : -1]

    @property
    def n_entries(self) -> Ints:
        """Number of entries of each M, ``(n_graphs, n_layers)``."""
        return self.lists.sizes[:, : 2 * self.layers : 2]

    @property
    def work(self) -> int:
        """What a pass over all graphs costs, in additions of rows."""
        return int(_ROW * self.n_rows[:, 1:].sum() + self.n_entries.sum())

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, rows: Ints) -> ColorBatch:
        n = 2 * self.layers  # matrices
        starts, sizes = (each[rows].T.copy() for each in (self.lists.starts, self.lists.sizes))
        offsets = np.zeros((len(sizes), len(rows) + 1), dtype=np.int32)
        np.cumsum(sizes, axis=1, out=offsets[:, 1:])  # where each graph begins in each list
        places = ranges(starts.ravel(), sizes.ravel())
        found = self.lists.values.take(places)
        # Matrices become blocks along the diagonals of larger ones.
        color_offsets = offsets[2 * n : -1]
        shifts = np.concatenate([color_offsets[self._column_depths, :-1], offsets[:n, :-1]])
        shifted = np.repeat(shifts.ravel(), sizes[: 2 * n].ravel())
        found[: len(shifted)] += shifted
        lengths = offsets[:, -1]
        lists = _split(found, lengths)
        values = _split(self.values.take(places[: lengths[:n].sum()]), lengths[:n])
        counts = torch.from_numpy(found[len(shifted) :].astype(np.float32))
        matrices = list(map(Product, lists[:n], lists[n : 2 * n], values))
        return ColorBatch(
            self.vectors(lists[-1]),
            int(self.sizes.take(rows).sum()),
            counts.split(lengths[2 * n :].tolist()),
            torch.from_numpy(color_offsets).unbind(),
            [Weighted(*matrices[i : i + 2]) for i in range(0, n, 2)],
        )


def _split(array: NDArray[Any], lengths: ShortInts) -> list[NDArray[Any]]:
    """Split an array into runs of the given lengths."""
    ends = lengths.cumsum().tolist()
    return [array[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def batches_of(graphs: GraphDataset, node_features: NodeFeatures, layers: int) -> Batches:
    """Prepare graphs for a GIN: by color where that is less work, else node by node.

    ``layers`` is 0 for a network that must see the nodes themselves. Continuous attributes make
    all nodes different.
    """
    if layers > 0 and not node_features.n_attributes and graphs.n_nodes > 0:
        shrunk = ColorBatches(graphs, node_features.kinds(graphs), node_features.vectors, layers)
        if shrunk.work < _LESS * layers * (_ROW * graphs.n_nodes + graphs.n_arcs):
            return shrunk
    return GraphBatches(graphs, node_features)


def _colors_of_graphs(
    graphs: GraphDataset, coloring: NDArray[np.uint64]
) -> tuple[Ints, Ints, Ints]:
    """Give each graph's colors consecutive numbers, graph after graph.

    Returns the color of each node, a node of each color, and where each graph's colors begin.
    """
    _, number = numbered(coloring)
    pairs = (graphs.node_graphs.astype(np.int64) << 32) | number
    distinct, examples, color = np.unique(pairs, return_index=True, return_inverse=True)
    sizes = np.bincount(distinct >> 32, minlength=len(graphs))
    return color, examples, offsets_of(sizes)


def _sums(
    graphs: GraphDataset, examples: Ints, before: Ints, shape: tuple[int, int]
) -> sparse.csr_array:
    """Return M: for an example of each color, its own earlier color and those of its neighbors."""
    degrees = graphs.degrees[examples]
    offsets = offsets_of(degrees + 1)
    indices = np.empty(offsets[-1], dtype=np.int32)
    indices[offsets[:-1]] = before[examples]
    around = np.ones(len(indices), dtype=np.bool_)
    around[offsets[:-1]] = False
    indices[around] = before[graphs.neighbors[ranges(graphs.arc_offsets[examples], degrees)]]
    ones = np.ones(len(indices), dtype=np.float32)
    matrix = sparse.csr_array((ones, indices, offsets), shape=shape)
    matrix.sum_duplicates()
    return matrix
