"""Calibrate the scores of a network, and combine those of several.

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
_FIRST_WEIGHTS = np.linspace(0, 1, 21)  # of the first of two networks
# Priors, in nats: a hundred graphs are too few to trust small differences, and twenty are mostly
# noise. Of two networks, the second one counts more unless the first shows its worth.
_USUAL_WEIGHT, _WEIGHT_PRIOR = 0.25, 10.0
PULL = 1.0  # for a sharpness of e, where held-out graphs may be a handful
CAUTION = 2.0  # standard errors by which a candidate must be ahead of the default


class Calibration(NamedTuple):
    """How to scale scores, and the likelihood that this reaches."""

    sharpness: float  # factor of scores before the softmax: the inverse of the temperature
    log_likelihood: float  # mean log-probability of the true classes with that factor


def calibrate(scores: Floats, targets: Ints, pull: float = 0.0) -> Calibration:
    """Find the factor that makes the true classes most likely; predicted classes do not change.

    ``scores``, ``(n, n_classes)``, are logits or margins of graphs that were not trained on. If all
    predictions are right, the likelihood grows with the factor without end. But n right answers out
    of n are evidence for a probability of (n + 1) / (n + 2) at most (Laplace), which therefore
    bounds the mean. ``pull`` keeps the factor from growing far above 1 where there are few graphs:
    so many nats is the cost of a factor of e.

    Examples
    --------
    >>> scores = np.tile([2.0, 0.0], (400, 1))
    >>> found = calibrate(scores, np.arange(400) % 4 // 3)  # right three times out of four
    >>> round(float(1 / (1 + np.exp(-2 * found.sharpness))), 2)
    0.75
    """

    def of_truth(log_sharpness: float) -> Floats:
        log_proba = log_softmax(np.exp(log_sharpness) * scores, axis=1)
        return np.asarray(log_proba[np.arange(len(targets)), targets])

    def excess(log_sharpness: float) -> float:
        return float(np.exp(of_truth(log_sharpness)).mean()) - (n + 1) / (n + 2)

    n = len(targets)

    def cost(log_sharpness: float) -> float:
        return float(pull * max(0.0, log_sharpness) ** 2 - of_truth(log_sharpness).sum())

    best = float(minimize_scalar(cost, bounds=_BOUNDS, method="bounded").x)
    if excess(best) > 0 and excess(_BOUNDS[0]) < 0:
        best = float(brentq(excess, _BOUNDS[0], best))
    return Calibration(float(np.exp(best)), float(of_truth(best).mean()))


def log_likelihoods(scores: Floats, targets: Ints, pull: float = 0.0) -> Floats:
    """Return the log-probability of each graph's true class, once the scores are calibrated."""
    sharpness = calibrate(scores, targets, pull).sharpness
    log_proba = log_softmax(sharpness * scores, axis=1)
    return np.asarray(log_proba[np.arange(len(targets)), targets])


def combine(logits: Sequence[Floats], weights: Sequence[float] | None = None) -> Floats:
    """Return the combined logits of several networks: the weighted mean of log-probabilities."""
    each = [log_softmax(own, axis=1) for own in logits]
    return np.asarray(np.average(each, axis=0, weights=weights or None))


def choose(log_likelihoods: Floats, default: int, caution: float = CAUTION) -> int:
    """Choose among candidates by what they say of the same graphs, ``(n_candidates, n_graphs)``.

    With a few labels the best candidate is mostly the luckiest one. So the default stays unless
    the best one is ahead by more than ``caution`` standard errors of the difference.

    Examples
    --------
    >>> clearly, hardly = np.array([-0.1, -0.2, -0.1, -0.2]), np.array([-0.9, -0.2, -0.9, -0.9])
    >>> default = np.array([-0.8, -0.9, -0.7, -0.8])
    >>> choose(np.array([default, clearly]), 0), choose(np.array([default, hardly]), 0)
    (1, 0)
    """
    gains = log_likelihoods - log_likelihoods[default]
    best = int(gains.mean(axis=1).argmax())
    error = gains[best].std(ddof=1) / np.sqrt(gains.shape[1]) if gains.shape[1] > 1 else np.inf
    return best if gains[best].mean() > caution * error else default


def weigh(logits: Sequence[Floats], targets: Ints) -> list[float]:
    """Find the mixing weights of two networks that make the true classes most likely.

    ``logits`` has an ``(n, n_classes)`` for each network, of graphs that were not trained on. The
    second network has three quarters of the weight unless the evidence is clear; more or fewer than
    two networks always have equal weights.

    Examples
    --------
    >>> targets = np.arange(100) % 2
    >>> mostly = np.eye(2)[np.where(np.arange(100) < 85, targets, 1 - targets)]
    >>> guess = np.eye(2)[np.arange(100) // 2 % 2]
    >>> weigh([mostly, mostly], targets), weigh([mostly, guess], targets)[0] > 0.7
    ([0.25, 0.75], True)
    """
    if len(logits) != 2:
        return [1 / len(logits)] * len(logits)

    def posterior(weight: float) -> float:
        combined = combine(logits, [weight, 1 - weight])
        prior = -_WEIGHT_PRIOR * (weight - _USUAL_WEIGHT) ** 2
        return len(targets) * calibrate(combined, targets).log_likelihood + prior

    first = float(max(_FIRST_WEIGHTS, key=posterior))
    return [first, 1 - first]
