"""Labels that may be wrong: those that out-of-fold predictions confidently contradict.

References
----------
Northcutt, Jiang & Chuang, *Confident learning: Estimating uncertainty in dataset labels*, JAIR
2021, for the thresholds by class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgnn.errors import ParameterError
from kgnn.graphs.graph import Floats, Ints

_LEAST = 0.5  # lowest threshold, for classes that the model predicts badly


class Suspicion(NamedTuple):
    """A label that may be wrong."""

    row: int
    given: int  # class of the label
    likely: int  # most probable class
    confidence: float  # probability of that class


def suspicious_labels(proba: Floats, targets: Ints) -> list[Suspicion]:
    """Return the labels that predictions contradict, the most confident predictions first.

    A prediction contradicts a label if another class is most probable, with at least the mean
    probability that this class has for the graphs labeled with it.

    ``proba``, ``(n, n_classes)``, must come from models that were not trained on these labels. A
    target of −1 is never suspicious.

    Examples
    --------
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.95, 0.05], [0.1, 0.9], [0.2, 0.8]])
    >>> suspicious_labels(proba, np.array([0, 0, 1, 1, 1]))
    [Suspicion(row=2, given=1, likely=0, confidence=0.95)]
    """
    if len(proba) != len(targets):
        raise ParameterError(f"There are {len(proba)} predictions for {len(targets)} labels.")
    likely, confidence = proba.argmax(axis=1), proba.max(axis=1)
    thresholds = np.full(proba.shape[1], np.inf)
    for each in np.unique(targets[targets >= 0]).tolist():
        thresholds[each] = max(_LEAST, float(proba[targets == each, each].mean()))
    is_suspicious = (targets >= 0) & (likely != targets) & (confidence >= thresholds[likely])
    rows = np.flatnonzero(is_suspicious)
    order = rows[np.argsort(-confidence[rows], kind="stable")]
    return [
        Suspicion(int(row), int(targets[row]), int(likely[row]), float(confidence[row]))
        for row in order
    ]
