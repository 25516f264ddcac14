"""Label propagation: the published solution, new graphs, and labels that must not be seen."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.semi_supervised import LabelSpreading

from kgnn.engine.task import Task
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.packing import pack
from kgnn.kernels.base import cosines
from kgnn.methods.label_propagation import LabelPropagation, propagate, spreading

GRAPHS = planted_motifs(40, n_nodes=12)
LABELS = np.where(np.arange(40) < 16, GRAPHS.targets, -1)


def fitted(graphs=GRAPHS, labels=LABELS, **settings):
    return LabelPropagation(cross_fit=0, **settings).fit(graphs, labels)


def nearest(model, features, k, itself=None):
    """Keep the k largest cosines of each row, and those that tie with the last."""
    found = cosines(features, model.features_)
    if itself is not None:
        found[itself, itself] = 0
    least = np.sort(found, axis=1)[:, [-k]]
    return np.where(found >= least - 1e-9, found, 0)


@pytest.mark.parametrize(("neighbors", "alpha"), [(3, 0.5), (10, 0.9), (39, 0.2)])
def test_it_is_scikit_learns_label_spreading_on_the_neighbors(neighbors, alpha):
    model = fitted(neighbors=neighbors, alpha=alpha)
    near = nearest(model, model.features_, neighbors, itself=np.arange(40))
    weights = np.maximum(near, near.T)
    other = LabelSpreading(kernel=lambda x, y: weights, alpha=alpha, max_iter=10_000, tol=1e-12)
    other.fit(np.arange(40)[:, None], LABELS)
    np.testing.assert_allclose(model.spread_, other.label_distributions_, atol=1e-6)


def test_the_iteration_ends_at_the_solution_of_the_paper():
    rng = np.random.default_rng(0)
    weights = rng.random((12, 12)) * (rng.random((12, 12)) > 0.5)
    weights = sparse.csr_array(weights + weights.T)
    edges, labels = spreading(weights), np.eye(3)[rng.integers(3, size=12)]
    solved = 0.01 * np.linalg.solve(np.eye(12) - 0.99 * edges.toarray(), labels)
    np.testing.assert_allclose(propagate(edges, labels, 0.99), solved, atol=1e-6)


def test_a_new_graph_has_the_mean_answer_of_its_neighbors():
    model = fitted(neighbors=4)
    new = planted_motifs(10, n_nodes=12, seed=1)
    near = nearest(model, model.kernel_.transform(new), 4)
    expected = near @ model.spread_ / near.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(new), expected)


def test_unlabeled_graphs_carry_labels_on():
    """A chain of graphs, of which neighbors alone are alike, has its labels at the ends."""
    model = fitted(neighbors=1)
    chain = sparse.diags_array([np.ones(8), np.ones(8)], offsets=[-1, 1])
    labels = np.zeros((9, 2))
    labels[0, 0] = labels[8, 1] = 1
    found = propagate(spreading(sparse.csr_array(chain)), labels, 0.9)
    assert (np.diff(found[:, 0] / found.sum(axis=1)) < 0).all()
    alone = fitted(GRAPHS[:16], LABELS[:16], neighbors=1)
    assert not np.allclose(model.predict_proba(GRAPHS[30:]), alone.predict_proba(GRAPHS[30:]))


def test_graphs_unlike_all_others_have_the_shares_of_classes():
    strange = pack("strange", [1, 0], [], [], node_labels=["never seen"])
    proba = fitted().predict_proba(strange)
    np.testing.assert_allclose(proba, np.tile(fitted().spread_.mean(axis=0), (2, 1)))
    found = fitted(cycles_and_trees(6)[[0, 2, 1]], ["cycle", "cycle", "tree"], neighbors=1)
    assert found.predict_proba(strange)[0, 0] > 0.5


def test_what_it_says_of_held_out_graphs_does_not_depend_on_their_labels():
    folds = tuple(np.array_split(np.arange(16), 4))
    task = Task(GRAPHS, LABELS, 2, None, seed=0, folds=folds)
    turned = LABELS.copy()
    turned[folds[0]] = 1 - turned[folds[0]]
    said, again = (
        LabelPropagation()._fit(replace(task, targets=each)) for each in (LABELS, turned)
    )
    assert said.rows.tolist() == list(range(16))
    np.testing.assert_array_equal(said.proba[:4], again.proba[:4])
    assert not np.allclose(said.proba[4:], again.proba[4:])


def test_the_order_of_training_graphs_does_not_matter():
    order = np.random.default_rng(0).permutation(40)
    doubled = np.concatenate([order, order[:20]])  # copies tie
    one, other = (
        fitted(GRAPHS[rows], LABELS[rows], neighbors=3) for rows in (doubled, doubled[::-1])
    )
    np.testing.assert_allclose(one.predict_proba(GRAPHS), other.predict_proba(GRAPHS), atol=1e-7)
