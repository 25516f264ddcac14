"""Sets of labels that hold the true one as often as promised, whatever the model.

References
----------
Sadinle, Lei & Wasserman, *Least ambiguous set-valued classifiers with bounded error levels*,
JASA 2019.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kgnn.errors import ParameterError
from kgnn.graphs.graph import Floats, Ints


def threshold(proba: Floats, targets: Ints, error: float) -> float:
    """Return the least probability that a label must have to be in the set.

    Of graphs that come from where these come from, at most a share of ``error`` will have a true
    label with less: whatever the model, on average over such samples.

    Parameters
    ----------
    proba : (n, n_classes)
        Of graphs that the model was not fitted on.
    targets : (n,)
        Their classes.
    error : float
        Share of graphs whose true label may be missing.

    Examples
    --------
    >>> proba = np.column_stack([np.linspace(0.5, 1, 19), np.linspace(0.5, 0, 19)])
    >>> threshold(proba, np.zeros(19, dtype=int), 0.1)
    0.5277777777777778
    """
    if not 0 < error < 1:
        raise ParameterError(f"The 'error' must be between 0 and 1, got {error}.")
    n = len(targets)
    allowed = math.floor(error * (n + 1))  # how many of these may fall below
    if allowed == 0:
        return 0.0  # too few graphs to leave any label out
    of_truth = np.sort(proba[np.arange(n), targets])
    return float(of_truth[allowed - 1])


def label_sets(proba: Floats, least: float) -> NDArray[np.bool_]:
    """Tell which labels are in the set of each graph; the most probable one always is.

    Examples
    --------
    >>> label_sets(np.array([[0.9, 0.1], [0.55, 0.45]]), 0.4).tolist()
    [[True, False], [True, True]]
    """
    chosen = proba >= least
    chosen[np.arange(len(proba)), proba.argmax(axis=1)] = True
    return chosen
