from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgnn.engine import k_center as module
from kgnn.engine.k_center import k_center

LINE = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
NONE = np.empty(0, dtype=np.int64)
coordinates = st.lists(st.tuples(*[st.integers(-5, 5)] * 2), min_size=1, max_size=12).map(
    lambda pairs: np.array(pairs, dtype=np.float64)
)


def distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def radius(points, chosen):
    return distances(points)[:, chosen].min(axis=1).max()


def by_loops(points, chosen, n):
    chosen, new = list(chosen), []
    for _ in range(n):
        best, farthest = None, -1.0
        for row in range(len(points)):
            if row in chosen:
                continue
            nearest = min(
                (((points[row] - points[other]) ** 2).sum() for other in chosen), default=np.inf
            )
            if nearest > farthest:
                best, farthest = row, nearest
        if best is not None:
            chosen.append(best)
            new.append(best)
    return new


def test_points_on_a_line():
    assert LINE[k_center(LINE, np.array([0]), 3), 0].tolist() == [10, 3, 1]


@given(coordinates, st.integers(0, 12), st.integers(0, 3))
def test_choices_equal_the_double_loop(points, n, n_chosen):
    """Coordinates are integers, so that ties are many and exact."""
    chosen = np.arange(len(points))[::-2][:n_chosen]
    assert k_center(points, chosen, n).tolist() == by_loops(points, chosen, n)


@given(coordinates, st.integers(0, 20))
def test_choices_are_different_and_new(points, n):
    chosen = np.arange(len(points) // 2)
    new = k_center(points, chosen, n)
    assert len(new) == min(n, len(points) - len(chosen))
    assert len(set(new.tolist())) == len(new)
    assert not set(new.tolist()) & set(chosen.tolist())


def test_copies_of_chosen_points_come_last_and_the_lowest_row_first():
    points = np.array([[1.0], [1.0], [5.0], [-3.0], [1.0]])
    assert k_center(points, np.array([1]), 4).tolist() == [2, 3, 0, 4]


def test_from_scratch_the_first_row_is_first():
    assert k_center(LINE, NONE, 2).tolist() == [0, 4]


def test_a_row_may_be_named_twice():
    assert k_center(LINE, np.array([0, 0, 4]), 9).tolist() == [3, 1, 2]


def test_the_radius_never_grows():
    points = np.random.default_rng(0).normal(size=(60, 5))
    order = k_center(points, np.array([7]), 59)
    radii = [radius(points, [7, *order[:n]]) for n in range(60)]
    assert (np.diff(radii) <= 0).all()
    assert radii[-1] == 0


@pytest.mark.parametrize("seed", range(5))
def test_from_scratch_the_radius_is_at_most_twice_the_best(seed):
    points = np.random.default_rng(seed).normal(size=(11, 2))
    for n in (1, 2, 3, 4):
        best = min(radius(points, list(rows)) for rows in combinations(range(11), n))
        assert radius(points, k_center(points, NONE, n)) <= 2 * best + 1e-12


def test_parts_at_a_time_change_nothing(monkeypatch):
    points = np.random.default_rng(0).normal(size=(100, 7))
    whole = k_center(points, np.array([3, 50]), 40)
    for numbers in (1, 50, 699):
        monkeypatch.setattr(module, "_AT_A_TIME", numbers)
        assert np.array_equal(k_center(points, np.array([3, 50]), 40), whole)


def test_nothing_asked_nothing_chosen():
    assert k_center(LINE, NONE, 0).tolist() == []
    assert k_center(np.empty((0, 3)), NONE, 2).tolist() == []


def test_single_precision_and_integers_will_do():
    for kind in (np.float32, np.uint8):
        assert k_center(LINE.astype(kind), np.array([0]), 3).tolist() == [4, 3, 1]
