"""Base of methods that add a loss term for unlabeled graphs to the supervised loss.

A step passes a batch of labeled graphs and a batch of unlabeled ones through the network together,
so that BatchNorm sees both. A pass over the labeled graphs is an epoch of the training loop; passes
over the unlabeled graphs, which are more, extend over several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor, nn

from kgnn.engine.batch import Batch, GraphBatch, batch_of
from kgnn.engine.loop import batches, n_batches
from kgnn.engine.network import Fitted, GraphNetwork, Objective, OptimizerConfig, Training
from kgnn.engine.task import Task
from kgnn.engine.views import Augmentation, view_batch
from kgnn.estimator.parameters import Count, NonNegative, Share, parameters
from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.methods.neural import NeuralClassifier
from kgnn.seeds import generator

_ENOUGH = 128  # unlabeled graphs for the statistics of BatchNorm


@parameters
class SemiSupervisedClassifier(NeuralClassifier):
    """A GIN trained on labeled and unlabeled graphs in the same steps.

    A subclass implements `_term`. See `NeuralClassifier` for the other parameters.

    Parameters
    ----------
    weight : float or tuple of float
        Weight of the term for unlabeled graphs relative to the supervised loss; 0 leaves them out.
        With several weights, the members of the committee use them in turn, because VAL is too
        small to choose one.
    ramp_up : float
        Share of all steps over which the weight grows to its value.
    epochs : int
        Passes over the unlabeled graphs. The labeled graphs, which are fewer, are seen more often;
        each pass over them ends with a checkpoint.
    """

    committee: Count = 3
    weight: NonNegative | tuple[NonNegative, ...] = 1.0
    # Paper silent: with the full weight from the start the first random predictions would stay.
    ramp_up: Share = 0.4
    epochs: Count = 10

    def _term(self, task: Task) -> Term:
        """Return the loss term for unlabeled graphs."""
        raise NotImplementedError

    def _weights(self) -> tuple[float, ...]:
        """Return the weights of the term after ramp-up; 0 leaves it out."""
        return self.weight if isinstance(self.weight, tuple) else (self.weight,)

    def _network(
        self,
        task: Task,
        graphs: GraphDataset,
        build: Callable[[int], nn.Module],
        optimizer_config: OptimizerConfig,
        **options: Any,
    ) -> GraphNetwork:
        n_unlabeled = len(task.unlabeled) or len(task.labeled)
        steps = self.epochs * n_batches(n_unlabeled, self.batch_size)
        passes = math.ceil(steps / n_batches(len(task.labeled), self.batch_size))
        return SemiSupervisedNetwork(
            graphs,
            build,
            replace(optimizer_config, epochs=passes),
            unlabeled=task.unlabeled,
            term=self._term(task),
            weights=self._weights(),
            ramp_up=self.ramp_up,
            **options,
        )


@dataclass(frozen=True)
class Step:
    """The arguments of a term in one step.

    Attributes
    ----------
    module : nn.Module
        In training mode.
    rows : (n,) int64
        Graphs of the step as rows of the pool, labeled ones first.
    n_labeled : int
    batch : Batch
        These graphs.
    logits : (n, n_classes)
        Output of the module for these graphs.
    """

    module: nn.Module
    rows: Ints
    n_labeled: int
    batch: Batch
    logits: Tensor
    network: SemiSupervisedNetwork
    rng: np.random.Generator

    @property
    def graphs(self) -> GraphDataset:
        """The graphs themselves, without targets."""
        return self.network.graphs[self.rows]

    @property
    def nodes(self) -> GraphBatch:
        """``batch`` with one row per node, whatever its own rows are."""
        if isinstance(self.batch, GraphBatch):
            return self.batch
        graphs = self.graphs
        return batch_of(graphs, self.network.node_features(graphs))

    def view(self, augmentation: Augmentation, share: float) -> Batch:
        """Return the graphs of the step with random changes; with a share of 0, as they are."""
        if share == 0:
            return self.batch  # to the bit, by color or node by node
        view = augmentation(self.graphs, share, self.rng)
        return view_batch(view, self.network.node_features)


class Term:
    """What a method adds to the loss for graphs without labels.

    Attributes
    ----------
    name : str
        Name of the term in the history.
    aside : tuple of str
        Parts that do not train what predicts; they keep their full weight throughout.
    """

    name: str
    aside: tuple[str, ...] = ()

    def begin(self, module: nn.Module) -> None:
        """Prepare for a new training."""

    def __call__(self, step: Step) -> Tensor | dict[str, Tensor]:
        """Return a scalar to be minimized, or the parts of it by name."""
        raise NotImplementedError

    def after_step(self, module: nn.Module) -> None:
        """Do what follows each change of the weights."""


class SemiSupervisedNetwork(GraphNetwork):
    """A graph neural network with a loss term for unlabeled graphs.

    ``unlabeled`` are rows of ``graphs``. The members use the ``weights`` of the term in turn; with
    weight 0, steps have no unlabeled graphs.
    """

    def __init__(
        self,
        graphs: GraphDataset,
        *args: Any,
        unlabeled: Ints,
        term: Term,
        weights: tuple[float, ...],
        ramp_up: float,
        **options: Any,
    ) -> None:
        super().__init__(graphs, *args, **options)
        self.graphs, self.unlabeled = graphs, unlabeled
        self.term, self.weights, self.ramp_up = term, weights, ramp_up
        self.sample = generator(0, "statistics").permutation(unlabeled)

    def weight_of(self, training: Training) -> float:
        """Return the weight of the term in a training."""
        return self.weights[training.number % len(self.weights)]

    def _objective(
        self, module: nn.Module, training: Training, fitted: Fitted, rng: np.random.Generator
    ) -> Objective:
        self.term.begin(module)
        return _WithTerm(self, module, training, rng)

    def _pass_over(self, module: nn.Module, training: Training, fitted: Fitted) -> None:
        # As in the steps, as many unlabeled graphs as labeled ones, but enough for the statistics.
        labeled = training.examples.labeled
        n_more = max(len(labeled), _ENOUGH) if self.weight_of(training) else 0
        every = np.concatenate([labeled, self.sample[:n_more]])
        for rows in np.array_split(every, max(1, len(every) // 256)):
            self._on_batch(module, rows, fitted)


class _WithTerm(Objective):
    """Cross-entropy of labeled graphs plus the term, whose weight ramps up."""

    def __init__(
        self,
        network: SemiSupervisedNetwork,
        module: nn.Module,
        training: Training,
        rng: np.random.Generator,
    ) -> None:
        self.network, self.module, self.rng = network, module, rng
        self.examples, self.weight = training.examples, network.weight_of(training)
        self.rows, plan = self.examples.labeled, network.optimizer_config
        n_steps = plan.epochs * n_batches(len(self.rows), plan.batch_size)
        self.n_steps, self.ramp_length = 0, network.ramp_up * n_steps
        others = network.unlabeled if len(network.unlabeled) else self.rows
        self.unlabeled = endlessly(others, plan.batch_size, rng)

    def __call__(self, labeled: Ints) -> dict[str, Tensor]:
        weight = self.weight * ramp(self.n_steps, self.ramp_length)
        self.n_steps += 1
        every = np.concatenate([labeled, next(self.unlabeled)]) if self.weight else labeled
        batch = self.network.pool[every]
        logits = self.module(batch)
        losses = self.examples.losses(logits[: len(labeled)], labeled)
        parts = {"labeled": losses.mean()}
        if self.weight:
            step = Step(self.module, every, len(labeled), batch, logits, self.network, self.rng)
            asked = self.network.term(step)
            named = asked if isinstance(asked, dict) else {self.network.term.name: asked}
            aside = self.network.term.aside
            parts |= {n: part if n in aside else weight * part for n, part in named.items()}
        return parts

    def after_step(self) -> None:
        if self.weight:
            self.network.term.after_step(self.module)


def endlessly(rows: Ints, size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield batches of rows endlessly, in a new order each time.

    Examples
    --------
    >>> parts = endlessly(np.arange(4), 2, np.random.default_rng(0))
    >>> sorted(np.concatenate([next(parts), next(parts)]).tolist())
    [0, 1, 2, 3]
    """
    while True:
        yield from batches(rows, size, rng)


def ramp(step: float, length: float) -> float:
    """Return the ramp-up factor of a weight after some steps: ``exp(−5 (1 − min(t/T, 1))²)``.

    A term with its full weight from the start would keep the first, random predictions in place.
    Without a length, the whole weight applies at once.

    Examples
    --------
    >>> [round(ramp(step, 100), 4) for step in (0, 50, 100, 1000)]
    [0.0067, 0.2865, 1.0, 1.0]
    """
    share = min(step / length, 1.0) if length > 0 else 1.0
    return math.exp(-5 * (1 - share) ** 2)


def consistency(logits: Tensor, target_logits: Tensor) -> Tensor:
    """Return the mean over graphs of ``(1/C) |p − p′|²``, with probabilities p and p′ of C classes.

    Logits are ``(n_graphs, n_classes)``; no gradient goes to the target.

    Examples
    --------
    >>> import torch
    >>> consistency(torch.tensor([[99.0, 0.0]]), torch.tensor([[0.0, 99.0]]))  # at most 2/C
    tensor(1.)
    """
    return (logits.softmax(dim=1) - target_logits.detach().softmax(dim=1)).square().mean()
