"""ARCHITECTURE.md, "a method in a package of my own": a class and an entry point."""

import sys

import numpy as np
import pytest

from kgnn import make, open_model
from kgnn.estimator.registry import entries
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.testing import check_method

METHOD = '''
import numpy as np
from scipy.special import softmax

from kgnn import WeisfeilerLehman
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import parameters


@parameters
class NearestMean(GraphClassifier):
    """The class whose mean features are nearest."""

    sharpness: float = 10.0

    def _fit(self, task):
        self.wl_ = WeisfeilerLehman(iterations=2, normalize="graph").fit(task.graphs)
        features = self.wl_.transform(task.graphs).toarray()
        self.means_ = np.stack(
            [features[task.targets == c].mean(axis=0) for c in range(task.n_classes)]
        )

    def _predict_proba(self, graphs):
        features = self.wl_.transform(graphs).toarray()
        distances = np.linalg.norm(features[:, None] - self.means_, axis=2)
        return softmax(-self.sharpness * distances, axis=1)
'''


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The package as an installer leaves it."""
    (tmp_path / "my_methods.py").write_text(METHOD)
    info = tmp_path / "my_methods-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-methods\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[kgnn.methods]\nnearest-mean = my_methods:NearestMean\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("my_methods", None)


@pytest.mark.usefixtures("installed")
def test_an_entry_point_adds_the_method_to_the_list(tmp_path):
    assert "nearest-mean" in entries()
    graphs = cycles_and_trees(30)
    model = make("nearest-mean", sharpness=5.0).fit(graphs[:20], graphs.targets[:20])
    assert model.score(graphs[20:], graphs.targets[20:]) >= 0.9
    model.save(tmp_path / "model")
    again = open_model(tmp_path / "model").predict_proba(graphs)
    np.testing.assert_array_equal(again, model.predict_proba(graphs))


@pytest.mark.usefixtures("installed")
def test_the_class_keeps_the_contract():
    check_method(make("nearest-mean"))
