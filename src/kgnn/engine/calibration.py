"""Calibrate the scores of a network, and combine those of several.

References
----------
Guo et al., *On calibration of modern neural networks*, ICML 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax, ndtr, softmax

from kgnn.graphs.graph import Floats, Ints

ALL = "all"  # networks, together

_BOUNDS = -5.0, 5.0  # of the logarithm of the factor
# Prior of the gain in accuracy of the GNN over the memory, and of both together over a forest: mean
# and standard deviation. With twenty labels the evidence is mostly noise, and the memory needs
# fewer labels than the others.
_USUAL_GAINS, _USUAL_SPREAD = (-0.03, 0.06), 0.06
_FEW, _FEW_VARIANCE = 4, 0.25  # prior of the variance: as much as so many graphs say
# In nats.
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
    """Choose among candidates by their log-likelihoods, ``(n_candidates, n_graphs)``.

    With few labels the best candidate is mostly the luckiest one. So the default is kept unless
    the best is ahead by more than ``caution`` standard errors of the difference.

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


@dataclass(frozen=True)
class Mixing:
    """Weights with which networks predict together."""

    sharpness: list[float] = field(default_factory=list)  # of each network's logits; empty for 1
    weights: list[float] = field(default_factory=list)  # empty for equal ones

    def scaled(self, logits: Sequence[Floats]) -> list[Floats]:
        """Return the logits of each network, calibrated."""
        factors = self.sharpness[: len(logits)] or [1.0] * len(logits)
        return [factor * own for factor, own in zip(factors, logits, strict=True)]

    def together(self, logits: Sequence[Floats]) -> Floats:
        """Return the logits of all networks together."""
        return combine(self.scaled(logits), self.weights)


def learn_mixing(logits: Sequence[Floats], targets: Ints) -> Mixing:
    """Calibrate networks, and find mixing weights, on graphs that they were not trained on."""
    sharpness = [calibrate(own, targets, PULL).sharpness for own in logits]
    scaled = [factor * own for factor, own in zip(sharpness, logits, strict=True)]
    return Mixing(sharpness, weigh(scaled, targets))


def weigh(logits: Sequence[Floats], targets: Ints) -> list[float]:
    """Return mixing weights: the probability that each network is the better one.

    ``logits`` has a calibrated ``(n, n_classes)`` for each network, of graphs that were not trained
    on. Networks are compared by the mean of accuracy and Brier score. Both are bounded; by
    likelihood a few confident mistakes would decide. With few graphs a prior on the order of the
    networks (the GNN, the memory, a forest) counts most. The third network is compared with the
    first two together, and so on.

    Examples
    --------
    >>> targets = np.arange(100) % 2
    >>> mostly = np.eye(2)[np.where(np.arange(100) < 85, targets, 1 - targets)]
    >>> guess = np.eye(2)[np.arange(100) // 2 % 2]
    >>> weigh([mostly, mostly], targets)[1] > 0.5, weigh([mostly, guess], targets)[0] > 0.9
    (True, True)
    """
    weights, together = [1.0], logits[0]
    for number, other in enumerate(logits[1:]):
        usual = _USUAL_GAINS[number] if number < len(_USUAL_GAINS) else 0.0
        better = _chance_of_being_better(together, other, targets, usual)
        weights = [*(better * each for each in weights), 1 - better]
        together = combine(logits[: number + 2], weights)
        together = together * calibrate(together, targets, PULL).sharpness
    return weights


def _chance_of_being_better(first: Floats, second: Floats, targets: Ints, usual: float) -> float:
    gains, n = _merits(first, targets) - _merits(second, targets), len(targets)
    variance = (gains.var() * n + _FEW * _FEW_VARIANCE) / (n + _FEW) / n
    precision = 1 / variance + 1 / _USUAL_SPREAD**2
    mean = (gains.mean() / variance + usual / _USUAL_SPREAD**2) / precision
    return float(ndtr(mean * np.sqrt(precision)))


def _merits(logits: Floats, targets: Ints) -> Floats:
    """Return a score for each prediction: the mean of being right and of minus its Brier score."""
    misses = softmax(logits, axis=1) - np.eye(logits.shape[1])[targets]
    is_right = logits.argmax(axis=1) == targets
    return np.asarray((is_right - (misses**2).sum(axis=1)) / 2)
