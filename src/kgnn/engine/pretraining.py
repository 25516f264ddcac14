"""Pre-training of the layers of a GIN on graphs without labels, and the contrast of two views.

References
----------
You et al., *Graph contrastive learning with augmentations*, NeurIPS 2020.
You et al., *Graph contrastive learning automated*, ICML 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from kgnn.engine.batch import Batch
from kgnn.engine.frozen import frozen_statistics
from kgnn.engine.gin import GIN
from kgnn.engine.loop import n_batches, recompute_bn_stats, train
from kgnn.engine.network import GraphNetwork, OptimizerConfig
from kgnn.engine.views import AUGMENTATIONS, augment, view_batch
from kgnn.errors import GraphDataError
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.seeds import generator, seeded_torch

# What is kept of a network; everything above the layers is made anew for fine-tuning.
ENCODER_PREFIX = "layers."
# A projection shorter than this has no direction.
_SHORTEST = 1e-8


class Pretrained(NamedTuple):
    """What pre-training has made."""

    weights: dict[str, Tensor]  # of the GIN's layers, by name: ``layers.0.inner.weight`` and so on
    history: dict[str, list[float]]  # epoch by epoch; ``loss`` is always there


def require_several(graphs: GraphDataset) -> None:
    """Refuse to compare a graph with no other."""
    if len(graphs) < 2:
        raise GraphDataError(
            f"pre-training compares graphs with each other and needs two or more, got {len(graphs)}"
        )


def pretrain_layers(
    module: nn.Module,
    loss: Callable[[Ints], Tensor],
    network: GraphNetwork,
    optimizer_config: OptimizerConfig,
    rng: np.random.Generator,
    after_step: Callable[[], None] = lambda: None,
) -> Pretrained:
    """Train a module that contains one GIN, in place, and return the layers of that GIN.

    ``loss`` takes rows of the network's pool; the network itself stays as it is.
    """
    n_graphs = len(network.pool)

    def pass_over(averaged: nn.Module) -> None:
        for rows in np.array_split(np.arange(n_graphs), max(1, n_graphs // 256)):
            _gin_of(averaged).embed(network.pool[rows])

    history = train(
        module,
        loss,
        np.arange(n_graphs),
        **vars(optimizer_config),
        rng=rng,
        # The statistics of views are not those of the graphs, which come next.
        finish=lambda each: recompute_bn_stats(each, pass_over),
        after_step=after_step,
        what="pre-training",
    )
    if history.interrupted:
        raise KeyboardInterrupt
    named = _gin_of(module).state_dict().items()
    weights = {name: value.clone() for name, value in named if name.startswith(ENCODER_PREFIX)}
    return Pretrained(weights, {"loss": history.loss})


def _gin_of(module: nn.Module) -> GIN:
    """Return the one GIN that is part of a module."""
    (gin,) = (each for each in module.modules() if isinstance(each, GIN))
    return gin


# -- contrast -------------------------------------------------------------------------------------


class PairLaw:
    """Probabilities of the pairs of augmentations (first view, second view): uniform.

    A subclass may move them after each epoch: it sets ``adaptive`` and writes `update`. The shape
    is the number of augmentations to choose from for each of the two views.

    Examples
    --------
    >>> PairLaw((4, 4)).draw(3, np.random.default_rng(0)).shape
    (3, 2)
    """

    adaptive = False

    def __init__(self, shape: tuple[int, int]) -> None:
        self.proba = np.full(shape, 1 / np.prod(shape))

    def draw(self, n: int, rng: np.random.Generator) -> Ints:
        """Draw a pair of augmentations for each of n graphs, ``(n, 2)``."""
        pairs = rng.choice(self.proba.size, size=n, p=self.proba.ravel())
        return np.stack(np.unravel_index(pairs, self.proba.shape), axis=1)

    def update(self, losses: Floats) -> None:
        """Change the probabilities, given the mean loss of every pair."""
        raise NotImplementedError


@dataclass(frozen=True)
class Contrast:
    """How the two views of a graph are made and compared."""

    augmentations: tuple[str, ...]  # names from `AUGMENTATIONS` to draw from
    law: PairLaw  # probabilities of the pairs of them; changed in place if it is adaptive
    share: float = 0.2  # how much of a graph a view changes
    temperature: float = 0.5  # the lower, the more the most similar other graphs count in the loss


def pretrain_by_contrast(
    network: GraphNetwork,
    graphs: GraphDataset,
    contrast: Contrast,
    optimizer_config: OptimizerConfig,
    seed: int,
) -> Pretrained:
    """Train the layers of a network to recognize graphs in changed views of them.

    The graphs, two or more, are the network's pool; the network stays as it is. With an adaptive
    law, the history has the probability of each pair of augmentations.
    """
    require_several(graphs)
    rng = generator(seed, "pre-training")
    module = Projected(network, seed)
    course = _Course(module, network, graphs, contrast, optimizer_config, rng)
    weights, history = pretrain_layers(
        module, course.loss, network, optimizer_config, rng, course.after_step
    )
    return Pretrained(weights, {**history, **course.probabilities})


class Projected(nn.Module):
    """Encoder and projection head: graphs to the vectors that are compared."""

    def __init__(self, network: GraphNetwork, seed: int) -> None:
        super().__init__()
        with seeded_torch(seed, "pre-training"):
            encoder = network.build(network.node_features.width)
        assert isinstance(encoder, GIN)
        # Without it no weight depends on the number of classes, which play no part here.
        encoder.classifier = nn.Sequential()
        self.encoder = encoder
        width = encoder.n_pooled
        with seeded_torch(seed, "projection"):
            self.projection = nn.Sequential(
                nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)
            )

    def forward(self, batch: Batch) -> Tensor:
        """Return the vectors that are compared, one a graph."""
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
        """At the end of an epoch, let an adaptive law follow the losses."""
        self.n_steps += 1
        if self.contrast.law.adaptive and self.n_steps % self.steps_per_epoch == 0:
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


def contrastive(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Return how hard it is to tell the second view of a graph from second views of others.

    With cosines s and temperature τ, the mean over graphs i of
    ``−s_ii / τ + log Σ_{j ≠ i} exp(s_ij / τ)``; less than 0 where views are told apart well. Row i
    of both projections, ``(n_graphs, d)``, is the same graph. Without another graph the loss is
    zero, with a gradient of zero.

    Examples
    --------
    >>> views = torch.eye(8)  # each graph like itself, unlike the others: −2 + log 7
    >>> contrastive(views, views, 0.5)
    tensor(-0.0541)
    """
    if len(first) < 2:
        return first[:0].sum() + second[:0].sum()
    scores = _unit(first) @ _unit(second).T / temperature
    itself = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    rivals = scores.masked_fill(itself, -torch.inf)
    return (rivals.logsumexp(dim=1) - scores.diagonal()).mean()


def _unit(vectors: Tensor) -> Tensor:
    """Give rows the length 1; one without direction becomes zero.

    It gets no gradient either: that of the clamped length would be 10⁸ times too large.
    """
    lengths = vectors.norm(dim=1, keepdim=True)
    return vectors.where(lengths > _SHORTEST, 0.0) / lengths.clamp(min=_SHORTEST)
