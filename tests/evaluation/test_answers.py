"""Answers are those of the model itself, in every form."""

import json

import numpy as np
import pytest

from kgnn.errors import ParameterError
from kgnn.evaluation.answers import answers, columns
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.methods.kgnn import KGNN
from kgnn.methods.wl import WL

GRAPHS = cycles_and_trees(48)


@pytest.fixture(scope="module")
def wl():
    return WL(cross_fit=2).fit(GRAPHS[:40])


@pytest.fixture(scope="module")
def kgnn():
    return KGNN(epochs=3, rounds=0, cross_fit=2).fit(GRAPHS[:40])


@pytest.mark.parametrize("model", ["wl", "kgnn"])
def test_probabilities_labels_and_sets_are_the_model_s(model, request):
    model = request.getfixturevalue(model)
    found = answers(model, GRAPHS[40:], error=0.2)
    proba = np.array([list(each.probabilities.values()) for each in found])
    assert np.allclose(proba, model.predict_proba(GRAPHS[40:]), atol=1e-12)
    assert [each.label for each in found] == model.predict(GRAPHS[40:]).tolist()
    assert [list(each.label_set) for each in found] == model.predict_sets(GRAPHS[40:], error=0.2)


def test_all_parts_of_kgnn_are_asked(kgnn):
    each = kgnn.predict_proba_each(GRAPHS[40:])
    for row, answer in enumerate(answers(kgnn, GRAPHS[40:])):
        parts = ("gnn", "memory", "forest")
        named = {who: kgnn.classes_[each[who][row].argmax()] for who in parts}
        assert answer.networks == named
        assert answer.record()["agree"] is (len(set(named.values())) == 1)


def test_the_columns_are_those_of_the_cells(wl, kgnn):
    for model in (wl, kgnn):
        plain, with_sets = answers(model, GRAPHS[:1])[0], answers(model, GRAPHS[:1], error=0.1)[0]
        assert list(plain.cells()) == columns(model)
        assert list(with_sets.cells()) == columns(model, has_sets=True)
        assert json.loads(with_sets.cells()["label_set"]) == list(with_sets.label_set)


def test_unlike_graphs_are_said_to_be(wl):
    record = answers(wl, planted_motifs(1))[0].record()
    assert record["novelty"] > 0
    assert "have a label" in record["novelty_reason"] or "labels" in record["novelty_reason"]
    assert json.dumps(record)


def test_sets_need_something_to_promise_by():
    model = WL(cross_fit=0).fit(GRAPHS[:40])
    with pytest.raises(ParameterError, match="cross_fit=5"):
        answers(model, GRAPHS[:2], error=0.1)
