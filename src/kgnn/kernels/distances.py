"""Distances between all nodes of each graph: breadth-first searches side by side, on bit sets.

One row per source node holds its *ball*, the set of nodes that it has reached, as bits. The ball
of radius d + 1 is the union of the neighbors' balls of radius d, and what is new in it is at
distance d + 1. Three facts save most of the work, and all are exact:

- *Leaves.* Leaves of one post that look alike are at the same distances from everything but each
  other, so one source stands for all of them, and a post needs none of them to get on. (Other twins
  are too rare, or in cliques where the last fact saves more.)
- *The end is known.* A source that has reached its whole component is done.
- *The end spreads.* If a neighbor of v was done at distance d, then v is done at d + 1 with all
  that is left, and no union is needed. An ego network, where one node is next to all others, needs
  no union at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from kgnn.graphs.graph import GraphDataset, Ints, offsets_of, ranges

Sets = NDArray[np.uint64]  # one row of words per set

# Words of one piece, 2 MiB: sets stay near the cache, and calls of numpy are few.
_WORDS_PER_PIECE = 1 << 18
# Fewer rows than these are united one by one: a single hub must not make a thousand steps.
_FEW_ROWS = 8


class Level(NamedTuple):
    """Which nodes are at one distance from some sources."""

    distance: int
    sources: Ints  # as numbered in the dataset
    weights: Ints  # how many nodes each source stands for, itself included
    sizes: Ints  # how many nodes are at this distance from each source
    reached: Sets  # these nodes: bit i of a row is the i-th node of the source's graph


def pieces(graphs: GraphDataset) -> Iterator[tuple[Ints, GraphDataset]]:
    """Cut a dataset into pieces of graphs of similar size; yield their rows and the graphs.

    All sets of a piece have as many words as its largest graph needs. Empty graphs are left out.
    """
    bare = replace(graphs.without_edge_data(), node_attributes=None, graph_names=None)
    order = np.argsort(graphs.graph_sizes, kind="stable")
    order = order[graphs.graph_sizes[order] > 0]
    sizes = graphs.graph_sizes[order]
    n_words = -(-sizes // 64)
    width = np.ceil(4 * np.log2(n_words))  # widths that are called equal differ by a fifth
    piece = np.cumsum(sizes * n_words) // _WORDS_PER_PIECE
    cuts = np.flatnonzero((np.diff(width) != 0) | (np.diff(piece) != 0)) + 1
    for rows in np.split(order, cuts):
        if len(rows):
            yield rows, bare[rows]


def levels(graphs: GraphDataset, max_distance: int | None = None) -> Iterator[Level]:
    """Yield the nodes at distance 1, 2, … from every node; self loops are ignored.

    A source stands only for nodes of its own label. Memory grows with the number of nodes times
    the size of the largest graph, so a large dataset is first cut into `pieces`.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> star = pack("star", [4], [0, 0, 0], [1, 2, 3])
    >>> for level in levels(star):
    ...     print(level.distance, level.sources, level.weights, level.sizes)
    1 [0 1] [1 3] [3 1]
    2 [1] [3] [2]
    """
    arcs = _arcs(graphs)
    sources, weights = _sources(graphs, arcs)
    around, reached = _first_level(graphs, arcs, sources)
    rows, sizes = np.arange(len(sources)), set_sizes(reached)
    balls = reached | node_sets(graphs, rows, sources, len(sources))
    missing = _component_sizes(graphs)[sources] - 1 - sizes
    yield Level(1, sources, weights, sizes, reached)

    distance, farthest = 1, int(graphs.graph_sizes.max(initial=0)) - 1
    if max_distance is not None:
        farthest = min(farthest, max_distance)
    ended, active = np.flatnonzero(missing == 0), np.flatnonzero(missing)
    whole = np.full(len(sources), -1)  # a row whose ball is the whole component, where one is near
    whole[ended] = ended
    active = active[np.argsort(-around.degrees[active], kind="stable")]  # as _unions wants them
    while len(active) and distance < farthest:
        distance += 1
        whole[around.of(ended)] = np.repeat(whole[ended], around.degrees[ended])
        ends = whole[active] >= 0
        ending, growing = active[ends], active[~ends]
        rows = np.concatenate([ending, growing])
        before = balls.take(rows, axis=0)
        after = np.empty_like(before)
        after[: len(ending)] = balls.take(whole[ending], axis=0)
        after[len(ending) :] = _unions(balls, around, growing)
        after |= before  # other leaves of a post are in no neighbor's ball
        balls[growing] = after[len(ending) :]
        reached = np.bitwise_xor(before, after, out=before)
        sizes = set_sizes(reached)
        yield Level(distance, sources[rows], weights[rows], sizes, reached)
        missing[rows] -= sizes
        is_done = missing[growing] == 0
        whole[growing[is_done]] = growing[is_done]
        ended, active = np.concatenate([ending, growing[is_done]]), growing[~is_done]


def set_sizes(sets: Sets) -> Ints:
    """Count the members of each set."""
    counts = np.bitwise_count(sets).astype(np.int32)
    return np.einsum("ij->i", counts).astype(np.int64)  # several times faster than sum(axis=1)


def node_sets(graphs: GraphDataset, rows: Ints, nodes: Ints, n_rows: int) -> Sets:
    """Return sets of nodes, given as pairs of a row and a node of its graph, each pair once.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> node_sets(pack("two graphs", [2, 3], [], []), np.array([0, 0, 1]), np.array([2, 4, 1]), 2)
    array([[5],
           [2]], dtype=uint64)
    """
    n_words = max(1, -(-int(graphs.graph_sizes.max(initial=0)) // 64))
    places = np.arange(graphs.n_nodes) - np.repeat(graphs.node_offsets[:-1], graphs.graph_sizes)
    place = places[nodes]
    sets = np.zeros(n_rows * n_words, dtype=np.uint64)
    # Bits that differ add up to their union.
    np.add.at(sets, rows * n_words + (place >> 6), np.uint64(1) << (place & 63).astype(np.uint64))
    return sets.reshape(n_rows, n_words)


class _Neighbors(NamedTuple):
    """Neighbors of each row that are rows themselves."""

    starts: Ints
    degrees: Ints
    neighbors: Ints

    def of(self, rows: Ints) -> Ints:
        return self.neighbors[ranges(self.starts[rows], self.degrees[rows])]


def _first_level(
    graphs: GraphDataset, arcs: tuple[Ints, Ints], sources: Ints
) -> tuple[_Neighbors, Sets]:
    """Return the neighbors of each source, as rows and as sets; the sets have all of them."""
    row_of = np.full(graphs.n_nodes, -1)
    row_of[sources] = np.arange(len(sources))
    first, second = row_of[arcs[0]], row_of[arcs[1]]
    kept = first >= 0
    reached = node_sets(graphs, first[kept], arcs[1][kept], len(sources))
    kept &= second >= 0
    degrees = np.bincount(first[kept], minlength=len(sources))
    return _Neighbors(offsets_of(degrees)[:-1], degrees, second[kept]), reached


def _unions(sets: Sets, around: _Neighbors, rows: Ints) -> Sets:
    """Unite the sets of each row's neighbors; rows come by decreasing number of neighbors.

    All first neighbors, then all second ones, and so on: `reduceat` takes three times as long.
    """
    starts, degrees = around.starts[rows], around.degrees[rows]
    united = sets.take(around.neighbors[starts], axis=0)
    slot, n_rows = 1, int(np.searchsorted(-degrees, -1))  # rows that have this neighbor
    while n_rows >= _FEW_ROWS:
        united[:n_rows] |= sets.take(around.neighbors[starts[:n_rows] + slot], axis=0)
        slot += 1
        n_rows = int(np.searchsorted(-degrees, -slot))
    for row, start, degree in zip(range(n_rows), starts.tolist(), degrees.tolist(), strict=False):
        others = around.neighbors[start + slot : start + degree]
        united[row] |= np.bitwise_or.reduce(sets.take(others, axis=0), axis=0)
    return united


def _arcs(graphs: GraphDataset) -> tuple[Ints, Ints]:
    """Return both ends of every arc that is no self loop."""
    first = graphs.arc_sources.astype(np.int64)
    kept = first != graphs.neighbors
    return first[kept], graphs.neighbors[kept].astype(np.int64)


def _sources(graphs: GraphDataset, arcs: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Return the nodes to search from, one of alike leaves, and how many each stands for."""
    degrees = np.bincount(arcs[0], minlength=graphs.n_nodes)
    is_leaf = degrees[arcs[0]] == 1
    leaves, posts = arcs[0][is_leaf], arcs[1][is_leaf]
    if graphs.node_labels is not None:
        posts = posts * len(graphs.node_label_names) + graphs.node_labels[leaves]
    _, first, count = np.unique(posts, return_index=True, return_counts=True)
    weights = (degrees != 1).astype(np.int64)
    weights[leaves[first]] = count
    sources = np.flatnonzero(weights)
    return sources, weights[sources]


def _component_sizes(graphs: GraphDataset) -> Ints:
    """Return the number of nodes in each node's connected component."""
    ones = np.ones(graphs.n_arcs)
    matrix = sparse.csr_array(
        (ones, graphs.neighbors, graphs.arc_offsets), shape=(graphs.n_nodes, graphs.n_nodes)
    )
    # Arcs come in pairs: strong components are components, found without a transposed copy.
    _, component = csgraph.connected_components(matrix, directed=True, connection="strong")
    return np.bincount(component)[component]
