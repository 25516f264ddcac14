"""Networks that are trained, once or several times, on rows of one pool of graphs."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor, nn

from kgnn.engine.batch import Batches, SomeBatches
from kgnn.engine.calibration import Calibration, calibrate, combine
from kgnn.engine.fast.quotients import batches_of
from kgnn.engine.loop import CLIP, History, recompute_bn_stats, train
from kgnn.engine.node_features import NodeFeatures
from kgnn.errors import KgnnError
from kgnn.graphs.graph import Floats, GraphDataset, Ints, offsets_of
from kgnn.seeds import generator, seeded_torch

Validation = tuple[GraphDataset, Ints]
# Bound of one forward pass without gradients, so that predictions need bounded memory.
_NODES_PER_PASS = 1 << 16


@dataclass(frozen=True)
class OptimizerConfig:
    """How the weights of a network are found; see `kgnn.engine.loop.train`."""

    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    averaging: float
    clip: float | None = CLIP
    statistics: Literal["recomputed", "running"] = "recomputed"


@dataclass(frozen=True)
class Examples:
    """What a network is trained on: labeled rows of the pool, and annotated ones.

    An epoch passes over the labeled rows, and each batch is paired with annotated ones; if
    ``merged``, both are shuffled together and an epoch passes over all of them.
    """

    labeled: Ints
    targets: Tensor  # (n_pool, n_classes), class probabilities; those of other rows are not read
    annotated: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    weight: float = 1.0  # of annotated rows against labeled ones in the loss
    merged: bool = False

    @property
    def rows(self) -> Ints:
        """All rows, labeled ones first."""
        return np.concatenate([self.labeled, self.annotated])


@dataclass
class Fitted:
    """A trained module with all that it needs to predict; never changed afterwards."""

    module: nn.Module
    history: History
    sharpness: float = 1.0
    memory: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    memory_targets: Tensor = field(default_factory=lambda: torch.empty(0))

    def slots_of(self, rows: Ints) -> Tensor:
        """Return where each row of the pool is in the memory; −1 where it is not."""
        order = np.argsort(self.memory)
        place = np.searchsorted(self.memory, rows, sorter=order)
        slot = order[np.minimum(place, len(order) - 1)]
        return torch.from_numpy(np.where(self.memory[slot] == rows, slot, -1))


class Network(ABC):
    """Base of both networks: a subclass prepares graphs and runs a module on them."""

    name: str
    needed: tuple[str, ...]  # attributes that predictions need; how to train is not among them
    pool: Any  # the training graphs, prepared
    fitted: Fitted  # by the last `fit`

    def __init__(self, optimizer_config: OptimizerConfig) -> None:
        self.optimizer_config = optimizer_config

    def saved_state(self) -> dict[str, Any]:
        """Return what predictions need."""
        return {key: value for key, value in vars(self).items() if key in self.needed}

    def __getstate__(self) -> dict[str, Any]:
        return self.saved_state()

    @abstractmethod
    def prepare(self, graphs: GraphDataset) -> Any:
        """Turn graphs into what the module reads, once for all epochs."""

    @abstractmethod
    def part(self, rows: Ints) -> Any:
        """Return some of the training graphs, prepared."""

    @abstractmethod
    def _build(self, examples: Examples) -> nn.Module:
        """Build a module with random weights."""

    @abstractmethod
    def _on_batch(self, module: nn.Module, rows: Ints, fitted: Fitted) -> Tensor:
        """Return logits of rows of the pool while training."""

    @abstractmethod
    def _on_all(
        self, module: nn.Module, prepared: Any, fitted: Fitted, own: Tensor | None = None
    ) -> Tensor:
        """Return logits of prepared graphs; for ``own`` see `_own_slots`."""

    def fit(
        self,
        examples: Examples,
        validation: tuple[Any, Ints] | None,
        seed: int,
        *,
        warm_start: bool = False,
        what: str = "training",
    ) -> Fitted:
        """Train on examples; VAL, prepared, chooses the epoch and calibrates."""

        def on_validation(module: nn.Module) -> Calibration:
            assert validation is not None
            return calibrate(self._outputs(module, validation[0], new), validation[1])

        def score(module: nn.Module) -> float:
            # Accuracy on a hundred graphs is noise, and the plain likelihood prefers modules that
            # have hardly been trained, because the others are overconfident.
            return on_validation(module).log_likelihood

        rng = generator(seed, self.name)
        with seeded_torch(seed, self.name):
            module = copy.deepcopy(self.fitted.module) if warm_start else self._build(examples)
            slots = self._slots(examples)
            new = Fitted(module, History(), 1.0, slots, examples.targets[slots])
            objective = self._objective(module, examples, new, rng)
            new.history = train(
                module,
                objective,
                objective.rows,
                **vars(self.optimizer_config),
                after_step=objective.after_step,
                rng=rng,
                finish=lambda each: recompute_bn_stats(
                    each, lambda m: self._pass_over(m, examples, new)
                ),
                score=score if validation else None,
                what=what,
            )
        if not all(bool(torch.isfinite(each).all()) for each in module.state_dict().values()):
            raise KgnnError(
                f"Training of the network '{self.name}' has diverged: its weights are not finite. "
                "Take a lower learning rate; or attributes of nodes, if it reads these, are large "
                "and should be scaled."
            )
        if validation is not None:
            new.sharpness = on_validation(module).sharpness
        self.fitted = new
        if new.history.interrupted:  # the caller decides whether to use it
            raise KeyboardInterrupt
        return new

    def logits(self, prepared: Any, fitted: Fitted | None = None) -> Floats:
        """Return calibrated logits, ``(n_graphs, n_classes)``, of the last fit or of another."""
        fitted = fitted or self.fitted
        return fitted.sharpness * self._outputs(fitted.module, prepared, fitted)

    def annotate(self, rows: Ints) -> Floats:
        """Return class probabilities of rows of the pool."""
        new = self.fitted
        outputs = self._outputs(new.module, self.part(rows), new, self._own_slots(rows, new))
        return np.asarray(softmax(new.sharpness * outputs, axis=1))

    @property
    def is_fitted(self) -> bool:
        """Whether `fit` has been called."""
        return hasattr(self, "fitted")

    def _slots(self, examples: Examples) -> Ints:
        """Return the rows of the pool that a memory holds; networks without one ignore them."""
        return examples.rows

    def _own_slots(self, rows: Ints, fitted: Fitted) -> Tensor | None:
        """Return the slot of the memory that holds each row itself, to be masked; −1 for none."""
        return fitted.slots_of(rows)

    def _objective(
        self, module: nn.Module, examples: Examples, fitted: Fitted, rng: np.random.Generator
    ) -> Objective:
        """Return what is minimized."""
        objective = _Merged if examples.merged else _Paired
        return objective(self, module, examples, fitted, rng)

    @torch.no_grad()
    def _outputs(
        self, module: nn.Module, prepared: Any, fitted: Fitted, own: Tensor | None = None
    ) -> Floats:
        module.eval()
        return np.asarray(self._on_all(module, prepared, fitted, own).double().numpy())

    def _pass_over(self, module: nn.Module, examples: Examples, fitted: Fitted) -> None:
        for rows in np.array_split(examples.rows, max(1, len(examples.rows) // 256)):
            self._on_batch(module, rows, fitted)


class Objective:
    """What a network minimizes, batch by batch."""

    rows: Ints  # of the pool; a pass over them is an epoch

    def __call__(self, rows: Ints) -> dict[str, Tensor]:
        """Return the parts of the loss of a batch."""
        raise NotImplementedError

    def after_step(self) -> None:
        """Run after each update of the weights."""


class _Paired(Objective):
    """Cross-entropy of labeled rows, each batch paired with as many annotated ones."""

    def __init__(
        self,
        network: Network,
        module: nn.Module,
        examples: Examples,
        fitted: Fitted,
        rng: np.random.Generator,
    ) -> None:
        self.network, self.module, self.examples = network, module, examples
        self.fitted, self.rng, self.rows = fitted, rng, examples.labeled

    def __call__(self, rows: Ints) -> dict[str, Tensor]:
        examples = self.examples
        n_more = min(self.network.optimizer_config.batch_size, len(examples.annotated))
        more = self.rng.choice(examples.annotated, n_more, replace=False) if n_more else rows[:0]
        losses = self._losses(np.concatenate([rows, more]))
        parts = {"labeled": losses[: len(rows)].mean()}
        if n_more:
            parts["annotated"] = examples.weight * losses[len(rows) :].mean()
        return parts

    def _losses(self, rows: Ints) -> Tensor:
        logits = self.network._on_batch(self.module, rows, self.fitted)
        return nn.functional.cross_entropy(logits, self.examples.targets[rows], reduction="none")


class _Merged(_Paired):
    """Cross-entropy of labeled and annotated rows, shuffled together (Eqs. 15 and 16)."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.rows = self.examples.rows
        self.weights = torch.ones(len(self.examples.targets))
        self.weights[self.examples.annotated] = self.examples.weight

    def __call__(self, rows: Ints) -> dict[str, Tensor]:
        return {"loss": (self.weights[rows] * self._losses(rows)).mean()}


def one_hot(targets: Ints, n_classes: int) -> Tensor:
    """Return class probabilities of known classes; rows of unknown classes are arbitrary."""
    codes = torch.from_numpy(np.maximum(targets, 0))
    return nn.functional.one_hot(codes, n_classes).to(torch.get_default_dtype())


class GraphNetwork(Network):
    """p_θ: a graph neural network on the graphs themselves.

    Parameters
    ----------
    pool : GraphDataset
    build : callable
        Maps the length of a node's vector to a module.
    optimizer_config : OptimizerConfig
    node_features : NodeFeatures
    layers : int
        Rounds of message passing that may be done once for all nodes of a color, if the module
        is a GIN; 0 if it is not.
    start : dict of str to Tensor
        Initial weights by name; all others are random.
    """

    name = "gnn"
    needed = ("node_features", "layers", "fitted")

    def __init__(
        self,
        pool: GraphDataset,
        build: Callable[[int], nn.Module],
        optimizer_config: OptimizerConfig,
        *,
        node_features: NodeFeatures,
        layers: int = 0,
        start: Mapping[str, Tensor] | None = None,
    ) -> None:
        super().__init__(optimizer_config)
        self.start = dict(start or {})
        self.build, self.node_features, self.layers = build, node_features, layers
        self.pool = self.prepare(pool)

    def prepare(self, graphs: GraphDataset) -> Batches:
        """Return graphs from which batches can be taken."""
        return batches_of(graphs, self.node_features, self.layers)

    def part(self, rows: Ints) -> Batches:
        """Return some of the training graphs, prepared."""
        return SomeBatches(self.pool, rows)

    def _build(self, examples: Examples) -> nn.Module:
        module = self.build(self.node_features.width)
        unknown = module.load_state_dict(self.start, strict=False).unexpected_keys
        assert not unknown, f"no such weights: {unknown}"
        return module

    def _on_batch(self, module: nn.Module, rows: Ints, fitted: Fitted) -> Tensor:
        logits: Tensor = module(self.pool[rows])
        return logits

    def _on_all(
        self, module: nn.Module, prepared: Batches, fitted: Fitted, own: Tensor | None = None
    ) -> Tensor:
        return torch.cat([module(prepared[rows]) for rows in passes(prepared)])


def passes(prepared: Batches) -> Iterator[Ints]:
    """Split prepared graphs into runs of rows with a bounded number of nodes each."""
    run = offsets_of(prepared.sizes)[:-1] // _NODES_PER_PASS
    yield from np.split(np.arange(len(prepared)), np.flatnonzero(np.diff(run)) + 1)


@dataclass
class Committee:
    """Several trainings of a network that differ in their seeds and predict together.

    With few labels, the accuracies of two such trainings differ by more than most ideas are worth;
    their mean is stable.
    """

    members: list[Fitted] = field(default_factory=list)
    interrupted: bool = False  # whether Ctrl-C came before all were trained

    def logits(self, network: Network, prepared: Any) -> Floats:
        """Return the combined logits, ``(n_graphs, n_classes)``."""
        each = [network.logits(prepared, member) for member in self.members]
        return combine(each) if len(each) > 1 else each[0]


def fit_committee(
    network: Network,
    examples: Examples,
    validation: tuple[Any, Ints] | None,
    seeds: Sequence[int],
    *,
    before: Callable[[int], None] = lambda number: None,
    what: str = "training",
) -> Committee:
    """Train a network once for each seed.

    ``before`` is called with the number of each member before its training. Ctrl-C ends the
    training with the complete members, or with the first as far as it has come.
    """
    committee = Committee()
    for number, seed in enumerate(seeds):
        before(number)
        named = f"{what}, {number + 1} of {len(seeds)}" if len(seeds) > 1 else what
        try:
            committee.members.append(network.fit(examples, validation, seed, what=named))
        except KeyboardInterrupt:
            committee.interrupted = True
            first = None if committee.members else getattr(network, "fitted", None)
            if first is not None and first.history.interrupted:
                committee.members.append(first)
            if not committee.members:
                raise
            break
    return committee
