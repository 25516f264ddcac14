"""Weisfeiler-Lehman colors: a 64-bit hash of each node's rooted neighborhood.

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
from numpy.typing import NDArray
from scipy import sparse

from kgnn.errors import GraphDataError, ParameterError
from kgnn.graphs.graph import GraphDataset

Colors = NDArray[np.uint64]
Numbers = NDArray[np.int32]

STARTS = ("auto", "labels", "degree", "constant")
UNLABELED = ("degree", "constant")
# Depth of the colors that compare whole graphs; no method here uses deeper ones.
_DEEPEST = 6
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
    """Hash label names, independently of their positions in a list."""
    digests = [
        hashlib.blake2b(f"{domain}:{name}".encode(), digest_size=8).digest() for name in names
    ]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def resolve_start(graphs: GraphDataset, start: str, unlabeled: str = "degree") -> str:
    """Resolve ``auto`` for these graphs, and refuse starts that they do not support."""
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
        if graphs.node_labels is None:  # there are no nodes
            return np.empty(0, dtype=np.uint64)
        return name_colors(graphs.node_label_names, "node")[graphs.node_labels]
    if start == "degree":
        return mix(graphs.degrees.astype(np.uint64) + _DEGREE)
    return np.full(graphs.n_nodes, _CONSTANT)


def neighbor_sums(graphs: GraphDataset, values: Colors, arcs: Colors | None = None) -> Colors:
    """Sum a value over the neighbors of every node, modulo 2⁶⁴.

    With ``arcs``, colors of arcs, each term is ``mix(value of the neighbor + color of the arc)``.
    """
    sums = np.empty(graphs.n_nodes, dtype=np.uint64)
    for nodes, part in _sums_by_chunk(graphs, values, arcs):
        sums[nodes] = part
    return sums


def _sums_by_chunk(
    graphs: GraphDataset, values: Colors, arcs: Colors | None
) -> Iterator[tuple[slice, Colors]]:
    """Yield the neighbor sums of a run of nodes at a time, which fit into the cache."""
    offsets = graphs.arc_offsets
    ones = np.ones(min(CHUNK + int(graphs.degrees.max(initial=0)), graphs.n_arcs), dtype=np.uint64)
    for first, last in row_chunks(graphs, CHUNK):
        begin, end = offsets[first], offsets[last]
        rows = (offsets[first : last + 1] - begin).astype(np.int32)
        neighbors = graphs.neighbors[begin:end]
        if arcs is not None:
            terms = mix(values[neighbors] + arcs[begin:end])
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

    ``start`` says what a node looks like at depth 0; ``auto`` takes labels where there are any,
    else degrees. With ``edge_labels``, neighbors reached by edges of different labels differ.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> cycle = cycles_and_trees(1)
    >>> [len(np.unique(c)) for c in colors(cycle, 2)]
    [1, 1, 1]
    """
    arcs = arc_colors(graphs) if edge_labels and iterations else None
    yield from refine(graphs, start_colors(graphs, start), iterations, arcs)


def refine(
    graphs: GraphDataset, start: Colors, iterations: int, arcs: Colors | None = None
) -> Iterator[Colors]:
    """Yield the given colors of all nodes, then their refinement in each iteration."""
    current = start
    yield current
    for depth in range(1, iterations + 1):
        mixed = np.empty_like(current)
        for first, last in row_chunks(graphs, CHUNK):
            mixed[first:last] = mix(current[first:last] + _NEIGHBOR)
        deeper = np.empty_like(current)
        for nodes, sums in _sums_by_chunk(graphs, mixed, arcs):
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


def looks(graphs: GraphDataset) -> Colors:
    """Return a number for each graph, equal for graphs that no method here can distinguish.

    These are sums of Weisfeiler-Lehman colors that also see attributes and all that edges carry.
    Numbers of different datasets can be compared.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(4)
    >>> len(np.unique(looks(graphs[[0, 1, 0, 3]])))
    3
    """
    start, arcs = start_colors(graphs, "auto"), None
    if graphs.node_attributes is not None:
        for column in graphs.node_attributes.T:
            start = mix(start * _NEIGHBOR + np.ascontiguousarray(column + 0.0).view(np.uint64))
    if graphs.arc_kinds is not None:
        arcs = arc_colors(graphs)
    for values in (graphs.edge_weights, graphs.edge_attributes):
        for column in () if values is None else np.atleast_2d(values.T):
            before = np.uint64(0) if arcs is None else arcs * _NEIGHBOR
            arcs = mix(before + np.ascontiguousarray(column + 0.0).view(np.uint64))
    *_, last = refine(graphs, start, _DEEPEST, arcs)
    return graph_colors(graphs, last)


def arc_colors(graphs: GraphDataset) -> Colors:
    """Return the color of every arc, by the name of its label and its direction."""
    if graphs.n_arcs == 0:  # without edges there are no edge labels
        return np.empty(0, dtype=np.uint64)
    kinds = graphs.arc_kinds
    if kinds is None:
        raise GraphDataError(
            f"'{graphs.name}' has no edge labels, but they are what is compared: the model was "
            "trained on graphs with edge labels. Give the edges their labels, or train without "
            "(use_edge_labels=False)."
        )
    return name_colors(graphs.arc_kind_names, "edge")[kinds]


# -- numbering ------------------------------------------------------------------------------------

_PIECE = 1 << 16  # positions within a piece are 16-bit numbers
_PIECES_THAT_PAY = 3
_COLORS_PER_BUCKET = 1 << 15
_MOST_BITS = 8  # buckets are dealt by sorting bytes, which takes linear time


def numbered(colors: Colors) -> tuple[Colors, Numbers]:
    """Return the distinct colors, sorted, and for each color its position among them.

    Colors are uniform 64-bit hashes, which allows sorting that stays in the cache. Where few
    colors are distinct, every piece of the list is numbered by itself, then the short list of what
    the pieces contain. Where most are distinct, colors are put into buckets by their high bits; a
    bucket holds consecutive colors, so numbering one bucket after another numbers all.

    Examples
    --------
    >>> numbered(np.array([7, 3, 7], dtype=np.uint64))
    (array([3, 7], dtype=uint64), array([1, 0, 1], dtype=int32))
    """
    if len(colors) < _PIECES_THAT_PAY * _PIECE:
        return _at_once(colors)
    if 4 * len(_at_once(colors[:_PIECE])[0]) < _PIECE:
        return _in_pieces(colors)
    return _in_buckets(colors)


def _at_once(colors: Colors) -> tuple[Colors, Numbers]:
    order, ordered = _sorted(colors)
    is_new = np.empty(len(ordered), dtype=np.bool_)
    is_new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    position = np.cumsum(is_new, dtype=np.int32)
    position -= 1
    numbers = np.empty_like(position)
    numbers[order] = position
    return ordered[is_new], numbers


def _sorted(colors: Colors) -> tuple[NDArray[np.intp], Colors]:
    """Return an order that sorts the colors, and the colors in it.

    Sorting values is several times faster than finding the order that sorts them. So the low bits
    of each color are replaced by its position, and the order is read off the sorted values. Where
    the high bits do not decide, which is rare, the order is found the slow way.
    """
    low = np.uint64((1 << len(colors).bit_length()) - 1)
    packed = colors & ~low
    packed |= np.arange(len(colors), dtype=np.uint64)
    packed.sort()
    packed &= low
    order = packed.astype(np.intp, copy=False)
    ordered = colors[order]
    if (ordered[1:] < ordered[:-1]).any():  # two colors with the same high bits
        order = np.argsort(colors)
        ordered = colors[order]
    return order, ordered


def _in_pieces(colors: Colors) -> tuple[Colors, Numbers]:
    found, inside = zip(*(_at_once(colors[piece]) for piece in _pieces(colors)), strict=True)
    distinct, number = numbered(np.concatenate(found))
    starts = np.cumsum([0] + [len(each) for each in found])
    parts = [number[a:b][i] for (a, b), i in zip(pairwise(starts), inside, strict=True)]
    return distinct, np.concatenate(parts)


def _in_buckets(colors: Colors) -> tuple[Colors, Numbers]:
    bits = min(_MOST_BITS, (len(colors) // _COLORS_PER_BUCKET).bit_length())
    pieces = _pieces(colors)
    places = np.empty(len(colors), dtype=np.uint16)  # within the piece, by bucket
    dealt = np.empty_like(colors)
    starts = np.empty((len(pieces), (1 << bits) + 1), dtype=np.int64)
    for piece, start in zip(pieces, starts, strict=True):
        bucket = (colors[piece] >> np.uint64(64 - bits)).astype(np.uint8)
        order = np.argsort(bucket, kind="stable")
        places[piece] = order
        dealt[piece] = colors[piece][order]
        start[0] = piece.start
        start[1:] = piece.start + np.cumsum(np.bincount(bucket, minlength=1 << bits))

    numbers = np.empty(len(colors), dtype=np.int32)
    distinct: list[Colors] = []
    n_distinct = 0
    for first, last in pairwise(starts.T.tolist()):
        runs = [slice(a, b) for a, b in zip(first, last, strict=True)]
        found, inside = _at_once(np.concatenate([dealt[run] for run in runs]))
        inside += np.int32(n_distinct)
        n_distinct += len(found)
        distinct.append(found)
        begin = 0
        for run in runs:
            end = begin + run.stop - run.start
            numbers[run] = inside[begin:end]
            begin = end

    for piece in pieces:
        undealt = np.empty_like(numbers[piece])
        undealt[places[piece].astype(np.intp)] = numbers[piece]
        numbers[piece] = undealt
    return np.concatenate(distinct), numbers


def _pieces(colors: Colors) -> list[slice]:
    return [slice(a, min(a + _PIECE, len(colors))) for a in range(0, len(colors), _PIECE)]
