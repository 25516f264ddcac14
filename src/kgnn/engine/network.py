"""Networks that are trained, once or several times, on rows of one pool of graphs."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor, nn

from kgnn.engine.batch import Batches, SomeBatches, passes
from kgnn.engine.calibration import combine
from kgnn.engine.epochs import choose_epochs
from kgnn.engine.fast.quotients import batches_of
from kgnn.engine.linear import KernelMachine
from kgnn.engine.loop import CLIP, History, checkpoint_epochs, recompute_bn_stats, train
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.task import Member, OutOfFold, Task
from kgnn.engine.trees import Forest
from kgnn.engine.untrained import UntrainedGNN, fit_machine
from kgnn.errors import KgnnError
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.seeds import generator, seeded_torch

Validation = tuple[GraphDataset, Ints]
_ENOUGH = 1024  # graphs for the statistics of BatchNorm


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
    checkpoints: int = 10  # epochs to choose from, where there are graphs to choose by


@dataclass(frozen=True)
class Examples:
    """The graphs that a network is trained on: labeled rows of the pool, and annotated ones.

    An epoch is a pass over the labeled rows, with annotated rows added to each batch. If
    ``merged``, both are shuffled together, and an epoch is a pass over all of them.
    """

    labeled: Ints
    targets: Tensor  # (n_pool, n_classes), class probabilities; those of other rows are not read
    annotated: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    weight: float = 1.0  # of annotated rows against labeled ones in the loss
    merged: bool = False
    class_weights: Tensor | None = None  # (n_classes,) in the loss

    @property
    def rows(self) -> Ints:
        """All rows, labeled ones first."""
        return np.concatenate([self.labeled, self.annotated])

    def losses(self, logits: Tensor, rows: Ints) -> Tensor:
        """Return the cross-entropy of each of these rows, weighted by its class."""
        targets = self.targets[rows]
        return nn.functional.cross_entropy(logits, targets, self.class_weights, reduction="none")


@dataclass(frozen=True)
class Training:
    """A training to be done, and the held-out graphs that judge it."""

    examples: Examples
    seed: int
    judges: Any = None  # graphs that are not trained on, prepared
    truth: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # their classes
    number: int = 0  # among the trainings that predict together


@dataclass
class Fitted:
    """A trained module with all that it needs to predict; never changed afterwards."""

    module: Any  # of torch, a `Forest` or a `KernelMachine`
    history: History
    memory: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    memory_targets: Tensor = field(default_factory=lambda: torch.empty(0, 0))
    # Logits of the graphs that judge it, at the epoch that the graphs of the others choose, so that
    # no graph influences its own answer.
    answers: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def saved_state(self) -> dict[str, Any]:
        """Return what predictions need."""
        return {**vars(self), "answers": np.empty((0, 0))}

    def require_sound(self) -> None:
        """Refuse what was read from a file and cannot have been trained."""
        if not isinstance(self.module, (nn.Module, Forest, KernelMachine)):
            raise ValueError("what was trained is no module")
        n = len(self.memory_targets)
        targets = self.memory_targets
        is_sound = self.memory.shape == (n,) and targets.ndim == 2
        if not is_sound or targets.dtype != torch.get_default_dtype():
            raise ValueError("the slots of a memory have no class each")

    def with_slots(self, places: Ints) -> Fitted:
        """Return the same module with a part of its memory."""
        targets = self.memory_targets[torch.from_numpy(places)]
        return replace(self, memory=self.memory[places], memory_targets=targets)

    def slots_of(self, rows: Ints) -> Tensor:
        """Return where each row of the pool is in the memory; −1 where it is not."""
        order = np.argsort(self.memory)
        place = np.searchsorted(self.memory, rows, sorter=order)
        slot = order[np.minimum(place, len(order) - 1)]
        return torch.from_numpy(np.where(self.memory[slot] == rows, slot, -1))


class Learner(ABC):
    """A model that is fitted once or several times on a pool of graphs; all fits predict."""

    name: str
    needed: tuple[str, ...]  # attributes that predictions need; how to train is not among them
    pool: Any  # the training graphs, prepared
    fitted: list[Fitted]  # by the last `fit`, one for each training

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
    def fit(
        self,
        trainings: Sequence[Training],
        *,
        pooled: bool = False,
        changes: Mapping[str, Any] | None = None,
        warm_start: bool = False,
        what: str = "training",
    ) -> list[Fitted]:
        """Train for each of ``trainings``; see `Network.fit`."""

    @abstractmethod
    def _outputs(
        self, module: nn.Module, prepared: Any, fitted: Fitted, own: Tensor | None = None
    ) -> Floats:
        """Return logits of prepared graphs; for ``own`` see `_own_slots`."""

    def logits(self, prepared: Any, members: Sequence[Fitted] | None = None) -> Floats:
        """Return the combined logits of all members, ``(n_graphs, n_classes)``.

        With few labels, the seed alone changes the accuracy by more than most ideas do; the mean
        of several trainings is stable.
        """
        members = self.fitted if members is None else members
        each = [self._answer(member, prepared) for member in members]
        return combine(each) if len(each) > 1 else each[0]

    def annotate(self, rows: Ints) -> list[Floats]:
        """Return the class probabilities of each member for rows of the pool."""
        part = self.part(rows)
        return [np.asarray(softmax(self._answer(m, part, rows), axis=1)) for m in self.fitted]

    def _answer(self, member: Fitted, prepared: Any, rows: Ints | None = None) -> Floats:
        """Return a member's logits of prepared graphs, which may be ``rows`` of the pool."""
        own = None if rows is None else self._own_slots(rows, member)
        return self._outputs(member.module, prepared, member, own)

    @property
    def is_fitted(self) -> bool:
        """Whether `fit` has been called."""
        return hasattr(self, "fitted")

    def _own_slots(self, rows: Ints, fitted: Fitted) -> Tensor | None:
        """Return the slot of the memory that holds each row itself, to be masked; −1 for none."""
        return None


class Network(Learner):
    """Base of both networks: a subclass prepares graphs and runs a module on them."""

    n_jobs = 1  # processes that train members
    starts_well = False  # whether the module before any step is the default choice

    def __init__(self, optimizer_config: OptimizerConfig) -> None:
        self.optimizer_config = optimizer_config

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
        trainings: Sequence[Training],
        *,
        pooled: bool = False,
        changes: Mapping[str, Any] | None = None,
        warm_start: bool = False,
        what: str = "training",
    ) -> list[Fitted]:
        """Train once for each of ``trainings``, and choose the epoch on held-out graphs.

        If ``pooled``, all held-out graphs together choose one epoch for all trainings. ``changes``
        replace settings of the `OptimizerConfig`. Ctrl-C ends it with the complete trainings, or
        with the first one as far as it has come.
        """
        config = replace(self.optimizer_config, **(changes or {}))
        if not any(len(each.truth) for each in trainings):
            config = replace(config, checkpoints=1)
        jobs = []
        for number, training in enumerate(trainings):
            start = self.fitted[training.number] if warm_start else None
            several = f", {number + 1} of {len(trainings)}" if len(trainings) > 1 else ""
            jobs.append((training, config, start, what + several))
        done: list[Trained] = []
        stopped = False
        try:
            for new in self._trained(jobs, what):
                stopped = new.fitted.history.interrupted
                if not (stopped and done):
                    done.append(new)
                if stopped:
                    break
        except KeyboardInterrupt:
            stopped = True
            if not done:
                raise
        chosen = choose_epochs(
            [each.answers for each in done],
            [each.training.truth for each in done],
            pooled,
            default=0 if self.starts_well else -1,
        )
        self.fitted = [each.at(*own) for each, own in zip(done, chosen, strict=True)]
        if stopped:  # the caller decides whether to use it
            raise KeyboardInterrupt
        return self.fitted

    def _trained(self, jobs: Sequence[tuple[Any, ...]], what: str) -> Iterator[Trained]:
        if self.n_jobs > 1 and len(jobs) > 1:
            from kgnn.engine.fast.processes import train_in_processes

            yield from train_in_processes(self, jobs, self.n_jobs, what)
        else:
            yield from (self._train(*job) for job in jobs)

    def _train(
        self, training: Training, config: OptimizerConfig, start: Fitted | None, what: str
    ) -> Trained:
        examples, judges = training.examples, training.judges
        states: list[dict[str, Tensor]] = []
        answers: list[Floats] = []

        def at_checkpoint(averaged: nn.Module) -> None:
            states.append({key: value.clone() for key, value in averaged.state_dict().items()})
            if judges is not None:
                answers.append(self._outputs(averaged, judges, new))

        shows_start = self.starts_well and config.checkpoints > 1
        rng = generator(training.seed, self.name)
        with seeded_torch(training.seed, self.name):
            module = self._build(examples) if start is None else copy.deepcopy(start.module)
            slots = self._slots(examples)
            new = Fitted(module, History(), slots, examples.targets[slots])
            objective = self._objective(module, training, new, rng)
            new.history = train(
                module,
                objective,
                objective.rows,
                **vars(config),
                after_step=objective.after_step,
                rng=rng,
                finish=lambda each: recompute_bn_stats(
                    each, lambda m: self._pass_over(m, training, new)
                ),
                show_start=shows_start,
                at_checkpoint=at_checkpoint,
                what=what,
            )
        if not all(bool(torch.isfinite(each).all()) for each in module.state_dict().values()):
            raise KgnnError(
                f"Training of the network '{self.name}' has diverged: its weights are not finite. "
                "Take a lower learning rate; or attributes of nodes, if it reads these, are large "
                "and should be scaled."
            )
        epochs = [-1] * shows_start + checkpoint_epochs(config.epochs, config.checkpoints)
        return Trained(training, new, states, answers, epochs)

    def _slots(self, examples: Examples) -> Ints:
        """Return the rows of the pool that a memory holds; networks without one ignore them."""
        return examples.rows

    def _objective(
        self, module: nn.Module, training: Training, fitted: Fitted, rng: np.random.Generator
    ) -> Objective:
        """Return what is minimized."""
        objective = _Merged if training.examples.merged else _Paired
        return objective(self, module, training.examples, fitted, rng)

    @torch.no_grad()
    def _outputs(
        self, module: nn.Module, prepared: Any, fitted: Fitted, own: Tensor | None = None
    ) -> Floats:
        module.eval()
        return np.asarray(self._on_all(module, prepared, fitted, own).double().numpy())

    def _pass_over(self, module: nn.Module, training: Training, fitted: Fitted) -> None:
        every = training.examples.rows
        if len(every) > _ENOUGH:
            every = generator(training.seed, "statistics").permutation(every)[:_ENOUGH]
        for rows in np.array_split(every, max(1, len(every) // 256)):
            self._on_batch(module, rows, fitted)


@dataclass
class Trained:
    """A finished training with its checkpoints, one of which is to be chosen."""

    training: Training
    fitted: Fitted  # with the weights of the last checkpoint
    states: list[dict[str, Tensor]]
    answers: list[Floats]  # of each checkpoint, for the judges; empty without any
    epochs: list[int]

    def at(self, chosen: int, by_others: int, score: list[float]) -> Fitted:
        """Return the training at a checkpoint, with the answers of the one others have chosen."""
        fitted, history = self.fitted, self.fitted.history
        history.score = score
        if 0 <= chosen < len(self.states) - 1:
            history.best_epoch = self.epochs[chosen]
            fitted.module.load_state_dict(self.states[chosen])
        if self.answers:
            fitted.answers = self.answers[by_others]
        return fitted


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
        return self.examples.losses(logits, rows)


class _Merged(_Paired):
    """Cross-entropy of labeled and annotated rows, shuffled together (Eqs. 15 and 16)."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.rows = self.examples.rows
        self.weights = torch.ones(len(self.examples.targets))
        self.weights[self.examples.annotated] = self.examples.weight

    def __call__(self, rows: Ints) -> dict[str, Tensor]:
        return {"loss": (self.weights[rows] * self._losses(rows)).mean()}


def trainings_of(network: Network, task: Task, members: Sequence[Member]) -> list[Training]:
    """Return the trainings of a network's members on their labeled graphs alone."""
    targets, weights = one_hot(task.targets, task.n_classes), class_weights_of(task)
    validation = None if task.validation is None else network.prepare(task.validation[0])
    trainings = []
    for number, member in enumerate(members):
        judges, truth = validation, np.empty(0, dtype=np.int64)
        if task.validation is not None:
            truth = task.validation[1]
        elif len(member.held_out):
            judges, truth = network.part(member.held_out), task.targets[member.held_out]
        examples = Examples(member.labeled, targets, class_weights=weights)
        trainings.append(Training(examples, member.seed, judges, truth, number))
    return trainings


def out_of_fold(
    task: Task, members: Sequence[Member], fitted: Sequence[Fitted]
) -> OutOfFold | None:
    """Return the predictions of members for the graphs held out of them; None without any."""
    rows = np.concatenate([member.held_out for member in members])
    if task.validation is not None or not len(rows):
        return None
    answers = np.concatenate([each.answers for each in fitted if each.answers.size])
    return OutOfFold(rows, np.asarray(softmax(answers, axis=1)))


def class_weights_of(task: Task) -> Tensor | None:
    """Return the weights of classes in the loss, if there are any."""
    if task.class_weights is None:
        return None
    return torch.from_numpy(task.class_weights).to(torch.get_default_dtype())


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

    Attributes
    ----------
    untrained : UntrainedGNN or None
        If there is one, a kernel machine on it takes the place of a GNN that would be trained on
        labeled graphs alone.
    """

    name = "gnn"
    needed = ("node_features", "layers", "untrained", "fitted")

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
        self.untrained: UntrainedGNN | None = None

    def saved_state(self) -> dict[str, Any]:
        """Return what predictions need."""
        fitted = self.fitted if self.is_fitted else []
        starts = any(isinstance(each.module, KernelMachine) for each in fitted)
        return {**super().saved_state(), "untrained": self.untrained if starts else None}

    def require_sound(self) -> None:
        """Refuse what was read from a file if it cannot predict."""
        for fitted in self.fitted if self.is_fitted else ():
            if isinstance(fitted.module, KernelMachine):
                n_features = fitted.module.coefficients.shape[1]
                if self.untrained is None or self.untrained.n_coordinates != n_features:
                    raise ValueError("a kernel machine has no GNN that it fits")

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

    def fit(self, trainings: Sequence[Training], **options: Any) -> list[Fitted]:
        """Train for each of ``trainings``; see `Network.fit`."""
        if self.untrained is None or any(len(each.examples.annotated) for each in trainings):
            if self.is_fitted and isinstance(self.fitted[0].module, KernelMachine):
                options["warm_start"] = False  # a machine has no weights to go on from
            return super().fit(trainings, **options)
        self.fitted = [self._start(self.untrained, each) for each in trainings]
        return self.fitted

    def _start(self, untrained: UntrainedGNN, training: Training) -> Fitted:
        labeled, targets = training.examples.labeled, training.examples.targets
        classes = targets[labeled].argmax(dim=1).numpy()
        weights = training.examples.class_weights
        machine = fit_machine(
            untrained.coordinates(self.part(labeled)),
            classes,
            targets.shape[1],
            None if weights is None else weights.numpy()[classes],
        )
        fitted = Fitted(machine, History())
        if training.judges is not None:
            fitted.answers = self._outputs(machine, training.judges, fitted)
        return fitted

    def _outputs(
        self, module: Any, prepared: Batches, fitted: Fitted, own: Tensor | None = None
    ) -> Floats:
        if isinstance(module, KernelMachine):
            assert self.untrained is not None  # whose vectors the machine reads
            return module.scores(self.untrained.coordinates(prepared))
        return super()._outputs(module, prepared, fitted, own)

    def _on_batch(self, module: nn.Module, rows: Ints, fitted: Fitted) -> Tensor:
        logits: Tensor = module(self.pool[rows])
        return logits

    def _on_all(
        self, module: nn.Module, prepared: Batches, fitted: Fitted, own: Tensor | None = None
    ) -> Tensor:
        return torch.cat([module(prepared[rows]) for rows in passes(prepared)])
