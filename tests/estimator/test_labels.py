"""Numbers that were measured are no classes; numbers that are classes stay so."""

import numpy as np
import pytest

from kgnn.errors import GraphDataError
from kgnn.estimator.labels import encode_labels, require_classes
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.packing import pack
from kgnn.methods.ldp import LDP

GRAPHS = cycles_and_trees(40)


@pytest.mark.parametrize(
    "labels",
    [
        np.linspace(0, 3, 40),
        [f"{value:.2f}" for value in np.linspace(0, 3, 40)],  # as a file has them
        [0.5 * (row % 22) for row in range(40)],
        [*np.linspace(0, 3, 6), *[None] * 34],
        [row * row for row in range(40)],
    ],
)
def test_measurements_are_refused_with_advice(labels):
    with pytest.raises(
        GraphDataError, match="different numbers.* convert them to classes.* 'low' up"
    ):
        LDP(trees=5).fit(GRAPHS, labels)


@pytest.mark.parametrize(
    "labels",
    [
        [row % 2 for row in range(40)],
        [float(row % 3) for row in range(40)],  # as pandas has them beside missing ones
        [(0.1, 0.5, 1.0)[row % 3] for row in range(40)],
        [0.5, 1.5, 2.5, *[None] * 37],
        range(40),  # one label of each of many classes
        [f"{row}a" for row in range(40)],
        ["inf", "nan", *(str(row) for row in range(38))],
    ],
)
def test_classes_are_not(labels):
    encode_labels(GRAPHS, labels)


@pytest.mark.parametrize("n_labeled", [30, 60, 100, 390])
def test_a_hundred_classes_are_never_too_many(n_labeled):
    """As COIL-RAG has them, however few of its graphs are labeled."""
    drawn = np.random.default_rng(n_labeled).integers(0, 100, n_labeled)
    require_classes(sorted(set(drawn.tolist())), n_labeled)


def test_targets_of_graphs_are_looked_at_as_well():
    with pytest.raises(GraphDataError, match="the labels of 40 graphs are 40 different numbers"):
        encode_labels(pack("x", [1] * 40, [], [], targets=np.arange(40) / 7))


def test_a_fitted_model_may_be_asked_about_other_numbers():
    codes, _ = encode_labels(GRAPHS, 1 + np.arange(40) / 7, classes=[0, 1])
    assert codes.tolist() == list(range(1, 41))
