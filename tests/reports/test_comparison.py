import math

import pytest

from kgnn.reports.comparison import compare, rank_methods
from kgnn.reports.results import Results
from kgnn.reports.significance import corrected_paired_t_test
from tests.reports.stores import records

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
    found = compare(results, ["gk"], "PROTEINS", protocol="paper")["gk"]
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
