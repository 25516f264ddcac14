"""q_φ as a network that can be trained on rows of a pool: graphs in, kernel features."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from kgnn.engine.memory import MemoryNetwork, Rows, SparseRows
from kgnn.engine.network import Examples, Fitted, Network, OptimizerConfig
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.kernels.projection import Projection
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman

# Bound of the attention weights of one pass without gradients: a memory may be large.
ATTENTION_PER_PASS = 1 << 20
_COMPARED = 1000  # labeled graphs, at most, with each other
_SAME = 1e-6  # squared distance


class KernelNetwork(Network):
    """q_φ: a memory network on kernel features of the graphs.

    Parameters
    ----------
    pool : GraphDataset
        All training graphs; the vocabulary and the projection come from labeled and unlabeled
        ones, the memory holds those that are taught.
    build : callable
        Number of features, and the sharpness to start with, to a module.
    optimizer_config : OptimizerConfig
    features : WeisfeilerLehman
    projection : Projection or None
        Without one, the module reads the sparse features themselves.
    """

    name = "memory"

    def __init__(
        self,
        pool: GraphDataset,
        build: Callable[[int, float], MemoryNetwork],
        optimizer_config: OptimizerConfig,
        *,
        features: WeisfeilerLehman,
        projection: Projection | None,
    ) -> None:
        super().__init__(optimizer_config)
        self.build, self.features = build, features
        found = features.fit_transform(pool)
        self.projection = None if projection is None else projection.fit(found)
        self.pool = self._rows(found)

    def saved_state(self) -> dict[str, Any]:
        """Return what predictions need; the memory is a part of the pool."""
        needed = ("features", "projection", "pool", "fitted")
        return {key: value for key, value in vars(self).items() if key in needed}

    def prepare(self, graphs: GraphDataset) -> Rows:
        """Compute the features of graphs."""
        return self._rows(self.features.transform(graphs))

    def _rows(self, found: sparse.csr_array) -> Rows:
        if self.projection is None:
            return SparseRows.of(found)
        return torch.from_numpy(self.projection.transform(found))

    def part(self, rows: Ints) -> Rows:
        """Return some of the training graphs, prepared."""
        part: Rows = self.pool[torch.from_numpy(rows)]
        return part

    def _build(self, examples: Examples) -> nn.Module:
        if self.projection is None:
            return self.build(self.features.n_features_out_, 1.0)
        every = math.ceil(len(examples.labeled) / _COMPARED)
        distances = torch.pdist(self.pool[examples.labeled[::every]]) ** 2
        if len(distances) and distances.median() < _SAME:  # most graphs are copies of each other
            distances = distances[distances >= _SAME]
        typical = float(distances.median()) if len(distances) else 1.0
        # Neighbors at half the typical distance weigh some seven times those at the whole.
        return self.build(self.pool.shape[1], 4.0 / typical)

    def _on_batch(self, module: nn.Module, rows: Ints, fitted: Fitted) -> Tensor:
        memory, own = self.part(fitted.memory), fitted.slots_of(rows)
        logits: Tensor = module(self.part(rows), memory, fitted.memory_targets, own)
        return logits

    def _on_all(
        self, module: nn.Module, prepared: Rows, fitted: Fitted, own: Tensor | None = None
    ) -> Tensor:
        memory, targets = self.part(fitted.memory), fitted.memory_targets
        size = max(1, ATTENTION_PER_PASS // max(1, len(memory)))
        parts = torch.arange(len(prepared)).split(size)
        return torch.cat(
            [module(prepared[p], memory, targets, None if own is None else own[p]) for p in parts]
        )

    @torch.no_grad()
    def attention(self, prepared: Rows, fitted: Fitted | None = None) -> Floats:
        """Return whom q_φ attends to, ``(n_hops, n_graphs, n_memory)``; rows sum to 1.

        The memory is ``fitted.memory``, rows of the pool.
        """
        fitted = fitted or self.fitted
        fitted.module.eval()
        hops = fitted.module.hops(prepared, self.part(fitted.memory))  # type: ignore[operator]
        return np.stack([weights.double().numpy() for weights, *_ in hops])
