"""The linear baseline: what it computes, and that no label reaches where it must not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import kgnn
from kgnn.engine.linear import fit_linear
from kgnn.engine.task import Task
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.methods.memnn_sup import MemNNSup
from kgnn.methods.wl_linear import WLLinear

GRAPHS = cycles_and_trees(80, seed=3)
LABELS = np.where(np.arange(80) < 16, GRAPHS.targets, -1)


def test_it_is_scikit_learns_logistic_regression_on_the_coordinates():
    model = WLLinear(cross_fit=0, C=0.5).fit(GRAPHS, LABELS)
    features = sparse.csr_array(model.kernel_.transform(GRAPHS))
    coordinates = model.projection_.transform(features)
    assert (coordinates**2).sum(axis=1).mean() == pytest.approx(8.0, rel=1e-4)
    machine = LogisticRegression(C=0.5, max_iter=1000).fit(coordinates[:16], LABELS[:16])
    np.testing.assert_allclose(
        model.predict_proba(GRAPHS), machine.predict_proba(coordinates), atol=1e-6
    )


def test_the_memory_of_kgnn_starts_where_it_ends():
    """With no training at all, the memory is the linear machine."""
    linear = WLLinear(cross_fit=0).fit(GRAPHS, LABELS)
    settings = {"cross_fit": 0, "epochs": 1, "memory_learning_rate": 0.0}
    memory = MemNNSup(**settings, gaussian_start=False).fit(GRAPHS, LABELS)
    np.testing.assert_allclose(
        memory.predict_proba(GRAPHS), linear.predict_proba(GRAPHS), atol=1e-5
    )
    with_gaussians = MemNNSup(**settings).fit(GRAPHS, LABELS)
    assert not np.allclose(with_gaussians.predict_proba(GRAPHS), linear.predict_proba(GRAPHS))


def test_what_it_says_of_held_out_graphs_does_not_depend_on_their_labels():
    folds = tuple(np.array_split(np.arange(16), 4))
    task = Task(GRAPHS, LABELS, 2, None, seed=0, folds=folds)
    turned = LABELS.copy()
    turned[folds[0]] = 1 - turned[folds[0]]
    said, again = (WLLinear()._fit(replace(task, targets=each)) for each in (LABELS, turned))
    assert said.rows.tolist() == list(range(16))
    np.testing.assert_array_equal(said.proba[:4], again.proba[:4])
    assert not np.allclose(said.proba[4:], again.proba[4:])


def test_class_weights_move_the_answer_towards_the_rare_class():
    labels = np.where(GRAPHS.targets == 1, 1, 0)
    labels[(GRAPHS.targets == 1) & (np.arange(80) > 6)] = -1
    usual, balanced = (
        WLLinear(class_weight=each, C=1e-3, cross_fit=0).fit(GRAPHS, labels).predict_proba(GRAPHS)
        for each in (None, "balanced")
    )
    assert balanced[:, 1].mean() > usual[:, 1].mean() + 0.1


def test_it_is_saved_and_opened_with_the_same_answers(tmp_path):
    model = kgnn.make("wl-linear", kernel="wl(iterations=1)", dimensions=5).fit(GRAPHS, LABELS)
    assert model.coefficients_.shape == (2, 5)
    opened = kgnn.open_model(model.save(tmp_path / "linear"))
    np.testing.assert_array_equal(opened.predict_proba(GRAPHS), model.predict_proba(GRAPHS))


def test_a_class_without_labeled_graphs_is_never_predicted():
    features = np.random.default_rng(0).normal(size=(20, 3))
    for classes in (np.arange(20) % 2 * 2, np.full(20, 2)):
        coefficients, biases = fit_linear(features, classes, 3)
        predicted = (features @ coefficients.T + biases).argmax(axis=1)
        assert set(predicted.tolist()) <= set(classes.tolist())
