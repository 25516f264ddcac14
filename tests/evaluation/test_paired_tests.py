import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kgnn.evaluation.paired_tests import ALPHA, fewest_apart, holm, resamples, sign_test


def slow_holm(p_values):
    """A hypothesis is rejected at α if all with smaller p are, each at its own share of α."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    for place, i in enumerate(order):
        shares = [(len(order) - k) * p_values[j] for k, j in enumerate(order[: place + 1])]
        adjusted[i] = min(1.0, max(shares))
    return adjusted


def test_holm_is_that_of_a_worked_example():
    # Sorted: 0.01 · 4, 0.02 · 3, 0.03 · 2 (not below the one before), 0.5.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_is_the_step_down_rule(p_values):
    assert holm(p_values) == pytest.approx(slow_holm(p_values))


def test_holm_leaves_out_what_has_no_p():
    adjusted = holm([0.02, math.nan, 0.03])
    assert math.isnan(adjusted[1])
    assert adjusted[::2] == pytest.approx([0.04, 0.04])


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_sign_test_is_the_binomial_one(n_better, n_worse):
    n = n_better + n_worse
    expected = stats.binomtest(n_better, n).pvalue if n else 1.0
    assert sign_test(n_better, n_worse) == pytest.approx(expected)


@given(st.integers(1, 500))
def test_the_fewest_graphs_apart_are_just_enough(n_tests):
    least = fewest_apart(n_tests)
    assert n_tests * sign_test(least, 0) < ALPHA <= n_tests * sign_test(least - 1, 0)


def test_resamples_keep_the_number_of_each_class():
    targets = np.array([2, 0, 1, 1, 2, 2])
    rows = resamples(targets, 300, np.random.default_rng(0))
    assert (np.sort(targets[rows], axis=1) == np.sort(targets)).all()
    assert len(np.unique(rows)) == 6
    assert (np.diff(rows, axis=0) != 0).any()
