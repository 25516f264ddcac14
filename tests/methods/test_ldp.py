import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from kgnn.graphs.packing import pack
from kgnn.methods.ldp import Forest, degree_profile


def test_profiles_are_shares_of_binned_degrees():
    star = pack("star", [4], [0, 0, 0], [1, 2, 3])
    (row,) = degree_profile(star)
    own, mean, largest, smallest = (row[42 * i : 42 * (i + 1)] for i in range(4))
    # log2(1 + 3) = 2 → bin 4; log2(1 + 1) = 1 → bin 2
    assert own[[2, 4]].tolist() == [0.75, 0.25]
    for around in (mean, largest, smallest):
        assert around[[2, 4]].tolist() == [0.25, 0.75]
    np.testing.assert_allclose(row[-3:], [np.log(5), np.log(4), np.log(4) - 2 * np.log(5)])


def test_label_shares_are_added_and_unknown_labels_left_out():
    graphs = pack("labeled", [4], [0], [1], node_labels=["a", "a", "b", "z"])
    row = degree_profile(graphs, ("a", "b"))[0]
    assert row[168:170].tolist() == [0.5, 0.25]


def test_isolated_nodes_and_empty_graphs_have_profiles():
    profile = degree_profile(pack("odd", [0, 1], [], []))
    assert np.isfinite(profile).all()
    assert profile[1, [0, 42, 84, 126]].tolist() == [1, 1, 1, 1]


def points(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, n_classes, size=60)
    targets[:n_classes] = np.arange(n_classes)
    return rng.normal(size=(60, 5)) + np.eye(5)[targets], targets


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
