"""Two networks trained as one: every batch carries graphs and kernel features together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from kgnn.engine.batch import Batches
from kgnn.engine.kernel_network import ATTENTION_PER_PASS, KernelNetwork
from kgnn.engine.memory import Rows
from kgnn.engine.network import Examples, Fitted, GraphNetwork, Network, passes
from kgnn.graphs.graph import GraphDataset, Ints


class Prepared(NamedTuple):
    """Graphs as both networks read them."""

    batches: Batches
    features: Rows


class JointNetwork(Network):
    """One module on top of what a graph network and a kernel network prepare.

    Parameters
    ----------
    gnn : GraphNetwork
    memory : KernelNetwork
    build : callable
        The modules of both to the module that is trained.
    """

    name = "ensemble"

    def __init__(
        self,
        gnn: GraphNetwork,
        memory: KernelNetwork,
        build: Callable[[nn.Module, nn.Module], nn.Module],
    ) -> None:
        super().__init__(gnn.optimizer_config)
        self.gnn, self.memory, self.build = gnn, memory, build
        self.pool = Prepared(gnn.pool, memory.pool)

    def saved_state(self) -> dict[str, Any]:
        """Return what predictions need."""
        needed = ("gnn", "memory", "fitted")
        return {key: value for key, value in vars(self).items() if key in needed}

    def prepare(self, graphs: GraphDataset) -> Prepared:
        """Prepare graphs for both."""
        return Prepared(self.gnn.prepare(graphs), self.memory.prepare(graphs))

    def part(self, rows: Ints) -> Prepared:
        """Return some of the training graphs, prepared."""
        return Prepared(self.gnn.part(rows), self.memory.part(rows))

    def _build(self, examples: Examples) -> nn.Module:
        return self.build(self.gnn._build(examples), self.memory._build(examples))

    def _on_batch(self, module: nn.Module, rows: Ints, fitted: Fitted) -> Tensor:
        logits: Tensor = module(
            self.gnn.pool[rows],
            self.memory.part(rows),
            self.memory.part(fitted.memory),
            fitted.memory_targets,
            fitted.slots_of(rows),
        )
        return logits

    def _on_all(
        self, module: nn.Module, prepared: Prepared, fitted: Fitted, own: Tensor | None = None
    ) -> Tensor:
        memory, targets = self.memory.part(fitted.memory), fitted.memory_targets
        size = max(1, ATTENTION_PER_PASS // max(1, len(memory)))
        logits = []
        for of_few_nodes in passes(prepared.batches):
            for part in torch.from_numpy(np.ascontiguousarray(of_few_nodes)).split(size):
                batch, features = prepared.batches[part.numpy()], prepared.features[part]
                slots = None if own is None else own[part]
                logits.append(module(batch, features, memory, targets, slots))
        return torch.cat(logits)
