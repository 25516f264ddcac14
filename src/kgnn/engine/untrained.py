"""A GNN that keeps its random weights, and a kernel machine on the vectors that it gives graphs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from kgnn.engine.batch import Batches, SomeBatches, passes
from kgnn.engine.gin import GIN, Encoder, Readout
from kgnn.engine.linear import KernelMachine, make_projection
from kgnn.engine.loop import recompute_bn_stats
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.task import Task
from kgnn.graphs.graph import Floats, Ints
from kgnn.kernels.projection import Projection
from kgnn.seeds import generator, seeded_torch

_COPIES, _WIDTH = 4, 64  # GNNs side by side, and the length of their hidden vectors
_PENALTY = 1.0  # C; found on splits that no table of results has
_ENOUGH = 1024  # graphs for the statistics of BatchNorm


class UntrainedGNN:
    """GNNs with random weights, and the coordinates of a pool of graphs that they lead to.

    A GNN with random weights is a kernel: sums over neighborhoods and nonlinear functions of them
    distinguish graphs before anything is learned, and a few labels cannot overfit the weights. Its
    graph vectors are projected on their leading singular vectors, like the features of any kernel.

    Parameters
    ----------
    pool : Batches
        All training graphs.
    build : callable
        Returns a GNN with new random weights.
    projection : Projection
        Of the graph vectors of all copies side by side.
    seed : int
    """

    def __init__(
        self, pool: Batches, build: Callable[[], GIN], projection: Projection, seed: int
    ) -> None:
        some = np.sort(generator(seed, "untrained").permutation(len(pool))[:_ENOUGH])
        batches = [pool[rows] for rows in np.array_split(some, max(1, len(some) // 256))]
        with seeded_torch(seed, "untrained"), torch.no_grad():
            self.modules = [build() for _ in range(_COPIES)]
            for module in self.modules:
                recompute_bn_stats(module, lambda gnn: [gnn(batch) for batch in batches])
        vectors = self._vectors(pool)
        self.projection = projection.fit(vectors)
        self._pool, self._known = pool, self.projection.transform(vectors)

    @classmethod
    def of(
        cls,
        task: Task,
        pool: Batches,
        node_features: NodeFeatures,
        *,
        layers: int = 3,
        readout: Readout = "both",
        encoder: Encoder = "gin",
    ) -> UntrainedGNN:
        """Build the GNNs for the graphs of a task, which are prepared as ``pool``."""
        projection = make_projection("auto", task)
        assert projection is not None

        def build() -> GIN:
            return GIN(
                node_features.width,
                task.n_classes,
                width=_WIDTH,
                layers=layers,
                readout=readout,
                pooling="all",
                encoder=encoder,
                edge_kinds=node_features.n_edge_kinds,
            )

        return cls(pool, build, projection, task.seed)

    def saved_state(self) -> dict[str, object]:
        """Return what predictions need."""
        return {"modules": self.modules, "projection": self.projection}

    def require_sound(self) -> None:
        """Refuse parts, read from a file, that do not belong together."""
        width = sum(int(module.n_pooled) for module in self.modules)
        if self.projection.basis.shape[0] != width:
            raise ValueError("a projection does not fit the GNNs before it")

    @property
    def n_coordinates(self) -> int:
        """Length of the vectors that a machine reads."""
        return int(self.projection.basis.shape[1])

    @torch.no_grad()
    def _vectors(self, graphs: Batches) -> Floats:
        """Return the graph vectors of all copies side by side, ``(n_graphs, n_vectors)``."""
        runs = list(passes(graphs))
        each = [torch.cat([module.embed(graphs[rows]) for rows in runs]) for module in self.modules]
        return np.asarray(torch.cat(each, dim=1).numpy())

    def coordinates(self, graphs: Batches) -> Floats:
        """Return the coordinates of graphs; those of the pool are known."""
        if isinstance(graphs, SomeBatches) and graphs.prepared is getattr(self, "_pool", None):
            known = self._known[graphs.rows]
        else:
            known = self.projection.transform(self._vectors(graphs))
        return np.asarray(known, dtype=np.float64)


def fit_machine(
    coordinates: Floats, classes: Ints, n_classes: int, weights: Floats | None = None
) -> KernelMachine:
    """Fit a kernel machine on the coordinates of labeled graphs."""
    return KernelMachine.fit(coordinates, classes, n_classes, penalty=_PENALTY, weights=weights)
