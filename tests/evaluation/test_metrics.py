import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import kgnn
from kgnn.evaluation.metrics import Met, brier_score, calibration_error, quality, wilson_interval
from kgnn.graphs.collector import named
from kgnn.graphs.datasets.toy import planted_motifs


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 1], 200)
    targets = np.array([rng.choice(3, p=p) for p in proba])
    return proba, targets, [f"c{t}" for t in targets]


def test_numbers_are_those_of_the_metrics(drawn):
    proba, targets, labels = drawn
    found = quality(labels, proba, ["c0", "c1", "c2"])
    assert found.accuracy == (proba.argmax(axis=1) == targets).mean()
    assert found.brier == pytest.approx(brier_score(targets, proba))
    assert found.calibration_error == pytest.approx(calibration_error(targets, proba))
    assert np.array_equal(found.confusion, confusion_matrix(targets, proba.argmax(axis=1)))


def test_bins_hold_every_graph_and_explain_the_calibration_error(drawn):
    proba, _, labels = drawn
    found = quality(labels, proba, ["c0", "c1", "c2"])
    assert sum(each.n for each in found.bins) == 200
    gap = sum(each.n * abs(each.confidence - each.share_right) for each in found.bins) / 200
    assert gap == pytest.approx(found.calibration_error)


def test_a_class_that_the_model_does_not_know_is_never_right():
    found = quality(["a", "new"], np.array([[1.0, 0.0], [1.0, 0.0]]), ["a", "b"])
    assert found.accuracy == 0.5
    assert found.true_classes == ("a", "b", "new")
    assert found.confusion == ((1, 0), (0, 0), (1, 0))
    assert found.brier == 0.5


def test_sets_are_judged_by_what_they_hold():
    sets = [(0.1, [["a"], ["b", "a"], ["b"]])]
    found = quality(["a", "a", "a"], np.full((3, 2), 0.5), ["a", "b"], sets)
    assert found.sets[0] == (0.1, pytest.approx(2 / 3), pytest.approx(4 / 3))


def test_it_can_be_written_as_json(drawn):
    proba, _, labels = drawn
    record = quality(labels, proba, ["c0", "c1", "c2"]).record()
    assert json.loads(json.dumps(record))["n"] == 200


def test_the_interval_is_wilson_s_and_never_empty():
    low, high = wilson_interval(0.9, 100)  # printed in textbooks as 0.826 to 0.945
    assert (round(low, 3), round(high, 3)) == (0.826, 0.945)
    assert wilson_interval(0.0, 5)[1] > 0.4
    assert wilson_interval(1.0, 5)[0] < 0.6


def test_graphs_are_met_again_by_name_and_look():
    graphs = named(planted_motifs(12))
    shuffled = graphs[[5, 0, 9]]
    assert Met.among(graphs[:6], shuffled).trained_on.tolist() == [True, True, False]
    renamed = replace(shuffled, graph_names=np.array(["x", "y", "z"]))
    met = Met.among(graphs[:6], renamed)
    assert met.trained_on.tolist() == [False] * 3
    assert met.alike.tolist()[:2] == [True, True]
    # The same names, and other graphs.
    others = replace(graphs[6:], graph_names=graphs.graph_names[:6])
    assert not Met.among(graphs[:6], others).trained_on.any()


def test_numbers_of_a_model_without_names_are_not_taken_for_names():
    graphs = planted_motifs(12)
    met = Met.among(graphs[:6], graphs[:6])
    assert not met.trained_on.any()
    assert met.alike.all()


def test_graphs_that_differ_in_bonds_or_attributes_are_not_met_again():
    ethanol, aldehyde = kgnn.from_smiles(["CCO"]), kgnn.from_smiles(["CC=O"])
    assert Met.among(ethanol, aldehyde).alike.tolist() == [False]
    assert Met.among(ethanol, ethanol).alike.tolist() == [True]
    rng, graphs = np.random.default_rng(0), named(planted_motifs(6))
    one, two = (replace(graphs, node_attributes=rng.normal(size=(graphs.n_nodes, 1))) for _ in "12")
    assert Met.among(one, one).trained_on.all()
    assert not Met.among(one, two).trained_on.any()
