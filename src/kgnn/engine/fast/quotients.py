"""Graphs shrunk to their colors, so that message passing computes nothing twice.

After l layers, a GIN cannot tell apart two nodes with the same Weisfeiler-Lehman color of depth l:
their vectors are equal. So each graph keeps one row per *color* instead of one per node, depth by
depth. With ``M_l[c, d]`` the number of times that a node of color c (depth l) has itself or a
neighbor of color d (depth l − 1), and ``m_l[c]`` the number of nodes of color c,

    H_l = BN(MLP_l(M_l H_{l−1}), weights m_l)      pooled at depth l = Σ_c m_l[c] H_l[c]

are exactly the rows, the normalization and the sum over all nodes of plain message passing, and so
are the gradients. docs/decisions.md has a picture.

Each graph has its own colors. Sharing them between the graphs of a batch would save a little more
(docs/decisions.md has the numbers), but this way all that belongs to a graph is contiguous, and a
batch is assembled by copying.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from kgnn.engine.batch import Batch, Batches, GraphBatches
from kgnn.engine.messages import Messages, received
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
    sent: Sequence[Messages]  # into each depth from 1 on; empty if all edges are alike

    def __len__(self) -> int:
        return len(self.graph_offsets[0]) - 1

    def sums(self, depth: int) -> Weighted:
        """Return the sums over a node of each color and its neighbors."""
        return self.products[depth - 1]

    def messages(self, depth: int) -> Messages | None:
        """Return what nodes of each color send along edges of each kind."""
        return self.sent[depth - 1] if self.sent else None

    def weights(self, depth: int) -> Weights:
        """Return how many nodes each color stands for."""
        return Weights(self.counts[depth], self.n_nodes)

    def graph_sums(self, depth: int) -> OverGraphs:
        """Return the sums over the nodes of each graph."""
        return OverGraphs(self.graph_offsets[depth].numpy(), self.counts[depth].numpy())


class ColorBatches:
    """Graphs shrunk to their colors, from which batches are taken, any rows at a time.

    Where edges have kinds, rows are summed over messages (`kgnn.engine.messages`).

    Attributes
    ----------
    lists : Packed
        What each graph consists of. For each depth from 1 on, M and its transpose: columns of the
        entries, matrix by matrix, then where the entries of each row begin, both counted within
        the graph. With kinds of edges, for each depth from 1 on where the messages of each row
        begin. Then, for each depth, how many nodes have each color, and the kinds of depth 0. With
        kinds of edges, the kind of each message at the end.
    values : (n_entries,) float32
        The entries, in the order of their columns.
    """

    def __init__(self, graphs: GraphDataset, node_features: NodeFeatures, layers: int) -> None:
        self.sizes, self.layers = graphs.graph_sizes, layers
        kinds, self.vectors = _kinds_and_vectors(graphs, node_features)
        arc_kinds = node_features.arc_kinds(graphs)
        arcs = None if arc_kinds is None else mix(arc_kinds.astype(np.uint64))
        counts, firsts, matrices = [], [], []
        sent: list[Messages] = []
        sent_firsts: list[Ints] = []
        before = np.empty(0, dtype=np.int64)  # color of each node one depth up
        for depth, coloring in enumerate(
            refine(graphs, mix(kinds.astype(np.uint64)), layers, arcs)
        ):
            color, examples, first = _colors_of_graphs(graphs, coloring)
            counts.append(np.bincount(color, minlength=len(examples)))
            firsts.append(first)
            if depth == 0:
                kinds_of_colors = kinds[examples]
            else:
                column_first = firsts[-2]
                if arc_kinds is None:
                    matrix = _sums(graphs, examples, before, (len(examples), len(counts[-2])))
                else:
                    matrix, messages = received(graphs, arc_kinds, examples, before)
                    ends = np.append(messages.starts, len(messages.kinds))
                    column_first = ends[column_first].astype(np.int64)
                    sent.append(messages)
                    sent_firsts.append(column_first)
                matrices += [(matrix, first, column_first), (matrix.T.tocsr(), column_first, first)]
            before = color
        starts, columns, entry_firsts = [], [], []
        for matrix, row_first, column_first in matrices:
            entry_first = matrix.indptr[row_first]
            starts.append(matrix.indptr[:-1] - np.repeat(entry_first[:-1], np.diff(row_first)))
            shift = np.repeat(column_first[:-1], np.diff(entry_first))
            columns.append(matrix.indices - shift)
            entry_firsts.append(entry_first.astype(np.int64))
        sent_starts = [
            each.starts - np.repeat(sent_first[:-1], np.diff(first))
            for each, sent_first, first in zip(sent, sent_firsts, firsts, strict=False)
        ]
        places = [*columns, *starts, *sent_starts]
        row_firsts = [row_first for _, row_first, _ in matrices]
        place_firsts = [*entry_firsts, *row_firsts, *firsts[: len(sent)]]
        things: list[NDArray[Any]] = [*counts, kinds_of_colors, *(each.kinds for each in sent)]
        thing_firsts = [*firsts, firsts[0], *sent_firsts]
        self.lists = Packed.of([*places, *things], [*place_firsts, *thing_firsts])
        self.values = np.concatenate([matrix.data for matrix, *_ in matrices])
        self._n_sent = len(sent)
        self._counts = slice(len(places), len(places) + layers + 1)  # lists of counts
        # Which lists have one thing for each column of M: colors one depth up, or messages. The
        # columns of its transpose are colors.
        first_sent = self._counts.stop + 1
        of_columns = [(first_sent if sent else len(places)) + depth for depth in range(layers)]
        of_rows = range(len(places) + 1, len(places) + 1 + layers)
        self._column_lists = list(chain(*zip(of_columns, of_rows, strict=True)))

    @property
    def n_rows(self) -> Ints:
        """Number of colors of each graph, for each depth, ``(n_graphs, n_depths)``."""
        return self.lists.sizes[:, self._counts]

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
        shifts = [offsets[self._column_lists, :-1], offsets[:n, :-1]]
        if self._n_sent:
            shifts.append(offsets[-self._n_sent :, :-1])
        n_shifted = self._counts.start  # lists of places within a graph
        shifted = np.repeat(np.concatenate(shifts).ravel(), sizes[:n_shifted].ravel())
        found[: len(shifted)] += shifted
        lengths = offsets[:, -1]
        lists = _split(found, lengths)
        values = _split(self.values.take(places[: lengths[:n].sum()]), lengths[:n])
        counts = torch.from_numpy(found[len(shifted) :].astype(np.float32))
        matrices = list(map(Product, lists[:n], lists[n : 2 * n], values))
        return ColorBatch(
            self.vectors(lists[self._counts.stop]),
            int(self.sizes.take(rows).sum()),
            counts.split(lengths[n_shifted:].tolist()),
            torch.from_numpy(offsets[self._counts]).unbind(),
            [Weighted(*matrices[i : i + 2]) for i in range(0, n, 2)],
            list(map(Messages, lists[2 * n : n_shifted], lists[self._counts.stop + 1 :])),
        )


def _split(array: NDArray[Any], lengths: ShortInts) -> list[NDArray[Any]]:
    """Split an array into runs of the given lengths."""
    ends = lengths.cumsum().tolist()
    return [array[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def batches_of(graphs: GraphDataset, node_features: NodeFeatures, layers: int) -> Batches:
    """Prepare graphs for a GIN: by color where that is less work, else node by node.

    ``layers`` is 0 for a network that must see the nodes themselves. Nodes with different
    attributes have different colors.
    """
    if layers == 0 or graphs.n_nodes == 0:
        return GraphBatches(graphs, node_features)
    shrunk = ColorBatches(graphs, node_features, layers)
    plain_work = layers * (_ROW * graphs.n_nodes + graphs.n_arcs)
    # Messages are found once for all batches, so colors pay even if all nodes differ.
    if node_features.n_edge_kinds or shrunk.work < _LESS * plain_work:
        return shrunk
    return GraphBatches(graphs, node_features)


def _kinds_and_vectors(
    graphs: GraphDataset, node_features: NodeFeatures
) -> tuple[ShortInts, Callable[[ShortInts], Tensor]]:
    """Return what distinguishes nodes before the first layer, and what becomes of it."""
    if not node_features.n_attributes:
        return node_features.kinds(graphs), node_features.vectors
    vectors = node_features(graphs)
    distinct, kinds = np.unique(vectors.numpy(), axis=0, return_inverse=True)
    table = torch.from_numpy(distinct)
    return kinds.astype(np.int32), lambda some: table[torch.from_numpy(some)]


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
