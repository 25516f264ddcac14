import math

import pytest

from kgnn.evaluation.paired_tests import corrected_paired_t_test
from kgnn.reports.comparison import compare, rank_methods
from kgnn.reports.results import Results
from tests.benchmark.stores import records

ACCURACY = {
    "kgnn": [70.0, 72.0, 74.0, 71.0, 73.0],
    "wl": [66.0, 69.0, 70.0, 68.0, 69.0],  # 4, 3, 4, 3, 4 below
    "sp": [71.0, 72.5, 73.0, 71.5, 73.5],
    "gk": [80.0, 82.5, 84.0, 81.0, 83.5],
}


def made(methods, seeds=range(5), dataset="PROTEINS", **terms):
    return records(methods, [dataset], seeds, accuracy=lambda m, d, s: ACCURACY[m][s], **terms)


def compared(there, methods=ACCURACY):
    return compare(Results(there), methods, "PROTEINS")


def test_differences_are_paired_by_split_and_corrected_for_all_that_were_compared():
    found, alone = compared(made(ACCURACY)), compared(made(ACCURACY), ["wl"])["wl"]
    assert {m: each.verdict for m, each in found.items()} == {
        "wl": "worse", "sp": "", "gk": "better"
    }  # fmt: skip
    assert (found["wl"].n, found["wl"].difference) == (5, pytest.approx(-3.6))
    # 112 labeled and 557 unlabeled graphs, 222 of TEST.
    expected = corrected_paired_t_test([-4, -3, -4, -3, -4], 222 / 669)
    assert found["wl"].p == alone.p == alone.holm_p == pytest.approx(expected)
    assert found["wl"].holm_p == pytest.approx(2 * expected)  # gk has a smaller p, sp a larger one


def test_only_common_splits_on_the_same_terms_count():
    found = compared(made(["kgnn"], range(4)) + made(["wl"], [1, 2, 3, 4]))["wl"]
    assert (found.n, found.difference) == (3, pytest.approx(-(3 + 4 + 3) / 3))
    assert compared(made(["kgnn"], [0, 1]) + made(["wl"], [2, 3])) == {}
    assert compared(made(["kgnn"]) + made(["wl"], labels=0.05)) == {}
    assert compared([]) == {}


def test_two_splits_and_many_seeds_on_one_split_are_not_tested():
    few = compared(made(["kgnn", "gk"], [0, 2]))["gk"]
    assert (few.difference, few.verdict) == (10, "")
    for found in (few, compared(made(ACCURACY, protocol="paper"))["gk"]):
        assert math.isnan(found.p)


def test_ranks_are_over_datasets_that_all_have():
    results = Results(
        made(ACCURACY) + made(["kgnn", "wl", "gk"], dataset="DD") + made(["kgnn"], dataset="COLLAB")
    )
    ranking = rank_methods(results, ["gk", "wl", "kgnn", "vat"], ["PROTEINS", "DD", "COLLAB"])
    assert ranking.methods == ("gk", "wl", "kgnn")  # nobody has run vat
    assert ranking.datasets == ("PROTEINS", "DD")
    assert ranking.ranks == {"gk": 1, "wl": 3, "kgnn": 2}
    assert ranking.alike == [["gk", "kgnn", "wl"]]
    assert ranking.best("DD") == ["gk"]


def test_nothing_in_common_has_no_ranks():
    results = Results(made(["kgnn"]) + made(["wl"], dataset="DD"))
    ranking = rank_methods(results, ["kgnn", "wl"], ["PROTEINS", "DD"])
    assert (ranking.ranks, ranking.alike) == ({}, [])
    assert math.isnan(ranking.critical_difference)
