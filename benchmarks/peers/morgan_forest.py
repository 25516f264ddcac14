"""What chemists try first: Morgan fingerprints and a random forest, from RDKit and scikit-learn.

A method of its own file, for `kgnn run benchmarks/peers/morgan_forest.py:MorganForest fgfr1`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from sklearn.ensemble import RandomForestClassifier

from kgnn.engine.task import Task
from kgnn.errors import GraphDataError
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import Count, parameters
from kgnn.graphs.graph import Floats, Graph, GraphDataset
from kgnn.graphs.molecules import molecule_of, written_out
from kgnn.seeds import for_sklearn


@parameters
class MorganForest(GraphClassifier):
    """A random forest on counts of circular substructures.

    Parameters
    ----------
    radius, bits : int
        Of the fingerprints.
    trees : int
    use_node_attributes, use_edge_labels : bool
        Without charges, hydrogens or bonds there is no molecule to take a fingerprint of.
    """

    radius: Count = 2
    bits: Count = 2048
    trees: Count = 500
    use_node_attributes: Literal[True] = True
    use_edge_labels: Literal[True] = True

    def _fit(self, task: Task) -> None:
        labeled, targets = task.graphs[task.labeled], task.targets[task.labeled]
        weights = None if task.class_weights is None else task.class_weights[targets]
        forest = RandomForestClassifier(self.trees, random_state=for_sklearn(task.seed))
        self.forest_ = forest.fit(self._fingerprints(labeled), targets, weights)
        self.n_classes_ = task.n_classes

    def _predict_proba(self, graphs: GraphDataset) -> Floats:
        proba = np.zeros((len(graphs), self.n_classes_))
        proba[:, self.forest_.classes_] = self.forest_.predict_proba(self._fingerprints(graphs))
        return proba

    def _fingerprints(self, graphs: GraphDataset) -> Floats:
        generator = rdFingerprintGenerator.GetMorganGenerator(radius=self.radius, fpSize=self.bits)
        return np.stack(
            [generator.GetCountFingerprintAsNumPy(molecule(each)) for each in written_out(graphs)]
        )


def molecule(graph: Graph) -> Chem.Mol:
    """Return RDKit's molecule of a graph that `kgnn` has read from SMILES."""
    found = molecule_of(
        graph.node_labels or (), [(int(u), int(v)) for u, v in graph.edges], graph.edge_labels or ()
    )
    if found is None:
        raise GraphDataError(f"{graph.name} is not a molecule")
    found.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(found)
    return found
