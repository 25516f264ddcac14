"""Which given labels may be wrong: those that every view confidently contradicts.

References
----------
Northcutt, Jiang & Chuang, *Confident learning: Estimating uncertainty in dataset labels*, JAIR
2021; its thresholds by class are used for each view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kgnn.errors import ParameterError
from kgnn.graphs.graph import Floats, Ints

_LEAST = 0.5  # probability of the likely class, even where a view recognizes the class badly


class Suspicion(NamedTuple):
    """A label that may be wrong."""

    row: int
    given: int  # its class
    likely: int  # the one that all views prefer
    confidence: float  # lowest probability of the likely class over the views


def suspicious_labels(views: Sequence[Floats], targets: Ints) -> list[Suspicion]:
    """Return the labels that all views contradict, the most confident first.

    A view contradicts a label where its most probable class is another one, and more probable
    than that class is, on average, for the graphs that have it as their label.

    ``views`` are probabilities, ``(n, n_classes)``, of models that were not trained on these
    labels; a target of −1 is never suspicious.

    Examples
    --------
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.95, 0.05], [0.1, 0.9], [0.2, 0.8]])
    >>> suspicious_labels([proba], np.array([0, 0, 1, 1, 1]))
    [Suspicion(row=2, given=1, likely=0, confidence=0.95)]
    """
    if not views or any(len(view) != len(targets) for view in views):
        sizes = [len(view) for view in views]
        raise ParameterError(f"Each view must have {len(targets)} rows, got {sizes}.")
    likely = views[0].argmax(axis=1)
    is_suspicious = (targets >= 0) & (likely != targets)
    for view in views:
        thresholds = np.full(view.shape[1], np.inf)
        for each in np.unique(targets[targets >= 0]).tolist():
            thresholds[each] = max(_LEAST, float(view[targets == each, each].mean()))
        is_suspicious &= view[np.arange(len(view)), likely] >= thresholds[likely]
    rows = np.flatnonzero(is_suspicious)
    confidence = np.min([view[rows, likely[rows]] for view in views], axis=0)
    order = np.argsort(-confidence, kind="stable")
    return [
        Suspicion(int(row), int(targets[row]), int(likely[row]), float(sure))
        for row, sure in zip(rows[order], confidence[order], strict=True)
    ]
