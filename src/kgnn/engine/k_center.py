"""Rows that cover all others: greedy choice of the point farthest from those chosen so far.

References
----------
Gonzalez, *Clustering to minimize the maximum intercluster distance*, TCS 1985: from scratch, no
row is more than twice as far from the chosen ones as with the best choice.
"""

from __future__ import annotations

import numpy as np

from kgnn.graphs.graph import Floats, Ints

# Numbers that differences of points may take at a time: 8 MB.
_AT_A_TIME = 2**20


def k_center(points: Floats, chosen: Ints, n: int) -> Ints:
    """Choose more rows, each the farthest from all chosen before.

    Parameters
    ----------
    points : (n_points, d)
        Means over nodes or vectors of length 1: of sums over nodes, the farthest is just the
        largest graph.
    chosen : (n_chosen,) int64
        Rows that are chosen already. Without any, the first row is taken first.
    n : int
        How many more; all that are left where there are fewer.

    Returns
    -------
    (n,) int64 array
        In the order of choice, the lowest row of equals first. All are different and new.

    Examples
    --------
    >>> k_center(np.array([[0.0], [1.0], [2.0], [3.0], [10.0]]), np.array([0]), 3)
    array([4, 3, 1])
    """
    points = np.asarray(points, dtype=np.float64)
    chosen = np.unique(chosen).astype(np.int64)
    nearest = np.full(len(points), np.inf)
    for row in chosen:
        _come_closer(nearest, points, row)
    nearest[chosen] = -np.inf  # no copy of a chosen point is below 0
    new = np.empty(min(n, len(points) - len(chosen)), dtype=np.int64)
    for place in range(len(new)):
        new[place] = nearest.argmax()
        _come_closer(nearest, points, new[place])
        nearest[new[place]] = -np.inf
    return new


def _come_closer(nearest: Floats, points: Floats, row: int) -> None:
    """Lower the squared distances to the nearest chosen point, now that a row is chosen too."""
    n_rows = max(1, _AT_A_TIME // max(1, points.shape[1]))
    for start in range(0, len(points), n_rows):
        part = slice(start, start + n_rows)
        squares = np.square(points[part] - points[row]).sum(axis=1)
        np.minimum(nearest[part], squares, out=nearest[part])
