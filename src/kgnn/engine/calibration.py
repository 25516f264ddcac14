"""Calibrate the scores of a network, and combine those of several into one answer.

References
----------
Guo et al., *On calibration of modern neural networks*, ICML 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax

from kgnn.graphs.graph import Floats, Ints

_BOUNDS = -5.0, 5.0  # of the logarithm of the factor
_SHARES = np.linspace(0, 1, 21)  # of the first of two
# In nats of VAL: what it costs to listen to one of two alone is a quarter of this. VAL has too few
# graphs to be trusted with small differences.
_FAIRNESS = 10.0


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


def combine(logits: Sequence[Floats], weights: Sequence[float] | None = None) -> Floats:
    """Return logits of all together: the weighted mean of their log-probabilities."""
    each = [log_softmax(own, axis=1) for own in logits]
    return np.asarray(np.average(each, axis=0, weights=weights or None))


def weigh(logits: Sequence[Floats], targets: Ints) -> list[float]:
    """Find how much to listen to each of two networks, by the likelihood of the truth.

    Equal weights are preferred unless ``targets`` speak clearly; more than two are given them
    always.

    Parameters
    ----------
    logits : one (n, n_classes) for each network
        Of graphs that were not trained on.
    targets : (n,)

    Examples
    --------
    >>> targets = np.arange(100) % 2
    >>> mostly = np.eye(2)[np.where(np.arange(100) < 85, targets, 1 - targets)]
    >>> guess = np.eye(2)[np.arange(100) // 2 % 2]
    >>> weigh([mostly, mostly], targets), weigh([mostly, guess], targets)[0] > 0.7
    ([0.5, 0.5], True)
    """
    if len(logits) != 2:
        return [1 / len(logits)] * len(logits)

    def gain(share: float) -> float:
        together = combine(logits, [share, 1 - share])
        fairness = _FAIRNESS * (share - 0.5) ** 2
        return len(targets) * calibrate(together, targets).log_likelihood - fairness

    first = float(max(_SHARES, key=gain))
    return [first, 1 - first]
