"""Labels are held out where there are enough, and never trained on then."""

import numpy as np
import pytest

from kgnn.errors import GraphDataError, ParameterError
from kgnn.evaluation import holding_out
from kgnn.graphs.packing import pack

MANY = ["a"] * 40 + ["b"] * 20 + [None] * 30


def plan_labels(labels, *options, **more):
    n = len(labels)
    return holding_out.plan_labels(pack("x", [1] * n, [], [], targets=labels), *options, **more)


def test_a_fifth_of_many_labels_is_held_out_in_proportion():
    plan = plan_labels(MANY)
    assert [MANY[row] for row in plan.validation].count("a") == 8
    assert len(plan.validation) == 12
    assert plan.cross_fit == 0
    assert sorted([*plan.training, *plan.validation]) == list(range(90))
    assert "12 of 60 labels are held out" in plan.reason


def test_the_seed_decides_which():
    first, again, other = (plan_labels(MANY, seed=seed).validation for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    "labels", [["a"] * 30 + ["b"] * 29, ["a"] * 60 + ["b"] * 4, ["a", "a", "b", "b", None]]
)
def test_few_labels_are_all_learned_from_and_cross_fitted(labels):
    plan = plan_labels(labels)
    assert plan.cross_fit == 5
    assert len(plan.validation) == 0
    assert len(plan.training) == len(labels)


def test_zero_asks_for_cross_fitting_and_a_share_for_holding_out():
    assert plan_labels(MANY, 0).cross_fit == 5
    assert len(plan_labels(["a", "b"] * 5, 0.3).validation) == 3


def test_a_single_graph_of_a_class_leaves_nothing_to_hold_out():
    plan = plan_labels(["a", "a", "b"])
    assert plan.cross_fit == 0
    assert "not calibrated" in plan.reason


@pytest.mark.parametrize(
    ("labels", "share", "error", "message"),
    [
        ([None, None], None, GraphDataError, "none of the 2 graphs has a label"),
        (["a", "a", None], None, GraphDataError, "all 2 labeled graphs are of one class, 'a'"),
        (MANY, 0.7, ParameterError, "from 0 to 0.5, got 0.7"),
        (["a"] * 9 + ["b"], 0.2, ParameterError, "Class b has a single labeled graph"),
        (["a", "b"] * 3, 0.1, ParameterError, "10% of 6 labels cannot be held out"),
        (["a", "b", "c"] * 3, 0.2, ParameterError, "use --validation 0"),
    ],
)
def test_what_cannot_be_done_is_said(labels, share, error, message):
    with pytest.raises(error, match=message):
        plan_labels(labels, share)
