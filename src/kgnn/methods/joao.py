"""JOAO: GraphCL that finds out by itself which augmentations are worth drawing."""

from __future__ import annotations

from typing import Annotated

from kgnn.engine.augmentation_law import AugmentationLaw
from kgnn.engine.contrastive import Contrast, pretrain
from kgnn.engine.network import GraphNetwork
from kgnn.engine.task import Task
from kgnn.engine.views import AUGMENTATIONS
from kgnn.estimator.parameters import Bounds, NonNegative, Share, parameters
from kgnn.methods.pretrained import Pretrained, PretrainedClassifier


@parameters
class JOAO(PretrainedClassifier):
    """Joint augmentation optimization: pairs of views that are hard to match come more often.

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
        contrast = Contrast(
            tuple(AUGMENTATIONS),
            AugmentationLaw((n, n), step=self.beta, penalty=self.gamma),
            self.share,
            self.temperature,
            adaptive=True,
        )
        return Pretrained(*pretrain(network, task.graphs, contrast, self._pretraining(), task.seed))
