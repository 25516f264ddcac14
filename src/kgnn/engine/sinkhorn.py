"""Clusters of prescribed sizes: probabilities turned into balanced assignments.

Without balance, clusters that are learned from their own assignments collapse into one.

References
----------
Cuturi, *Sinkhorn distances*, NeurIPS 2013.
Altschuler et al., *Near-linear time approximation algorithms for optimal transport via Sinkhorn
iteration*, NeurIPS 2017, for the last step.
Hao et al., *ASGN*, KDD 2020.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from kgnn.graphs.graph import Floats, Ints

# Iterations on numbers between two on their logarithms.
_QUICK = 20


class Assignment(NamedTuple):
    """What is assigned to which cluster.

    Attributes
    ----------
    plan : (n_rows, n_clusters)
        Q ≥ 0: rows sum to 1/n_rows, columns to the prior.
    clusters : (n_rows,) int64
        The column with the largest entry in each row, the first of equals.
    """

    plan: Floats
    clusters: Ints


def assign(
    log_probabilities: Floats,
    prior: Floats | None = None,
    *,
    eta: float = 0.05,
    tolerance: float = 1e-3,
    iterations: int = 1000,
) -> Assignment:
    """Minimize ``⟨Q, −log P⟩ − η H(Q)`` over matrices Q with prescribed sums.

    Parameters
    ----------
    log_probabilities : (n_rows, n_clusters)
        log P.
    prior : (n_clusters,), optional
        Share of each cluster; by default all alike.
    eta : float
        η. The smaller, the nearer to one cluster per row, and the more iterations it takes.
    tolerance : float
        Iterations end when sums over columns are off by no more than this part of them.
    iterations : int
        At most so many. Whatever they leave over is spread, so that the sums are always right.

    Examples
    --------
    All rows prefer cluster 0; the two that insist on it least go to cluster 1.

    >>> proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.7, 0.3]])
    >>> plan, clusters = assign(np.log(proba))
    >>> plan.sum(axis=0).round(3), clusters
    (array([0.5, 0.5]), array([0, 1, 0, 1]))
    """
    n_rows, n_clusters = log_probabilities.shape
    shares = np.full(n_clusters, 1 / n_clusters) if prior is None else prior / prior.sum()
    used = shares > 0
    plan = np.zeros((n_rows, n_clusters))
    plan[:, used] = _balanced(log_probabilities[:, used] / eta, shares[used], tolerance, iterations)
    return Assignment(plan, plan.argmax(axis=1))


def _balanced(scores: Floats, shares: Floats, tolerance: float, iterations: int) -> Floats:
    """Return ``exp(scores + f 1ᵀ + 1 gᵀ)`` with vectors f and g that make the sums right.

    Scores of −1000 are nothing unusual here, so that f and g are kept as logarithms. In between,
    factors of the matrix are improved a few times, which is far quicker. No sum is ever zero there:
    a matrix whose columns were right and whose rows have been made so keeps at least 1/n_rows of
    each column.
    """
    of_rows = np.full(len(scores), 1 / len(scores))
    for _ in range(0, max(1, iterations), _QUICK):
        scores = scores + np.log(shares) - logsumexp(scores, axis=0)
        scores = scores + np.log(of_rows)[:, None] - logsumexp(scores, axis=1, keepdims=True)
        plan = np.exp(scores)
        if np.all(np.abs(plan.sum(axis=0) - shares) <= tolerance * shares):
            break
        row_factors = np.ones(len(scores))
        for _ in range(_QUICK):
            column_factors = shares / (row_factors @ plan)
            row_factors = of_rows / (plan @ column_factors)
        scores = scores + np.log(row_factors)[:, None] + np.log(column_factors)
    return _with_sums(plan, of_rows, shares)


def _with_sums(plan: Floats, of_rows: Floats, of_columns: Floats) -> Floats:
    """Cut what is too much, and spread it where too little is: the sums become exact."""
    plan = plan * np.minimum(of_rows / plan.sum(axis=1), 1)[:, None]
    plan = plan * np.minimum(of_columns / plan.sum(axis=0), 1)
    lacking_rows = np.maximum(of_rows - plan.sum(axis=1), 0)
    lacking_columns = np.maximum(of_columns - plan.sum(axis=0), 0)
    lacking = lacking_columns.sum()
    return plan + np.outer(lacking_rows, lacking_columns / lacking) if lacking > 0 else plan
