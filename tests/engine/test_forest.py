"""Forests against scikit-learn's, and as a learner beside networks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier

from kgnn.engine.forest import KernelForest
from kgnn.engine.network import Examples, Training, one_hot
from kgnn.engine.trees import Forest
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.kernels import make_kernel


def points(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, n_classes, size=60)
    targets[:n_classes] = np.arange(n_classes)
    return rng.normal(size=(60, 5)) + np.eye(5)[targets], targets


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_forest_predicts_as_scikit_learn_does(n_classes):
    rows, targets = points(n_classes)
    expected = RandomForestClassifier(20, random_state=3).fit(rows[:40], targets[:40])
    forest = Forest.grow(rows[:40], targets[:40], n_classes, trees=20, seed=3)
    np.testing.assert_allclose(
        forest.predict_proba(rows[40:]), expected.predict_proba(rows[40:]), atol=1e-12
    )


def test_a_forest_of_stumps_that_ask_nothing_gives_the_shares():
    forest = Forest.grow(np.zeros((3, 2)), np.array([0, 0, 1]), 2, trees=4, seed=0)
    proba = forest.predict_proba(np.ones((2, 2)))
    assert (proba[0] == proba[1]).all()
    assert proba.sum(axis=1) == pytest.approx([1, 1])


def test_sparse_features_give_what_dense_ones_give():
    rows, targets = points(3)
    rows[rows < 0.5] = 0
    dense = Forest.grow(rows, targets, 3, trees=10, seed=1)
    thin = Forest.grow(sparse.csr_array(rows), targets, 3, trees=10, seed=1)
    assert (dense.predict_proba(rows) == thin.predict_proba(sparse.csr_array(rows))).all()


def test_a_class_without_a_graph_has_no_share():
    rows, _ = points(2)
    forest = Forest.grow(rows, np.arange(60) % 2 * 2, 3, trees=5, seed=0)
    proba = forest.predict_proba(rows)
    assert (proba[:, 1] == 0).all()
    assert proba.sum(axis=1) == pytest.approx(1)


def test_weights_of_graphs_count():
    rows, targets = points(2)
    weights = np.where(targets == 0, 1000.0, 1.0)
    plain, weighted = (
        Forest.grow(rows, targets, 2, trees=50, seed=0, weights=each) for each in (None, weights)
    )
    others = np.random.default_rng(5).normal(size=(200, 5))
    assert weighted.predict_proba(others)[:, 0].mean() > plain.predict_proba(others)[:, 0].mean()


@pytest.mark.parametrize("name", ["left", "right", "roots", "feature", "columns"])
def test_trees_that_lead_nowhere_are_refused(name):
    rows, targets = points(2)
    forest = Forest.grow(rows, targets, 2, trees=3, seed=0)
    forest.require_sound()
    for wrong in (-1, 10**6):
        places = getattr(forest, name)
        before, places[0] = places[0], wrong
        if (name, wrong) != ("columns", 10**6):  # how many features there are, only a kernel knows
            with pytest.raises(ValueError, match="forest"):
                forest.require_sound()
        places[0] = before


def test_a_learner_learns_labeled_graphs_alone_and_answers_for_those_held_out():
    graphs = planted_motifs(60, n_nodes=12)
    learner = KernelForest(graphs, make_kernel("wl(iterations=2)"), trees=20)
    targets = one_hot(graphs.targets, 2)
    labeled, held_out, annotated = np.split(np.arange(60), [30, 40])
    wrong = targets.clone()
    wrong[annotated] = 1 - wrong[annotated]
    trainings = [
        Training(Examples(labeled, of, more), 0, learner.part(held_out), graphs.targets[held_out])
        for of, more in ((targets, annotated[:0]), (wrong, annotated))
    ]
    first, second = learner.fit(trainings)
    for one, other in zip(vars(first.module).values(), vars(second.module).values(), strict=True):
        assert (one == other).all()
    np.testing.assert_allclose(
        first.answers, learner.logits(learner.prepare(graphs[held_out]), [first])
    )
    proba = learner.annotate(held_out)[0]
    assert (proba.argmax(axis=1) == graphs.targets[held_out]).mean() > 0.6
