"""What a method learns from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgnn.graphs.graph import GraphDataset, Ints


@dataclass(frozen=True, eq=False)
class Task:
    """All that a method sees: training graphs, some labels, perhaps validation graphs.

    There is no field for test graphs, so nothing can leak. Validation graphs are for choices
    (parameters, epoch), never for training.
    """

    graphs: GraphDataset  # labeled and unlabeled; their own ``targets`` are hidden
    targets: Ints  # (n_graphs,), −1 for an unknown class
    n_classes: int
    validation: tuple[GraphDataset, Ints] | None
    seed: int

    @cached_property
    def labeled(self) -> Ints:
        """Rows with a label."""
        return np.flatnonzero(self.targets >= 0)

    @cached_property
    def unlabeled(self) -> Ints:
        """Rows without."""
        return np.flatnonzero(self.targets < 0)
