import subprocess
import sys

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.svm import SVC

from kgnn.engine.task import Task
from kgnn.estimator.calibration import sharpen
from kgnn.estimator.metrics import METRICS
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.methods.featurized import Machine, _folds, margins
from kgnn.methods.wl import WL
from kgnn.testing.methods import rare_class


def test_val_decides_where_the_labeled_graphs_cannot():
    # One labeled graph per class: no cross-validation. Depth 0 sees no difference, depth 1 does.
    graphs = planted_motifs(60, n_node_labels=1)
    labels = graphs.targets.copy()
    labels[2:] = -1
    model = WL(iterations=(0, 2), committee=1, start="constant", normalize=("graph",))
    model.fit(graphs, labels, validation=(graphs[2:40], graphs.targets[2:40]))
    assert model.members_[0].featurizer.iterations == 2


def test_the_first_candidate_is_taken_where_nothing_can_be_judged():
    graphs = cycles_and_trees(2)
    model = WL(iterations=(3, 1), C=(10.0, 1.0), committee=1).fit(graphs)
    assert model.members_[0].featurizer.iterations == 3
    assert model.members_[0].machine.penalty == 10


def test_the_committee_is_the_mean_of_its_members():
    graphs = planted_motifs(40)
    model = WL(iterations=(1, 2), committee=3).fit(graphs[:30], graphs.targets[:30])
    assert len(model.members_) == 3
    assert [m.score for m in model.members_] == sorted(
        (m.score for m in model.members_), reverse=True
    )
    mean = np.mean([m.proba(m.featurizer.transform(graphs[30:])) for m in model.members_], axis=0)
    assert (model.predict_proba(graphs[30:]) == sharpen(mean, model.sharpness_)).all()


def test_soft_votes_are_counted_votes_where_every_decision_is_clear():
    rng = np.random.default_rng(0)
    centers = np.repeat(np.eye(4) * 4, 15, axis=0)
    points = centers + rng.normal(size=centers.shape)
    targets = np.repeat(np.arange(4), 15)
    svm = SVC(C=1.0, kernel="precomputed", decision_function_shape="ovo")
    kernel = points @ points.T
    svm.fit(kernel, targets)
    scores = margins(Machine.fit(1.0, kernel, targets), kernel)
    clear = (np.abs(svm.decision_function(kernel)) > 0.3).all(axis=1)
    assert clear.sum() > 10
    assert (scores.argmax(axis=1) == svm.predict(kernel))[clear].all()
    # A class beats each of the three others by at most one vote.
    assert (np.abs(scores) <= 3).all()
    assert scores.sum(axis=1) == pytest.approx(np.zeros(60))
    # Unlike counted votes they are finer than whole numbers.
    assert len(np.unique(scores.max(axis=1).round(3))) > 20


@pytest.mark.parametrize(("counts", "n_folds"), [((1, 5), 0), ((2, 5), 2), ((9, 9), 5)])
def test_with_val_there_are_as_many_folds_as_the_rarest_class_allows(counts, n_folds):
    targets = np.repeat([0, 1], counts)
    graphs = planted_motifs(len(targets))
    folds = _folds(Task(graphs, targets, 2, (graphs, targets), seed=0))
    assert len(folds) == n_folds
    for train, held_out in folds:
        assert set(targets[train]) == {0, 1}
        assert set(train) | set(held_out) == set(range(len(targets)))


def test_without_val_the_folds_are_those_of_the_task():
    targets = np.array([0, -1, 1, -1, 0, 1])
    held = (np.array([0, 5]), np.array([], dtype=np.int64), np.array([2, 4]))
    folds = _folds(Task(planted_motifs(6), targets, 2, None, seed=0, folds=held))
    places = [(train.tolist(), held_out.tolist()) for train, held_out in folds]
    assert places == [([1, 2], [0, 3]), ([0, 3], [1, 2])]


def test_a_fold_that_no_other_can_judge_is_answered_by_the_first_candidate():
    """Of three graphs, two are copies with different labels: only the first can be held out."""
    one, *_, two = cycles_and_trees(10)
    model = WL(iterations=(2,), C=(1.0, 9.0), cross_fit=2).fit([one, two, two], [0, 0, 1])
    assert model.held_out_.rows.tolist() == [0]
    assert np.isfinite(model.held_out_.proba).all()


@pytest.mark.parametrize("with_val", [False, True])
def test_where_classes_are_balanced_candidates_are_judged_by_class(with_val):
    """One that never answers with the rare class is right nine times out of ten."""
    graphs, labels, new = rare_class()
    options = {"validation": (graphs, labels)} if with_val else {}
    plain, balanced = (WL(class_weight=weight) for weight in (None, "balanced"))
    assert (plain.fit(graphs, labels, **options).predict(new) == 0).all()
    predicted = balanced.fit(graphs, labels, **options).predict(new)
    assert 0.2 < predicted.mean() < 0.8


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


@pytest.mark.parametrize("name", ["wl", "sp", "gk", "dgk", "graph2vec", "sub2vec", "ldp"])
def test_kernel_methods_need_no_torch(name):
    code = f"import sys, kgnn.methods.{name}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "average_precision", "log_loss"])
def test_candidates_are_ranked_by_the_metric_that_is_asked_for(metric):
    graphs = planted_motifs(60, n_nodes=12)
    graphs = graphs[np.sort(np.argsort(graphs.targets, kind="stable")[:40])]  # ten are rare
    folds = tuple(np.arange(40)[place::4] for place in range(4))
    task = Task(graphs, graphs.targets, 2, None, seed=0, folds=folds)
    model = WL(choose_by=metric, committee=1000)
    model._fit(task)
    truth = graphs.targets[np.concatenate(folds)]
    sign = 1 if METRICS[metric].is_best_high else -1
    expected = [
        sign * METRICS[metric].judge(truth, softmax(each.sharpness * each.answers, axis=1))
        for each in model.members_
    ]
    assert expected == sorted(expected, reverse=True)
    assert len(set(expected)) > 1
    np.testing.assert_allclose([each.score for each in model.members_], expected)
