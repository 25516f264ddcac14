"""Comparing methods: scores, significance, time limits and failures."""

import math
import time
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import log_loss, roc_auc_score

from kgnn.errors import GraphDataError, MissingExtraError, ParameterError, UnknownNameError
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.metrics import METRICS
from kgnn.estimator.parameters import parameters
from kgnn.estimator.registry import entries
from kgnn.evaluation import comparing
from kgnn.evaluation.comparing import BASELINE, compare, comparisons
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.methods.ldp import LDP
from kgnn.progress import listening, track

GRAPHS = cycles_and_trees(40)
ALIKE = GRAPHS[[*range(0, 40, 2), 1, 1, 1]]  # three trees that are one


@parameters
class Knows(GraphClassifier):
    """Trees have an edge less than nodes."""

    def _fit(self, task):
        pass

    def _predict_proba(self, graphs):
        is_tree = graphs.edge_counts < graphs.graph_sizes
        return np.column_stack([~is_tree, is_tree]) * 0.8 + 0.1


class Guesses(Knows):
    def _predict_proba(self, graphs):
        is_even = graphs.graph_sizes % 2 == 0
        return np.column_stack([~is_even, is_even]) * 0.8 + 0.1


class Slow(Knows):
    def _fit(self, task):
        for _ in track(range(1000), "sleeping"):
            time.sleep(0.01)


class Broken(Knows):
    def _fit(self, task):
        raise RuntimeError("this is broken")


class Refuses(Knows):
    def _fit(self, task):
        raise GraphDataError("these graphs are too large")


class Lacks(Knows):
    def _fit(self, task):
        raise MissingExtraError.of("Lacks", "gensim", "embeddings")


class Interrupted(Knows):
    def _fit(self, task):
        raise KeyboardInterrupt


class InterruptedButReady(Interrupted):
    def _can_predict(self):
        return True


def last(*classes, graphs=GRAPHS, **options):
    named = {cls.__name__: cls for cls in classes}
    *_, table = comparisons(graphs, methods=named, **options)
    return table


def standings(table):
    return {row.method: row.standing for row in table}


def contest(metric, targets, answers, seed=0):
    """A table of answers that are given; each is the probability of the second class."""
    targets = np.asarray(targets)
    judged = comparing._Judged(np.arange(len(targets)), targets, (), 2)
    made = comparing._Contest(metric, judged, seed, tuple(answers))
    for name, second in answers.items():
        made.add(name, np.column_stack([1 - np.asarray(second), second]), 1.0)
    return made.table()


def test_scores_are_those_of_labels_that_a_method_did_not_know():
    graphs = planted_motifs(50)
    unlabeled = np.arange(50) >= 40
    labels = [
        None if hidden else f"c{t}" for hidden, t in zip(unlabeled, graphs.targets, strict=True)
    ]
    ways = {"few": partial(LDP, trees=5), "many": partial(LDP, trees=20)}
    *_, table = comparisons(graphs, labels, methods=ways, seed=3)
    for name, make in ways.items():
        held = make(cross_fit=5, random_state=3).fit(graphs, labels).held_out_
        [row] = [row for row in table if row.method == name]
        assert row.score == (held.proba.argmax(axis=1) == held.targets).mean()
        assert row.log_loss == pytest.approx(log_loss(held.targets, held.proba))
        assert row.interval[0] < row.score < row.interval[1]
        assert row.seconds > 0
    assert table.labels == 40


def test_the_majority_class_is_always_there():
    graphs = GRAPHS.with_targets(np.where(np.arange(40) < 10, -1, np.arange(40) % 3 == 0))
    first, *_ = comparisons(graphs, methods={"Knows": Knows})
    assert [row.method for row in first] == [BASELINE, "Knows"]
    assert first.best is None
    share = (np.arange(10, 40) % 3 != 0).mean()
    assert first.baseline.score == share
    assert first.baseline.log_loss == pytest.approx(
        -share * math.log(share) - (1 - share) * math.log(1 - share)
    )


def test_differences_are_tested_on_the_same_graphs():
    random = np.random.default_rng(0)
    targets = np.arange(120) % 2
    quality = {"a": 0.95, "b": 0.9, "c": 0.75, "d": 0.5}
    right = {name: random.random(120) < share for name, share in quality.items()}
    answers = {name: np.where(own == (targets == 1), 0.9, 0.1) for name, own in right.items()}
    table = contest("accuracy", targets, answers)

    everyone = right | {BASELINE: targets == 0}  # both classes are as frequent: the first is named
    p = {}
    for one, other in combinations(everyone, 2):
        apart = everyone[one] != everyone[other]
        wins = int((everyone[one] & apart).sum())
        p[one, other] = stats.binomtest(wins, int(apart.sum())).pvalue if apart.any() else 1.0
    order = sorted(p, key=p.get)
    adjusted, largest = {}, 0.0
    for done, pair in enumerate(order):
        largest = max(largest, min(1.0, p[pair] * (len(order) - done)))
        adjusted[pair] = largest

    assert table.best.method == "a"
    for row in table:
        if row.method != "a":
            expected = adjusted["a", row.method]
            assert row.p_value == pytest.approx(expected)
            assert row.standing == ("worse" if expected < 0.05 else "level")
    assert standings(table) == {
        "a": "best",
        "b": "level",
        "c": "worse",
        "d": "worse",
        BASELINE: "worse",
    }
    assert [row.method for row in table.level] == ["a", "b"]


def test_methods_that_are_equally_good_are_seldom_told_apart():
    """Nor is the luckiest of them, which is the best only by chance."""
    random = np.random.default_rng(1)
    targets = np.arange(200) % 2
    wrongly = 0
    for _ in range(100):
        easy = random.normal(size=200)
        known = {f"m{i}": easy + random.normal(size=200) < 1.2 for i in range(8)}
        answers = {name: np.where(own == (targets == 1), 0.9, 0.1) for name, own in known.items()}
        rows = contest("accuracy", targets, answers)
        wrongly += any(row.standing == "worse" and row.method != BASELINE for row in rows)
    assert wrongly <= 0.05 * 100


def test_the_bootstrap_agrees_with_the_paired_t_test_where_that_is_right():
    random = np.random.default_rng(2)
    targets = np.arange(200) % 2
    sure = np.clip(0.5 + (targets - 0.5) * 0.5 + random.normal(0, 0.2, 200), 0.01, 0.99)
    vague = np.clip(sure + random.normal(0, 0.1, 200), 0.01, 0.99)
    judge = comparing._Judge("brier", targets, seed=0)
    one, other = (judge.scored(np.column_stack([1 - each, each])) for each in (sure, vague))
    losses = [2 * (each - targets) ** 2 for each in (sure, vague)]
    assert judge.p_value(one, other) == pytest.approx(stats.ttest_rel(*losses).pvalue, rel=0.5)
    assert one.interval[1] - one.interval[0] == pytest.approx(
        2 * 1.97 * stats.sem(losses[0]), rel=0.2
    )


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_ranks_what_knows_above_what_guesses(metric):
    table = last(Guesses, Knows, metric=metric.replace("_", "-"))
    assert standings(table)["Knows"] == "best"
    assert standings(table)["Guesses"] == "worse"
    assert standings(table)[BASELINE] == "worse"
    low, high = METRICS[metric].bounds
    for row in table:
        assert low <= row.interval[0] <= row.score <= row.interval[1] <= high


def test_ranking_metrics_are_those_of_scikit_learn():
    targets, second = np.array([0, 1, 0, 1, 1]), np.array([0.1, 0.4, 0.5, 0.8, 0.9])
    assert contest("roc_auc", targets, {"a": second}).best.score == roc_auc_score(targets, second)


def test_perfect_answers_on_a_handful_of_graphs_are_no_proof():
    targets = np.array([0, 0, 0, 1, 1, 1])
    table = contest("roc_auc", targets, {"a": targets * 0.8 + 0.1})
    assert table.best.score == 1.0
    assert table.best.interval[0] < 0.8
    assert table.baseline.standing == "level"
    assert "6 labels are too few" in " ".join(table.in_words())


def test_too_few_labels_are_told():
    table = last(Knows, Guesses, graphs=GRAPHS[:8])
    assert table.best.method == "Knows"
    told = " ".join(table.in_words())
    assert "8 labels show no significant difference between methods" in told
    assert "at least 6 graphs (75 points)" in told  # one pair: 2 · 0.5⁶ < 0.05
    few = last(Knows, Guesses, graphs=GRAPHS[:4])
    assert "and are too few for one" in " ".join(few.in_words())


def test_of_methods_that_are_level_the_cheapest_is_named():
    class Ponders(Knows):
        def _fit(self, task):
            time.sleep(0.05)

    table = last(Ponders, Knows, Guesses)
    assert (table.best.method, table.cheapest.method) == ("Ponders", "Knows")
    assert "not significantly better than Knows. The fastest of them was Knows" in str(table)


def test_of_equal_scores_the_better_probabilities_win():
    targets = np.arange(20) % 2
    table = contest(
        "accuracy", targets, {"vague": 0.4 + 0.2 * targets, "sure": 0.1 + 0.8 * targets}
    )
    assert table.best.method == "sure"


def test_a_method_that_is_not_ready_in_time_is_stopped_and_not_ranked():
    start = time.monotonic()
    table = last(Knows, Slow, Guesses, minutes=1 / 60)
    assert time.monotonic() - start < 5
    assert standings(table) == {
        "Knows": "best",
        BASELINE: "worse",
        "Slow": "stopped",
        "Guesses": "not begun",
    }
    assert table.best.method == "Knows"
    assert "No time was left for Guesses." in table.in_words()


def test_what_a_method_reports_is_over_when_it_is_stopped():
    heard = []
    with listening(lambda *report: heard.append(report)):
        last(Slow, minutes=0.2 / 60)
    assert ("sleeping", 1, 1000) in heard
    assert heard[-1] == ("sleeping", 1000, 1000)


def test_a_method_that_is_far_too_slow_is_not_begun(monkeypatch):
    monkeypatch.setitem(comparing._COSTS, "Ponders", 1)
    monkeypatch.setitem(comparing._COSTS, "Slow", 1e6)

    class Ponders(Knows):
        def _fit(self, task):
            time.sleep(0.01)

    table = last(Ponders, Slow, Knows)
    assert standings(table)["Slow"] == "not begun"
    assert standings(table)["Knows"] == "level"  # with a cost that is not known


def test_a_failure_is_a_row_and_the_others_go_on():
    table = last(Broken, Refuses, Lacks, Knows)
    notes = {row.method: row.note for row in table}
    assert standings(table) == {
        "Knows": "best",
        BASELINE: "worse",
        "Broken": "failed",
        "Refuses": "failed",
        "Lacks": "missing",
    }
    assert notes["Broken"] == "RuntimeError: this is broken"
    assert notes["Refuses"] == "these graphs are too large"
    assert "pip install 'kgnn[embeddings]'" in notes["Lacks"]
    assert "Broken failed: RuntimeError: this is broken" in str(table)


@pytest.mark.parametrize("cls", [Interrupted, InterruptedButReady])
def test_ctrl_c_ends_with_what_is_known(cls):
    table = last(Knows, cls, Guesses)
    assert table.interrupted
    assert table.best.method == "Knows"
    assert standings(table)[cls.__name__] == "stopped"
    assert standings(table)["Guesses"] == "not begun"


def test_without_any_score_there_is_no_best():
    table = last(Broken)
    assert table.best is None
    assert table.cheapest is None
    assert table.in_words()[0] == "No method was finished."


def test_the_table_reads_and_iterates():
    table = last(Knows, Guesses, Broken)
    assert len(table) == len(list(table)) == 4
    heading, *lines = str(table).splitlines()
    assert heading.split() == [
        "method",
        "accuracy,",
        "%",
        "95",
        "%",
        "interval",
        "log",
        "loss",
        "seconds",
    ]
    assert [line.split()[0] for line in lines[:4]] == [row.method.split()[0] for row in table]
    assert lines[0].split()[1] == "100.0"
    record = table.record()
    assert record["best"] == "Knows"
    assert record["rows"][0]["score"] == 1.0


def test_all_methods_are_compared_but_three_ablations_and_what_is_much_like_another():
    left_out = set(entries()) - set(comparing.methods_of(None))
    assert left_out == {"gnn-self", "ensemble-self", "kgnn-sep", "ltp", "simgrace"}
    assert list(comparing._COSTS.values()) == sorted(comparing._COSTS.values())


def test_methods_are_named_in_any_case_and_once():
    assert list(comparing.methods_of(["WL", "gk", "wl"])) == ["wl", "gk"]
    assert list(comparing.methods_of("wl")) == ["wl"]


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"minutes": 0}, ParameterError, "more than 0, got 0"),
        ({"metric": "acuracy"}, UnknownNameError, "Did you mean"),
        ({"methods": []}, ParameterError, "at least one"),
        ({"methods": ["wll"]}, UnknownNameError, "Did you mean"),
        ({"labels": [None] * 40}, GraphDataError, "none of the 40 graphs has a label"),
        ({"labels": ["a"] * 40}, GraphDataError, "all 40 labeled graphs are of one class"),
        ({"labels": ["a"] * 39 + ["b"]}, GraphDataError, "class b has a single labeled graph"),
        ({"graphs": ALIKE}, GraphDataError, "the 3 labeled graphs of class tree look exactly"),
        (
            {"labels": ["a"] * 20 + ["b"] * 19 + ["c"], "metric": "roc-auc"},
            GraphDataError,
            "class c has a single .*, or choose another metric than ROC AUC",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(options, error, told):
    with pytest.raises(error, match=told):
        compare(**{"graphs": GRAPHS, **options})


def test_methods_are_judged_where_graphs_can_be_held_out_and_other_classes_are_named():
    """Of class 2 all graphs are copies: who knows one of them knows the others."""
    graphs = GRAPHS[[*range(20), 21, 21, 21]]  # which looks like none of the others
    labels = [*GRAPHS.targets[:20], 2, 2, 2]
    ways = {"few": partial(LDP, trees=5), "many": partial(LDP, trees=20)}
    *_, table = comparisons(graphs, labels, methods=ways)
    assert [row.standing for row in table] == ["best", "level", "worse"]
    assert (table.labels, table.unjudged) == (20, ("2",))
    assert table.baseline.score == 0.5
    assert "No method was evaluated on graphs of 2: " in str(table)
    assert table.record()["unjudged"] == ["2"]


def test_a_method_with_folds_of_its_own_is_not_ranked_among_the_others():
    class Own(Knows):
        def fit(self, *given, **named):
            super().fit(*given, **named)
            held = self.held_out_
            parts = (held.proba[1:], held.targets[1:], held.rows[1:])
            self.held_out_ = type(held)(*parts)
            return self

    assert standings(last(Knows, Own))["Own"] == "failed"
