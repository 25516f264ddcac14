from typing import ClassVar

import numpy as np
import pytest

from kgnn.errors import KgnnWarning, ParameterError
from kgnn.estimator.calibration import label_sets, threshold
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.methods.ldp import LDP

GRAPHS = cycles_and_trees(40)


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
    plain = LDP(trees=5).fit(GRAPHS)
    assert np.array_equal(model.predict_proba(GRAPHS), plain.predict_proba(GRAPHS))


class _Telling(LDP):
    """Keeps the labels that each fit was given."""

    seen: ClassVar[list[np.ndarray]] = []

    def _fit(self, task):
        self.seen.append(task.targets)
        super()._fit(task)


def test_each_label_is_held_out_once():
    _Telling.seen.clear()
    model = _Telling(trees=5, cross_fit=4).fit(GRAPHS)
    assert not model.interrupted_
    assert np.array_equal(model.held_out_.targets, GRAPHS.targets)
    assert model.held_out_.proba.shape == (40, 2)
    first, *others = _Telling.seen
    assert np.array_equal(first, GRAPHS.targets)
    assert [int((each < 0).sum()) for each in others] == [10] * 4
    assert (np.sum([each < 0 for each in others], axis=0) == 1).all()


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
