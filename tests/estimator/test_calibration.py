from typing import ClassVar

import numpy as np
import pytest

from kgnn.engine.task import OutOfFold, Task
from kgnn.errors import KgnnWarning, ParameterError
from kgnn.estimator.calibration import calibrate_model, label_sets, sharpen, threshold
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.kernels.colors import looks
from kgnn.methods.ldp import LDP
from kgnn.methods.wl import WL

GRAPHS = cycles_and_trees(40)
ONE = {"iterations": (1,), "counts": ("raw",), "normalize": ("graph",), "C": (1.0,)}  # candidate


class _Stopped(LDP):
    """Its fits without a part of the labels end by Ctrl-C, with something to predict with."""

    def fit(self, X, y=None, *, validation=None):
        super().fit(X, y, validation=validation)
        self.interrupted_ |= self.cross_fit == 0
        return self


def test_ctrl_c_in_one_part_stops_all_and_keeps_the_model():
    with pytest.warns(KgnnWarning, match="Calibration was stopped by hand"):
        model = _Stopped(trees=5, cross_fit=4).fit(GRAPHS)
    assert model.interrupted_
    assert model.held_out_ is None
    plain = LDP(trees=5, cross_fit=0).fit(GRAPHS)
    assert np.array_equal(model.predict_proba(GRAPHS), plain.predict_proba(GRAPHS))


class _Telling(LDP):
    """Keeps what each fit was given."""

    seen: ClassVar[list[Task]] = []

    def _fit(self, task):
        self.seen.append(task)
        super()._fit(task)


def test_a_method_that_knows_no_folds_is_fitted_again_without_each():
    graphs = planted_motifs(40)
    labels = np.where(np.arange(40) < 30, graphs.targets, -1)
    _Telling.seen.clear()
    model = _Telling(trees=5, cross_fit=3).fit(graphs, labels)
    first, *others = _Telling.seen
    assert np.array_equal(first.targets, labels)
    every = set(looks(graphs).tolist())
    left_out = [every - set(looks(each.graphs).tolist()) for each in others]
    # The graph is not among the unlabeled ones either.
    assert [len(each) for each in left_out] == [10, 10, 10]
    assert set.union(*left_out) == set(looks(graphs[:30]).tolist())
    assert [len(each.unlabeled) for each in others] == [10, 10, 10]
    assert model.held_out_.rows.tolist() == list(range(30))


def test_what_is_held_out_is_found_by_its_row():
    graphs = planted_motifs(40)
    known = np.array([3, 4, 9, 12, 20, 25, 26, 39])
    labels = np.full(40, -1)
    labels[known] = graphs.targets[known]
    model = WL(**ONE, cross_fit=4).fit(graphs, labels)
    held = model.held_out_
    assert held.rows.tolist() == known.tolist()
    assert held.targets.tolist() == labels[known].tolist()


def test_rows_of_validation_graphs_count_those_without_a_label():
    graphs = planted_motifs(40)
    truth = graphs.targets[20:].tolist()
    truth[3] = truth[7] = -1
    truth[11] = 2  # a class that no labeled graph has
    model = LDP(trees=5).fit(graphs[:20], graphs.targets[:20], validation=(graphs[20:], truth))
    held = model.held_out_
    assert held.rows.tolist() == [row for row in range(20) if row not in (3, 7, 11)]
    assert held.targets.tolist() == [truth[row] for row in held.rows]
    assert np.array_equal(held.proba, model.predict_proba(graphs[20:][held.rows]))


def test_a_graph_that_is_held_out_repeatedly_gets_the_mean_of_what_is_said():
    rows = np.array([4, 2, 4, 7, 4])
    proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.5, 0.5], [0.3, 0.7]])
    model = LDP()
    targets = np.array([-1, -1, 1, -1, 0, -1, -1, 1])
    task = Task(planted_motifs(8), targets, 2, None, seed=0)
    calibrate_model(model, task, OutOfFold(rows, proba))
    assert model.held_out_.rows.tolist() == [2, 4, 7]
    assert model.held_out_.targets.tolist() == [1, 0, 1]
    mean = np.array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])
    np.testing.assert_allclose(model.held_out_.proba, sharpen(mean, model.sharpness_))


@pytest.mark.parametrize("error", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("n", [20, 100])
def test_the_true_label_is_missing_no_more_often_than_promised(error, n):
    rng = np.random.default_rng(0)
    missing = []
    for _ in range(400):
        # A model that is far from calibrated: the promise does not need one.
        truth = rng.integers(0, 3, size=n + 200)
        logits = rng.normal(size=(n + 200, 3)) * 3 + 2 * np.eye(3)[truth]
        proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        least = threshold(proba[:n], truth[:n], error)
        sets = label_sets(proba[n:], least)
        missing.append(1 - sets[np.arange(200), truth[n:]].mean())
    assert np.mean(missing) <= error + 0.01
    # Nor are the sets larger than they need be.
    assert np.mean(missing) >= error - 1 / (n + 1) - 0.01


@pytest.mark.parametrize("n", [30, 100])
def test_sets_from_cross_fitting_miss_the_true_label_no_more_often_than_promised(n):
    """On average over samples of labels; every seventh label is wrong, so that no model is sure."""
    pool, rng = planted_motifs(2000, n_nodes=10), np.random.default_rng(0)
    truth = np.where(rng.random(2000) < 0.15, 1 - pool.targets, pool.targets)
    missing, optimism, sizes = {0.1: [], 0.2: []}, [], []
    for seed in range(60):
        rows = rng.permutation(2000)
        known, new = rows[:n], rows[n : n + 150]
        model = WL(**ONE, random_state=seed).fit(pool[known], truth[known])
        proba = model.predict_proba(pool[new])
        for error, found in missing.items():
            sets = model.sets_of(proba, error=error)
            found.append(np.mean([t not in s for t, s in zip(truth[new], sets, strict=True)]))
            sizes += map(len, sets)
        said = (model.held_out_.proba.argmax(axis=1) == model.held_out_.targets).mean()
        optimism.append(said - (proba.argmax(axis=1) == truth[new]).mean())
    for error, found in missing.items():
        assert error - 0.07 < np.mean(found) < error + 0.015
    assert np.mean(sizes) < 1.6
    assert np.mean(optimism) == pytest.approx(0, abs=0.03)


def test_a_smaller_error_needs_larger_sets():
    rng = np.random.default_rng(1)
    proba = rng.dirichlet(np.ones(4), size=200)
    targets = rng.integers(0, 4, size=200)
    sizes = [label_sets(proba, threshold(proba, targets, e)).sum() for e in (0.3, 0.1, 0.02)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_with_too_few_graphs_to_know_every_label_is_possible():
    least = threshold(np.array([[0.9, 0.1]] * 5), np.zeros(5, dtype=int), 0.1)
    assert label_sets(np.array([[1.0, 0.0]]), least).all()


def test_no_set_is_empty():
    assert label_sets(np.array([[0.4, 0.3, 0.3]]), 0.9).tolist() == [[True, False, False]]


@pytest.mark.parametrize("error", [0, 1, -0.1, 2])
def test_an_error_that_is_no_share_is_refused(error):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        threshold(np.ones((3, 1)), np.zeros(3, dtype=int), error)
