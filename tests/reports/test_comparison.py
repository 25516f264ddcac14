import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from kgnn.evaluation.paired_tests import holm
from kgnn.reports.comparison import (
    average_ranks,
    compare,
    corrected_paired_t_test,
    friedman_test,
    groups_alike,
    nemenyi_critical_difference,
    rank_methods,
)
from kgnn.reports.results import Results, Terms
from tests.reports.stores import records


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


@pytest.mark.parametrize("differences", [[1.5] * 3, [-0.1, 0.2 - 0.3]])
def test_differences_without_any_spread_have_no_p(differences):
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


@pytest.mark.parametrize("differences", [[], [1.0]])
def test_fewer_than_two_splits_have_no_p(differences):
    assert math.isnan(corrected_paired_t_test(differences, 20 / 70))


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=1)
    )
)
def test_ranks_count_who_is_better(scores):
    assert average_ranks(scores).tolist() == pytest.approx(slow_ranks(scores))


def test_the_last_bit_ranks_nobody():
    assert average_ranks([[0.1 + 0.2, 0.3]]).tolist() == [1.5, 1.5]


def test_friedman_is_its_formula_without_ties():
    scores = np.random.default_rng(1).normal(size=(7, 5))
    n, k = scores.shape
    ranks = np.array(slow_ranks(scores.tolist()))
    statistic = 12 * n / (k * (k + 1)) * ((ranks**2).sum() - k * (k + 1) ** 2 / 4)
    found = friedman_test(scores)
    assert found.statistic == pytest.approx(statistic)
    assert found.p == pytest.approx(stats.chi2.sf(statistic, k - 1))


def test_friedman_of_too_little_is_nan_and_of_equals_is_one():
    assert math.isnan(friedman_test([[1, 2], [1, 2]]).p)
    assert math.isnan(friedman_test([[1, 2, 3]]).p)
    assert friedman_test([[5, 5, 5], [7, 7, 7]]) == (0.0, 1.0)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_differences_have_the_quantiles_of_the_table(k, q):
    # Table 5 of Demšar (2006).
    expected = q * math.sqrt(k * (k + 1) / (6 * 7))
    assert nemenyi_critical_difference(k, 7) == pytest.approx(expected, abs=2e-3)


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


ACCURACY = {
    "kgnn": [70.0, 72.0, 74.0, 71.0, 73.0],
    "wl": [66.0, 69.0, 70.0, 68.0, 69.0],  # 4, 3, 4, 3, 4 below
    "sp": [71.0, 72.5, 73.0, 71.5, 73.5],
    "gk": [80.0, 82.5, 84.0, 81.0, 83.5],
}


def made(methods, seeds=range(5), dataset="PROTEINS", **terms):
    return records(methods, [dataset], seeds, accuracy=lambda m, d, s: ACCURACY[m][s], **terms)


def test_differences_are_paired_by_split():
    found = compare(Results(made(ACCURACY)), ACCURACY, "PROTEINS")
    assert set(found) == {"wl", "sp", "gk"}
    assert found["wl"].difference == pytest.approx(-3.6)
    assert found["wl"].n == 5
    # 112 labeled and 557 unlabeled graphs, 222 of TEST.
    expected = corrected_paired_t_test([-4, -3, -4, -3, -4], 222 / 669)
    assert found["wl"].p == pytest.approx(expected)


def test_holm_counts_the_methods_that_were_compared():
    alone = compare(Results(made(ACCURACY)), ["wl"], "PROTEINS")["wl"]
    among = compare(Results(made(ACCURACY)), ACCURACY, "PROTEINS")["wl"]
    assert alone.holm_p == alone.p == among.p
    assert among.holm_p == pytest.approx(2 * among.p)  # gk has a smaller p, sp a larger one


def test_verdicts_are_the_methods():
    found = compare(Results(made(ACCURACY)), ACCURACY, "PROTEINS")
    assert [found[m].verdict for m in ("wl", "sp", "gk")] == ["worse", "", "better"]


def test_only_common_splits_count():
    results = Results(made(["kgnn"], range(4)) + made(["wl"], [1, 2, 3, 4]))
    found = compare(results, ["wl"], "PROTEINS")["wl"]
    assert found.n == 3
    assert found.difference == pytest.approx(-(3 + 4 + 3) / 3)


def test_without_common_splits_there_is_no_comparison():
    results = Results(made(["kgnn"], [0, 1]) + made(["wl"], [2, 3]))
    assert compare(results, ["wl", "gk"], "PROTEINS") == {}
    assert compare(Results([]), ["wl"], "PROTEINS") == {}


def test_two_splits_are_too_few_for_a_verdict():
    found = compare(Results(made(["kgnn", "gk"], [0, 2])), ["gk"], "PROTEINS")["gk"]
    assert found.difference == 10
    assert math.isnan(found.p)
    assert found.verdict == ""


def test_one_split_with_many_seeds_is_not_tested():
    results = Results(made(ACCURACY, protocol="paper"))
    found = compare(results, ["gk"], "PROTEINS", Terms("paper"))["gk"]
    assert math.isnan(found.p)


def test_other_terms_do_not_mix():
    results = Results(made(["kgnn"]) + made(["wl"], labels=0.05))
    assert compare(results, ["wl"], "PROTEINS") == {}


def test_ranks_are_over_datasets_that_all_have():
    results = Results(
        made(ACCURACY) + made(["kgnn", "wl", "gk"], dataset="DD") + made(["kgnn"], dataset="COLLAB")
    )
    ranking = rank_methods(results, ["gk", "wl", "kgnn", "vat"], ["PROTEINS", "DD", "COLLAB"])
    assert ranking.methods == ("gk", "wl", "kgnn")  # nobody has run vat
    assert ranking.datasets == ("PROTEINS", "DD")
    assert ranking.ranks == {"gk": 1, "wl": 3, "kgnn": 2}
    assert ranking.friedman.statistic == pytest.approx(4)
    assert ranking.alike == [["gk", "kgnn", "wl"]]


def test_nothing_in_common_has_no_ranks():
    results = Results(made(["kgnn"]) + made(["wl"], dataset="DD"))
    ranking = rank_methods(results, ["kgnn", "wl"], ["PROTEINS", "DD"])
    assert (ranking.ranks, ranking.alike) == ({}, [])
    assert math.isnan(ranking.friedman.p)
    assert math.isnan(ranking.critical_difference)
