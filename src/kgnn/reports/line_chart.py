"""Lines with points and bands, named at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kgnn.reports.frame import FONT_SIZE, Axis, Frame, text
from kgnn.reports.label_places import spread, text_width
from kgnn.reports.markup import Markup, element, joined, number
from kgnn.reports.palette import MUTED, marker
from kgnn.reports.scales import nice_ticks, tick_label

_LABEL_GAP = 12.5
_MOST_TICKS = 8


class Point(NamedTuple):
    """A value with what is likely around it, and what to say of it."""

    x: float
    y: float
    low: float
    high: float
    note: str


@dataclass(frozen=True)
class Series:
    """Points that belong together.

    Attributes
    ----------
    name : str
    points : sequence of Point
    style : str
        A class of `kgnn.reports.palette`.
    """

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
    width: float = 340.0,
    height: float = 236.0,
) -> Markup:
    """Draw lines; muted ones lie below the others, and each is named where it ends.

    Examples
    --------
    >>> points = [Point(1, 60, 58, 62, "60 %"), Point(2, 64, 61, 67, "64 %")]
    >>> chart = line_chart("A", [Series("KGNN", points, "s0")], x_title="hops", y_title="accuracy")
    >>> chart.count('class="mark"'), chart.count('class="band"')
    (2, 1)
    """
    right = 16 + max(text_width(each.name, FONT_SIZE) for each in series)
    height = max(height, 100 + _LABEL_GAP * len(series))
    ys = [y for each in series for p in each.points for y in (p.low, p.high)]
    y_ticks = nice_ticks(min(ys), max(ys))
    frame = Frame(
        width,
        height,
        _x_axis(x_title, series, x_is_log, x_is_percent),
        Axis(y_title, y_ticks[0], y_ticks[-1], y_ticks),
        title,
        right,
    )
    below_first = sorted(series, key=lambda each: (each.style != MUTED, each.style == "s0"))
    lines = [_drawn(each, frame) for each in below_first]
    names = ", ".join(each.name for each in series)
    label = f"{title}: {y_title} by {x_title} of {names}"
    return frame.around(*lines, _names(series, frame), label=label)


def _x_axis(title: str, series: Sequence[Series], is_log: bool, is_percent: bool) -> Axis:
    xs = sorted({p.x for each in series for p in each.points})
    ticks = xs if len(xs) <= _MOST_TICKS else nice_ticks(xs[0], xs[-1])
    margin = 0.0 if is_log else 0.04 * (xs[-1] - xs[0])
    label = (lambda value: f"{100 * value:g} %") if is_percent else tick_label
    return Axis(title, xs[0] - margin, xs[-1] + margin, ticks, is_log, label)


def _drawn(series: Series, frame: Frame) -> Markup:
    x, y, points = frame.x, frame.y, series.points
    line = "L".join(f"{number(x.at(p.x))} {number(y.at(p.y))}" for p in points)
    there = [f"{number(x.at(p.x))} {number(y.at(p.high))}" for p in points]
    back = [f"{number(x.at(p.x))} {number(y.at(p.low))}" for p in reversed(points)]
    # Bands of a crowd would be fog.
    has_band = series.style != MUTED and len(points) > 1 and any(p.high > p.low for p in points)
    return element(
        "g",
        element("path", class_="band", d=f"M{'L'.join(there + back)}Z") if has_band else None,
        element("path", class_="line", d=f"M{line}") if len(points) > 1 else None,
        *(marker(series.style, x.at(p.x), y.at(p.y), p.note) for p in points),
        class_=f"series {series.style}",
    )


def _names(series: Sequence[Series], frame: Frame) -> Markup:
    ends = [frame.y.at(each.points[-1].y) for each in series]
    places = spread(ends, _LABEL_GAP, frame.top - 4, frame.height - frame.bottom + 4)
    at = frame.width - frame.right + 14
    return joined(*(_name(*each, frame, at) for each in zip(series, ends, places, strict=True)))


def _name(series: Series, end: float, place: float, frame: Frame, at: float) -> Markup:
    """Name a line beside its end, with a thin thread from one to the other."""
    start = frame.x.at(series.points[-1].x) + 4
    thread = f"M{number(start)} {number(end)}L{number(at - 2)} {number(place)}"
    return element(
        "g",
        element("path", class_="thread", d=thread),
        text(at, place + 4, series.name, "name"),
        class_=f"series {series.style}",
    )
