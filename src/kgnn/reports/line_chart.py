"""Lines with points and bands, named at their ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from kgnn.reports.axes import FONT_SIZE, Axis, Frame, nice_ticks, text, tick_label
from kgnn.reports.markup import Markup, element, joined, number
from kgnn.reports.svg import MUTED, marker, spread, text_width

_LABEL_GAP = 12.5
_MOST_TICKS = 8
_KEY = 11.0  # room for the mark of a line before its name
_ASIDE = 7.0  # between points that are drawn side by side


class Point(NamedTuple):
    """A value with what is likely around it, and what to say of it."""

    x: float
    y: float
    low: float
    high: float
    note: str


@dataclass(frozen=True)
class Series:
    """Points that belong together."""

    name: str
    points: Sequence[Point]
    style: str


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    x_title: str,
    y_title: str,
    x_is_log: bool = False,
    x_is_percent: bool = False,
    y_range: tuple[float, float] | None = None,
    side_by_side: bool = False,
    width: float = 340.0,
    height: float = 236.0,
) -> Markup:
    """Draw lines; muted ones lie below the others, and each is named where it ends.

    The vertical axis spans ``y_range``, by default the lowest to the highest point. Points that are
    drawn ``side_by_side`` have whiskers: the bands of several lines could not be told apart.
    """
    right = 16 + max(text_width(each.name, FONT_SIZE) for each in series)
    right += _KEY if len(series) > 1 else 0.0
    height = max(height, 100 + _LABEL_GAP * len(series))
    ys = [y for each in series for p in each.points for y in (p.low, p.high)]
    y_ticks = nice_ticks(*(y_range or (min(ys), max(ys))))
    frame = Frame(
        width,
        height,
        _x_axis(x_title, series, x_is_log, x_is_percent, 0.09 if side_by_side else 0.04),
        Axis(y_title, y_ticks[0], y_ticks[-1], y_ticks),
        title,
        right,
    )
    asides = _asides(series, frame) if side_by_side else [0.0] * len(series)
    placed = list(zip(series, asides, strict=True))
    placed.sort(key=lambda each: (each[0].style != MUTED, each[0].style == "s0"))
    lines = [_drawn(each, frame, aside, not side_by_side) for each, aside in placed]
    names = ", ".join(each.name for each in series)
    label = f"{title}: {y_title} by {x_title} of {names}"
    return frame.around(*lines, _names(series, frame, asides), label=label)


def _x_axis(
    title: str, series: Sequence[Series], is_log: bool, is_percent: bool, room: float
) -> Axis:
    xs = sorted({p.x for each in series for p in each.points})
    ticks = xs if len(xs) <= _MOST_TICKS else nice_ticks(xs[0], xs[-1])
    margin = 0.0 if is_log else room * (xs[-1] - xs[0])
    label = (lambda value: f"{100 * value:g} %") if is_percent else tick_label
    return Axis(title, xs[0] - margin, xs[-1] + margin, ticks, is_log, label)


def _asides(series: Sequence[Series], frame: Frame) -> list[float]:
    """Return how far to the right each series is drawn, so that none covers another."""
    xs = sorted({frame.x.at(p.x) for each in series for p in each.points})
    nearest = min((b - a for a, b in pairwise(xs)), default=math.inf)
    step = min(_ASIDE, 0.7 * nearest / len(series))
    return [step * (k - (len(series) - 1) / 2) for k in range(len(series))]


def _drawn(series: Series, frame: Frame, aside: float, has_bands: bool) -> Markup:
    points, y = series.points, frame.y
    xs = [frame.x.at(p.x) + aside for p in points]
    line = "L".join(f"{number(x)} {number(y.at(p.y))}" for x, p in zip(xs, points, strict=True))
    # Bands of a crowd would be fog.
    is_sure = series.style == MUTED or not any(p.high > p.low for p in points)
    around = None if is_sure else (_band if has_bands else _whiskers)(points, xs, frame)
    return element(
        "g",
        around,
        element("path", class_="line", d=f"M{line}") if len(points) > 1 else None,
        *(marker(series.style, x, y.at(p.y), p.note) for x, p in zip(xs, points, strict=True)),
        class_=f"series {series.style}",
    )


def _band(points: Sequence[Point], xs: Sequence[float], frame: Frame) -> Markup | None:
    if len(points) < 2:
        return None
    placed = list(zip(xs, points, strict=True))
    there = [f"{number(x)} {number(frame.y.at(p.high))}" for x, p in placed]
    back = [f"{number(x)} {number(frame.y.at(p.low))}" for x, p in reversed(placed)]
    return element("path", class_="band", d=f"M{'L'.join(there + back)}Z")


def _whiskers(points: Sequence[Point], xs: Sequence[float], frame: Frame) -> Markup:
    ways = (
        f"M{number(x)} {number(frame.y.at(p.low))}V{number(frame.y.at(p.high))}"
        for x, p in zip(xs, points, strict=True)
    )
    return element("path", class_="whisker", d="".join(ways))


def _names(series: Sequence[Series], frame: Frame, asides: Sequence[float]) -> Markup:
    ends = [frame.y.at(each.points[-1].y) for each in series]
    places = spread(ends, _LABEL_GAP, frame.top - 4, frame.height - frame.bottom + 4)
    at = frame.width - frame.right + 14
    starts = [
        frame.x.at(each.points[-1].x) + aside + 4
        for each, aside in zip(series, asides, strict=True)
    ]
    named = zip(series, starts, ends, places, strict=True)
    return joined(*(_name(*each, at, len(series) > 1) for each in named))


def _name(
    series: Series, start: float, end: float, place: float, at: float, has_key: bool
) -> Markup:
    """Name a line beside its end, with a thin thread from one to the other and its mark."""
    thread = f"M{number(start)} {number(end)}L{number(at - 2)} {number(place)}"
    return element(
        "g",
        element("path", class_="thread", d=thread),
        marker(series.style, at + 3, place, series.name, role="mark key") if has_key else None,
        text(at + (_KEY if has_key else 0.0), place + 4, series.name, "name"),
        class_=f"series {series.style}",
    )
