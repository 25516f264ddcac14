import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import log_softmax

from kgnn.engine.sinkhorn import assign


def log_probabilities(n_rows, n_clusters, scale=1.0, bias=0.0, seed=0):
    logits = scale * np.random.default_rng(seed).normal(size=(n_rows, n_clusters))
    logits[:, 0] += bias
    return log_softmax(logits, axis=1)


def assert_sums(plan, shares, relative=1e-3):
    assert (plan >= 0).all()
    np.testing.assert_allclose(plan.sum(axis=1), 1 / len(plan), rtol=relative)
    np.testing.assert_allclose(plan.sum(axis=0), shares, rtol=relative)


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 8),
    st.floats(0, 100),
    st.floats(-1000, 1000),
    st.integers(0, 2**32 - 1),
)
def test_sums_are_right_whatever_the_probabilities(n_rows, n_clusters, scale, bias, seed):
    log_p = log_probabilities(n_rows, n_clusters, scale, bias, seed)
    plan, clusters = assign(log_p)
    assert_sums(plan, 1 / n_clusters)
    assert np.array_equal(clusters, plan.argmax(axis=1))


@pytest.mark.parametrize("iterations", [0, 1, 5])
def test_sums_are_right_even_when_iterations_run_out(iterations):
    plan, _ = assign(log_probabilities(50, 6, scale=20.0), iterations=iterations)
    assert_sums(plan, 1 / 6, relative=1e-9)


def test_a_prior_sets_the_sizes():
    prior = np.array([0.5, 0.3, 0.15, 0.05])
    plan, clusters = assign(log_probabilities(1000, 4), prior)
    assert_sums(plan, prior)
    np.testing.assert_allclose(np.bincount(clusters, minlength=4) / 1000, prior, atol=0.02)
    again, _ = assign(log_probabilities(1000, 4), 10 * prior)  # shares are what counts
    np.testing.assert_allclose(again, plan)


def test_a_cluster_without_a_share_stays_empty():
    plan, clusters = assign(log_probabilities(30, 3, bias=50.0), np.array([0.0, 0.5, 0.5]))
    assert_sums(plan, [0, 0.5, 0.5])
    assert 0 not in clusters


def plainly(log_p, shares, eta, steps=20_000):
    """Scale rows and columns in turn, as it stands in textbooks."""
    kernel = np.exp(log_p / eta)
    v = np.ones(len(shares))
    for _ in range(steps):
        u = 1 / len(kernel) / (kernel @ v)
        v = shares / (u @ kernel)
    return u[:, None] * kernel * v


@pytest.mark.parametrize("eta", [0.05, 0.5])
def test_the_plan_equals_the_plain_iteration(eta):
    log_p, shares = log_probabilities(20, 4), np.array([0.4, 0.3, 0.2, 0.1])
    plan, _ = assign(log_p, shares, eta=eta, tolerance=1e-9, iterations=10**5)
    np.testing.assert_allclose(plan, plainly(log_p, shares, eta), atol=1e-9)


def test_the_plan_is_the_minimum():
    """Where log Q − log P/η is a sum of row and column terms, no admissible change is better."""
    log_p = log_probabilities(15, 4)
    plan, _ = assign(log_p, eta=0.3, tolerance=1e-10, iterations=10**5)
    rest = np.log(plan) - log_p / 0.3
    np.testing.assert_allclose(
        rest - rest[:, :1] - rest[:1] + rest[0, 0], np.zeros_like(rest), atol=1e-6
    )


def test_a_small_eta_finds_the_best_assignment():
    log_p = log_probabilities(12, 3, seed=4)
    copies = np.repeat(log_p, 4, axis=1)  # room for four rows in each cluster
    _, columns = optimize.linear_sum_assignment(-copies)
    _, clusters = assign(log_p, eta=0.01, iterations=10**5)
    assert np.array_equal(clusters, columns // 4)


@pytest.mark.parametrize(("scale", "bias"), [(1.0, 0.0), (1.0, 10.0), (5.0, 10.0), (20.0, 200.0)])
def test_clusters_do_not_collapse(scale, bias):
    log_p = log_probabilities(600, 12, scale, bias)
    sizes = np.bincount(assign(log_p).clusters, minlength=12)
    assert sizes.min() >= 40  # of 50
    assert sizes.max() <= 60


def test_the_order_of_rows_and_clusters_does_not_matter():
    log_p = log_probabilities(40, 5)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(40), rng.permutation(5)
    plan, _ = assign(log_p)
    moved, _ = assign(log_p[rows][:, columns])
    np.testing.assert_allclose(moved, plan[rows][:, columns], atol=1e-12)


def test_nothing_to_tell_rows_apart_is_a_uniform_plan():
    plan, _ = assign(np.full((6, 3), np.log(1 / 3)))
    np.testing.assert_allclose(plan, 1 / 18)


def test_the_probabilities_are_not_changed():
    log_p = log_probabilities(20, 4)
    before = log_p.copy()
    assign(log_p)
    assert np.array_equal(log_p, before)
