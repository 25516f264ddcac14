"""The training data of a method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.seeds import derive


class OutOfFold(NamedTuple):
    """Predictions of committee members for labeled graphs held out of their training."""

    rows: Ints  # of the task; a graph held out by several members occurs several times
    proba: Floats  # (n, n_classes)


class Member(NamedTuple):
    """One training of an ensemble."""

    labeled: Ints  # rows whose labels it is trained on
    held_out: Ints  # labeled rows for validation, which it is not trained on
    seed: int


@dataclass(frozen=True, eq=False)
class Task:
    """Everything that a method gets: training graphs, some labels, perhaps a validation set.

    There is no field for test graphs, so they cannot leak. The validation set is for selection
    (of parameters, of the epoch), never for training. Without it, the labeled graphs are divided
    into folds, each held out of one member of a committee: together, the members are trained on all
    labels, and each label validates a member that was not trained on it.
    """

    graphs: GraphDataset  # labeled and unlabeled; their own ``targets`` are hidden
    targets: Ints  # (n_graphs,), −1 for an unknown class
    n_classes: int
    validation: tuple[GraphDataset, Ints] | None
    seed: int
    folds: tuple[Ints, ...] = ()  # rows of labeled graphs; none with validation graphs
    class_weights: Floats | None = None  # (n_classes,) of a graph's loss, 1 on average

    @cached_property
    def labeled(self) -> Ints:
        """Rows with a label."""
        return np.flatnonzero(self.targets >= 0)

    @cached_property
    def unlabeled(self) -> Ints:
        """Rows without a label."""
        return np.flatnonzero(self.targets < 0)

    def members(self, at_least: int = 1) -> list[Member]:
        """Return one member per fold; without folds, ``at_least`` members trained on all labels."""
        folds = self.folds or (np.empty(0, dtype=np.int64),) * at_least
        return [
            Member(
                np.setdiff1d(self.labeled, fold, assume_unique=True),
                fold,
                derive(self.seed, "member", number) if number else self.seed,
            )
            for number, fold in enumerate(folds)
        ]
