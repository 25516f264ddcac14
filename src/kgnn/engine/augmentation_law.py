"""Which pairs of augmentations to draw: a distribution that moves towards the hard ones.

References
----------
You et al., *Graph contrastive learning automated*, ICML 2021.
Duchi et al., *Efficient projections onto the ℓ1-ball*, ICML 2008, for the projection.
"""

from __future__ import annotations

import numpy as np

from kgnn.graphs.graph import Floats, Ints


def project_to_simplex(values: Floats) -> Floats:
    """Return the distribution nearest to some numbers, of any shape, by Euclidean distance.

    Examples
    --------
    >>> project_to_simplex(np.array([0.5, 0.9, -3.0]))
    array([0.3, 0.7, 0. ])
    """
    # A constant changes nothing, and what is 1 below the largest ends at 0 wherever it is; so no
    # digits are lost on large numbers.
    values = np.maximum(values - values.max(), -1.0)
    decreasing = np.sort(values, axis=None)[::-1]
    excess = (np.cumsum(decreasing) - 1) / np.arange(1, values.size + 1)
    n_positive = np.flatnonzero(decreasing > excess)[-1] + 1
    return np.maximum(values - excess[n_positive - 1], 0.0)


class AugmentationLaw:
    """Probabilities P of pairs (first view, second view), uniform at first.

    `update` takes one step up in ``Σ P l − (γ/2) |P − u|²`` with u uniform and losses l:
    ``P ← Proj(P + β (l − γ (P − u)))``.

    Parameters
    ----------
    shape : pair of int
        Number of augmentations to choose from for each of the two views; 1 for a view that is
        always the same.
    step : float
        β. Steps with β γ ≥ 2 do not settle.
    penalty : float
        γ. Where one pair of 25 has a loss that is larger by D than all others, its probability
        settles at ``min(1, 1/25 + (1 − 1/25) D/γ)``.

    Attributes
    ----------
    proba : array of that shape

    Examples
    --------
    >>> law = AugmentationLaw((2, 2), penalty=1.0)
    >>> law.update(np.array([[0.1, 0.1], [0.1, 0.3]]))
    >>> law.proba
    array([[0.2, 0.2],
           [0.2, 0.4]])
    >>> law.draw(3, np.random.default_rng(0)).shape
    (3, 2)
    """

    def __init__(
        self, shape: tuple[int, int] = (5, 5), *, step: float = 1.0, penalty: float = 0.1
    ) -> None:
        self.step, self.penalty = step, penalty
        self.proba = self._uniform = np.full(shape, 1 / np.prod(shape))

    def update(self, losses: Floats) -> None:
        """Move towards pairs with large losses, given the mean loss of every pair."""
        slope = losses - self.penalty * (self.proba - self._uniform)
        self.proba = project_to_simplex(self.proba + self.step * slope)

    def draw(self, n: int, rng: np.random.Generator) -> Ints:
        """Draw a pair of augmentations for each of n graphs, ``(n, 2)``."""
        pairs = rng.choice(self.proba.size, size=n, p=self.proba.ravel())
        return np.stack(np.unravel_index(pairs, self.proba.shape), axis=1)
