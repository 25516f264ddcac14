import networkx as nx
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from kgnn.errors import KgnnWarning
from kgnn.estimator import classifier as base
from kgnn.estimator.registry import entries
from kgnn.estimator.saving import open_model
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.kgnn import KGNN
from kgnn.methods.ldp import LDP
from tests.contracts.test_methods import fast

GRAPHS = planted_motifs(60, n_nodes=12)
PARTLY = GRAPHS.with_targets(np.where(np.arange(60) < 12, GRAPHS.targets, -1))


@pytest.mark.parametrize("name", entries())
def test_every_method_suggests_graphs_without_a_label(name):
    model = fast(name).fit(PARTLY)
    found = model.suggest(PARTLY, n=5)
    assert len({suggestion.row for suggestion in found}) == 5
    predicted = model.predict(GRAPHS[[suggestion.row for suggestion in found]]).tolist()
    for suggestion, label in zip(found, predicted, strict=True):
        assert suggestion.row >= 12
        assert suggestion.predicted == label
        assert (suggestion.disagreement is None) is (name not in {"kgnn", "kgnn-sep"})


def test_disagreement_is_what_the_two_networks_put_on_different_classes():
    model = KGNN(epochs=5, rounds=1).fit(PARTLY)
    found = model.suggest(PARTLY, n=10)
    each = model.predict_proba_each(GRAPHS[[suggestion.row for suggestion in found]])
    apart = np.abs(each["gnn"] - each["memory"]).sum(axis=1) / 2
    assert [s.disagreement for s in found] == pytest.approx(apart.tolist(), abs=1e-5)


def test_a_saved_model_suggests_the_same(tmp_path):
    model = LDP(trees=20).fit(PARTLY)
    opened = open_model(model.save(tmp_path / "model"))
    assert opened.suggest(PARTLY, n=8) == model.suggest(PARTLY, n=8)


def test_labels_of_the_candidates_are_not_looked_at():
    class Peeking(LDP):
        def _predict_proba(self, graphs):
            assert (graphs.targets < 0).all()
            return super()._predict_proba(graphs)

    model = Peeking(trees=20).fit(GRAPHS[:12])
    assert model.suggest(PARTLY[12:], n=3)


def test_many_candidates_are_asked_about_in_runs(monkeypatch):
    model = LDP(trees=20).fit(PARTLY)
    at_once = model.suggest(PARTLY, n=8)
    monkeypatch.setattr(base, "_NODES_AT_ONCE", 50)
    assert model.suggest(PARTLY, n=8) == at_once


def test_a_model_of_one_class_suggests_what_is_unlike():
    with pytest.warns(KgnnWarning):
        model = KGNN(epochs=5, rounds=1).fit(GRAPHS[:4], ["same"] * 4)
    found = model.suggest(PARTLY[12:], n=4)
    assert len(found) == 4
    assert {suggestion.confidence for suggestion in found} == {1.0}


def test_networkx_graphs_are_taken_as_they_are():
    rings = [nx.cycle_graph(n) for n in range(5, 20)]
    stars = [nx.star_graph(n) for n in range(5, 20)]
    model = LDP(trees=20).fit(rings[:5] + stars[:5], ["ring"] * 5 + ["star"] * 5)
    assert {s.row for s in model.suggest(rings + stars, n=50)} <= {*range(5, 15), *range(20, 30)}


def test_nothing_is_suggested_of_nothing():
    model = LDP(trees=20).fit(PARTLY)
    assert model.suggest(PARTLY[:0]) == []
    assert model.suggest(PARTLY[:12]) == []
    with pytest.raises(NotFittedError):
        LDP().suggest(PARTLY)
