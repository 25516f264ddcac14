"""p_θ as a network that can be trained on rows of a pool: graphs in, batches of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kgnn.engine.batch import Batches, SomeBatches
from kgnn.engine.fast.quotients import batches_of
from kgnn.engine.networks import Examples, Fitted, Network, Optimizing
from kgnn.engine.node_features import NodeFeatures
from kgnn.graphs.graph import GraphDataset, Ints, offsets_of

# Bound of one forward pass without gradients, so that predictions need bounded memory.
_NODES_PER_PASS = 1 << 16


class GraphNetwork(Network):
    """p_θ: a graph neural network on the graphs themselves.

    Parameters
    ----------
    pool : GraphDataset
    build : callable
        Length of a node's vector to a module.
    optimizing : Optimizing
    node_features : NodeFeatures
    layers : int
        Rounds of message passing that may be done once for all nodes of a color, if the module
        is a GIN; 0 if it is not.
    start : dict of str to Tensor
        Weights that a new module begins with, by name; all others are random.
    """

    name = "gnn"

    def __init__(
        self,
        pool: GraphDataset,
        build: Callable[[int], nn.Module],
        optimizing: Optimizing,
        *,
        node_features: NodeFeatures,
        layers: int = 0,
        start: Mapping[str, Tensor] | None = None,
    ) -> None:
        super().__init__(optimizing)
        self.start = dict(start or {})
        self.build, self.node_features, self.layers = build, node_features, layers
        self.pool = self.prepare(pool)

    def saved_state(self) -> dict[str, Any]:
        """Return what predictions need: neither the training graphs nor how to train."""
        needed = ("node_features", "layers", "fitted")
        return {key: value for key, value in vars(self).items() if key in needed}

    def prepare(self, graphs: GraphDataset) -> Batches:
        """Make graphs ready to be cut into batches."""
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
    """Cut prepared graphs into runs of rows that hold a bounded number of nodes each."""
    run = offsets_of(prepared.sizes)[:-1] // _NODES_PER_PASS
    yield from np.split(np.arange(len(prepared)), np.flatnonzero(np.diff(run)) + 1)
