"""The family of neural methods: a GIN, and how it is trained on labeled graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn

from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.methods.base import GraphClassifier, Task
from kgnn.methods.parameters import Bounds, Count, NonNegative, parameters
from kgnn.nn.batch import Batches, NodeFeatures
from kgnn.nn.gin import GIN, Readout
from kgnn.seeds import generator, seeded_torch
from kgnn.training.batch_statistics import settle
from kgnn.training.calibration import Calibration, calibrate
from kgnn.training.loop import History, train

# Nodes in one forward pass without gradients: bounds the memory of predictions.
_NODES_PER_PASS = 100_000


@parameters
class NeuralClassifier(GraphClassifier):
    """A GIN and how it is trained.

    Parameters
    ----------
    width : int
        Length of hidden vectors.
    layers : int
        Rounds of message passing.
    readout : {"sum", "log", "both"}
        How node vectors become a graph vector; see `kgnn.nn.gin.GIN`.
    dropout : float
        In the classifier on top.
    epochs, batch_size, learning_rate, weight_decay
        Of Adam.
    averaging : float
        Share of the old in the running average of the weights, per step.
    use_attributes : bool
        Whether continuous node attributes are read, where the dataset has them.

    Attributes
    ----------
    gnn_ : GIN
    node_features_ : NodeFeatures
        What the nodes of the training graphs have.
    history_ : History
    sharpness_ : float
        Factor that calibrates the logits, found on VAL; 1 without VAL.
    """

    width: Count = 64
    layers: Count = 3
    # Paper silent: sums grow with a graph, so their logarithm stands beside them; see docs.
    readout: Readout = "both"
    dropout: Annotated[float, Bounds(0, 0.99)] = 0.5
    epochs: Count = 40
    batch_size: Annotated[int, Bounds(2)] = 32
    learning_rate: NonNegative = 0.01
    weight_decay: NonNegative = 5e-4
    averaging: Annotated[float, Bounds(0, 0.9999)] = 0.97
    use_attributes: bool = False

    def _fit(self, task: Task) -> None:
        self.node_features_ = NodeFeatures.of(task.graphs, self.use_attributes)
        with seeded_torch(task.seed, "gnn"):
            self.gnn_ = self._build_gnn(task)
            self.history_ = self._train_gnn(task)
        self.sharpness_ = self._calibration(self.gnn_, task).sharpness if task.validation else 1.0

    def _build_gnn(self, task: Task) -> GIN:
        return GIN(
            self.node_features_.width,
            task.n_classes,
            width=self.width,
            layers=self.layers,
            dropout=self.dropout,
            readout=self.readout,
        )

    def _train_gnn(self, task: Task) -> History:
        graphs = Batches(task.graphs, self.node_features_)
        labeled = task.graphs[task.labeled]
        targets = torch.from_numpy(task.targets)

        def labeled_loss(rows: Ints) -> Tensor:
            return torch.nn.functional.cross_entropy(self.gnn_(graphs[rows]), targets[rows])

        def likelihood(gnn: nn.Module) -> float:
            return self._calibration(gnn, task).log_likelihood

        return train(
            self.gnn_,
            labeled_loss,
            task.labeled,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            averaging=self.averaging,
            rng=generator(task.seed, "batches"),
            finish=lambda gnn: settle(gnn, lambda each: self._outputs(each, labeled)),
            score=likelihood if task.validation else None,
        )

    def _calibration(self, gnn: nn.Module, task: Task) -> Calibration:
        """Judge a network by its calibrated likelihood on VAL.

        Accuracy is noise on a hundred graphs, and the plain likelihood prefers networks that have
        hardly been trained, for the others are overconfident.
        """
        assert task.validation is not None
        graphs, targets = task.validation
        return calibrate(self._outputs(gnn, graphs).double().numpy(), targets)

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        self.gnn_.eval()
        logits = self._outputs(self.gnn_, graphs).double() * self.sharpness_
        return np.asarray(logits.softmax(dim=1).numpy())

    @torch.no_grad()
    def _outputs(self, gnn: nn.Module, graphs: GraphDataset) -> Tensor:
        batches = Batches(graphs, self.node_features_)
        return torch.cat([gnn(batches[rows]) for rows in passes(graphs)])


def passes(graphs: GraphDataset) -> Iterator[Ints]:
    """Cut a dataset into runs of rows that hold a bounded number of nodes each."""
    run = graphs.node_offsets[:-1] // _NODES_PER_PASS
    yield from np.split(np.arange(len(graphs)), np.flatnonzero(np.diff(run)) + 1)
