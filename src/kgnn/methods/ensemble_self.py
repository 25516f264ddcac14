"""Ensemble-Self: self-training of both networks as one model (§5.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from kgnn.engine.batch import Batch, Batches, passes
from kgnn.engine.configured import configured
from kgnn.engine.gin import GIN
from kgnn.engine.memory import ATTENTION_PER_PASS, Memory, Rows
from kgnn.engine.network import Examples, Fitted, GraphNetwork, Network
from kgnn.engine.rounds import self_train
from kgnn.engine.task import OutOfFold, Task
from kgnn.estimator.parameters import parameters
from kgnn.graphs.graph import GraphDataset, Ints
from kgnn.methods.kgnn import MemoryNetwork, PaperSettings
from kgnn.methods.memory import MemorySettings
from kgnn.methods.neural import GNNSettings, TrainingSettings
from kgnn.methods.rounds import RoundsClassifier


@parameters
class EnsembleSelf(PaperSettings, GNNSettings, MemorySettings, TrainingSettings, RoundsClassifier):
    """Self-training of one model on the concatenated vectors of the GNN and the memory.

    Both parts are trained together at ``learning_rate``, under one classifier. See `KGNN` for the
    parameters.

    References
    ----------
    Ju et al., *KGNN*, WSDM 2022, §5.3.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> graphs = cycles_and_trees(40)
    >>> EnsembleSelf(epochs=5, rounds=1).fit(graphs).predict_proba(graphs[:3]).shape
    (3, 2)
    """

    def _fit(self, task: Task) -> OutOfFold | None:
        def build(gin: nn.Module, memory: nn.Module) -> EnsembleNetwork:
            return EnsembleNetwork(gin, memory, task.n_classes, self.width, self.dropout)  # type: ignore[arg-type]

        task = self._without_validation(task)
        memory = self._memory(task, MemoryNetwork, learning_rate=self.learning_rate)
        network = JointNetwork(self._gnn(task), memory, build)
        course = self_train(network, task, self._plan(), self.rank_by)
        return self._finish(task, [network], course)


@configured
class EnsembleNetwork(nn.Module):
    """Classifies the concatenation of H(G) and the memory's readout; all parts train jointly.

    ``width`` and ``dropout`` are those of the classifier.
    """

    def __init__(
        self, gin: GIN, memory: MemoryNetwork, n_classes: int, width: int, dropout: float
    ) -> None:
        super().__init__()
        self.gin, self.memory = gin, memory
        self.classifier = nn.Sequential(
            nn.Linear(gin.n_pooled + memory.width, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, n_classes),
        )

    def forward(
        self,
        batch: Batch,
        queries: Rows,
        memory: Rows,
        memory_targets: Tensor,
        own: Tensor | None = None,
    ) -> Tensor:
        """Return logits, ``(n_graphs, n_classes)``."""
        read, _ = self.memory.read(queries, memory, memory_targets, own)
        logits: Tensor = self.classifier(torch.cat([self.gin.embed(batch), read], dim=1))
        return logits


class Prepared(NamedTuple):
    """Batches of graphs for both networks."""

    batches: Batches
    features: Rows


class JointNetwork(Network):
    """A joint module on the prepared inputs of a GNN and a memory.

    ``build`` maps the modules of both to the module that is trained.
    """

    name = "ensemble"
    needed = ("gnn", "memory", "fitted")

    def __init__(
        self, gnn: GraphNetwork, memory: Memory, build: Callable[[nn.Module, nn.Module], nn.Module]
    ) -> None:
        super().__init__(gnn.optimizer_config)
        self.n_jobs = gnn.n_jobs
        self.gnn, self.memory, self.build = gnn, memory, build
        self.pool = Prepared(gnn.pool, memory.pool)

    def prepare(self, graphs: GraphDataset) -> Prepared:
        """Prepare graphs for both."""
        return Prepared(self.gnn.prepare(graphs), self.memory.prepare(graphs))

    def part(self, rows: Ints) -> Prepared:
        """Return some of the training graphs, prepared."""
        return Prepared(self.gnn.part(rows), self.memory.part(rows))

    def _build(self, examples: Examples) -> nn.Module:
        return self.build(self.gnn._build(examples), self.memory._build(examples))

    def _slots(self, examples: Examples) -> Ints:
        return self.memory._slots(examples)

    def _own_slots(self, rows: Ints, fitted: Fitted) -> Tensor | None:
        return self.memory._own_slots(rows, fitted)

    def _on_batch(self, module: nn.Module, rows: Ints, fitted: Fitted) -> Tensor:
        fitted = self.memory.for_step(fitted)
        logits: Tensor = module(
            self.gnn.pool[rows],
            self.memory.part(rows),
            self.memory.part(fitted.memory),
            fitted.memory_targets,
            self._own_slots(rows, fitted),
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
