import numpy as np
import pytest
from scipy.special import softmax

from kgnn.engine.calibration import calibrate, choose, log_likelihoods

MARGINS = np.array([[1.0, -1.0]] * 10)


def test_scores_that_are_always_right_become_sharp_and_coin_flips_soft():
    sure = calibrate(MARGINS, np.zeros(10, dtype=np.int64))
    unsure = calibrate(MARGINS, np.array([0, 1] * 5))
    assert sure.sharpness > 1 > 0.1 > unsure.sharpness
    # Ten right answers out of ten do not show more than that.
    assert softmax(sure.sharpness * MARGINS, axis=1)[:, 0].mean() == pytest.approx(11 / 12)
    assert sure.log_likelihood == pytest.approx(np.log(11 / 12))
    assert unsure.log_likelihood == pytest.approx(-np.log(2), abs=1e-3)


def test_confidence_becomes_the_share_of_right_answers():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 2000)
    scores = rng.normal(size=(2000, 3)) * 5
    scores[np.arange(2000), truth] += 4
    found = calibrate(scores, truth)
    proba = np.exp(found.sharpness * scores)
    proba /= proba.sum(axis=1, keepdims=True)
    right = scores.argmax(axis=1) == truth
    assert proba.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.03)


def test_huge_scores_do_no_harm():
    assert np.isfinite(calibrate(1e4 * MARGINS, np.array([0, 1] * 5))).all()


def test_likelihoods_of_graphs_are_those_of_calibrated_scores():
    truth = np.array([0, 0, 0, 1])
    scores = np.array([[9.0, 0.0]] * 4)
    found = log_likelihoods(scores, truth)
    assert np.exp(found) == pytest.approx([0.75, 0.75, 0.75, 0.25], abs=1e-3)
    assert found.mean() == pytest.approx(calibrate(scores, truth).log_likelihood)
    np.testing.assert_allclose(log_likelihoods(5 * scores, truth), found, atol=1e-4)


def test_the_default_stays_where_the_evidence_is_weak():
    default, better = np.full(100, -0.7), np.full(100, -0.6)
    assert choose(np.array([default, better]), 0) == 1
    noise = np.tile([1.0, -1.0], 50)  # ten times the gain: a standard error of a tenth
    assert choose(np.array([default, better + noise]), 0) == 0
    assert choose(np.array([default, better + noise]), 0, caution=0.0) == 1
    assert choose(np.array([default, better + noise / 3]), 0) == 1
    assert choose(np.array([better, better + noise, default]), 2) == 0


def test_the_best_of_several_is_chosen_and_equals_change_nothing():
    likely = np.array([[-0.7], [-0.5], [-0.3], [-0.4]]) * np.ones(20)
    assert choose(likely, 0) == 2
    assert choose(likely, 2) == 2
    assert choose(likely[[0, 0, 0]], 1) == 1


def test_one_graph_is_no_evidence():
    assert choose(np.array([[-5.0], [-0.1]]), 0) == 0
