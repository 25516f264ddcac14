"""Graphs on three to five nodes, up to isomorphism: which class an edge pattern belongs to.

A *pattern* is a number whose bits say which pairs of k nodes are joined, in the order (0, 1),
(0, 2), …, (k − 2, k − 1). Patterns that a renumbering of the nodes turns into each other form a
*class*: 4 classes of three nodes, 11 of four, 34 of five. Classes are numbered by their number of
edges, and among equals by their smallest pattern.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

SIZES = (3, 4, 5)


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
    """Tell whether all nodes hang together."""
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
