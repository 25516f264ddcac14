"""Which unlabeled graphs to trust: pure functions of class probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgnn.graphs.graph import Floats, Ints


class Selection(NamedTuple):
    """Rows of a pool that were chosen, and the class that each was given.

    Attributes
    ----------
    rows : (n,) int64
        Increasing.
    targets : (n,) int64
    """

    rows: Ints
    targets: Ints


def margins(proba: Floats) -> Floats:
    """Return how sure a row is: the log-odds of the most probable class against the second.

    Probabilities that have been rounded to 1 cannot be told apart; their margins still can.
    """
    top = np.sort(np.log(np.maximum(proba, 1e-300)), axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


def most_confident(proba: Floats, k: int, shares: Floats | None = None) -> Selection:
    """Choose the ``k`` rows with the largest margin; with quotas, which round up, a few more.

    Parameters
    ----------
    proba : (n, n_classes)
    k : int
    shares : (n_classes,), optional
        Give each class a quota of ``ceil(k · share)``: without quotas nearly all of the most
        confident graphs are of one class.

    Examples
    --------
    >>> proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> most_confident(proba, 2)
    Selection(rows=array([0, 1]), targets=array([0, 1]))
    """
    order = np.argsort(-margins(proba), kind="stable")
    return _first(order, proba.argmax(axis=1), k, shares)


def agreed(
    p: Floats, q: Floats, k: int, shares: Floats | None = None, candidates: int = 2
) -> Selection:
    """Choose ``k`` rows at most that both networks are sure of and give the same class.

    Each network lists its most confident rows, ``candidates`` times k; of those on both lists with
    one class, the k whose less confident network is most confident are taken. Quotas round up, so
    that there may be a few more.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    >>> q = np.array([[0.7, 0.3], [0.1, 0.9], [0.2, 0.8]])
    >>> agreed(p, q, 2)
    Selection(rows=array([0, 2]), targets=array([0, 1]))
    """
    first, second = (most_confident(proba, candidates * k, shares) for proba in (p, q))
    both = np.intersect1d(first.rows, second.rows)
    targets = p.argmax(axis=1)
    both = both[targets[both] == q.argmax(axis=1)[both]]
    weaker = np.minimum(margins(p), margins(q))[both]
    return _first(both[np.argsort(-weaker, kind="stable")], targets, k, shares)


def _first(order: Ints, targets: Ints, k: int, shares: Floats | None) -> Selection:
    """Take the first k rows of an order, or the first of each class up to its quota."""
    if shares is None:
        rows = order[:k]
    else:
        quotas = np.ceil(k * shares - 1e-9).astype(np.int64)
        rows = np.concatenate([order[targets[order] == c][: quotas[c]] for c in range(len(shares))])
    rows = np.sort(rows)
    return Selection(rows, targets[rows])
