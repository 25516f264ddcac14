"""Turn scores into honest probabilities with one number, found on graphs kept out of training.

References
----------
Guo et al., *On calibration of modern neural networks*, ICML 2017.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax

from kgnn.graphs.graph import Floats, Ints

_BOUNDS = -5.0, 5.0  # of the logarithm of the factor


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

    Where every graph is right, no factor would be large enough. Yet n right answers out of n do not
    show more than (n + 1) / (n + 2) of certainty (Laplace), and the mean stays below that.

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

    def of_truth(log_sharpness: float) -> Floats:
        log_proba = log_softmax(np.exp(log_sharpness) * scores, axis=1)
        return np.asarray(log_proba[np.arange(len(targets)), targets])

    def excess(log_sharpness: float) -> float:
        return float(np.exp(of_truth(log_sharpness)).mean()) - (n + 1) / (n + 2)

    n = len(targets)
    best = float(minimize_scalar(lambda x: -of_truth(x).mean(), bounds=_BOUNDS, method="bounded").x)
    if excess(best) > 0 and excess(_BOUNDS[0]) < 0:
        best = float(brentq(excess, _BOUNDS[0], best))
    return Calibration(float(np.exp(best)), float(of_truth(best).mean()))
