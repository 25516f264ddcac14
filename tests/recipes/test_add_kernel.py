"""ARCHITECTURE.md, "I want to add a kernel": a class with fit and transform, and its line."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.svm import SVC

from kgnn import kernels
from kgnn.errors import ParameterError
from kgnn.estimator.saved_files import ModelFileError
from kgnn.estimator.saving import open_model
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.graph import GraphDataset
from kgnn.kernels import make_kernel
from kgnn.kernels.base import gram
from kgnn.methods.kgnn import KGNN


class RandomWalk(TransformerMixin, BaseEstimator):
    """How many walks of each length a graph has, per node, and how many return."""

    def __init__(self, length: int = 4):
        self.length = length

    def fit(self, graphs: GraphDataset, y=None):
        return self

    def transform(self, graphs: GraphDataset):
        return np.array([self._walks(graph) for graph in graphs])

    def _walks(self, graph):
        adjacency = np.zeros((graph.n_nodes, graph.n_nodes))
        adjacency[tuple(graph.arcs.T)] = 1
        powers = [np.linalg.matrix_power(adjacency, k) for k in range(1, self.length + 1)]
        counted = [count for power in powers for count in (power.sum(), np.trace(power))]
        return np.log1p(np.array(counted) / len(adjacency))


def accuracy(kernel, graphs):
    features = kernel.fit(graphs[:40]).transform(graphs)
    machine = SVC(C=1000, kernel="precomputed").fit(gram(features[:40]), graphs.targets[:40])
    return machine.score(gram(features[40:], features[:40]), graphs.targets[40:])


def test_an_object_with_fit_and_transform_is_a_kernel():
    own = RandomWalk(length=3)
    made = make_kernel(own)
    assert made is not own
    assert made.length == 3
    assert accuracy(made, cycles_and_trees(60)) >= 0.9


def test_one_line_of_the_table_gives_it_a_name(monkeypatch):
    monkeypatch.setitem(kernels.KERNELS, "random-walk", f"{__name__}:RandomWalk")
    made = make_kernel("random-walk(length=3)")
    assert isinstance(made, RandomWalk)
    assert made.length == 3
    with pytest.raises(ParameterError, match="hops"):
        make_kernel("random-walk(hops=3)")


def test_the_memory_compares_by_it_and_the_model_can_be_saved(tmp_path):
    graphs = cycles_and_trees(60)
    model = KGNN(kernel=RandomWalk(length=3), epochs=10, rounds=0).fit(graphs[:40])
    assert model.set_params(predict_with="memory").score(graphs[40:]) >= 0.9
    model.save(tmp_path)
    opened = open_model(tmp_path, classes=(RandomWalk,))
    np.testing.assert_array_equal(opened.predict_proba(graphs), model.predict_proba(graphs))
    with pytest.raises(ModelFileError, match="RandomWalk"):
        open_model(tmp_path)  # nothing vouches for the class
