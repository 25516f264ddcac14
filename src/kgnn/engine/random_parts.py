"""Random parts of many graphs at once: subsets, pairs without an edge, connected sets."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from kgnn.graphs.graph import GraphDataset, Ints, ShortInts, offsets_of, ranges


def choose(sizes: Ints, counts: Ints, rng: np.random.Generator) -> Ints:
    """Choose ``counts[g]`` of the ``sizes[g]`` items of each graph, all subsets equally likely.

    Items are numbered through over all graphs; the chosen ones come sorted. Items are drawn until
    enough are distinct, which takes no list of all items: there may be millions to choose from.

    Examples
    --------
    >>> choose(np.array([5, 10**12]), np.array([5, 0]), np.random.default_rng(0))
    array([0, 1, 2, 3, 4])
    """
    offsets = offsets_of(sizes)
    few = np.minimum(counts, sizes - counts)  # at most half, so that most draws are new
    chosen = np.empty(0, dtype=np.int64)
    missing = few
    while missing.any():
        graph = np.repeat(np.arange(len(sizes)), missing)
        drawn = offsets[graph] + rng.integers(0, sizes[graph])
        # The sorted distinct ones; `numpy.unique` takes ten times as long.
        together = np.sort(np.concatenate([chosen, drawn]))
        chosen = together[np.diff(together, prepend=-1) > 0]
        missing = few - np.diff(np.searchsorted(chosen, offsets))
    # Where more than half were asked for, those drawn are the ones to leave out.
    inverted = counts > few
    items = ranges(offsets[:-1][inverted], sizes[inverted])
    return np.setxor1d(chosen, items, assume_unique=True) if len(items) else chosen


def choose_missing_pairs(
    graphs: GraphDataset, u: ShortInts, v: ShortInts, counts: Ints, rng: np.random.Generator
) -> tuple[ShortInts, ShortInts]:
    """Choose pairs of nodes of each graph that no edge joins: as many as asked for, or all.

    ``u`` and ``v`` are all edges but loops, as arcs with u < v in their order. Pairs u < v are
    numbered through in that order. The number of a free pair is its place among the free pairs plus
    the number of edges before it.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> path = pack("path", [3], [0, 1], [1, 2])
    >>> u, v = path[0].edges.T.astype(np.int32)
    >>> choose_missing_pairs(path, u, v, np.array([9]), np.random.default_rng(0))
    (array([0], dtype=int32), array([2], dtype=int32))
    """
    last = np.repeat(graphs.node_offsets[1:] - 1, graphs.graph_sizes)
    first_pair = offsets_of(last - np.arange(graphs.n_nodes))  # of each node as u
    free_before = first_pair[u] + (v - u - 1) - np.arange(len(u))  # free pairs before an edge
    n_edges = np.diff(np.searchsorted(u, graphs.node_offsets))
    n_free = np.diff(first_pair[graphs.node_offsets]) - n_edges
    places = choose(n_free, np.minimum(counts, n_free), rng)
    pairs = places + np.searchsorted(free_before, places, side="right")
    new_u = np.searchsorted(first_pair, pairs, side="right") - 1
    new_v = pairs - first_pair[new_u] + new_u + 1
    return new_u.astype(np.int32), new_v.astype(np.int32)


def order_of_growth(graphs: GraphDataset, rng: np.random.Generator) -> Ints:
    """Return the nodes, graph by graph, as a set takes them that grows at random along edges.

    The set of each graph starts from a random node and takes a random node of its frontier at a
    time, each with equal probability; when there is none, a random one of those that are left.

    This is exact without a step per node. Let a clock start at each node when its first neighbor
    is taken, and let the node be taken when the clock rings, after an exponential time. Such
    clocks forget how long they ran, so the next to ring is any of the frontier's with equal
    probability. The time at which each rings is the length of a shortest path, which one run of
    Dijkstra's algorithm finds for all graphs.

    Examples
    --------
    >>> from kgnn.graphs.packing import pack
    >>> star = pack("star", [5], [0, 0, 0, 0], [1, 2, 3, 4])
    >>> 0 in order_of_growth(star, np.random.default_rng(0))[:2]
    True
    """
    if not graphs.n_nodes:
        return np.empty(0, dtype=np.int64)
    waits = rng.exponential(size=graphs.n_nodes)
    # For paths, scipy 1.13 wants 32-bit positions.
    ends, offsets = graphs.neighbors.astype(np.int32), graphs.arc_offsets.astype(np.int32)
    waits_by_arc = (waits[graphs.neighbors], ends, offsets)
    arcs = sparse.csr_array(waits_by_arc, shape=(graphs.n_nodes, graphs.n_nodes))
    n_components, component = csgraph.connected_components(arcs, connection="strong")
    # Of nodes in random order, a component starts from its first, and the components come in the
    # order of these: whenever one is used up, each node that is left is equally likely to be next.
    shuffled = rng.permutation(graphs.n_nodes)
    place = np.full(n_components, graphs.n_nodes)
    np.minimum.at(place, component[shuffled], np.arange(graphs.n_nodes))
    seeds = shuffled[place]
    times = csgraph.dijkstra(arcs, indices=seeds, min_only=True)
    rank = np.empty(n_components, dtype=np.int64)
    rank[np.lexsort((place, graphs.node_graphs[seeds]))] = np.arange(n_components)
    return np.lexsort((times, rank[component]))
