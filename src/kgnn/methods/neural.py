"""The family of neural methods: a GNN, and how it is trained on labeled graphs."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
from scipy.special import softmax

from kgnn.engine.gin import GIN, Encoder, Pooling, Readout
from kgnn.engine.loop import CLIP
from kgnn.engine.network import (
    GraphNetwork,
    OptimizerConfig,
    out_of_fold,
    trainings_of,
)
from kgnn.engine.node_features import NodeFeatures, is_dense
from kgnn.engine.task import OutOfFold, Task
from kgnn.engine.untrained import UntrainedGNN
from kgnn.errors import KgnnWarning
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import Bounds, Count, NonNegative, parameters
from kgnn.graphs.graph import Floats, GraphDataset
from kgnn.kernels.edge_kinds import EdgeKinds

_AVERAGING = ("sage", "gat")  # encoders that leave equal features equal


@parameters
class TrainingSettings:
    """How a network is trained, whatever it is.

    Parameters
    ----------
    width : int
        Length of hidden vectors.
    dropout : float
        In the classifier.
    epochs, batch_size, weight_decay
        Of Adam.
    averaging : float
        Decay of the running average of the weights, per step; 0 for the last weights.
    clip : float or None
        Largest norm of a gradient; None for no limit.
    norm_statistics : {"recomputed", "running"}
        Which statistics BatchNorm uses for new graphs: those of a pass over all training graphs,
        or running averages over batches.
    readout_norm : bool
        Whether there is BatchNorm before the classifier.
    n_jobs : int
        Processes that train the members of a committee; the result is the same with any number.
    """

    width: Count = 32
    dropout: Annotated[float, Bounds(0, 0.99)] = 0.5
    epochs: Count = 40
    batch_size: Annotated[int, Bounds(2)] = 32
    weight_decay: NonNegative = 5e-4
    averaging: Annotated[float, Bounds(0, 0.9999)] = 0.97
    clip: NonNegative | None = CLIP
    norm_statistics: Literal["recomputed", "running"] = "recomputed"
    readout_norm: bool = True
    n_jobs: Count = 1

    def _optimizer_config(self, learning_rate: float) -> OptimizerConfig:
        return OptimizerConfig(
            self.epochs,
            self.batch_size,
            learning_rate,
            self.weight_decay,
            self.averaging,
            self.clip,
            self.norm_statistics,
        )


@parameters
class GNNSettings:
    """The parts of a GNN; `TrainingSettings` beside them say how it is trained.

    Parameters
    ----------
    encoder : {"gin", "gcn", "sage", "gat", "gin-pyg"}
        Kind of message passing; all but the first need the extra ``pyg``.
    layers : int
        Rounds of message passing.
    readout : {"sum", "log", "both"}
        How node vectors become a graph vector; see `kgnn.engine.gin.GIN`.
    pooling : {"auto", "last", "all"}
        Which layers' node vectors are read out, see `kgnn.engine.gin.GIN`; ``auto`` is ``last``
        where degrees are the node features, else ``all``.
    features : {"auto", "paper", "degree"}
        Features of a node without a label: a constant as in the paper, or its degree, rounded.
        ``auto`` takes degrees where graphs are dense (four neighbors and more on average) and for
        encoders that average over neighbors.
    learning_rate : float
        Of Adam.
    use_node_attributes : bool
        Whether continuous attributes of nodes are read, where the graphs have some.
    """

    encoder: Encoder = "gin"
    layers: Count = 3
    # Paper silent: sums grow with a graph, so their logarithm is used as well; see docs.
    readout: Readout = "both"
    # The paper reads out the last layer and gives every node a 1; see docs/paper-map.md.
    pooling: Literal["auto", "last", "all"] = "auto"
    features: Literal["auto", "paper", "degree"] = "auto"
    learning_rate: NonNegative = 0.003  # the paper's 0.01 suits the memory only
    use_node_attributes: bool = True

    def _gnn(self, task: Task) -> GraphNetwork:
        """Return the network for these graphs, not yet trained."""
        training = cast("TrainingSettings", self)  # which every method with a GNN has
        wants_degrees = is_dense(task.graphs) or self.encoder in _AVERAGING
        degrees = self.features == "degree" or (self.features == "auto" and wants_degrees)
        node_features = NodeFeatures.of(self._edges_used(task.graphs), degrees)
        pooling: Pooling = "last" if node_features.degrees else "all"
        if self.pooling != "auto":
            pooling = self.pooling

        def build(n_features: int) -> GIN:
            return GIN(
                n_features,
                task.n_classes,
                width=training.width,
                layers=self.layers,
                dropout=training.dropout,
                readout=self.readout,
                pooling=pooling,
                encoder=self.encoder,
                norm=training.readout_norm,
                edge_kinds=node_features.n_edge_kinds,
            )

        network = self._network(
            task,
            task.graphs,
            build,
            training._optimizer_config(self.learning_rate),
            node_features=node_features,
            layers=self.layers if self.encoder == "gin" else 0,
        )
        network.n_jobs = training.n_jobs
        return network

    def _start_untrained(self, task: Task, gnn: GraphNetwork) -> None:
        """Let a kernel machine on a GNN with random weights take the place of the first GNN."""
        gnn.untrained = UntrainedGNN.of(
            task,
            gnn.pool,
            gnn.node_features,
            layers=self.layers,
            readout=self.readout,
            encoder=self.encoder,
        )

    def _edges_used(self, graphs: GraphDataset) -> GraphDataset:
        """Return graphs with those labels of edges that the encoder can use."""
        if self.encoder == "gin" or not EdgeKinds.of(graphs):
            return graphs
        warnings.warn(
            f"encoder='{self.encoder}' does not use what edges of '{graphs.name}' carry; "
            "encoder='gin' does.",
            KgnnWarning,
            stacklevel=6,
        )
        return graphs.without_edge_data()

    def _network(self, task: Task, *args: Any, **options: Any) -> GraphNetwork:
        """Return the network; a subclass may train it in another way."""
        return GraphNetwork(*args, **options)


@parameters
class NeuralClassifier(GNNSettings, TrainingSettings, GraphClassifier):
    """A GNN, trained once or several times on labeled graphs.

    See `GNNSettings` for the other parameters.

    Parameters
    ----------
    committee : int
        Number of trainings, which differ in their seeds and predict together. With ``cross_fit``
        there is one for each fold instead.

    Attributes
    ----------
    gnn_ : GraphNetwork
        The network with its trained members, ``gnn_.fitted``.
    history_ : History
        Losses by epoch and likelihood on held-out graphs by checkpoint, of the first member.
    """

    committee: Count = 1

    _cross_fits: ClassVar[bool] = True

    def _fit(self, task: Task) -> OutOfFold | None:
        self.gnn_ = self._gnn(task)
        return self._train(task)

    def _train(self, task: Task) -> OutOfFold | None:
        """Train all members."""
        members = task.members(self.committee)
        trainings = trainings_of(self.gnn_, task, members)
        try:
            self.gnn_.fit(trainings, pooled=task.validation is None)
        finally:
            if self.gnn_.is_fitted:
                self.history_ = self.gnn_.fitted[0].history
        return out_of_fold(task, members, self.gnn_.fitted)

    def _can_predict(self) -> bool:
        return hasattr(self, "gnn_") and self.gnn_.is_fitted

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        return np.asarray(softmax(self.gnn_.logits(self.gnn_.prepare(graphs)), axis=1))
