"""Chemprop's directed message passing with its defaults: 50 epochs, no validation set.

It needs ``pip install chemprop``. A method of its own file, for
`kgnn run benchmarks/peers/chemprop_mpnn.py:Chemprop fgfr1`.
"""

from __future__ import annotations

import logging
import warnings
from typing import Literal

import numpy as np
from chemprop import data, models, nn
from lightning import pytorch
from rdkit import Chem

from kgnn.engine.task import Task
from kgnn.errors import ParameterError
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import Count, parameters
from kgnn.graphs.graph import Floats, GraphDataset, Ints
from kgnn.graphs.molecules import molecule_of, written_out


@parameters
class Chemprop(GraphClassifier):
    """A message-passing network along directed bonds, for two classes.

    Parameters
    ----------
    epochs, batch_size : int
    use_node_attributes, use_edge_labels : bool
        Without them there is no molecule.
    """

    epochs: Count = 50
    batch_size: Count = 64
    use_node_attributes: Literal[True] = True
    use_edge_labels: Literal[True] = True

    def _fit(self, task: Task) -> None:
        if task.n_classes != 2:
            raise ParameterError(f"Chemprop here tells two classes apart, got {task.n_classes}.")
        pytorch.seed_everything(task.seed % 2**31, verbose=False)
        self.network_ = models.MPNN(
            nn.BondMessagePassing(), nn.MeanAggregation(), nn.BinaryClassificationFFN()
        )
        loader = self._loader(task.graphs[task.labeled], task.targets[task.labeled], shuffle=True)
        self._trainer().fit(self.network_, loader)

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        loader = self._loader(graphs, np.zeros(len(graphs), dtype=np.int64), shuffle=False)
        found = self._trainer().predict(self.network_, loader)
        second = np.concatenate([each.numpy() for each in found]).reshape(-1).astype(float)
        return np.stack([1 - second, second], axis=1)

    def _loader(self, graphs: GraphDataset, targets: Ints, shuffle: bool) -> object:
        points = [
            data.MoleculeDatapoint(molecule, np.array([target], dtype=float))
            for molecule, target in zip(_molecules(graphs), targets, strict=True)
        ]
        return data.build_dataloader(
            data.MoleculeDataset(points), batch_size=self.batch_size, shuffle=shuffle
        )

    def _trainer(self) -> pytorch.Trainer:
        logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", module="lightning")
        return pytorch.Trainer(
            max_epochs=self.epochs,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )


def _molecules(graphs: GraphDataset) -> list[Chem.Mol]:
    found = []
    for graph in written_out(graphs):
        edges = [(int(u), int(v)) for u, v in graph.edges]
        molecule = molecule_of(graph.node_labels or (), edges, graph.edge_labels or ())
        Chem.SanitizeMol(molecule, catchErrors=True)
        found.append(molecule)
    return found
