"""Pre-training of an encoder by contrast: views or nodes of a graph are told from those of others.

References
----------
Sun et al., *InfoGraph*, ICLR 2020.
You et al., *Graph contrastive learning with augmentations*, NeurIPS 2020.
You et al., *Graph contrastive learning automated*, ICML 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from torch import Tensor, nn

from kgnn.engine.augmentation_law import AugmentationLaw
from kgnn.engine.batch import Batch, batch_of
from kgnn.engine.frozen import frozen_statistics
from kgnn.engine.gin import GIN
from kgnn.engine.infomax import InfoMax
from kgnn.engine.loop import n_batches, recompute_bn_stats, train
from kgnn.engine.losses import contrastive
from kgnn.engine.network import GraphNetwork, OptimizerConfig
from kgnn.engine.views import AUGMENTATIONS, augment, view_batch
from kgnn.errors import GraphDataError
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.seeds import generator, seeded_torch

# What is kept of a network; all above the layers is made for what comes next.
ENCODER_PREFIX = "layers."


@dataclass(frozen=True)
class Contrast:
    """How the two views of a graph are made and compared.

    Attributes
    ----------
    augmentations : tuple of str
        Names from `kgnn.engine.views.AUGMENTATIONS` to draw from.
    law : AugmentationLaw
        Probabilities of the pairs of them; changed in place if ``adaptive``.
    share : float
        How much of a graph a view changes.
    temperature : float
        Of the loss; the lower, the more the most similar other graphs count.
    adaptive : bool
        Whether pairs with a large loss become more frequent from epoch to epoch.
    """

    augmentations: tuple[str, ...]
    law: AugmentationLaw
    share: float = 0.2
    temperature: float = 0.5
    adaptive: bool = False


def pretrain(
    network: GraphNetwork,
    graphs: GraphDataset,
    contrast: Contrast,
    optimizer_config: OptimizerConfig,
    seed: int,
) -> tuple[dict[str, Tensor], dict[str, list[float]]]:
    """Train the layers of a network to know graphs again in changed views of them.

    Parameters
    ----------
    network : GraphNetwork
        Of a `GIN`, with these graphs for its pool; it stays as it is.
    graphs : GraphDataset
        At least two, for a graph is contrasted with others.
    contrast : Contrast
    optimizer_config : OptimizerConfig
    seed : int

    Returns
    -------
    weights : dict of str to Tensor
        Of the layers of the network, by name.
    history : dict of str to list of float
        ``loss`` by epoch, and if ``adaptive`` the probability of each pair of augmentations.
    """
    require_several(graphs)
    rng = generator(seed, "pre-training")
    module = _Projected(network, seed)
    course = _Course(module, network, graphs, contrast, optimizer_config, rng)
    weights, loss = _train(module, course.loss, network, optimizer_config, rng, course.after_step)
    return weights, {"loss": loss, **course.probabilities}


def pretrain_on_nodes(
    module: InfoMax,
    network: GraphNetwork,
    graphs: GraphDataset,
    optimizer_config: OptimizerConfig,
    seed: int,
) -> tuple[dict[str, Tensor], dict[str, list[float]]]:
    """Train layers to make graph vectors that tell the nodes of a graph from others.

    Parameters
    ----------
    module : InfoMax
        Without a second encoder; trained in place.
    network, graphs, optimizer_config, seed
        As for `pretrain`; of the network, the pool and the node features alone are used.

    Returns
    -------
    weights, history
        As from `pretrain`.
    """
    require_several(graphs)
    assert not module.separate

    def loss(rows: Ints) -> Tensor:
        some = graphs[rows]
        return module.infomax(module.patches(batch_of(some, network.node_features(some))))

    rng = generator(seed, "pre-training")
    weights, losses = _train(module, loss, network, optimizer_config, rng)
    return weights, {"loss": losses}


def require_several(graphs: GraphDataset) -> None:
    """Refuse to compare a graph with no other."""
    if len(graphs) < 2:
        raise GraphDataError(
            f"pre-training compares graphs with each other and needs two or more, got {len(graphs)}"
        )


def _train(
    module: nn.Module,
    loss: Callable[[Ints], Tensor],
    network: GraphNetwork,
    optimizer_config: OptimizerConfig,
    rng: np.random.Generator,
    after_step: Callable[[], None] = lambda: None,
) -> tuple[dict[str, Tensor], list[float]]:
    """Train a module on all graphs, and return the layers of its GIN and the loss by epoch."""
    history = train(
        module,
        loss,
        np.arange(len(network.pool)),
        **vars(optimizer_config),
        rng=rng,
        # The statistics of views are not those of the graphs, which come next.
        finish=lambda each: recompute_bn_stats(each, lambda m: _pass_over(m, network)),
        after_step=after_step,
        what="pre-training",
    )
    if history.interrupted:
        raise KeyboardInterrupt
    named = _gin_of(module).state_dict().items()
    weights = {name: value.clone() for name, value in named if name.startswith(ENCODER_PREFIX)}
    return weights, history.loss


class _Projected(nn.Module):
    """Encoder and projection head: graphs to the vectors that are compared."""

    def __init__(self, network: GraphNetwork, seed: int) -> None:
        super().__init__()
        with seeded_torch(seed, "pre-training"):
            encoder = network.build(network.node_features.width)
        assert isinstance(encoder, GIN)
        # Without it no weight depends on the number of classes, which are nobody's business here.
        encoder.classifier = nn.Sequential()
        self.encoder = encoder
        width = encoder.n_pooled
        with seeded_torch(seed, "projection"):
            self.projection = nn.Sequential(
                nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)
            )

    def forward(self, batch: Batch) -> Tensor:
        projections: Tensor = self.projection(self.encoder.embed(batch))
        return projections


class _Course:
    """The loss of a batch, and what changes from epoch to epoch."""

    def __init__(
        self,
        module: nn.Module,
        network: GraphNetwork,
        graphs: GraphDataset,
        contrast: Contrast,
        optimizer_config: OptimizerConfig,
        rng: np.random.Generator,
    ) -> None:
        self.module, self.graphs, self.contrast, self.rng = module, graphs, contrast, rng
        self.node_features, self.batch_size = network.node_features, optimizer_config.batch_size
        known = list(AUGMENTATIONS)
        self.ways = np.array([known.index(name) for name in contrast.augmentations])
        self.steps_per_epoch = n_batches(len(graphs), self.batch_size)
        self.n_steps = 0
        self.probabilities: dict[str, list[float]] = {}

    def loss(self, rows: Ints) -> Tensor:
        """Contrast two views of each graph; each graph has a pair of augmentations of its own."""
        graphs, pairs = self.graphs[rows], self.contrast.law.draw(len(rows), self.rng)
        # Two passes, so that BatchNorm has the statistics of each view by itself.
        first, second = (self._project(graphs, pairs[:, side]) for side in (0, 1))
        return contrastive(first, second, self.contrast.temperature)

    def after_step(self) -> None:
        """At the end of an epoch, let the law follow the losses."""
        self.n_steps += 1
        if self.contrast.adaptive and self.n_steps % self.steps_per_epoch == 0:
            self.contrast.law.update(self.losses_of_pairs())
            proba = self.contrast.law.proba.ravel().tolist()
            pairs = product(self.contrast.augmentations, repeat=2)
            for pair, each in zip(pairs, proba, strict=True):
                self.probabilities.setdefault(" + ".join(pair), []).append(each)

    @torch.no_grad()
    def losses_of_pairs(self) -> Floats:
        """Estimate the loss of each ordered pair of augmentations; the network stays as it is.

        Paper silent: one batch per epoch. With n augmentations it is passed 2 n times, n as first
        and n as second views, and each of the n² pairs compares two of these.
        """
        n_graphs = min(self.batch_size, len(self.graphs))
        graphs = self.graphs[self.rng.choice(len(self.graphs), n_graphs, replace=False)]
        with frozen_statistics(self.module):
            first, second = (
                [self._project(graphs, np.full(n_graphs, way)) for way in range(len(self.ways))]
                for _ in range(2)
            )
        return np.array(
            [[float(contrastive(a, b, self.contrast.temperature)) for b in second] for a in first]
        )

    def _project(self, graphs: GraphDataset, choices: Ints) -> Tensor:
        view = augment(graphs, self.ways[choices], self.contrast.share, self.rng)
        projections: Tensor = self.module(view_batch(view, self.node_features))
        return projections


def _pass_over(module: nn.Module, network: GraphNetwork) -> None:
    """Pass all graphs through the encoder, as they are."""
    gin, n_graphs = _gin_of(module), len(network.pool)
    for rows in np.array_split(np.arange(n_graphs), max(1, n_graphs // 256)):
        gin.embed(network.pool[rows])


def _gin_of(module: nn.Module) -> GIN:
    """Return the one GIN that is part of a module."""
    (gin,) = (each for each in module.modules() if isinstance(each, GIN))
    return gin
