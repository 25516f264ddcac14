"""GraphCL: contrastive pre-training on augmented views of graphs, then fine-tuning on labels.

Views and their contrast, which other methods share, are in `kgnn.engine.pretraining`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from kgnn.engine.network import GraphNetwork
from kgnn.engine.pretraining import Contrast, PairLaw, Pretrained, pretrain_by_contrast
from kgnn.engine.task import Task
from kgnn.estimator.parameters import Bounds, Share, parameters
from kgnn.methods.pretrained import PretrainedClassifier

Augmentation = Literal["node_drop", "subgraph", "edge_pert", "attr_mask", "identity"]


@parameters
class GraphCL(PretrainedClassifier):
    """Graph contrastive learning: views of one graph attract, those of others repel.

    See `PretrainedClassifier` for the other parameters.

    Parameters
    ----------
    augmentations : tuple of {"node_drop", "subgraph", "edge_pert", "attr_mask", "identity"}
        What a view may differ by; each graph draws two of them, independently.
    share : float
        How much of a graph a view changes.
    temperature : float
        Of the contrast; the lower, the more the most similar other graphs count.

    References
    ----------
    You et al., *Graph contrastive learning with augmentations*, NeurIPS 2020.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> model = GraphCL(epochs=5, pretrain_epochs=3).fit(graphs[:40], labels[:40])
    >>> model.predict_proba(graphs[40:]).shape, len(model.pretraining_["loss"])
    ((20, 2), 3)
    """

    # Paper silent: all four for every dataset, where the original tunes the pool by dataset.
    augmentations: tuple[Augmentation, ...] = ("node_drop", "subgraph", "edge_pert", "attr_mask")
    share: Share = 0.2
    temperature: Annotated[float, Bounds(0.01)] = 0.5

    def _pretrain(self, task: Task, network: GraphNetwork) -> Pretrained:
        law = PairLaw((len(self.augmentations), len(self.augmentations)))
        contrast = Contrast(self.augmentations, law, self.share, self.temperature)
        config = self._pretraining_config()
        return pretrain_by_contrast(network, task.graphs, contrast, config, task.seed)
