import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from kgnn.estimator.machines import Forest, Machine


def points(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, n_classes, size=60)
    targets[:n_classes] = np.arange(n_classes)
    return rng.normal(size=(60, 5)) + np.eye(5)[targets], targets


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("penalty", [0.1, 10.0])
def test_a_machine_decides_as_scikit_learn_does(n_classes, penalty):
    rows, targets = points(n_classes)
    kernel = rows[:40] @ rows[:40].T
    svm = SVC(C=penalty, kernel="precomputed", decision_function_shape="ovo")
    svm.fit(kernel, targets[:40])
    expected = svm.decision_function(rows[40:] @ rows[:40].T).reshape(20, -1)
    machine = Machine.fit(penalty, kernel, targets[:40])
    assert machine.n_classes == n_classes
    np.testing.assert_allclose(machine.decide(rows[40:] @ rows[:40].T), expected, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_forest_predicts_as_scikit_learn_does(n_classes):
    rows, targets = points(n_classes)
    expected = RandomForestClassifier(20, random_state=3).fit(rows[:40], targets[:40])
    forest = Forest.fit(rows[:40], targets[:40], trees=20, seed=3)
    np.testing.assert_allclose(
        forest.predict_proba(rows[40:]), expected.predict_proba(rows[40:]), atol=1e-12
    )


def test_a_forest_of_stumps_that_ask_nothing_gives_the_shares():
    forest = Forest.fit(np.zeros((3, 2)), np.array([0, 0, 1]), trees=4, seed=0)
    proba = forest.predict_proba(np.ones((2, 2)))
    assert (proba[0] == proba[1]).all()
    assert proba.sum(axis=1) == pytest.approx([1, 1])
