import numpy as np
import pytest
from scipy.special import softmax

from kgnn.engine.calibration import calibrate

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
