"""The page says when more labels would hardly help, and only when it can know."""

from __future__ import annotations

import pytest

from kgnn.web.curve import Point, advice


def _curve(labels, accuracies):
    return [
        Point(n, share, share - 0.1, share + 0.1)
        for n, share in zip(labels, accuracies, strict=True)
    ]


@pytest.mark.parametrize(
    ("labels", "accuracies", "told"),
    [
        ((40, 50, 60, 70), (0.8, 0.81, 0.8, 0.805), "may have enough"),
        ((40, 50, 60, 70), (0.7, 0.74, 0.77, 0.8), "still rises: 35 more labels"),
        ((10, 20, 30, 40, 80, 120, 160), (0.5, 0.6, 0.7, 0.8, 0.8, 0.8, 0.8), "may have enough"),
        ((40, 50, 60), (0.8, 0.8, 0.8), ""),  # too few fits
        ((5, 10, 15, 20), (0.8, 0.8, 0.8, 0.8), ""),  # too few labels
        ((70, 70, 71, 72), (0.7, 0.8, 0.75, 0.7), ""),  # hardly any new ones
    ],
)
def test_a_flat_curve_is_told_from_one_that_rises(labels, accuracies, told):
    said = advice(_curve(labels, accuracies))
    assert told in said
    assert bool(told) == bool(said)
