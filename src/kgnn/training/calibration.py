"""Turn scores into honest probabilities with one number, found on graphs kept out of training.

References
----------
Guo et al., *On calibration of modern neural networks*, ICML 2017.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from kgnn.graphs.graph import Floats, Ints


class Calibration(NamedTuple):
    """How to scale scores, and what that achieves.

    Attributes
    ----------
    sharpness : float
        Factor for scores before the softmax; the inverse of the temperature.
    log_likelihood : float
        Mean log-probability of the true classes with that factor.
    """

    sharpness: float
    log_likelihood: float


def calibrate(scores: Floats, targets: Ints) -> Calibration:
    """Find the factor that makes the true classes most likely; the predicted classes stay.

    Parameters
    ----------
    scores : (n, n_classes)
        Logits or margins of graphs that were not trained on.
    targets : (n,)

    Examples
    --------
    >>> scores = np.array([[9.0, 0.0], [9.0, 0.0], [9.0, 0.0], [9.0, 0.0]])
    >>> bold = calibrate(scores, np.array([0, 0, 0, 1]))  # right three times out of four
    >>> round(float(1 / (1 + np.exp(-9 * bold.sharpness))), 2)
    0.75
    """

    def surprise(log_sharpness: float) -> float:
        log_proba = log_softmax(np.exp(log_sharpness) * scores, axis=1)
        return -float(log_proba[np.arange(len(targets)), targets].mean())

    found = minimize_scalar(surprise, bounds=(-5, 5), method="bounded")
    return Calibration(float(np.exp(found.x)), -float(found.fun))
