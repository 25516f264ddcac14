from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgnn.reports.label_places import Box, beside_points, spread


@given(st.lists(st.floats(0, 200), max_size=15))
def test_spread_labels_never_overlap_nor_leave_the_area(wanted):
    placed = spread(wanted, gap=12, low=0, high=200)
    for above, below in pairwise(sorted(placed)):
        assert below - above >= 12 - 1e-6
    assert all(-1e-6 <= place <= 200 + 1e-6 for place in placed)


@given(st.lists(st.floats(0, 200), min_size=2, max_size=10, unique=True))
def test_spread_labels_keep_their_order(wanted):
    placed = spread(wanted, gap=12, low=0, high=200)
    assert np.argsort(placed).tolist() == np.argsort(wanted).tolist()


def test_labels_that_have_room_stay_where_they_are():
    assert spread([10, 50, 90], gap=12, low=0, high=100) == [10, 50, 90]


def test_too_many_labels_share_the_room_evenly():
    placed = spread([50.0] * 5, gap=100, low=0, high=100)
    assert sorted(placed) == [0, 25, 50, 75, 100]


@pytest.mark.parametrize(("seed", "extent"), [(0, 340), (1, 260), (5, 200), (6, 200)])
def test_names_of_points_cover_neither_each_other_nor_points(seed, extent):
    random = np.random.default_rng(seed)
    points = [(float(x), float(y)) for x, y in random.uniform(60, 60 + extent, (21, 2))]
    boxes = beside_points(points, ["Mean-Teacher"] * 21, 12, Box(0, 0, 480, 480))
    assert not any(a.overlap(b) for a, b in combinations(boxes, 2))
    marks = [Box(x - 3, y - 3, x + 3, y + 3) for x, y in points]
    assert not any(box.overlap(mark) for box in boxes for mark in marks)
