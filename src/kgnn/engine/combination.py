"""One answer out of several networks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import log_softmax

from kgnn.engine.calibration import calibrate
from kgnn.graphs.graph import Floats, Ints

_SHARES = np.linspace(0, 1, 21)  # of the first of two
# In nats of VAL: what it costs to listen to one of two alone is a quarter of this. VAL has too few
# graphs to be trusted with small differences.
_FAIRNESS = 10.0


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
