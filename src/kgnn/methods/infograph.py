"""InfoGraph: a second encoder learns from all graphs what nodes and their graphs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from kgnn.engine.contrastive import pretrain_on_nodes
from kgnn.engine.gin import GIN
from kgnn.engine.infomax import InfoMax, for_both_encoders
from kgnn.engine.network import GraphNetwork, OptimizerConfig
from kgnn.engine.task import Task
from kgnn.estimator.parameters import NonNegative, parameters
from kgnn.graphs.graph import GraphDataset
from kgnn.methods.pretrained import CanPretrain, Pretrained
from kgnn.methods.semi_supervised import SemiSupervisedClassifier, Step, Term
from kgnn.seeds import seeded_torch


# In this order, for the first base has the default of a parameter that both have.
@parameters
class InfoGraph(SemiSupervisedClassifier, CanPretrain):
    """InfoGraph*: classes are taught to one encoder, what graphs have in common to another.

    The second encoder ψ learns, without labels, graph vectors that tell the nodes of a graph from
    others; the graph vectors of the GIN φ, which predicts, are tied to those of ψ. Pre-training is
    ψ's task alone; both encoders start from a ``pretrained`` one. See `SemiSupervisedClassifier`
    and `CanPretrain` for the other parameters.

    Parameters
    ----------
    tie : float
        Weight of the tie, beside ``weight``. With 0 nothing of ψ would reach φ, and
        unlabeled graphs are left out, as with a ``weight`` of 0.
    separate_encoder : bool
        Without it there is no ψ and no tie: φ is taught both, ψ's task with ``weight``.

    References
    ----------
    Sun et al., *InfoGraph: Unsupervised and semi-supervised graph-level representation learning via
    mutual information maximization*, ICLR 2020.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(60)
    >>> labels = graphs.targets.copy()
    >>> labels[10:40] = -1
    >>> InfoGraph(epochs=5).fit(graphs[:40], labels[:40]).predict_proba(graphs[40:]).shape
    (20, 2)
    """

    weight: NonNegative | tuple[NonNegative, ...] = (0.1, 1.0, 0.01)
    tie: NonNegative = 0.1
    separate_encoder: bool = True

    def _term(self, task: Task) -> Term:
        return _MutualInformation(self.tie, self.separate_encoder)

    def _weights(self) -> tuple[float, ...]:
        return (0.0,) if self.separate_encoder and not self.tie else super()._weights()

    def _pretrain(self, task: Task, network: GraphNetwork) -> Pretrained:
        # Paper silent: one encoder learns ψ's task, and φ starts from it as well.
        with seeded_torch(task.seed, "pre-training"):
            gin = self._gin(network)
            module = self._infomax(gin, network.node_features.width, separate=False)
        return Pretrained(
            *pretrain_on_nodes(module, network, task.graphs, self._pretraining(), task.seed)
        )

    def _gnn(self, task: Task) -> GraphNetwork:
        network = super()._gnn(task)
        if any(self._weights()):
            network.start = for_both_encoders(network.start, self.separate_encoder)
        return network

    def _network(
        self,
        task: Task,
        graphs: GraphDataset,
        build: Callable[[int], nn.Module],
        optimizer_config: OptimizerConfig,
        **options: Any,
    ) -> GraphNetwork:
        def build_both(n_features: int) -> nn.Module:
            phi = build(n_features)
            assert isinstance(phi, GIN)
            # A seed of its own: φ begins and drops out as it does without ψ.
            with seeded_torch(torch.initial_seed(), "infomax"):
                return self._infomax(phi, n_features, self.separate_encoder)

        # Without a weight there is nothing for ψ to learn.
        module = build_both if any(self._weights()) else build
        return super()._network(task, graphs, module, optimizer_config, **options)

    def _infomax(self, phi: GIN, n_features: int, separate: bool) -> InfoMax:
        return InfoMax(
            phi,
            n_features,
            width=self.width,
            layers=self.layers,
            encoder=self.encoder,
            separate=separate,
        )


class _MutualInformation(Term):
    name = "infomax"

    def __init__(self, tie: float, separate: bool) -> None:
        self.tie = tie
        # ψ learns its task in full from the beginning, however little φ is tied to it.
        self.aside = (self.name,) if separate else ()

    def __call__(self, step: Step) -> dict[str, Tensor]:
        module = step.module
        assert isinstance(module, InfoMax)
        patches = module.patches(step.nodes)
        parts = {self.name: module.infomax(patches)}
        if module.separate:
            parts["tie"] = self.tie * module.tie(step.batch, patches)
        return parts
