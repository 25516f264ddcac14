from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from kgnn.errors import KgnnWarning, ParameterError
from kgnn.estimator.classifier import GraphClassifier, Story
from kgnn.estimator.metrics import METRICS
from kgnn.estimator.parameters import fields_of, parameters
from kgnn.estimator.registry import entries, make, method_class
from kgnn.evaluation.protocol import (
    Evaluation,
    _rounds,
    evaluate_split,
    evaluate_splits,
    find_cases,
    has_twin,
    twin_colors,
)
from kgnn.evaluation.splits import make_split
from kgnn.graphs.datasets.toy import planted_motifs, random_graphs
from kgnn.graphs.interop import as_dataset
from kgnn.methods.gnn_sup import GNNSup
from kgnn.methods.kgnn import KGNN

FAST = {
    "iterations": 1,
    "epochs": 3,
    "rounds": 1,
    "trees": 10,
    "pretrain_epochs": 2,
    "teacher_epochs": 2,
}


def state_of(method):
    """Everything that a fit has left behind, as comparable values."""
    import torch

    found = {}

    def visit(path, value):
        if isinstance(value, torch.nn.Module):
            value = {k: v.numpy() for k, v in value.state_dict().items()}
        if isinstance(value, dict):
            for key, each in value.items():
                visit(f"{path}.{key}", each)
        elif isinstance(value, (list, tuple)):
            for position, each in enumerate(value):
                visit(f"{path}[{position}]", each)
        elif isinstance(value, np.ndarray):
            found[path] = value.tobytes()
        elif isinstance(value, (int, float, str)):
            found[path] = value
        elif hasattr(value, "__dict__"):
            visit(path, vars(value))

    visit(type(method).__name__, vars(method))
    return found


@pytest.mark.parametrize("name", entries())
def test_changing_every_test_label_changes_no_bit_of_the_fitted_method(name):
    graphs = planted_motifs(80, n_nodes=12)
    split = make_split(graphs)
    hidden = np.setdiff1d(np.arange(80), np.concatenate([split.labeled, split.validation]))
    targets = graphs.targets.copy()
    targets[hidden] = 1 - targets[hidden]
    poisoned = graphs.with_targets(targets)
    cls = method_class(name)
    known = fields_of(cls).keys()
    settings = {key: value for key, value in FAST.items() if key in known}
    if name in ("wl", "graph2vec"):  # several depths to choose from
        settings["iterations"] = (1, 2)
    methods = [make(name, **settings) for _ in range(2)]
    clean = evaluate_split(methods[0], graphs, split)
    dirty = evaluate_split(methods[1], poisoned, split)
    assert state_of(methods[0]) == state_of(methods[1])
    assert len(state_of(methods[0])) > 5
    assert clean.accuracy == pytest.approx(100 - dirty.accuracy)


@pytest.mark.parametrize("name", ["kgnn", "gnn-sup", "wl", "ldp"])
def test_changing_every_label_beyond_the_budget_changes_no_bit_of_the_fitted_method(name):
    graphs = planted_motifs(80, n_nodes=12)
    split = make_split(graphs, protocol="budget", labels="6/class")
    hidden = np.setdiff1d(np.arange(80), split.labeled)
    targets = graphs.targets.copy()
    targets[hidden] = 1 - targets[hidden]
    settings = {key: value for key, value in FAST.items() if key in fields_of(method_class(name))}
    if name == "wl":
        settings["iterations"] = (1, 2)
    methods = [make(name, cross_fit=2, **settings) for _ in range(2)]
    clean = evaluate_split(methods[0], graphs, split)
    dirty = evaluate_split(methods[1], graphs.with_targets(targets), split)
    assert state_of(methods[0]) == state_of(methods[1])
    assert clean.expected_accuracy == dirty.expected_accuracy
    assert clean.accuracy == pytest.approx(100 - dirty.accuracy)


@parameters
class Spy(GraphClassifier):
    """Remembers what it was given."""

    def _fit(self, task):
        self.task_ = task

    def _predict_proba(self, graphs):
        self.asked_ = graphs
        return np.tile([1.0, 0.0], (len(graphs), 1))


def test_a_method_sees_labels_of_the_labeled_and_of_val_only():
    graphs = planted_motifs(60, n_nodes=12)
    split = make_split(graphs)
    spy = Spy()
    evaluate_split(spy, graphs, split)
    n = len(split.labeled)
    assert (spy.task_.targets[:n] == graphs.targets[split.labeled]).all()
    assert (spy.task_.targets[n:] == -1).all()
    assert (spy.task_.graphs.targets == -1).all()
    assert (spy.asked_.targets == -1).all()
    assert (spy.task_.validation[0].targets == -1).all()
    assert (spy.task_.validation[1] == graphs.targets[split.validation]).all()


def test_within_a_budget_a_method_gets_no_val():
    graphs = planted_motifs(60, n_nodes=12)
    split = make_split(graphs, protocol="budget", labels=9)
    spy = Spy(cross_fit=0)
    result = evaluate_split(spy, graphs, split)
    assert spy.task_.validation is None
    assert (spy.task_.targets >= 0).sum() == 9
    assert len(spy.task_.targets) == 48
    assert (result.labeled, result.unlabeled, result.validation, result.test) == (9, 39, 0, 12)
    assert result.validation_accuracy is None
    assert (result.expected_accuracy, result.expected_on) == (None, 0)
    assert (result.coverage, result.set_size) == (None, None)


def test_what_a_method_expects_is_its_accuracy_out_of_fold():
    graphs = planted_motifs(100, n_nodes=12)
    method = make("ldp", trees=20, cross_fit=5)
    result = evaluate_split(method, graphs, make_split(graphs, protocol="budget", labels=0.3))
    held = method.held_out_
    expected = 100 * (held.proba.argmax(axis=1) == held.targets).mean()
    assert result.expected_accuracy == pytest.approx(expected)
    assert result.expected_on == result.labeled == 30
    assert result.coverage is not None
    with_val = evaluate_split(make("ldp", trees=20), graphs, make_split(graphs))
    assert with_val.expected_on == with_val.validation == 10
    assert with_val.expected_accuracy == pytest.approx(with_val.validation_accuracy)


def test_every_metric_is_in_a_result_and_its_mean_in_a_summary():
    graphs = planted_motifs(100, n_nodes=12)
    build = lambda seed: make("ldp", trees=20, random_state=seed)  # noqa: E731
    results = tuple(evaluate_splits(build, graphs, splits=2))
    one = Evaluation("ldp", "toy", "fair", 0.1, results).summary("roc_auc")
    assert one["metrics"].keys() == METRICS.keys()
    for name in METRICS:
        assert one["metrics"][name] == pytest.approx(np.mean([getattr(r, name) for r in results]))
    assert (one["metric"], one["mean"]) == ("roc_auc", one["metrics"]["roc_auc"])
    for result in results:
        truth = graphs.targets[make_split(graphs, seed=result.seed).test]
        sizes = np.bincount(truth)
        assert result.majority_share == 100 * sizes.max() / len(truth)
        right = sum(
            n * result.recalls[name] for n, name in zip(sizes, graphs.class_names, strict=True)
        )
        assert right / len(truth) == pytest.approx(result.accuracy)


def test_a_class_that_nobody_labeled_leaves_the_areas_out():
    graphs = planted_motifs(60, n_nodes=12)
    split = make_split(graphs)
    one = split.labeled[graphs.targets[split.labeled] == 0]
    only = replace(split, labeled=one, validation=np.empty(0, dtype=np.int64))
    with pytest.warns(KgnnWarning):
        result = evaluate_split(make("ldp", trees=5), graphs, only)
    assert (result.roc_auc, result.average_precision) == (None, None)
    summary = Evaluation("ldp", "toy", "fair", 0.1, (result,)).summary("roc_auc")
    assert (summary["mean"], summary["std"]) == (None, None)


@parameters
class Positional(GraphClassifier):
    """Names the classes in turn and never looks at a graph."""

    def _fit(self, task):
        self.n_classes_ = task.n_classes

    def _predict_proba(self, graphs):
        return np.eye(self.n_classes_)[np.arange(len(graphs)) % self.n_classes_]


def test_places_of_test_graphs_say_nothing_of_their_classes():
    graphs = planted_motifs(600, n_nodes=8)
    results = list(evaluate_splits(lambda seed: Positional(random_state=seed), graphs, splits=5))
    assert all(35 < result.accuracy < 65 for result in results)


def test_results_are_percentages_of_the_right_graphs():
    graphs = planted_motifs(60, n_nodes=12)
    results = list(evaluate_splits(lambda seed: Spy(random_state=seed), graphs, splits=3, seed=5))
    assert [result.seed for result in results] == [5, 6, 7]
    for result in results:
        split = make_split(graphs, seed=result.seed)
        assert result.accuracy == 100 * (graphs.targets[split.test] == 0).mean()
        assert result.test == len(split.test)
    summary = Evaluation("spy", "toy", "fair", 0.1, tuple(results)).summary()
    assert list(summary) == [
        "method",
        "dataset",
        "protocol",
        "labels",
        "metric",
        "mean",
        "std",
        "majority_share",
        "metrics",
        "recalls",
        "seconds",
        "peak_mib",
        "splits",
    ]
    assert summary["mean"] == pytest.approx(np.mean([r.accuracy for r in results]))
    assert summary["std"] == pytest.approx(np.std([r.accuracy for r in results], ddof=1))
    assert summary["peak_mib"] > 10


def test_test_graphs_with_a_copy_in_training_are_counted_apart():
    graphs = planted_motifs(60, n_nodes=12)
    split = make_split(graphs)
    twice = graphs[np.concatenate([np.arange(60), split.labeled[:4]])]
    copies = np.arange(60, 64)
    wider = replace(split, test=np.concatenate([split.test, copies]), dataset=twice.fingerprint)
    result = evaluate_split(make("ldp", trees=30), twice, wider)
    plain = evaluate_split(make("ldp", trees=30), graphs, split)
    assert result.test == plain.test + 4
    assert result.without_twins == plain.test
    assert result.accuracy_without_twins == pytest.approx(plain.accuracy)
    # A forest of full depth repeats the labels that it was taught.
    assert result.accuracy > plain.accuracy


def test_promises_and_probabilities_are_judged():
    graphs = planted_motifs(300, n_nodes=12)
    result = evaluate_split(make("ldp", trees=30), graphs, make_split(graphs))
    assert result.coverage > 75
    assert 1 <= result.set_size <= 2


def test_a_method_that_is_always_sure_learns_on_val_how_often_it_is_wrong():
    graphs = planted_motifs(60, n_nodes=12)
    result = evaluate_split(Spy(), graphs, make_split(graphs))
    wrong = 1 - result.accuracy / 100
    assert 0 < wrong < 1
    assert result.brier < 1.2 * wrong  # twice as much, were it as sure as it says
    on_val = result.validation_accuracy / 100
    assert result.calibration_error == pytest.approx(abs(1 - wrong - on_val), abs=0.05)


def renumbered(graph, rng):
    order = rng.permutation(len(graph)).tolist()
    return nx.relabel_nodes(graph, dict(zip(graph, order, strict=True)))


def test_isomorphic_graphs_are_alike_and_no_others_of_a_random_sample():
    rng = np.random.default_rng(0)
    originals = [nx.gnp_random_graph(9, 0.35, seed=seed) for seed in range(40)]
    copies = [renumbered(graph, rng) for graph in originals]
    numbers = twin_colors(as_dataset(originals + copies))
    for i, one in enumerate(originals):
        for j, other in enumerate(originals):
            assert (numbers[i] == numbers[40 + j]) == nx.is_isomorphic(one, other)


def test_labels_and_sizes_make_a_difference():
    plain, colored = nx.path_graph(3), nx.path_graph(3)
    for graph, end in ((plain, "a"), (colored, "b")):
        nx.set_node_attributes(graph, "a", "label")
        graph.nodes[2]["label"] = end
    numbers = twin_colors(as_dataset([plain, colored, plain]))
    assert numbers[0] == numbers[2] != numbers[1]
    # Isolated nodes, which all look the same: the number of them counts.
    assert len(set(twin_colors(as_dataset([nx.empty_graph(n) for n in (1, 2, 3)])))) == 3


def test_twins_are_looked_for_among_the_given_graphs_only():
    graphs = random_graphs(6, seed=1)[[0, 1, 2, 0, 1]]
    assert has_twin(graphs, np.array([3, 4, 2]), np.array([0, 2])).tolist() == [True, False, True]
    assert not has_twin(graphs, np.array([3]), np.array([], dtype=int)).any()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "share"), [("IMDB-BINARY", 0.46), ("IMDB-MULTI", 0.74), ("DD", 0.0)]
)
def test_the_share_of_copies_in_real_datasets(name, share):
    from kgnn.graphs.loading import load

    numbers = twin_colors(load(name))
    assert 1 - len(np.unique(numbers)) / len(numbers) == pytest.approx(share, abs=0.01)


def test_cases_are_unlabeled_graphs_that_only_q_gets_right():
    graphs = planted_motifs(120, n_nodes=12)
    split = make_split(graphs)
    # A GIN that has hardly been trained, so that it gets many wrong.
    method = KGNN(epochs=2, learning_rate=1e-6, rounds=0, memory_learning_rate=0.05)
    evaluate_split(method, graphs, split)
    cases = find_cases(method, graphs, split, 3)
    assert cases
    for case in cases:
        assert case["graph"] in split.unlabeled
        assert case["class"] == graphs[case["graph"]].target
        truth = case["classes"].index(case["class"])
        assert np.argmax(case["gnn"]) != truth == np.argmax(case["memory"])
        assert case["edges"] == graphs[case["graph"]].edges.tolist()
        weights = [each["weight"] for each in case["attended"]]
        assert weights == sorted(weights, reverse=True)
        assert 0 < sum(weights) <= 1
        assert all(each["graph"] in split.labeled for each in case["attended"])
    clear = [c["memory"][c["classes"].index(c["class"])] for c in cases]
    assert len(cases) == 3
    assert all(share > 0.5 for share in clear)


def test_cases_need_both_networks():
    graphs = planted_motifs(60, n_nodes=12)
    split = make_split(graphs)
    method = GNNSup(epochs=1)
    evaluate_split(method, graphs, split)
    with pytest.raises(ParameterError, match="GNNSup does not have both"):
        find_cases(method, graphs, split, 1)


def test_annotations_are_judged_by_fifths_of_confidence():
    """Ten annotations: the two that the annotator is least sure of are wrong, and one other."""
    confidence = [0.99, 0.5, 0.6, 0.95, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92]
    is_wrong = [False, True, True, False, False, True, False, False, False, False]
    truth = np.arange(20) % 2
    rows = np.arange(10) + 5
    facts = {
        "n_selected": 10,
        "agreement": None,
        "accuracy": {},
        "rows": rows.tolist(),
        "targets": np.where(is_wrong, 1 - truth[rows], truth[rows]).tolist(),
        "confidence": confidence,
    }
    (told,) = _rounds(Story({}, [facts], ""), truth)
    assert told["precision"] == 70
    np.testing.assert_allclose(
        told["by_confidence"], [[55, 0], [72.5, 50], [82.5, 100], [91, 100], [97, 100]]
    )
    nothing = {**facts, "n_selected": 0, "rows": [], "targets": [], "confidence": []}
    (told,) = _rounds(Story({}, [nothing], ""), truth)
    assert (told["precision"], told["by_confidence"]) == (None, [])
