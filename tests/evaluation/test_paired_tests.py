import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from kgnn.evaluation.paired_tests import (
    ALPHA,
    average_ranks,
    corrected_paired_t_test,
    critical_difference,
    fewest_apart,
    groups_alike,
    holm,
    resamples,
    sign_test,
)


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


def t_density(x, df):
    scale = math.gamma((df + 1) / 2) / (math.sqrt(df * math.pi) * math.gamma(df / 2))
    return scale * (1 + x * x / df) ** (-(df + 1) / 2)


def slow_corrected_p(differences, n_train, n_test):
    n = len(differences)
    mean = sum(differences) / n
    variance = sum((d - mean) ** 2 for d in differences) / (n - 1)
    t = abs(mean) / math.sqrt((1 / n + n_test / n_train) * variance)
    return 1 - 2 * integrate.quad(t_density, 0, t, args=(n - 1,))[0]


def slow_ranks(scores):
    """One plus the methods that are better, plus half of those that are as good."""
    ranks = [
        [1 + sum(o > s for o in row) + (sum(o == s for o in row) - 1) / 2 for s in row]
        for row in scores
    ]
    return [sum(column) / len(scores) for column in zip(*ranks, strict=True)]


def test_the_corrected_test_is_that_of_a_worked_example():
    # mean 2, variance 1, 1/3 + 2/7 = 13/21; for two degrees of freedom p = 1 - t / √(t² + 2).
    t = 2 / math.sqrt(13 / 21)
    expected = 1 - t / math.sqrt(t * t + 2)
    assert corrected_paired_t_test([1, 2, 3], overlap=20 / 70) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_the_corrected_test_is_its_formula(seed):
    differences = np.random.default_rng(seed).normal(0.5, 2, 4 + seed)
    expected = slow_corrected_p(differences.tolist(), 669, 222)
    assert corrected_paired_t_test(differences, 222 / 669) == pytest.approx(expected, abs=1e-7)


def test_the_correction_keeps_its_level_on_overlapping_splits():
    """Two equally good methods, scored on random fifths of the same graphs."""
    rng = np.random.default_rng(0)
    corrected, plain = [], []
    for _ in range(300):
        # For each graph: only the second method is right, both or none, only the first.
        gain = rng.choice([-100.0, 0.0, 100.0], 1000, p=[0.1, 0.8, 0.1])
        splits = [gain[rng.permutation(1000)[:200]].mean() for _ in range(10)]
        corrected.append(corrected_paired_t_test(splits, 200 / 600))
        plain.append(corrected_paired_t_test(splits, 0))
    assert np.mean(np.array(corrected) < 0.05) < 0.08
    assert np.mean(np.array(plain) < 0.05) > 0.15


@pytest.mark.parametrize("differences", [[0.0] * 4, [0.1 + 0.2 - 0.3, 0.0]])
def test_no_difference_at_all_is_chance(differences):
    assert corrected_paired_t_test(differences, 20 / 70) == 1.0


@pytest.mark.parametrize("differences", [[], [1.0], [1.5] * 3, [-0.1, 0.2 - 0.3]])
def test_too_few_differences_or_differences_without_any_spread_have_no_p(differences):
    assert math.isnan(corrected_paired_t_test(differences, 20 / 70))


def test_few_splits_of_a_small_test_set_seldom_find_what_is_not_there():
    """Fifteen methods as good as the reference, 38 test graphs, three splits."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        gains = rng.choice([-100.0, 0.0, 100.0], (15, 3, 38), p=[0.06, 0.88, 0.06])
        p_values = [corrected_paired_t_test(each.mean(axis=1), 38 / 112) for each in gains]
        found.append(any(p < 0.05 for p in holm(p_values)))
    assert np.mean(found) < 0.05


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=1)
    )
)
def test_ranks_count_who_is_better(scores):
    assert average_ranks(scores).tolist() == pytest.approx(slow_ranks(scores))


def test_the_last_bit_ranks_nobody():
    assert average_ranks([[0.1 + 0.2, 0.3]]).tolist() == [1.5, 1.5]


@pytest.mark.parametrize("n_methods", [2, 3, 10, 21])
def test_the_critical_difference_is_nemenyis(n_methods):
    q = stats.studentized_range.ppf(1 - ALPHA, n_methods, np.inf) / math.sqrt(2)
    expected = q * math.sqrt(n_methods * (n_methods + 1) / (6 * 7))
    assert critical_difference(n_methods, 7) == pytest.approx(expected)


@given(st.lists(st.integers(0, 12), max_size=7), st.integers(0, 6))
def test_groups_are_the_largest_sets_without_a_difference(ranks, critical):
    def is_alike(group):
        return all(abs(ranks[i] - ranks[j]) <= critical for i, j in combinations(group, 2))

    n = len(ranks)
    sets = [set(s) for size in range(2, n + 1) for s in combinations(range(n), size) if is_alike(s)]
    largest = [s for s in sets if not any(s < other for other in sets)]
    found = groups_alike(ranks, critical)
    assert sorted(map(sorted, found)) == sorted(map(sorted, largest))
    for group in found:
        assert [ranks[i] for i in group] == sorted(ranks[i] for i in group)
