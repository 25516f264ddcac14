import numpy as np
import pytest

from kgnn.engine.selection import agreed, margins, most_confident


def two(*first):
    return np.array([[p, 1 - p] for p in first])


def test_the_most_confident_are_taken_whatever_their_class():
    chosen = most_confident(two(0.9, 0.55, 0.02, 0.6), 2)
    assert chosen.rows.tolist() == [0, 2]
    assert chosen.targets.tolist() == [0, 1]


def test_quotas_take_from_every_class():
    proba = two(0.99, 0.98, 0.97, 0.4, 0.3)
    assert most_confident(proba, 2).targets.tolist() == [0, 0]
    assert most_confident(proba, 2, np.array([0.5, 0.5])).rows.tolist() == [0, 4]


def test_agreement_keeps_what_both_are_sure_of_with_one_class():
    p = two(0.99, 0.95, 0.9, 0.1, 0.5)
    q = two(0.9, 0.05, 0.99, 0.2, 0.52)
    chosen = agreed(p, q, 3)
    assert chosen.rows.tolist() == [0, 2, 3]
    assert chosen.targets.tolist() == [0, 0, 1]
    assert agreed(p, q, 2).rows.tolist() == [0, 2]  # 3 has the smallest of the smaller confidences


def test_a_graph_that_one_network_is_unsure_of_is_not_taken():
    p = two(0.99, 0.98, 0.97, 0.51, 0.9, 0.9)
    q = two(0.51, 0.98, 0.97, 0.99, 0.6, 0.6)
    assert agreed(p, q, 1).rows.tolist() == [1]


def test_equal_networks_agree_on_their_most_confident():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    for k in (1, 10, 50):
        assert agreed(p, p, k).rows.tolist() == most_confident(p, k).rows.tolist()
        assert len(agreed(p, p[::-1], k).rows) <= k


def test_total_disagreement_selects_nothing():
    assert len(agreed(two(0.9, 0.8), two(0.1, 0.2), 2).rows) == 0


def test_margins_tell_apart_what_is_rounded_to_one():
    proba = np.array([[1.0, 1e-20], [1.0, 1e-30], [0.5, 0.5]])
    assert margins(proba)[1] > margins(proba)[0] > margins(proba)[2] == pytest.approx(0)
