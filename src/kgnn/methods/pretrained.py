"""Base of methods whose encoder is pre-trained without labels, before or within `fit`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, get_args

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor, nn

from kgnn.engine.gin import GIN, Encoder
from kgnn.engine.network import GraphNetwork, OptimizerConfig
from kgnn.engine.node_features import NodeFeatures
from kgnn.engine.pretraining import Pretrained, require_several
from kgnn.engine.task import Task
from kgnn.errors import ParameterError
from kgnn.estimator.carried import unused_by, used_by, warn_of_unused
from kgnn.estimator.classifier import UNLABELED, Graphs
from kgnn.estimator.parameters import Bounds, Count, NonNegative, check, parameters
from kgnn.estimator.saved_files import (
    ModelFileError,
    explaining_damage,
    file_of,
    of_earlier_version,
    read_file,
    write_file,
)
from kgnn.estimator.saved_values import Reader, Writer, require_same_shapes
from kgnn.graphs.interop import as_dataset
from kgnn.kernels.edge_kinds import EdgeKinds
from kgnn.methods.neural import GNNSettings, NeuralClassifier, TrainingSettings
from kgnn.seeds import seeded_torch


@parameters
class Pretraining(GNNSettings, TrainingSettings):
    """A GIN whose layers can be pre-trained without labels; a subclass implements `_pretrain`.

    See `GNNSettings` and `TrainingSettings` for the other parameters.

    Parameters
    ----------
    pretrain_epochs : int
        Passes over all graphs while pre-training, labeled or not.
    pretrain_batch_size : int
        Graphs in a step of pre-training, which are compared with each other.
    pretrain_learning_rate : float
        Of Adam while pre-training.
    pretrained : str or None
        Folder of an encoder that was pre-trained before, by ``kgnn pretrain`` or by `pretrain`, to
        start from; an encoder of any method will do for any other. If graphs to be predicted were
        among those that it has seen, accuracy on them is that of a transductive setting.
    """

    pretrain_epochs: Count = 20
    # Paper silent: as GraphCL; the more graphs in a batch, the more there is to tell apart.
    pretrain_batch_size: Annotated[int, Bounds(2)] = 128
    # Paper silent: the best on VAL of 0.001, 0.003 and 0.01 for GraphCL, on two datasets.
    pretrain_learning_rate: NonNegative = 0.01
    pretrained: str | None = None

    def pretrain(self, X: Graphs, y: ArrayLike | None = None) -> SavedEncoder:
        """Pre-train alone, on all graphs, and return an encoder that can be saved.

        Parameters
        ----------
        X : GraphDataset or list of graphs
        y : ignored
            Labels play no part in it.
        """
        assert isinstance(self, NeuralClassifier)
        check(self)
        if self.pretrained is not None:
            raise ParameterError(
                f"The 'pretrained' parameter of {type(self).__name__} must be None where an "
                f"encoder is to be made, got {self.pretrained!r}."
            )
        graphs = as_dataset(X)
        require_several(graphs)
        warn_of_unused(self, unused_by(self, graphs), graphs)
        graphs = used_by(self, graphs)
        targets = np.full(len(graphs), UNLABELED)
        task = Task(graphs.with_targets(targets), targets, 1, None, self.random_state)
        network = GNNSettings._gnn(self, task)
        weights, history = self._pretrain(task, network)
        method = type(self).__name__
        return SavedEncoder(self._plan(network), weights, method, graphs.name, history["loss"])

    def _pretrain(self, task: Task, network: GraphNetwork) -> Pretrained:
        """Learn the layers of a GIN from ``task.graphs``, without labels.

        ``network.build(network.node_features.width)`` gives the module with random weights that
        `fit` trains, and ``network.pool`` has the graphs, prepared.
        """
        raise NotImplementedError

    def _saved_encoder(self, task: Task, network: GraphNetwork) -> Pretrained | None:
        """Open the encoder to start from, if there is one, and check that it fits."""
        if self.pretrained is None:
            return None
        saved = SavedEncoder.open(self.pretrained)
        with seeded_torch(task.seed, "shapes"):
            saved.require(self._plan(network), self._plain_gin(network))
        return Pretrained(saved.weights, {"loss": saved.loss})

    def _pretraining_config(self) -> OptimizerConfig:
        # Paper silent: no weight decay and the last weights, as in the original codes.
        return OptimizerConfig(
            self.pretrain_epochs,
            self.pretrain_batch_size,
            self.pretrain_learning_rate,
            weight_decay=0.0,
            averaging=0.0,
        )

    def _plain_gin(self, network: GraphNetwork) -> GIN:
        """Return a GIN with random weights whose layers are those of the network."""
        n_features = network.node_features.width
        return GIN(n_features, 1, width=self.width, layers=self.layers, encoder=self.encoder)

    def _plan(self, network: GraphNetwork) -> EncoderPlan:
        return EncoderPlan(self.encoder, self.width, self.layers, network.node_features)


@parameters
class PretrainedClassifier(Pretraining, NeuralClassifier):
    """A GIN whose layers are pre-trained on all training graphs in `fit`, then fine-tuned.

    With ``pretrained`` a saved encoder takes its place. Fine-tuning is that of `NeuralClassifier`:
    a new classifier on top, and all weights move. See `Pretraining` for the other parameters.

    Attributes
    ----------
    encoder_ : dict of str to Tensor
        The weights that fine-tuning has started from.
    pretraining_ : dict of str to list of float
        What happened in pre-training, epoch by epoch.
    """

    committee: Count = 3

    _not_saved: ClassVar[tuple[str, ...]] = ("encoder_",)

    def _gnn(self, task: Task) -> GraphNetwork:
        # If this fit is stopped while pre-training, an earlier one must not pass for it.
        self.__dict__.pop("gnn_", None)
        network = super()._gnn(task)
        network.start = self._start(task, network)
        return network

    def _start(self, task: Task, network: GraphNetwork) -> dict[str, Tensor]:
        """Return the weights to fine-tune: those of the saved encoder, or pre-trained here."""
        made = self._saved_encoder(task, network) or self._pretrain(task, network)
        self.encoder_, self.pretraining_ = made
        return self.encoder_


# -- encoders in files ----------------------------------------------------------------------------


@dataclass(frozen=True)
class EncoderPlan:
    """The settings that determine the shapes and the meaning of an encoder's weights."""

    encoder: Encoder
    width: int
    layers: int
    node_features: NodeFeatures


@dataclass(frozen=True, eq=False)
class SavedEncoder:
    """A pre-trained encoder with everything needed to use it elsewhere."""

    plan: EncoderPlan
    weights: dict[str, Tensor]  # of the layers of a `kgnn.engine.gin.GIN`, by name
    method: str  # that it was pre-trained by
    dataset: str  # that it was pre-trained on
    loss: list[float] = field(default_factory=list)  # of pre-training, by epoch

    def require(self, wanted: EncoderPlan, module: nn.Module) -> None:
        """Refuse a module with other settings than the encoder's."""
        for name in ("encoder", "width", "layers"):
            mine, yours = getattr(self.plan, name), getattr(wanted, name)
            if mine != yours:
                raise ParameterError(
                    f"The pre-trained encoder has {name}={mine!r}, the model {name}={yours!r}: "
                    f"set {name}={mine!r}, or pre-train again with {name}={yours!r}."
                )
        mine, yours = self.plan.node_features, wanted.node_features
        if mine != yours:
            raise ParameterError(
                f"The pre-trained encoder reads {_nodes_in_words(mine)}, the model "
                f"{_nodes_in_words(yours)}: pre-train on graphs of the same kind, with the same "
                "'features' and 'use_node_attributes'."
            )
        own = {k: v for k, v in module.state_dict().items() if k.startswith("layers.")}
        try:
            require_same_shapes(own, self.weights)
        except ValueError as error:
            again = "make it again with `kgnn pretrain`"
            raise ModelFileError(f"the pre-trained encoder {error}; {again}") from error

    def save(self, path: str | Path) -> Path:
        """Save to a folder, and return the file."""
        writer = Writer()
        told = {"encoder": writer.write(self)}
        return write_file(file_of(path, "encoder"), "encoder", told, writer.arrays)

    @classmethod
    def open(cls, path: str | Path) -> SavedEncoder:
        """Open what `save` wrote; `require` says whether it fits a network."""
        file = file_of(path, "encoder")
        if (file.parent / "encoder.json").is_file() and not file.is_file():
            raise of_earlier_version(file.parent, "encoder", "")
        if not file.is_file():
            raise ParameterError(
                f"There is no encoder at {path}; give a folder that `kgnn pretrain` has written."
            )
        with explaining_damage(file, "encoder"):
            header, arrays = read_file(file, "encoder", {"encoder"})
            reader = Reader(arrays)
            encoder = reader.read(header["encoder"])
            if not isinstance(encoder, SavedEncoder):
                raise ValueError("it holds no encoder")
            reader.require_all_used()
        return encoder

    def require_sound(self) -> None:
        """Refuse values read from a file that have the wrong types."""
        plan, nodes = self.plan, self.plan.node_features
        numbers = (plan.width, plan.layers)
        edges = nodes.edges
        texts = (self.method, self.dataset, *nodes.label_names)
        is_sound = (
            isinstance(plan, EncoderPlan)
            and isinstance(nodes, NodeFeatures)
            and plan.encoder in get_args(Encoder)
            and all(type(each) is int and each >= 0 for each in numbers)
            and isinstance(nodes.degrees, bool)
            and isinstance(nodes.label_names, tuple)
            and isinstance(edges, EdgeKinds)
            and isinstance(edges.names, tuple)
            and isinstance(edges.directed, bool)
            and all(isinstance(each, str) for each in edges.names)
            and all(isinstance(each, float) for each in (*edges.middles, *edges.distances))
            and all(len(each) == len(edges.middles) for each in edges.centers)
            and len(edges.middles) == len(edges.distances)
            and all(isinstance(each, float) for each in (*nodes.middles, *nodes.distances))
            and len(nodes.middles) == len(nodes.distances)
            and all(isinstance(each, str) for each in texts)
            and all(isinstance(each, float) for each in self.loss)
        )
        if not is_sound:
            raise ValueError("its description has values of other types")


def _nodes_in_words(nodes: NodeFeatures) -> str:
    names = nodes.label_names
    some = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    kind = f"{len(names)} node labels ({some})" if names else "nodes without labels"
    kind = "degrees of nodes" if nodes.degrees else kind
    return f"{kind} and {nodes.n_attributes} attributes" if nodes.n_attributes else kind
