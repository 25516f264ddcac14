"""All labels are learned from, unless a share is to be held out, which then is not."""

import numpy as np
import pytest

from kgnn.errors import GraphDataError, ParameterError
from kgnn.evaluation import holding_out
from kgnn.graphs.packing import pack
from kgnn.methods.wl import WL

MANY = ["a"] * 40 + ["b"] * 20 + [None] * 30


def plan_labels(labels, *options, **more):
    graphs = pack("x", range(1, len(labels) + 1), [], [], targets=labels)  # none look alike
    return holding_out.plan_labels(graphs, *options, **more)


@pytest.mark.parametrize("labels", [MANY, ["a"] * 30 + ["b"] * 29, ["a", "a", "b", "b", None]])
def test_all_labels_are_learned_from_unless_some_are_to_be_held_out(labels):
    for plan in (plan_labels(labels), plan_labels(labels, 0)):
        assert len(plan.validation) == 0
        assert plan.training.tolist() == list(range(len(labels)))
        n_labeled = len(labels) - labels.count(None)
        assert f"all {n_labeled} labels are used for training; they are also" in plan.reason


def test_a_share_is_held_out_in_proportion():
    plan = plan_labels(MANY, 0.2)
    assert [MANY[row] for row in plan.validation].count("a") == 8
    assert len(plan.validation) == 12
    assert sorted([*plan.training, *plan.validation]) == list(range(90))
    assert "12 of 60 labels are the validation set" in plan.reason


def test_the_seed_decides_which():
    first, again, other = (plan_labels(MANY, 0.2, seed=seed).validation for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_nothing_is_promised_that_will_not_be_done():
    assert plan_labels(MANY, folds=0).reason == (
        "all 60 labels are used for training; without cross-validation, the accuracy of the model "
        "is not known"
    )
    assert "used for training; cross-validation is not possible" in plan_labels(["a", "b"]).reason
    some = plan_labels(["a", "a", "b"])
    assert "all 3 labels are used for training; 2 of them are also predicted" in some.reason
    assert some.unjudged == ("class b has a single labeled graph",)


def test_graphs_that_look_alike_are_never_on_both_sides():
    alike = pack("x", [1, 2, 3, 9, 9, 9], [], [], targets=["a"] * 3 + ["b"] * 3)
    plan = holding_out.plan_labels(alike)
    assert "3 of them are also predicted" in plan.reason
    assert plan.unjudged[0].startswith("the 3 labeled graphs of class b look exactly like each")
    for folds, n in ((0, 0), (5, 3)):
        held = WL(cross_fit=folds, random_state=4).fit(alike).held_out_
        rows = holding_out.left_out_rows(alike, folds, seed=4)
        assert len(rows) == n
        assert rows.tolist() == ([] if held is None else held.rows.tolist())


@pytest.mark.parametrize(
    ("labels", "share", "error", "message"),
    [
        ([None, None], 0.0, GraphDataError, "none of the 2 graphs has a label"),
        (["a", "a", None], 0.0, GraphDataError, "all 2 labeled graphs are of one class, 'a'"),
        ([0.1 * row for row in range(30)], 0.0, GraphDataError, "30 different numbers"),
        (MANY, 0.7, ParameterError, "from 0 to 0.5, got 0.7"),
        (["a"] * 9 + ["b"], 0.2, ParameterError, "Class b has a single labeled graph"),
        (["a", "b"] * 3, 0.1, ParameterError, "A validation set of 10% of 6 labels"),
        (["a", "b", "c"] * 3, 0.2, ParameterError, "omit --validation to train on all"),
    ],
)
def test_what_cannot_be_done_is_said(labels, share, error, message):
    with pytest.raises(error, match=message):
        plan_labels(labels, share)
