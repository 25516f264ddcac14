"""Where labels go so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# Widths of letters in a wide font, of their height; capitals and some others are wider.
_NARROW, _WIDE = 0.6, 0.78
_PASSES = 3
_FURTHER = (1.0, 2.2, 3.6, 5.2)


class Box(NamedTuple):
    """A rectangle from left to right and top to bottom."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """Return the area that two boxes share."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is."""
    return size * sum(_WIDE if c.isupper() or c in "mw" else _NARROW for c in text)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places near the wanted ones, at least ``gap`` apart and within ``low`` to ``high``.

    Where there is not enough room for all, they are evenly spaced.

    Examples
    --------
    >>> spread([10, 11, 50], gap=10, low=0, high=100)
    [5.5, 15.5, 50.0]
    """
    if not wanted:
        return []
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    # Blocks of labels that touch: each sits where its members' wishes are met best on average.
    blocks: list[tuple[list[int], float]] = []
    for i in order:
        blocks.append(([i], float(min(max(wanted[i], low), high))))
        while len(blocks) > 1 and _touch(blocks[-2], blocks[-1], gap):
            second, first = blocks.pop(), blocks.pop()
            blocks.append(_merged(first[0] + second[0], wanted, gap, low, high))
    placed = [0.0] * len(wanted)
    for members, top in blocks:
        for rank, i in enumerate(members):
            placed[i] = top + rank * gap
    return placed


def _touch(above: tuple[list[int], float], below: tuple[list[int], float], gap: float) -> bool:
    return above[1] + len(above[0]) * gap > below[1] + 1e-9


def _merged(
    members: list[int], wanted: Sequence[float], gap: float, low: float, high: float
) -> tuple[list[int], float]:
    best = sum(wanted[i] - rank * gap for rank, i in enumerate(members)) / len(members)
    return members, max(low, min(best, high - (len(members) - 1) * gap))


def beside_points(
    points: Sequence[tuple[float, float]], texts: Sequence[str], size: float, within: Box
) -> list[Box]:
    """Return a box for the text of each point: near it, free of points and of other texts.

    Each text takes the place that is least in the way of points and of other texts; crowded
    points come first, since they have the least choice, and all may think again.
    """
    marks = [Box(x - 5, y - 5, x + 5, y + 5) for x, y in points]
    placed: dict[int, Box] = {}
    order = sorted(range(len(points)), key=lambda i: -_crowd(points, i))
    for i in order * _PASSES:
        others = [mark for j, mark in enumerate(marks) if j != i]
        others += [box for j, box in placed.items() if j != i]
        choices = _around(*points[i], text_width(texts[i], size), size)
        placed[i] = min(choices, key=lambda choice: _cost(choice, others, within))
    return [placed[i] for i in range(len(points))]


def _crowd(points: Sequence[tuple[float, float]], i: int) -> float:
    x, y = points[i]
    return sum(1 / (1 + abs(x - other_x) / 4 + abs(y - other_y)) for other_x, other_y in points)


def _around(x: float, y: float, width: float, height: float) -> list[Box]:
    """Return places around a point, the nearest and best ones first."""
    boxes = []
    for far in _FURTHER:
        aside, up = 8.0 * far, 0.9 * height * far
        for left, middle in (
            (x + aside, y),
            (x - aside - width, y),
            (x - width / 2, y - up - 3),
            (x - width / 2, y + up + 3),
            (x + aside, y - up),
            (x + aside, y + up),
            (x - aside - width, y - up),
            (x - aside - width, y + up),
        ):
            boxes.append(Box(left, middle - height / 2, left + width, middle + height / 2))
    return boxes


def _cost(choice: Box, others: Sequence[Box], within: Box) -> float:
    area = (choice.right - choice.left) * (choice.bottom - choice.top)
    outside = area - choice.overlap(within)
    return sum(choice.overlap(other) for other in others) + 10 * outside
