"""What a method learns from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.seeds import derive


class OutOfFold(NamedTuple):
    """What members of a committee say of labeled graphs that were held out of their training."""

    rows: Ints  # of the task; a graph that several members hold out occurs several times
    proba: Floats  # (n, n_classes)


class Member(NamedTuple):
    """One of the trainings that predict together."""

    labeled: Ints  # rows whose labels it learns from
    held_out: Ints  # rows whose labels judge it, without ever being trained on
    seed: int


@dataclass(frozen=True, eq=False)
class Task:
    """All that a method sees: training graphs, some labels, perhaps validation graphs.

    There is no field for test graphs, so nothing can leak. Validation graphs are for choices
    (parameters, epoch), never for training. Without them, the labeled graphs are dealt into folds,
    each of which is held out of one member of a committee: together, the members learn from all
    labels, and every label judges a member that did not see it.
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
        """Rows without."""
        return np.flatnonzero(self.targets < 0)

    def members(self, at_least: int = 1) -> list[Member]:
        """Return one member for each fold; without folds, ``at_least`` that learn all labels."""
        folds = self.folds or (np.empty(0, dtype=np.int64),) * at_least
        return [
            Member(
                np.setdiff1d(self.labeled, fold, assume_unique=True),
                fold,
                derive(self.seed, "member", number) if number else self.seed,
            )
            for number, fold in enumerate(folds)
        ]
