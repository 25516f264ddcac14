"""SimGRACE: an encoder that recognizes a graph as a copy of itself with other weights sees it.

The contrast and the training, which other methods share, are in `kgnn.engine.pretraining`.
"""

from __future__ import annotations

import copy
from typing import Annotated

import torch
from torch import Tensor

from kgnn.engine.network import GraphNetwork
from kgnn.engine.pretraining import (
    Pretrained,
    Projected,
    contrastive,
    pretrain_layers,
    require_several,
)
from kgnn.engine.task import Task
from kgnn.estimator.parameters import Bounds, NonNegative, parameters
from kgnn.graphs.graph import Ints
from kgnn.methods.pretrained import PretrainedClassifier
from kgnn.seeds import derive, generator


@parameters
class SimGRACE(PretrainedClassifier):
    """Graph contrastive learning without augmentations: the weights are changed, not the graphs.

    In each step, a copy of the encoder gets noise on all its weights. What both make of one graph
    attracts, what they make of different graphs repels; the gradient reaches the encoder alone.
    See `PretrainedClassifier` for the other parameters.

    Parameters
    ----------
    magnitude : float
        η of the paper: the noise on each tensor of weights has η times their standard deviation.
    temperature : float
        Of the contrast; the lower, the more the most similar other graphs count.

    References
    ----------
    Xia et al., *SimGRACE: a simple framework for graph contrastive learning without data
    augmentation*, WWW 2022.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> model = SimGRACE(epochs=5, pretrain_epochs=3).fit(graphs[:40], labels[:40])
    >>> model.predict_proba(graphs[40:]).shape, len(model.pretraining_["loss"])
    ((20, 2), 3)
    """

    # Paper silent: one value for every dataset, where the original tunes it by dataset; the best on
    # VAL of 0.1, 1 and 10 on MUTAG.
    magnitude: NonNegative = 1.0
    temperature: Annotated[float, Bounds(0.01)] = 0.5

    def _pretrain(self, task: Task, network: GraphNetwork) -> Pretrained:
        require_several(task.graphs)
        module = Projected(network, task.seed)
        contrast = WeightContrast(module, network, self.magnitude, self.temperature, task.seed)
        rng = generator(task.seed, "pre-training")
        return pretrain_layers(module, contrast, network, self._pretraining_config(), rng)


class WeightContrast:
    """The loss of a batch: contrast of an encoder with a perturbed copy of itself."""

    def __init__(
        self,
        module: Projected,
        network: GraphNetwork,
        magnitude: float,
        temperature: float,
        seed: int,
    ) -> None:
        self.module, self.pool = module, network.pool
        self.magnitude, self.temperature = magnitude, temperature
        self.perturbed = copy.deepcopy(module)
        self.noise = torch.Generator().manual_seed(derive(seed, "perturbations"))

    def __call__(self, rows: Ints) -> Tensor:
        """Return the loss of a batch, with new noise."""
        batch = self.pool[rows]
        with torch.no_grad():
            self.perturb()
            second = self.perturbed(batch)
        return contrastive(self.module(batch), second, self.temperature)

    @torch.no_grad()
    def perturb(self) -> None:
        """Give the copy the weights of today, with new noise on those of the encoder.

        Paper silent: the projection is the same for both, as in the released code. A single weight
        has a standard deviation of 0, and so no noise.
        """
        weights = dict(self.module.named_parameters())
        for name, copied in self.perturbed.named_parameters():
            own = weights[name]
            copied.copy_(own)
            if name.startswith("encoder."):
                noise = torch.randn(own.shape, generator=self.noise)
                copied.add_(noise.to(own), alpha=self.magnitude * float(own.std(correction=0)))
