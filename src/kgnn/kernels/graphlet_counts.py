"""How many induced subgraphs of three and of four nodes a graph has, up to isomorphism, exactly.

A *pattern* is a number whose bits say which pairs of k nodes are joined, in the order (0, 1),
(0, 2), …, (k − 2, k − 1). Patterns that a renumbering of the nodes turns into each other form a
*class*: 4 classes of three nodes, 11 of four, 34 of five. Classes are numbered by their number of
edges, and among equals by their smallest pattern.

Nothing is enumerated but triangles, four-cycles and four-cliques; all else follows from degrees.
Where triangles are all that is wanted, sets of neighbors, as bits, are intersected instead.
First the patterns are counted as *subgraphs*, edges beyond the pattern allowed; how often a pattern
lies in each induced class is a fixed triangular matrix, whose inverse turns one kind of count into
the other.

To find each cycle once, nodes are ranked by degree, and a path v–u–w is followed only while u and w
rank below v: hubs are not walked through, so that forests and stars cost next to nothing (Chiba and
Nishizeki, *Arboricity and subgraph listing algorithms*, SIAM J. Comput. 1985).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgnn.graphs.graph import Floats, GraphDataset, Ints, offsets_of, ranges
from kgnn.kernels.distances import node_sets, pieces, set_sizes

SIZES = (3, 4, 5)
# Paths followed at a time.
_PATHS_AT_ONCE = 1 << 21
# Nodes up to which triangles are counted by sets of neighbors, and up to which they may be: such
# sets take a bit for each pair of nodes.
_SMALL, _LARGEST_SETS = 1 << 12, 1 << 16
# A path costs about as much as so many words of two sets; words that fit the second-level cache.
_WORDS_PER_PATH, _WORDS_AT_ONCE = 64, 1 << 16
# Edge patterns of four nodes by name, as pairs of nodes.
_FOUR = {
    "empty": (),
    "edge": ((0, 1),),
    "two edges": ((0, 1), (2, 3)),
    "wedge": ((0, 1), (0, 2)),
    "triangle": ((0, 1), (0, 2), (1, 2)),
    "star": ((0, 1), (0, 2), (0, 3)),
    "path": ((0, 1), (1, 2), (2, 3)),
    "paw": ((0, 1), (0, 2), (1, 2), (0, 3)),
    "cycle": ((0, 1), (1, 2), (2, 3), (0, 3)),
    "diamond": ((0, 1), (0, 2), (0, 3), (1, 2), (2, 3)),
    "clique": ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)),
}
_THREE = {
    "empty": (),
    "edge": ((0, 1),),
    "wedge": ((0, 1), (0, 2)),
    "triangle": ((0, 1), (0, 2), (1, 2)),
}


def pairs(size: int) -> list[tuple[int, int]]:
    """Return the pairs of nodes in the order of a pattern's bits."""
    return list(combinations(range(size), 2))


@cache
def classes(size: int) -> NDArray[np.int8]:
    """Return the class of every pattern.

    Examples
    --------
    >>> classes(3).tolist()
    [0, 1, 1, 2, 1, 2, 2, 3]
    """
    canonical = _canonical(size)
    n_edges = np.bitwise_count(canonical.astype(np.uint64)).astype(np.int64)
    _, number = np.unique(n_edges * len(canonical) + canonical, return_inverse=True)
    number = number.astype(np.int8)
    number.setflags(write=False)
    return number


def n_classes(size: int) -> int:
    """Return the number of classes.

    Examples
    --------
    >>> [n_classes(size) for size in SIZES]
    [4, 11, 34]
    """
    return int(classes(size).max()) + 1


@cache
def representatives(size: int) -> tuple[int, ...]:
    """Return the smallest pattern of every class."""
    return tuple(np.unique(classes(size), return_index=True)[1].tolist())


def is_connected(size: int, pattern: int) -> bool:
    """Tell whether the graph is connected."""
    joined = [pair for bit, pair in enumerate(pairs(size)) if pattern >> bit & 1]
    reached = {0}
    for _ in range(size):
        reached |= {v for pair in joined if reached & set(pair) for v in pair}
    return len(reached) == size


def _canonical(size: int) -> NDArray[np.int64]:
    """Return the smallest pattern that each pattern can be renumbered to."""
    patterns = np.arange(1 << len(pairs(size)))
    bit_of = {pair: bit for bit, pair in enumerate(pairs(size))}
    smallest = patterns.copy()
    for order in permutations(range(size)):
        renumbered = np.zeros_like(patterns)
        for bit, (a, b) in enumerate(pairs(size)):
            target = bit_of[min(order[a], order[b]), max(order[a], order[b])]
            renumbered |= (patterns >> bit & 1) << target
        np.minimum(smallest, renumbered, out=smallest)
    return smallest


def count_three(graphs: GraphDataset) -> Floats:
    """Return the numbers of induced subgraphs of three nodes, ``(n_graphs, 4)``.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> path = pack("path", [4], [0, 1, 2], [1, 2, 3])
    >>> count_three(path).tolist()
    [[0.0, 2.0, 2.0, 0.0]]
    """
    n = graphs.graph_sizes.astype(np.float64)
    loops = graphs.neighbors[graphs.neighbors == graphs.arc_sources]
    degrees = graphs.degrees - np.bincount(loops, minlength=graphs.n_nodes)

    def sums(amounts: Ints) -> Ints:
        return np.diff(offsets_of(amounts)[graphs.node_offsets])

    return _induced(
        3,
        {
            "empty": n * (n - 1) * (n - 2) / 6,
            "edge": sums(degrees) / 2 * (n - 2),
            "wedge": sums(degrees * (degrees - 1) // 2).astype(np.float64),
            "triangle": count_triangles(graphs),
        },
    )


def count_triangles(graphs: GraphDataset) -> Floats:
    """Return the number of triangles of each graph.

    As bit sets, the neighbors of a node are a word for 64 nodes of the graph, so in all but large
    sparse graphs it costs less to intersect two sets than to follow paths.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> count_triangles(pack("bow tie", [5], [0, 0, 1, 2, 2, 3], [1, 2, 2, 3, 4, 4])).tolist()
    [2.0]
    """
    found, by_sets = np.zeros(len(graphs)), graphs.graph_sizes <= _SMALL
    rows = np.flatnonzero(~by_sets)
    if len(rows):
        ranked = _Ranked(graphs[rows])
        words = graphs.edge_counts[rows] * (graphs.graph_sizes[rows] / 64)
        is_dense = ranked.n_paths() * _WORDS_PER_PATH > words
        by_sets[rows] = is_dense & (graphs.graph_sizes[rows] <= _LARGEST_SETS)
        rows = np.flatnonzero(~by_sets)
        found[rows] = _Ranked(graphs[rows]).triangles()
    rows = np.flatnonzero(by_sets)
    for places, part in pieces(graphs[rows] if len(rows) < len(graphs) else graphs):
        found[rows[places]] = _triangles_by_sets(part)
    return found


def _triangles_by_sets(graphs: GraphDataset) -> Floats:
    """Count triangles u > v > w: w is in the sets of lower neighbors of both u and v."""
    sources = graphs.arc_sources
    down = graphs.neighbors < sources
    u, v = sources[down].astype(np.int64), graphs.neighbors[down].astype(np.int64)
    lower = node_sets(graphs, u, v, graphs.n_nodes)
    closable = np.bincount(u, minlength=graphs.n_nodes)[v] > 0
    u, v = u[closable], v[closable]
    step = max(1, _WORDS_AT_ONCE // lower.shape[1])
    shared = np.zeros(len(u), dtype=np.int64)
    for first in range(0, len(u), step):
        some = slice(first, first + step)
        shared[some] = set_sizes(lower.take(u[some], axis=0) & lower.take(v[some], axis=0))
    return np.bincount(graphs.node_graphs[u], shared, len(graphs)).astype(np.float64)


def count_four(graphs: GraphDataset) -> Floats:
    """Return the numbers of induced subgraphs of four nodes, ``(n_graphs, 11)``."""
    return _Ranked(graphs).four()


def work_of_four(graphs: GraphDataset) -> Floats:
    """Return a bound of how many paths and pairs of triangles are looked at in each graph."""
    ranked = _Ranked(graphs)
    n_below = np.bincount(ranked.upper, minlength=ranked.n_nodes)[ranked.lower]
    return ranked.n_paths() + ranked.sums(ranked.upper, n_below * (n_below - 1) // 2)


class _Ranked:
    """Graphs whose nodes are numbered by degree within each graph, without self loops.

    ``upper`` and ``lower`` are the ends of each edge, sorted; ``n_beyond`` says for each edge how
    many neighbors of its lower end rank below its upper end.
    """

    def __init__(self, graphs: GraphDataset) -> None:
        self.n_nodes = graphs.n_nodes
        self.graph_of = graphs.node_graphs.astype(np.int64)
        self.sizes = graphs.graph_sizes.astype(np.float64)
        sources = graphs.arc_sources
        proper = sources != graphs.neighbors
        sources, neighbors = sources[proper], graphs.neighbors[proper].astype(np.int64)
        degrees = np.bincount(sources, minlength=self.n_nodes)
        order = np.lexsort((degrees, self.graph_of))
        rank = np.empty(self.n_nodes, dtype=np.int64)
        rank[order] = np.arange(self.n_nodes)
        self.degrees = degrees[order]
        arcs = np.sort(self._key(rank[sources], rank[neighbors]))
        tails, self.heads = np.divmod(arcs, max(1, self.n_nodes))
        self.offsets = offsets_of(self.degrees)
        down = self.heads < tails
        self.upper, self.lower = tails[down], self.heads[down]
        self.edges = arcs[down]
        # In the sorted list of the lower end's neighbors, those below the upper end come before it.
        way_back = np.searchsorted(arcs, self._key(self.lower, self.upper))
        self.n_beyond = way_back - self.offsets[self.lower]

    def n_paths(self) -> Floats:
        """Return the number of paths v–u–w with u and w below v, by graph."""
        return self.sums(self.upper, self.n_beyond)

    def sums(self, nodes: Ints, amounts: NDArray[Any]) -> Floats:
        """Add up amounts that belong to nodes, by graph."""
        graph = self.graph_of[nodes]
        return np.asarray(np.bincount(graph, amounts, len(self.sizes)), dtype=np.float64)

    def triangles(self) -> Floats:
        """Return the number of triangles, by graph."""
        numbers = [self.sums(v, np.ones(len(v))) for v, *_ in self._triangles()]
        return np.asarray(np.sum(numbers, axis=0))

    def four(self) -> Floats:
        """Return induced counts of four nodes."""
        n, d, every = self.sizes, self.degrees.astype(np.float64), np.arange(self.n_nodes)
        edges = self.sums(self.upper, np.ones(len(self.upper)))
        wedges = self.sums(every, d * (d - 1) / 2)
        triangles, cycles, cliques = np.zeros_like(n), np.zeros_like(n), np.zeros_like(n)
        by_node, by_edge = np.zeros(self.n_nodes), np.zeros(len(self.edges))
        for v, w, u, tops, repeats in self._triangles():
            triangles += self.sums(v, np.ones(len(v)))
            cycles += self.sums(tops, repeats * (repeats - 1) / 2)
            cliques += self._cliques(v, w, u)
            for a, b in ((v, w), (v, u), (w, u)):
                edge = np.searchsorted(self.edges, self._key(a, b))
                by_edge += np.bincount(edge, minlength=len(self.edges))
            for node in (v, w, u):
                by_node += np.bincount(node, minlength=self.n_nodes)
        through = (d[self.upper] - 1) * (d[self.lower] - 1)
        return _induced(
            4,
            {
                "empty": n * (n - 1) * (n - 2) * (n - 3) / 24,
                "edge": edges * (n - 2) * (n - 3) / 2,
                "two edges": edges * (edges - 1) / 2 - wedges,
                "wedge": wedges * (n - 3),
                "triangle": triangles * (n - 3),
                "star": self.sums(every, d * (d - 1) * (d - 2) / 6),
                "path": self.sums(self.upper, through) - 3 * triangles,
                "paw": self.sums(every, by_node * (d - 2)),
                "cycle": cycles,
                "diamond": self.sums(self.upper, by_edge * (by_edge - 1) / 2),
                "clique": cliques,
            },
        )

    def _key(self, a: Ints, b: Ints) -> Ints:
        return a * self.n_nodes + b

    def _triangles(self) -> Iterator[tuple[Ints, Ints, Ints, Ints, Ints]]:
        """Yield triangles ``v > w > u``, and how many paths lead from each v to each end.

        Two paths from v to the same end make a cycle of four; v ranks highest in it. All paths of
        one v come in one piece.
        """
        run = offsets_of(self.n_beyond)[:-1] // _PATHS_AT_ONCE
        run = run[np.searchsorted(self.upper, self.upper)]  # the run in which its v begins
        for part in np.split(np.arange(len(run)), np.flatnonzero(np.diff(run)) + 1):
            v = np.repeat(self.upper[part], self.n_beyond[part])
            u = np.repeat(self.lower[part], self.n_beyond[part])
            w = self.heads[ranges(self.offsets[self.lower[part]], self.n_beyond[part])]
            order = np.argsort(self._key(v, w), kind="stable")
            v, u, w = v[order], u[order], w[order]
            ends, first, repeats = np.unique(self._key(v, w), return_index=True, return_counts=True)
            place = np.minimum(np.searchsorted(self.edges, ends), max(0, len(self.edges) - 1))
            closed = np.repeat(self.edges[place] == ends, repeats) & (u < w)
            yield v[closed], w[closed], u[closed], v[first], repeats

    def _cliques(self, v: Ints, w: Ints, u: Ints) -> Floats:
        """Count pairs of triangles on one edge (v, w) whose third nodes are joined."""
        starts = np.flatnonzero(np.append(True, self._key(v, w)[1:] != self._key(v, w)[:-1]))
        lengths = np.diff(np.append(starts, len(v)))
        place = np.arange(len(v)) - np.repeat(starts, lengths)
        one = np.repeat(np.arange(len(v)), place)
        other = ranges(np.repeat(starts, lengths), place)
        low, high = np.minimum(u[one], u[other]), np.maximum(u[one], u[other])
        pairs_of_thirds = self._key(high, low)
        found = np.searchsorted(self.edges, pairs_of_thirds)
        joined = self.edges[np.minimum(found, max(0, len(self.edges) - 1))] == pairs_of_thirds
        return self.sums(v[one], joined)


def _induced(size: int, subgraphs: dict[str, Floats]) -> Floats:
    """Turn counts of subgraphs into counts of induced ones, by class."""
    names = _THREE if size == 3 else _FOUR
    counts = np.column_stack([subgraphs[name] for name in names])
    order, inverse = _to_induced(size)
    return np.asarray(np.rint(counts @ inverse.T)[:, order] + 0.0)


@cache
def _to_induced(size: int) -> tuple[Ints, Floats]:
    """Return the class order of the named patterns, and the matrix from subgraph counts."""
    bit_of = {pair: bit for bit, pair in enumerate(pairs(size))}
    patterns = [
        sum(1 << bit_of[pair] for pair in edges)
        for edges in (_THREE if size == 3 else _FOUR).values()
    ]
    contained = np.zeros((len(patterns), len(patterns)))  # named pattern in named induced graph
    for column, whole in enumerate(patterns):
        for row, part in enumerate(patterns):
            contained[row, column] = _n_copies(size, part, whole)
    number = classes(size)[patterns]
    return np.argsort(number), np.asarray(np.linalg.inv(contained), dtype=np.float64)


def _n_copies(size: int, part: int, whole: int) -> int:
    """Return how many distinct renumberings of a pattern lie within another."""
    bit_of = {pair: bit for bit, pair in enumerate(pairs(size))}
    copies = set()
    for order in permutations(range(size)):
        copy = 0
        for bit, (a, b) in enumerate(pairs(size)):
            if part >> bit & 1:
                copy |= 1 << bit_of[min(order[a], order[b]), max(order[a], order[b])]
        if copy & whole == copy:
            copies.add(copy)
    return len(copies)
