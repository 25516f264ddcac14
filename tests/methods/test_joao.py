import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.methods.joao import JOAO, AugmentationLaw, project_to_simplex
from kgnn.testing import CHECKS

TRAIN = planted_motifs(40, n_nodes=12)
LABELS = np.where(np.arange(40) < 12, TRAIN.targets, -1)
FAST = {"epochs": 3, "pretrain_epochs": 2, "width": 8, "committee": 1, "cross_fit": 0}
numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30).map(np.array)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(JOAO(epochs=15, pretrain_epochs=2))


def test_the_probabilities_are_in_the_history_and_follow_the_losses():
    history = JOAO(gamma=0.1, **FAST).fit(TRAIN, LABELS).pretraining_
    assert len(history) == 1 + 25
    assert sum(values[-1] for name, values in history.items() if name != "loss") == pytest.approx(1)
    frozen = JOAO(beta=0.0, **FAST).fit(TRAIN, LABELS).pretraining_
    assert frozen["identity + node_drop"] == pytest.approx([1 / 25] * 2)
    # Two untouched views are told apart best, so that they come least often.
    moved = JOAO(**{**FAST, "pretrain_epochs": 4}).fit(TRAIN, LABELS).pretraining_
    assert moved["identity + identity"][-1] < 1 / 25


# The projection


def by_bisection(values):
    """The projection is ``max(v − τ, 0)``, with the τ that makes the sum 1."""
    values = values - values.max()
    shift = optimize.brentq(lambda t: np.maximum(values - t, 0).sum() - 1, -1 - 1e-9, 0, xtol=1e-15)
    return np.maximum(values - shift, 0)


@given(numbers)
def test_the_projection_equals_bisection(values):
    np.testing.assert_allclose(project_to_simplex(values), by_bisection(values), atol=1e-9)


@given(numbers)
def test_a_projection_is_a_distribution_and_its_own_projection(values):
    once = project_to_simplex(values)
    assert (once >= 0).all()
    assert once.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(project_to_simplex(once), once, atol=1e-14)


@given(numbers, st.integers(0, 2**32 - 1))
def test_no_other_distribution_is_nearer(values, seed):
    """The condition of optimality: no direction into the simplex leads towards the values."""
    nearest = project_to_simplex(values)
    others = np.random.default_rng(seed).dirichlet(np.ones(len(values)), 20)
    corners = np.eye(len(values))
    inner = (np.vstack([others, corners]) - nearest) @ (values - nearest)
    assert (inner <= 1e-9 * (1 + np.abs(values).max())).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_projection_equals_quadratic_programming(seed):
    values = np.random.default_rng(seed).normal(size=6)
    solved = optimize.minimize(
        lambda p: ((p - values) ** 2).sum() / 2,
        np.full(6, 1 / 6),
        jac=lambda p: p - values,
        bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(6)},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(project_to_simplex(values), solved.x, atol=1e-6)


@given(numbers, st.floats(-100, 100))
def test_a_constant_changes_nothing(values, constant):
    np.testing.assert_allclose(
        project_to_simplex(values + constant), project_to_simplex(values), atol=1e-7
    )


def test_a_distribution_stays_as_it_is_in_any_shape():
    matrix = np.random.default_rng(0).dirichlet(np.ones(25)).reshape(5, 5)
    np.testing.assert_allclose(project_to_simplex(matrix), matrix, atol=1e-15)


# The law


def lone(excess, shape=(5, 5)):
    losses = np.full(shape, 1.7)
    losses[1, 3] += excess
    return losses


def settled(law, losses, steps=2000):
    for _ in range(steps):
        law.update(losses)
    return law.proba


def test_there_are_25_pairs_all_alike_at_first():
    law = AugmentationLaw()
    assert law.proba.shape == (5, 5)
    assert (law.proba == 1 / 25).all()


@pytest.mark.parametrize("penalty", [0.0, 0.1, 1.0])
def test_equal_losses_keep_all_pairs_alike(penalty):
    law = AugmentationLaw(penalty=penalty)
    settled(law, lone(0.0), 50)
    np.testing.assert_allclose(law.proba, 1 / 25, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 3), st.floats(0, 10), st.floats(0.01, 100))
def test_probabilities_stay_a_distribution(seed, step, penalty, scale):
    law = AugmentationLaw(step=step, penalty=penalty)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        law.update(scale * rng.normal(size=(5, 5)))
        assert (law.proba >= 0).all()
        assert abs(law.proba.sum() - 1) < 1e-9


def test_an_update_is_one_projected_step():
    law = AugmentationLaw(step=0.3, penalty=0.7)
    rng = np.random.default_rng(0)
    for _ in range(5):
        before, losses = law.proba.copy(), rng.normal(size=(5, 5)) / 10
        law.update(losses)
        wanted = before + 0.3 * (losses - 0.7 * (before - 1 / 25))
        np.testing.assert_allclose(law.proba.ravel(), by_bisection(wanted.ravel()), atol=1e-12)


def test_without_penalty_the_hardest_pair_never_loses():
    law = AugmentationLaw(penalty=0.0, step=0.1)
    losses = np.random.default_rng(0).normal(size=(5, 5))
    hardest = np.unravel_index(losses.argmax(), (5, 5))
    seen = [law.proba[hardest]]
    for _ in range(300):
        law.update(losses)
        seen.append(law.proba[hardest])
    assert (np.diff(seen) >= -1e-12).all()
    assert seen[-1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("excess", "penalty", "expected"),
    [(0.05, 0.1, 0.52), (0.05, 1.0, 0.088), (0.2, 0.1, 1.0), (0.0, 0.1, 0.04)],
)
def test_a_lone_hard_pair_settles_where_it_should(excess, penalty, expected):
    law = AugmentationLaw(penalty=penalty)
    assert settled(law, lone(excess))[1, 3] == pytest.approx(expected, abs=1e-6)
    assert expected == pytest.approx(min(1, 1 / 25 + excess * (1 - 1 / 25) / penalty))


def test_a_gap_of_more_than_one_takes_everything_in_one_step():
    law = AugmentationLaw()
    law.update(lone(1.01))
    assert law.proba[1, 3] == pytest.approx(1)


def test_a_large_penalty_keeps_all_pairs_nearly_alike():
    gaps = []
    for penalty in (0.1, 1.0, 10.0, 100.0):
        law = AugmentationLaw(penalty=penalty, step=1 / penalty)
        gaps.append(np.abs(settled(law, lone(0.05)) - 1 / 25).max())
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 1e-3


@pytest.mark.parametrize(("step", "settles"), [(1.9, True), (2.1, False)])
def test_steps_settle_where_step_times_penalty_is_below_two(step, settles):
    law = AugmentationLaw(penalty=1.0, step=step)
    settled(law, lone(0.05))
    before = law.proba.copy()
    law.update(lone(0.05))
    assert bool(np.abs(law.proba - before).max() < 1e-9) is settles


def test_draws_follow_the_law():
    law = AugmentationLaw(penalty=0.1)
    law.proba = project_to_simplex(np.random.default_rng(0).normal(size=(5, 5)) / 10)
    assert (law.proba == 0).any()
    assert law.proba[0, 1] != law.proba[1, 0]
    pairs = law.draw(20_000, np.random.default_rng(1))
    counts = np.zeros((5, 5))
    np.add.at(counts, tuple(pairs.T), 1)
    possible = law.proba > 0
    assert (counts[~possible] == 0).all()
    assert stats.chisquare(counts[possible], 20_000 * law.proba[possible]).pvalue > 0.01


def test_a_view_may_have_no_choice():
    law = AugmentationLaw((5, 1), penalty=1.0)
    law.update(np.array([[0.0], [0.0], [0.5], [0.0], [0.0]]))
    assert law.proba.argmax() == 2
    assert (law.draw(10, np.random.default_rng(0))[:, 1] == 0).all()
