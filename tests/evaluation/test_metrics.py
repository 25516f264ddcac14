import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics
from sklearn.metrics import confusion_matrix

import kgnn
from kgnn.errors import UnknownNameError
from kgnn.estimator.metrics import METRICS, brier_score, require_metric
from kgnn.evaluation.metrics import (
    Met,
    Scores,
    calibration_error,
    out_of_fold_interval,
    quality,
    recalls,
    recalls_apart,
    scores,
    wilson_interval,
)
from kgnn.graphs.collector import named
from kgnn.graphs.datasets.toy import planted_motifs


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 1], 200)
    targets = np.array([rng.choice(3, p=p) for p in proba])
    return proba, targets, [f"c{t}" for t in targets]


def test_numbers_are_those_of_the_metrics(drawn):
    proba, targets, labels = drawn
    found = quality(labels, proba, ["c0", "c1", "c2"])
    assert found.accuracy == (proba.argmax(axis=1) == targets).mean()
    assert found.brier == pytest.approx(brier_score(targets, proba))
    assert found.calibration_error == pytest.approx(calibration_error(targets, proba))
    assert np.array_equal(found.confusion, confusion_matrix(targets, proba.argmax(axis=1)))


def drawn_of(n_classes, n=150, seed=0):
    """Targets of classes of very different sizes, and probabilities that know something of them."""
    rng = np.random.default_rng(seed)
    sizes = 0.3 ** np.arange(n_classes)
    targets = rng.choice(n_classes, n, p=sizes / sizes.sum())
    logits = rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[targets]
    proba = np.exp(logits)
    return targets, proba / proba.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_scikit_learn(n_classes):
    targets, proba = drawn_of(n_classes)
    predicted, found = proba.argmax(axis=1), scores(targets, proba)
    assert found.accuracy == sklearn_metrics.accuracy_score(targets, predicted)
    balanced = sklearn_metrics.balanced_accuracy_score(targets, predicted)
    assert found.balanced_accuracy == pytest.approx(balanced)
    assert found.macro_f1 == sklearn_metrics.f1_score(targets, predicted, average="macro")
    assert found.matthews == sklearn_metrics.matthews_corrcoef(targets, predicted)
    assert found.log_loss == pytest.approx(sklearn_metrics.log_loss(targets, proba))
    assert found.brier == pytest.approx(brier_score(targets, proba))
    if n_classes == 2:
        area = sklearn_metrics.roc_auc_score(targets, proba[:, 1])
        assert found.brier == pytest.approx(
            2 * sklearn_metrics.brier_score_loss(targets, proba[:, 1])
        )
    else:
        area = sklearn_metrics.roc_auc_score(targets, proba, multi_class="ovr")
    assert found.roc_auc == pytest.approx(area)


def test_average_precision_is_of_the_rarer_class_or_the_mean_over_several():
    targets, proba = drawn_of(2)
    own = [sklearn_metrics.average_precision_score(targets == c, proba[:, c]) for c in (0, 1)]
    assert (targets == 1).sum() < (targets == 0).sum()
    assert scores(targets, proba).average_precision == own[1]
    assert scores(1 - targets, proba[:, ::-1]).average_precision == own[1]
    even, of_even = np.array([0, 1, 0, 1]), proba[:4]
    second = sklearn_metrics.average_precision_score(even, of_even[:, 1])
    assert scores(even, of_even).average_precision == second
    targets, proba = drawn_of(3)
    own = [sklearn_metrics.average_precision_score(targets == c, proba[:, c]) for c in range(3)]
    assert scores(targets, proba).average_precision == pytest.approx(np.mean(own))


def test_a_class_without_graphs_or_unknown_to_the_model_has_no_area():
    targets, proba = drawn_of(3)
    missing = scores(np.minimum(targets, 1), proba)
    known = proba[:, :2] / proba[:, :2].sum(axis=1, keepdims=True)
    unknown = scores(targets, np.hstack([known, np.zeros((150, 1))]))
    one = scores(np.zeros(150, dtype=np.int64), np.ones((150, 1)))
    for found in (missing, unknown, one):
        assert (found.roc_auc, found.average_precision) == (None, None)
        assert all(np.isfinite(value) for value in found if value is not None)
    present = np.minimum(targets, 1)
    wanted = [(proba.argmax(axis=1)[present == c] == c).mean() for c in (0, 1)]
    assert missing.balanced_accuracy == pytest.approx(np.mean(wanted))
    assert (one.accuracy, one.matthews, one.log_loss, one.brier) == (1.0, 0.0, 0.0, 0.0)


def test_every_score_is_a_metric_and_most_are_percent():
    targets, proba = drawn_of(3)
    found = scores(targets, proba)
    assert list(METRICS) == list(Scores._fields)
    for name, value in found.in_units().items():
        scale = 1 if name in ("log_loss", "brier") else 100
        assert value == pytest.approx(scale * getattr(found, name))
        assert METRICS[name].is_best_high == (scale == 100)
    assert METRICS["roc_auc"].written(None) == "–"
    assert (METRICS["roc_auc"].written(87.123), METRICS["brier"].written(0.5)) == ("87.1", "0.500")


def test_a_metric_is_named_with_either_sign_and_others_are_refused():
    assert require_metric("ROC-AUC") == require_metric("roc_auc") == "roc_auc"
    with pytest.raises(UnknownNameError, match="no metric 'acuracy'. Did you mean accuracy"):
        require_metric("acuracy")


def test_recalls_ten_points_from_the_headline_are_told():
    targets = np.array([0] * 10 + [1] * 10)
    predicted = np.array([0] * 9 + [1] * 11)
    assert recalls(targets, predicted, ["a", "b", "none"]) == {"a": 0.9, "b": 1.0}
    told = {"a": 75.0, "b": 75.1, "c": 95.0, "d": 94.9}
    assert recalls_apart(told, 85.0) == {"a": 75.0, "c": 95.0}


def test_in_words_a_rare_class_is_not_hidden_by_accuracy():
    proba = np.tile([0.9, 0.1], (100, 1))
    proba[95:] = [0.2, 0.8]
    told = quality(["inactive"] * 90 + ["active"] * 10, proba, ["inactive", "active"]).in_words()
    assert told.startswith("95.0 ± 2.2 % of 100 graphs right (89 to 98 % with 95 % confidence; ")
    assert "the largest class alone is 90.0 %)" in told
    assert "balanced accuracy 75.0 %, ROC AUC 75.0 %, recall 50 % of active," in told
    even = quality(["a", "b"] * 50, np.tile([[0.9, 0.1], [0.1, 0.9]], (50, 1)), ["a", "b"])
    assert "balanced" not in even.in_words()
    assert "recall" not in even.in_words()


def test_of_many_recalls_the_furthest_are_told():
    names = [f"c{i}" for i in range(8)]
    targets = np.repeat(np.arange(8), 10)
    proba = np.eye(8)[targets]
    for each in range(8):
        proba[10 * each : 10 * each + each] = np.eye(8)[(each + 1) % 8]
    told = quality([names[t] for t in targets], proba, names).in_words()
    assert "recall 100 % of c0, 90 % of c1, 40 % of c6, 30 % of c7, …" in told


def test_short_records_have_every_metric_and_no_table(drawn):
    proba, _, labels = drawn
    short = quality(labels, proba, ["c0", "c1", "c2"]).short_record()
    assert set(METRICS) <= set(short)
    assert {"n", "interval", "majority_share", "calibration_error"} <= set(short)
    assert not {"confusion", "bins", "classes", "sets"} & set(short)


def test_bins_hold_every_graph_and_explain_the_calibration_error(drawn):
    proba, _, labels = drawn
    found = quality(labels, proba, ["c0", "c1", "c2"])
    assert sum(each.n for each in found.bins) == 200
    gap = sum(each.n * abs(each.confidence - each.share_right) for each in found.bins) / 200
    assert gap == pytest.approx(found.calibration_error)


def test_a_class_that_the_model_does_not_know_is_never_right():
    found = quality(["a", "new"], np.array([[1.0, 0.0], [1.0, 0.0]]), ["a", "b"])
    assert found.accuracy == 0.5
    assert found.true_classes == ("a", "b", "new")
    assert found.confusion == ((1, 0), (0, 0), (1, 0))
    assert found.brier == 1.0  # the mean of 0 and 2, the worst that there is


def test_sets_are_judged_by_what_they_hold():
    sets = [(0.1, [["a"], ["b", "a"], ["b"]])]
    found = quality(["a", "a", "a"], np.full((3, 2), 0.5), ["a", "b"], sets)
    assert found.sets[0] == (0.1, pytest.approx(2 / 3), pytest.approx(4 / 3))


def test_it_can_be_written_as_json(drawn):
    proba, _, labels = drawn
    record = quality(labels, proba, ["c0", "c1", "c2"]).record()
    assert json.loads(json.dumps(record))["n"] == 200


def test_predictions_out_of_fold_are_fewer_than_independent_ones():
    assert out_of_fold_interval(0.8, 150) == wilson_interval(0.8, 100)
    labels, proba = ["a"] * 8 + ["b"] * 2, np.tile([0.9, 0.1], (10, 1))
    plain, dependent = (quality(labels, proba, "ab", out_of_fold=each) for each in (False, True))
    assert dependent.interval[0] < plain.interval[0] < 0.8 < plain.interval[1]
    assert replace(dependent, interval=plain.interval) == plain


def test_the_interval_is_wilson_s_and_never_empty():
    low, high = wilson_interval(0.9, 100)  # printed in textbooks as 0.826 to 0.945
    assert (round(low, 3), round(high, 3)) == (0.826, 0.945)
    assert wilson_interval(0.0, 5)[1] > 0.4
    assert wilson_interval(1.0, 5)[0] < 0.6


def test_graphs_are_met_again_by_name_and_look():
    graphs = named(planted_motifs(12))
    shuffled = graphs[[5, 0, 9]]
    assert Met.among(graphs[:6], shuffled).trained_on.tolist() == [True, True, False]
    renamed = replace(shuffled, graph_names=np.array(["x", "y", "z"]))
    met = Met.among(graphs[:6], renamed)
    assert met.trained_on.tolist() == [False] * 3
    assert met.alike.tolist()[:2] == [True, True]
    # The same names, and other graphs.
    others = replace(graphs[6:], graph_names=graphs.graph_names[:6])
    assert not Met.among(graphs[:6], others).trained_on.any()


def test_numbers_of_a_model_without_names_are_not_taken_for_names():
    graphs = planted_motifs(12)
    met = Met.among(graphs[:6], graphs[:6])
    assert not met.trained_on.any()
    assert met.alike.all()


def test_graphs_that_differ_in_bonds_or_attributes_are_not_met_again():
    ethanol, aldehyde = kgnn.from_smiles(["CCO"]), kgnn.from_smiles(["CC=O"])
    assert Met.among(ethanol, aldehyde).alike.tolist() == [False]
    assert Met.among(ethanol, ethanol).alike.tolist() == [True]
    rng, graphs = np.random.default_rng(0), named(planted_motifs(6))
    one, two = (replace(graphs, node_attributes=rng.normal(size=(graphs.n_nodes, 1))) for _ in "12")
    assert Met.among(one, one).trained_on.all()
    assert not Met.among(one, two).trained_on.any()
