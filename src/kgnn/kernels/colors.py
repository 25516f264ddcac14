"""Weisfeiler-Lehman colors: a 64-bit value for each node's rooted neighborhood, from content alone.

The color of node v at depth t is

    c⁰(v) = H(label of v)    and    cᵗ(v) = mix(t, cᵗ⁻¹(v), Σ_{u ∈ N(v)} mix(cᵗ⁻¹(u)))

with a fixed mixing function and sums modulo 2⁶⁴. There is no dictionary, no random table and no
numbering by dataset: the same rooted neighborhood has the same color in every dataset, shard,
process, machine and run. A sum does not depend on the order of the neighbors, and as its terms are
mixed first, two different multisets collide with the chance of two random 64-bit numbers (for a
million distinct colors about 3 in 100 million).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy import sparse

from kgnn.errors import GraphDataError, ParameterError
from kgnn.graphs.graph import GraphDataset
from kgnn.kernels.numbering import Colors

STARTS = ("auto", "labels", "degree", "constant")
UNLABELED = ("degree", "constant")
# Arcs summed at a time: their colors fit into the second-level cache.
CHUNK = 1 << 17

# Domains of the hash: a node labeled "3", a node of degree 3 and an edge labeled "3" must differ.
_DEGREE = np.uint64(0xD1B54A32D192ED03)
_CONSTANT = np.uint64(0x8CB92BA72F3D8DD7)
_NEIGHBOR = np.uint64(0x9E3779B97F4A7C15)
_OWN = np.uint64(0xD6E8FEB86659FD93)


def mix(values: Colors) -> Colors:
    """Scramble 64-bit values: every input bit reaches every output bit (splitmix64's finalizer).

    Examples
    --------
    >>> mix(np.array([1, 2], dtype=np.uint64))
    array([ 6238072747940578789, 15839785061582574730], dtype=uint64)
    """
    mixed = values ^ (values >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def name_colors(names: tuple[str, ...], domain: str) -> Colors:
    """Hash label names; what a label is called decides, not its position in a list."""
    digests = [
        hashlib.blake2b(f"{domain}:{name}".encode(), digest_size=8).digest() for name in names
    ]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def resolve_start(graphs: GraphDataset, start: str, unlabeled: str = "degree") -> str:
    """Turn ``auto`` into what the graphs offer, and refuse what they do not."""
    if start not in STARTS:
        raise ParameterError(f"The 'start' parameter must be one of {STARTS}, got '{start}'.")
    if unlabeled not in UNLABELED:
        raise ParameterError(
            f"The 'unlabeled' parameter must be one of {UNLABELED}, got '{unlabeled}'."
        )
    if start == "auto":
        return unlabeled if graphs.node_labels is None else "labels"
    if start == "labels" and graphs.node_labels is None and graphs.n_nodes > 0:
        if graphs.node_attributes is not None:
            raise GraphDataError(
                f"'{graphs.name}' has continuous node attributes but no node labels, and "
                "Weisfeiler-Lehman compares labels for equality. Round the attributes to labels "
                "first, or use start='degree'."
            )
        raise GraphDataError(
            f"'{graphs.name}' has no node labels, but they are what is compared: with "
            "start='labels', and by a model that was trained on graphs with node labels. Give the "
            "nodes their labels, or train on graphs without (in Python also with start='degree')."
        )
    return start


def start_colors(graphs: GraphDataset, start: str) -> Colors:
    """Return the colors at depth 0."""
    start = resolve_start(graphs, start)
    if start == "labels":
        if graphs.node_labels is None:  # for there is no node
            return np.empty(0, dtype=np.uint64)
        return name_colors(graphs.node_label_names, "node")[graphs.node_labels]
    if start == "degree":
        return mix(graphs.degrees.astype(np.uint64) + _DEGREE)
    return np.full(graphs.n_nodes, _CONSTANT)


def neighbor_sums(graphs: GraphDataset, values: Colors, arc_colors: Colors | None = None) -> Colors:
    """Sum a value over the neighbors of every node, modulo 2⁶⁴.

    With ``arc_colors``, each term is ``mix(value of the neighbor + color of the arc)``.
    """
    sums = np.empty(graphs.n_nodes, dtype=np.uint64)
    for nodes, part in _sums_by_chunk(graphs, values, arc_colors):
        sums[nodes] = part
    return sums


def _sums_by_chunk(
    graphs: GraphDataset, values: Colors, arc_colors: Colors | None
) -> Iterator[tuple[slice, Colors]]:
    """Yield the neighbor sums of a run of nodes at a time, which fit into the cache."""
    offsets = graphs.arc_offsets
    ones = np.ones(min(CHUNK + int(graphs.degrees.max(initial=0)), graphs.n_arcs), dtype=np.uint64)
    for first, last in row_chunks(graphs, CHUNK):
        begin, end = offsets[first], offsets[last]
        rows = (offsets[first : last + 1] - begin).astype(np.int32)
        neighbors = graphs.neighbors[begin:end]
        if arc_colors is not None:
            terms = mix(values[neighbors] + arc_colors[begin:end])
            cumulated = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms)])
            yield slice(first, last), np.diff(cumulated[rows])  # exact: sums wrap around
        else:
            matrix = sparse.csr_array(
                (ones[: end - begin], neighbors, rows), shape=(last - first, graphs.n_nodes)
            )
            yield slice(first, last), matrix @ values


def row_chunks(graphs: GraphDataset, n_arcs: int) -> list[tuple[int, int]]:
    """Cut all nodes into runs ``first:last`` that have about so many arcs each."""
    inner = np.searchsorted(graphs.arc_offsets, np.arange(n_arcs, graphs.n_arcs, n_arcs))
    return list(pairwise([0, *inner.tolist(), graphs.n_nodes]))


def colors(
    graphs: GraphDataset, iterations: int, *, start: str = "auto", edge_labels: bool = False
) -> Iterator[Colors]:
    """Yield the color of every node at depth 0, 1, …, ``iterations``.

    Parameters
    ----------
    graphs : GraphDataset
    iterations : int
    start : {"auto", "labels", "degree", "constant"}
        What a node looks like at depth 0; ``auto`` takes labels where there are any, else degrees.
    edge_labels : bool
        Whether neighbors reached by edges of different labels differ.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> cycle = cycles_and_trees(1)
    >>> [len(np.unique(c)) for c in colors(cycle, 2)]
    [1, 1, 1]
    """
    arc_colors = _arc_colors(graphs) if edge_labels and iterations else None
    yield from refine(graphs, start_colors(graphs, start), iterations, arc_colors)


def refine(
    graphs: GraphDataset, start: Colors, iterations: int, arc_colors: Colors | None = None
) -> Iterator[Colors]:
    """Yield given colors of all nodes, and what becomes of them in each iteration."""
    current = start
    yield current
    for depth in range(1, iterations + 1):
        mixed = np.empty_like(current)
        for first, last in row_chunks(graphs, CHUNK):
            mixed[first:last] = mix(current[first:last] + _NEIGHBOR)
        deeper = np.empty_like(current)
        for nodes, sums in _sums_by_chunk(graphs, mixed, arc_colors):
            # An odd factor keeps the own color apart from the sum; the depth salts the whole.
            deeper[nodes] = mix(current[nodes] * _OWN + mix(sums + np.uint64(depth)))
        current = deeper
        yield current


def graph_colors(graphs: GraphDataset, coloring: Colors) -> Colors:
    """Return one color for each graph, the same for graphs whose nodes have the same colors.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(4)[[0, 1, 0]]
    >>> found = graph_colors(graphs, list(colors(graphs, 2))[-1])
    >>> bool(found[0] == found[2]), bool(found[0] == found[1])
    (True, False)
    """
    totals = graphs.graph_sizes.astype(np.uint64)
    np.add.at(totals, graphs.node_graphs, mix(coloring))
    return mix(totals)


def _arc_colors(graphs: GraphDataset) -> Colors:
    if graphs.n_arcs == 0:  # graphs without edges have no labels of edges either
        return np.empty(0, dtype=np.uint64)
    if graphs.edge_labels is None:
        raise GraphDataError(f"'{graphs.name}' has no edge labels; use edge_labels=False.")
    return name_colors(graphs.edge_label_names, "edge")[graphs.edge_labels]
