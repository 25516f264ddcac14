"""Graphs shrunk to their colors, so that message passing computes nothing twice.

After l layers, a GIN cannot tell apart two nodes with the same Weisfeiler-Lehman color of depth l:
their vectors are equal. So each graph keeps one row per *color* instead of one per node, depth by
depth. With ``M_l[c, d]`` the number of times that a node of color c (depth l) has itself or a
neighbor of color d (depth l − 1), and ``m_l[c]`` the number of nodes of color c,

    H_l = BN(MLP_l(M_l H_{l−1}), weights m_l)      pooled at depth l = Σ_c m_l[c] H_l[c]

are exactly the rows, the normalization and the sum over all nodes of plain message passing, and so
are the gradients. ARCHITECTURE.md has a picture.

Colors are kept for each graph by itself and not shared between the graphs of a batch, which would
save a little more (docs/decisions.md has the numbers). This way a batch is cut by copying: all that
belongs to a graph lies side by side.
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

from kgnn.graphs.graph import GraphDataset, Ints, ShortInts, offsets_of, ranges
from kgnn.kernels.colors import mix, refine
from kgnn.kernels.numbering import numbered
from kgnn.nn.batch import Batches, GraphBatches
from kgnn.nn.node_features import NodeFeatures
from kgnn.nn.sparse import GraphSum, Product, Weighted, Weights

# A row goes through two matrix products, which takes as long as adding some hundred rows.
_ROW = 100
# Colors carry weights and a second matrix, so that they must save something.
_LESS = 0.9


@dataclass(frozen=True)
class Packed:
    """Several lists for each graph, flat: list j of graph g is a run of ``values``.

    Attributes
    ----------
    starts, sizes : (n_lists, n_graphs) int64
    values : (n_values,)
    """

    starts: Ints
    sizes: Ints
    values: NDArray[Any]

    @classmethod
    def of(cls, lists: Sequence[NDArray[Any]], firsts: Sequence[Ints]) -> Packed:
        """Pack arrays that hold the lists of all graphs, given where each graph's begins."""
        begins = offsets_of(np.array([len(each) for each in lists]))
        starts = np.array([first[:-1] + b for first, b in zip(firsts, begins, strict=False)])
        sizes = np.array([np.diff(first) for first in firsts])
        return cls(starts, sizes, np.concatenate(lists))

    def places(self, graphs: Ints) -> Ints:
        """Return where the lists of some graphs are: list by list, and in it graph by graph."""
        return ranges(self.starts[:, graphs].ravel(), self.sizes[:, graphs].ravel())


@dataclass(frozen=True)
class ColorBatch:
    """Several graphs side by side, one row per color; see `kgnn.nn.batch.Batch`.

    Attributes
    ----------
    features : (n_colors at depth 0, d) float32
    n_nodes : int
        Of all graphs.
    counts : list of (n_colors,) float32
        Number of nodes of each color, for each depth.
    graph_offsets : list of (n_graphs + 1,) int32
        Where the colors of each graph begin, for each depth.
    products : list of Weighted
        M and its transpose, for each depth from 1 on.
    """

    features: Tensor
    n_nodes: int
    counts: list[Tensor]
    graph_offsets: list[Tensor]
    products: list[Weighted]

    def __len__(self) -> int:
        return len(self.graph_offsets[0]) - 1

    def sums(self, depth: int) -> Weighted:
        """Return what adds up, for a node of each color, it and its neighbors."""
        return self.products[depth - 1]

    def weights(self, depth: int) -> Weights:
        """Return how many nodes each color stands for."""
        return Weights(self.counts[depth], self.n_nodes)

    def graph_of_rows(self, depth: int) -> Tensor:
        """Return the graph that each color belongs to."""
        return torch.arange(len(self)).repeat_interleave(self.graph_offsets[depth].diff())

    def pool(self, x: Tensor, depth: int) -> Tensor:
        """Return the sum over the nodes of each graph."""
        sums: Tensor = GraphSum.apply(x, self.graph_offsets[depth], self.counts[depth])
        return sums


class ColorBatches:
    """Graphs shrunk to their colors, ready to be cut into batches, any rows at a time.

    Parameters
    ----------
    graphs : GraphDataset
    kinds : (n_nodes,) int
        What distinguishes nodes before the first layer.
    vectors : callable
        Kinds to the nodes' vectors.
    layers : int

    Attributes
    ----------
    counts : Packed
        For each depth, how many nodes have each color.
    kinds : Packed
        Kind of each color of depth 0.
    starts, columns : Packed
        For each depth from 1 on, M and its transpose: where the entries of each row begin, and
        columns of the entries, both counted within the graph.
    values : (n_entries,) float32
        The entries, in the order of ``columns``.
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
            counts.append(np.bincount(color, minlength=len(examples)).astype(np.float32))
            firsts.append(first)
            if depth == 0:
                self.kinds = Packed.of([kinds[examples]], [first])
            else:
                shape = (len(examples), len(counts[-2]))
                matrix = _sums(graphs, examples, before, shape)
                matrices += [(matrix, depth, depth - 1), (matrix.T.tocsr(), depth - 1, depth)]
            before = color
        self.counts = Packed.of(counts, firsts)
        starts, columns, entry_firsts = [], [], []
        for matrix, row_depth, column_depth in matrices:
            first, entry_first = firsts[row_depth], matrix.indptr[firsts[row_depth]]
            starts.append(matrix.indptr[:-1] - np.repeat(entry_first[:-1], np.diff(first)))
            shift = np.repeat(firsts[column_depth][:-1], np.diff(entry_first))
            columns.append((matrix.indices - shift).astype(np.int32))
            entry_firsts.append(entry_first.astype(np.int64))
        self.starts = Packed.of(
            [each.astype(np.int32) for each in starts], [firsts[depth] for _, depth, _ in matrices]
        )
        self.columns = Packed.of(columns, entry_firsts)
        self.values = np.concatenate([m.data for m, *_ in matrices])
        self._column_depths = [column_depth for *_, column_depth in matrices]

    @property
    def work(self) -> int:
        """What a pass over all graphs costs, in additions of rows."""
        n_rows, n_entries = self.counts.sizes[1:].sum(), self.columns.sizes[::2].sum()
        return int(_ROW * n_rows + n_entries)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, rows: Ints) -> ColorBatch:
        offsets = _offsets(self.counts.sizes[:, rows])  # (n_depths, n_graphs + 1)
        counts = torch.from_numpy(self.counts.values[self.counts.places(rows)])
        return ColorBatch(
            self.vectors(self.kinds.values[self.kinds.places(rows)]),
            int(self.sizes[rows].sum()),
            list(counts.split(offsets[:, -1].tolist())),
            list(torch.from_numpy(offsets)),
            self._products(rows, offsets),
        )

    def _products(self, rows: Ints, offsets: ShortInts) -> list[Weighted]:
        """Cut out the matrices of some graphs, as blocks along the diagonals of larger ones."""
        sizes, n_rows = self.columns.sizes[:, rows], self.starts.sizes[:, rows]
        first_entries = _offsets(sizes)
        places = self.columns.places(rows)
        columns = self.columns.values[places]
        columns += np.repeat(offsets[self._column_depths, :-1].ravel(), sizes.ravel())
        starts = self.starts.values[self.starts.places(rows)]
        starts += np.repeat(first_entries[:, :-1].ravel(), n_rows.ravel())
        n_entries = first_entries[:, -1].tolist()
        matrices = [
            Product(*parts)
            for parts in zip(
                torch.from_numpy(columns).split(n_entries),
                torch.from_numpy(starts).split(n_rows.sum(axis=1).tolist()),
                torch.from_numpy(self.values[places]).split(n_entries),
                strict=True,
            )
        ]
        return [Weighted(*matrices[i : i + 2]) for i in range(0, len(matrices), 2)]


def _offsets(sizes: Ints) -> ShortInts:
    """Return where each graph begins, for each of several lists."""
    offsets = np.zeros((len(sizes), sizes.shape[1] + 1), dtype=np.int32)
    np.cumsum(sizes, axis=1, out=offsets[:, 1:])
    return offsets


def batches_of(graphs: GraphDataset, node_features: NodeFeatures, layers: int) -> Batches:
    """Make graphs ready for a GIN: by color where that is less work, else node by node.

    Parameters
    ----------
    graphs : GraphDataset
    node_features : NodeFeatures
        Continuous attributes make all nodes different; then it is node by node.
    layers : int
        Of the GIN; 0 for a network that must see the nodes themselves.
    """
    if layers > 0 and not node_features.n_attributes and graphs.n_nodes > 0:
        shrunk = ColorBatches(graphs, node_features.kinds(graphs), node_features.vectors, layers)
        if shrunk.work < _LESS * layers * (_ROW * graphs.n_nodes + graphs.n_arcs):
            return shrunk
    return GraphBatches(graphs, node_features)


def _colors_of_graphs(
    graphs: GraphDataset, coloring: NDArray[np.uint64]
) -> tuple[Ints, Ints, Ints]:
    """Give numbers to the colors of each graph, graph after graph.

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
    matrix = sparse.csr_array(
        (np.ones(len(indices), dtype=np.float32), indices, offsets), shape=shape
    )
    matrix.sum_duplicates()
    return matrix
