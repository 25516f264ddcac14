"""Labels that were flipped are found among many that were not."""

import numpy as np
import pytest

from kgnn.errors import ParameterError
from kgnn.estimator.suspicion import suspicious_labels
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.ldp import LDP


def test_flipped_labels_are_found():
    """On planted motifs, by cross-fitted probabilities that never saw the label."""
    hits, n_found, n_flipped = 0, 0, 0
    for seed in range(3):
        graphs = planted_motifs(100, n_nodes=16, seed=seed)
        flipped = np.random.default_rng(seed).choice(100, 10, replace=False)
        targets = graphs.targets.copy()
        targets[flipped] = 1 - targets[flipped]
        model = LDP(trees=100, cross_fit=5).fit(graphs, targets)
        found = [each.row for each in suspicious_labels(model.held_out_.proba, targets)]
        hits += len(set(found) & set(flipped.tolist()))
        n_found, n_flipped = n_found + len(found), n_flipped + len(flipped)
    assert hits / n_found > 0.7  # precision
    assert hits / n_flipped > 0.5  # recall; one label in ten would be found by chance


def test_clean_labels_are_hardly_ever_suspected():
    graphs = planted_motifs(100, n_nodes=16)
    model = LDP(trees=100, cross_fit=5).fit(graphs)
    assert len(suspicious_labels(model.held_out_.proba, graphs.targets)) <= 3


PROBA = np.array([[0.9, 0.1], [0.8, 0.2], [0.95, 0.05], [0.1, 0.9], [0.2, 0.8]])
TARGETS = np.array([0, 0, 1, 1, 1])


def test_the_probability_of_the_likely_class_is_the_confidence():
    (found,) = suspicious_labels(PROBA, TARGETS)
    assert (found.row, found.given, found.likely, found.confidence) == (2, 1, 0, 0.95)


def test_a_contradiction_must_be_as_sure_as_is_usual_for_the_class():
    hesitant = PROBA.copy()
    hesitant[2] = [0.6, 0.4]  # members of class 0 have 0.85
    assert suspicious_labels(hesitant, TARGETS) == []


def test_a_class_that_is_badly_recognized_needs_an_even_chance_at_least():
    proba = np.array([[0.4, 0.3, 0.3], [0.45, 0.3, 0.25], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    assert suspicious_labels(proba, np.array([0, 1, 1, 2])) == []
    proba[1] = [0.52, 0.28, 0.2]
    assert [each.row for each in suspicious_labels(proba, np.array([0, 1, 1, 2]))] == [1]


def test_the_surest_comes_first_and_unlabeled_graphs_never():
    proba = np.array([[0.1, 0.9], [0.05, 0.95], [0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
    targets = np.array([0, 0, 0, 1, -1])
    assert [each.row for each in suspicious_labels(proba, targets)] == [1, 0]


def test_predictions_of_another_length_are_refused():
    with pytest.raises(ParameterError, match="4 predictions for 5 labels"):
        suspicious_labels(PROBA[:4], TARGETS)
