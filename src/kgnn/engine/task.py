"""What a method learns from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kgnn.graphs.graph import GraphDataset, Ints


@dataclass(frozen=True, eq=False)
class Task:
    """All that a method gets to see: training graphs, some labels, perhaps graphs to choose on.

    There is no field for test graphs, so nothing can leak.

    Attributes
    ----------
    graphs : GraphDataset
        Labeled and unlabeled graphs; their own ``targets`` are hidden.
    targets : (n_graphs,) int64
        Class of each graph, −1 where it is not known.
    n_classes : int
    validation : (GraphDataset, (n,) int64) or None
        Graphs with known classes for choices (parameters, epoch), never for training.
    seed : int
    """

    graphs: GraphDataset
    targets: Ints
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
