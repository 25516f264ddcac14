import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgnn.evaluation.paired_tests import holm


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
