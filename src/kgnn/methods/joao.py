"""JOAO: contrastive pre-training with augmentations drawn according to their losses.

Views and their contrast, which other methods share, are in `kgnn.engine.pretraining`.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from kgnn.engine.network import GraphNetwork
from kgnn.engine.pretraining import Contrast, PairLaw, Pretrained, pretrain_by_contrast
from kgnn.engine.task import Task
from kgnn.engine.views import AUGMENTATIONS
from kgnn.estimator.parameters import Bounds, NonNegative, Share, parameters
from kgnn.graphs.graph import Floats
from kgnn.methods.pretrained import PretrainedClassifier


@parameters
class JOAO(PretrainedClassifier):
    """Joint augmentation optimization: pairs of views that are hard to match are drawn more often.

    After each epoch the probabilities of the 25 pairs of augmentations take a step towards those
    with a large loss. See `PretrainedClassifier` for the other parameters.

    Parameters
    ----------
    gamma : float
        Pull of the probabilities back to uniform; the larger, the closer they stay.
    beta : float
        Length of their step after each epoch. They only settle while ``beta * gamma`` is below 2.
    share : float
        How much of a graph a view changes.
    temperature : float
        Of the contrast; the lower, the more the most similar other graphs count.

    Attributes
    ----------
    pretraining_ : dict of str to list of float
        ``loss``, and the probability of each pair under its name, such as
        ``"node_drop + identity"``.

    References
    ----------
    You et al., *Graph contrastive learning automated*, ICML 2021.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> model = JOAO(epochs=5, pretrain_epochs=3).fit(graphs[:40], labels[:40])
    >>> model.predict_proba(graphs[40:]).shape
    (20, 2)
    >>> len(model.pretraining_["node_drop + identity"])
    3
    """

    # Paper silent: of 0.1 and 1, which the original tries; with 0.1 three pairs of 25 take over.
    gamma: NonNegative = 1.0
    beta: NonNegative = 1.0
    share: Share = 0.2
    temperature: Annotated[float, Bounds(0.01)] = 0.5

    def _pretrain(self, task: Task, network: GraphNetwork) -> Pretrained:
        n = len(AUGMENTATIONS)
        law = AugmentationLaw((n, n), step=self.beta, penalty=self.gamma)
        contrast = Contrast(tuple(AUGMENTATIONS), law, self.share, self.temperature)
        config = self._pretraining_config()
        return pretrain_by_contrast(network, task.graphs, contrast, config, task.seed)


class AugmentationLaw(PairLaw):
    """Probabilities P of pairs (first view, second view), uniform at first.

    `update` takes one step up in ``Σ P l − (γ/2) |P − u|²`` with u uniform and losses l:
    ``P ← Proj(P + β (l − γ (P − u)))``.

    ``step`` is β and ``penalty`` γ. Steps with β γ ≥ 2 do not settle. Where one pair of 25 has a
    loss that is larger by D than all others, its probability settles at
    ``min(1, 1/25 + (1 − 1/25) D/γ)``.

    Examples
    --------
    >>> law = AugmentationLaw((2, 2), penalty=1.0)
    >>> law.update(np.array([[0.1, 0.1], [0.1, 0.3]]))
    >>> law.proba
    array([[0.2, 0.2],
           [0.2, 0.4]])
    """

    adaptive = True

    def __init__(
        self, shape: tuple[int, int] = (5, 5), *, step: float = 1.0, penalty: float = 0.1
    ) -> None:
        super().__init__(shape)
        self.step, self.penalty, self._uniform = step, penalty, self.proba

    def update(self, losses: Floats) -> None:
        """Move towards pairs with large losses, given the mean loss of every pair."""
        slope = losses - self.penalty * (self.proba - self._uniform)
        self.proba = project_to_simplex(self.proba + self.step * slope)


def project_to_simplex(values: Floats) -> Floats:
    """Return the distribution nearest to some numbers, of any shape, by Euclidean distance.

    The algorithm is that of Duchi et al., *Efficient projections onto the ℓ1-ball*, ICML 2008.

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
