"""Random-GIN: what its answers are made of, and what they do not depend on."""

from dataclasses import replace

import numpy as np
from scipy.special import softmax

from kgnn.engine.fast.quotients import batches_of
from kgnn.engine.task import Task
from kgnn.engine.untrained import fit_machine
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.kgnn import KGNN
from kgnn.methods.random_gin import RandomGIN

GRAPHS = planted_motifs(60, n_nodes=12)
LABELS = np.where(np.arange(60) < 40, GRAPHS.targets, -1)


def test_it_is_a_machine_on_the_coordinates_of_an_untrained_gin():
    model = RandomGIN(cross_fit=0).fit(GRAPHS, LABELS)
    coordinates = model.gnn_.coordinates(batches_of(GRAPHS, model.node_features_, 3))
    machine = fit_machine(coordinates[:40], GRAPHS.targets[:40], 2)
    expected = softmax(machine.scores(coordinates), axis=1)
    np.testing.assert_allclose(model.predict_proba(GRAPHS), expected, atol=1e-3)


def test_it_says_what_the_gnn_of_kgnn_starts_from():
    settings = {"cross_fit": 0, "random_state": 3}
    kgnn = KGNN(**settings, trees=0, growth=1e-9).fit(GRAPHS, LABELS)
    start = kgnn.course_.rounds[0].fitted[0][0].module
    machine = RandomGIN(**settings).fit(GRAPHS, LABELS).machine_
    np.testing.assert_allclose(start.coefficients, machine.coefficients, atol=1e-3)


def test_an_answer_out_of_fold_does_not_depend_on_the_label():
    folds = tuple(np.array_split(np.arange(40), 4))
    task = Task(GRAPHS, LABELS, 2, None, seed=0, folds=folds)
    turned = LABELS.copy()
    turned[folds[0]] = 1 - turned[folds[0]]
    said, again = (RandomGIN()._fit(replace(task, targets=each)) for each in (LABELS, turned))
    np.testing.assert_array_equal(said.proba[:10], again.proba[:10])
    assert not np.allclose(said.proba[10:], again.proba[10:])
