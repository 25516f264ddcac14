import json
import warnings

from kgnn.cli.own_graphs import MetricOption
from kgnn.estimator.metrics import METRICS
from kgnn.evaluation.splits import parse_labels
from kgnn.methods.kgnn import KGNN
from tests.cli.calling import kgnn

__all__ = ["kgnn"]

LAZY = """
import numpy as np

from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.parameters import parameters


@parameters
class Lazy(GraphClassifier):
    \"\"\"Always names the first class.\"\"\"

    def _fit(self, task):
        self.n_classes_ = task.n_classes

    def _predict_proba(self, graphs):
        return np.tile(np.eye(self.n_classes_)[0], (len(graphs), 1))
"""


def test_a_preset_gives_the_papers_settings_and_set_changes_them(kgnn, monkeypatch):
    made = []
    monkeypatch.setattr(
        "kgnn.evaluation.protocol.evaluate_splits",
        lambda build, *_, **__: iter(made.append(build(0)) or ()),
    )
    command = ("run", "kgnn", "cycles-and-trees", "--preset", "paper", "--set", "epochs=3")
    assert kgnn(*command).code == 0
    assert made[0].get_params() == KGNN.paper(epochs=3, random_state=0).get_params()
    done = kgnn("run", "wl", "cycles-and-trees", "--preset", "paper")
    assert done.code == 2
    assert "WL has no preset 'paper'" in done.err


def test_what_a_method_does_not_use_is_said_once(kgnn, tmp_path):
    lines = [
        '{"nodes": ["a", "b", "a"], "edges": [[0, 1, "x"], [1, 2, "y"]], "target": 0}\n',
        '{"nodes": ["a", "a"], "edges": [[0, 1, "x"]], "target": 1}\n',
    ]
    (tmp_path / "g.jsonl").write_text("".join(lines * 15))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = kgnn("run", "gk", tmp_path / "g.jsonl", "--splits", "2", "--protocol", "budget")
    assert done.err.count("GK does not use the node labels and edge labels of 'g'") == 1


BUDGET = ("run", "ldp", "planted-motifs", "--protocol", "budget", "--splits", "2",
          "--set", "trees=20")  # fmt: skip


def test_a_budget_is_a_share_a_number_or_a_number_per_class(kgnn):
    for labels, n in (("0.2", 12), ("9", 9), ("4/class", 8)):
        record = json.loads(kgnn(*BUDGET, "--labels", labels, "--json").out)
        assert record["labels"] == parse_labels(labels)
        for split in record["splits"]:
            assert (split["labeled"], split["validation"], split["test"]) == (n, 0, 12)
            assert split["validation_accuracy"] is None


def test_people_see_the_majority_and_what_the_method_expects(kgnn):
    done = kgnn(*BUDGET, "--labels", "20/class")
    assert done.code == 0, done.err
    for told in ("20 labels per class, budget protocol", "expected %", "TEST %", "majority %"):
        assert told in done.out
    assert "VAL" not in done.out
    assert "Also balanced accuracy" in done.err
    assert "VAL %" in kgnn("run", "ldp", "planted-motifs", "--splits", "1").out


def test_the_headline_can_be_another_metric(kgnn):
    record = json.loads(kgnn(*BUDGET, "--labels", "20", "--metric", "roc-auc", "--json").out)
    areas = [split["roc_auc"] for split in record["splits"]]
    assert (record["metric"], record["mean"]) == ("roc_auc", sum(areas) / 2)
    assert record["metrics"]["roc_auc"] == record["mean"]
    done = kgnn(*BUDGET, "--labels", "20", "--metric", "log_loss")
    assert "TEST log loss" in done.out
    assert "accuracy %" in done.out
    assert "Also accuracy" in done.err


def test_recalls_are_told_where_they_are_far_from_the_headline(kgnn, tmp_path):
    (tmp_path / "lazy.py").write_text(LAZY)
    done = kgnn("run", f"{tmp_path}/lazy.py:Lazy", "planted-motifs", "--splits", "1")
    assert done.code == 0, done.err
    assert "By class: recall 100 % of" in done.err
    assert ", 0 % of" in done.err


def test_a_metric_that_does_not_exist_is_refused_before_anything_is_read(kgnn):
    done = kgnn("run", "ldp", "no-such-data", "--metric", "auc")
    assert done.code == 2
    assert "There is no metric 'auc'. Did you mean roc_auc?" in done.err


def test_the_help_names_every_metric():
    [option] = MetricOption.__metadata__
    assert all(name in option.help for name in METRICS)
