"""Divide labeled graphs into folds, each held out of one member's training."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kgnn.graphs.graph import Ints
from kgnn.seeds import generator


def deal_folds(targets: Ints, looks: ArrayLike, n_folds: int, seed: int) -> list[Ints]:
    """Return ``n_folds`` stratified folds, as positions in ``targets``.

    Graphs that look alike, with equal values in ``looks``, stay together, because a copy in the
    training set would give away the class of a held-out graph. A class with fewer such groups than
    folds is held out repeatedly, one group at a time. A class with a single group is never held
    out, so that every training has all classes. Folds may be empty.

    Examples
    --------
    >>> [fold.tolist() for fold in deal_folds(np.array([0, 0, 0, 1, 1]), range(5), 3, seed=0)]
    [[2, 3], [0, 4], [1, 3]]
    """
    rng = generator(seed, "folds")
    _, counts = np.unique(looks, return_counts=True)
    order = np.argsort(looks, kind="stable")
    members = np.split(order, np.cumsum(counts)[:-1])
    # A group of several classes is dealt with its most frequent one.
    class_of = np.array([np.bincount(targets[rows]).argmax() for rows in members], dtype=np.int64)
    folds: list[list[Ints]] = [[] for _ in range(n_folds)]
    sizes = np.zeros(n_folds, dtype=np.int64)
    for target in np.unique(class_of):
        groups = rng.permutation(np.flatnonzero(class_of == target))
        # The largest groups first, each to the fold with the fewest graphs of this class; of
        # several such folds, to the smallest.
        groups = groups[np.argsort([-len(members[group]) for group in groups], kind="stable")]
        held = np.zeros(n_folds, dtype=np.int64)
        if 1 < len(groups) < n_folds:
            groups = np.resize(groups, n_folds)
        for group in groups if len(groups) > 1 else ():
            fold = np.lexsort((sizes, held))[0]
            folds[fold].append(members[group])
            held[fold] += len(members[group])
            sizes[fold] += len(members[group])
    return [_leaving_every_class(targets, groups) for groups in folds]


def _leaving_every_class(targets: Ints, groups: list[Ints]) -> Ints:
    """Return the rows of groups, without groups of a class that would have no other graph."""
    none = np.empty(0, dtype=np.int64)
    others = np.delete(targets, np.concatenate([none, *groups]))
    left = np.bincount(others, minlength=targets.max() + 1)
    kept = [rows for rows in groups if left[targets[rows]].all()]
    return np.sort(np.concatenate([none, *kept]))
