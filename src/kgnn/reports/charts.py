"""Charts with one mark for each method: scatter, strips, ranks; and reliability."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kgnn.evaluation.metrics import Bin
from kgnn.reports.axes import (
    FONT_SIZE,
    Axis,
    Frame,
    Scale,
    drawing,
    log_ticks,
    nice_ticks,
    text,
    tick_label,
)
from kgnn.reports.markup import Markup, element, joined, number
from kgnn.reports.svg import Box, beside_points, legend, marker, text_width

_TITLE = 24.0
_STRIP_ROW, _STRIP_BOTTOM = 24.0, 44.0
_RANK_ROW, _RANK_TOP = 19.0, 74.0
_BAR_GAP = 9.0
_PLAIN = "other"  # a style that means nothing
_SMALLEST, _LARGEST = 3.0, 9.0  # marks of a reliability diagram
_PERCENT_TICKS = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)


class Dot(NamedTuple):
    """A named point; ``style`` is a class of `kgnn.reports.svg`."""

    name: str
    x: float
    y: float
    style: str
    note: str


def scatter(
    title: str,
    dots: Sequence[Dot],
    *,
    x_title: str,
    y_title: str,
    styles: Sequence[tuple[str, str]] = (),
    width: float = 420.0,
    height: float = 420.0,
) -> Markup:
    """Draw points over a logarithmic axis, each with its name, no name over another."""
    xs, y_ticks = [dot.x for dot in dots], nice_ticks(*_range([dot.y for dot in dots]), n=6)
    low, high = min(xs) / 1.6, max(xs) * 1.6
    explained, head = legend(styles, width)
    frame = Frame(
        width,
        height,
        Axis(x_title, low, high, log_ticks(low, high), is_log=True),
        Axis(y_title, y_ticks[0], y_ticks[-1], y_ticks),
        head=head,
    )
    points = [(frame.x.at(dot.x), frame.y.at(dot.y)) for dot in dots]
    area = Box(frame.left, frame.top - 6, width, height - frame.bottom)
    boxes = beside_points(points, [dot.name for dot in dots], FONT_SIZE, area)
    drawn = [_drawn(*each) for each in zip(dots, points, boxes, strict=True)]
    told = ", ".join(f"{dot.name} {dot.y:.1f} at {dot.x:.3g}" for dot in dots)
    return frame.around(*drawn, explained, label=f"{title}: {y_title} against {x_title}: {told}")


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _drawn(dot: Dot, point: tuple[float, float], box: Box) -> Markup:
    x, y = point
    name = _name(dot.name, x, box)
    return element(
        "g",
        joined(_thread(x, y, box)),
        marker(dot.style, x, y, dot.note, size=4.4),
        name,
        class_=f"series {dot.style}",
    )


def _name(name: str, x: float, box: Box) -> Markup:
    """Write a name into its box, held at the side of the point, however wide the font is."""
    if box.left > x:
        return text(box.left, box.bottom - 2, name, "name")
    if box.right < x:
        return text(box.right, box.bottom - 2, name, "name", "end")
    return text((box.left + box.right) / 2, box.bottom - 2, name, "name", "middle")


def _thread(x: float, y: float, box: Box) -> Markup | None:
    """Return a line from a point to a name that stands further away."""
    near_x = min(max(x, box.left), box.right)
    near_y = min(max(y, box.top + 2), box.bottom - 2)
    if abs(near_x - x) + abs(near_y - y) < 14:
        return None
    way = f"M{number(x)} {number(y)}L{number(near_x)} {number(near_y)}"
    return element("path", class_="thread", d=way)


class Mark(NamedTuple):
    """A number on a line; ``style`` is a class of `kgnn.reports.svg`."""

    value: float
    style: str
    note: str


def strip_chart(
    title: str,
    rows: Mapping[str, Sequence[Mark]],
    *,
    x_title: str,
    promised: float | None = None,
    styles: Sequence[tuple[str, str]] = (),
    width: float = 420.0,
) -> Markup:
    """Draw marks along lines over one axis."""
    values = [mark.value for marks in rows.values() for mark in marks]
    ticks = nice_ticks(*_range(values if promised is None else [*values, promised]), n=6)
    explained, head = legend(styles, width, _TITLE)
    top, left = _TITLE + head + 8, 18 + max(text_width(name, FONT_SIZE) for name in rows)
    scale = Scale(ticks[0], ticks[-1], left, width - 14)
    floor = top + _STRIP_ROW * len(rows)
    lines = [
        _strip_line(name, marks, top + _STRIP_ROW * (position + 0.5), scale, left)
        for position, (name, marks) in enumerate(rows.items())
    ]
    told = "; ".join(f"{name}: " + ", ".join(m.note for m in ms) for name, ms in rows.items())
    return drawing(
        width,
        floor + _STRIP_BOTTOM,
        text(0, 15, title, "heading"),
        explained,
        _ticks(ticks, scale, top, floor, floor + 17),
        _promise(promised, scale, top, floor),
        *lines,
        text((left + width) / 2, floor + _STRIP_BOTTOM - 8, x_title, "tick", anchor="middle"),
        label=f"{title}: {told}",
    )


def _ticks(
    ticks: Sequence[float], scale: Scale, top: float, floor: float, label_y: float
) -> Markup:
    marks = []
    for tick in ticks:
        x = scale.at(tick)
        marks.append(element("line", class_="grid", x1=x, y1=top, x2=x, y2=floor))
        marks.append(text(x, label_y, tick_label(tick), "tick", anchor="middle"))
    return joined(*marks)


def _promise(promised: float | None, scale: Scale, top: float, floor: float) -> Markup | None:
    if promised is None:
        return None
    x = scale.at(promised)
    note = element("title", f"target: {promised:g}")
    return element("line", note, class_="axis", x1=x, y1=top - 4, x2=x, y2=floor + 4)


def _strip_line(name: str, marks: Sequence[Mark], y: float, scale: Scale, left: float) -> Markup:
    drawn = [
        element(
            "g",
            marker(mark.style, scale.at(mark.value), y, mark.note),
            class_=f"series {mark.style}",
        )
        for mark in marks
    ]
    return joined(text(left - 10, y + 4, name, "name", anchor="end"), *drawn)


def rank_diagram(
    title: str,
    names: Sequence[str],
    ranks: Sequence[float],
    groups: Sequence[Sequence[int]],
    critical_difference: float,
    *,
    kinds: Sequence[str] = (),
    styles: Sequence[tuple[str, str]] = (),
    width: float = 420.0,
) -> Markup:
    """Draw a critical-difference diagram, one method a line, best at the top.

    References
    ----------
    Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006.
    """
    order = sorted(range(len(ranks)), key=lambda i: ranks[i])
    explained, head = legend(styles, width, _TITLE)
    top = _RANK_TOP + head
    rows = {i: top + _RANK_ROW * position for position, i in enumerate(order)}
    left = 14 + max(text_width(name, FONT_SIZE) for name in names)
    right = width - 12 - _BAR_GAP * len(groups)
    ticks = [tick for tick in nice_ticks(1, max(2, math.ceil(max(ranks))), n=6) if tick >= 1]
    ticks = sorted({1.0, *ticks})
    scale = Scale(1, ticks[-1], left + 8, right - 12)
    height = top + _RANK_ROW * len(names)
    lines = [
        _rank_line(names[i], ranks[i], rows[i], scale, left, kinds[i] if kinds else _PLAIN)
        for i in order
    ]
    bars = []
    for k, group in enumerate(groups):
        x, ys = right + _BAR_GAP * k, [rows[i] for i in group]
        note = element("title", f"{len(group)} methods that do not differ significantly")
        ends = {"x1": x, "y1": min(ys) - 5, "x2": x, "y2": max(ys) + 5}
        bars.append(element("line", note, class_="bar", **ends))
    told = ", ".join(f"{names[i]} {ranks[i]:.2f}" for i in order)
    return drawing(
        width,
        height,
        text(0, 15, title, "heading"),
        explained,
        _ticks(ticks, scale, top - 12, height - 8, top - 16),
        _difference(critical_difference, scale, head),
        *lines,
        *bars,
        label=f"{title}: {told}; critical difference {critical_difference:.2f}",
    )


def _difference(size: float, scale: Scale, head: float) -> Markup:
    """Draw how long the critical difference is, above the ranks."""
    start = scale.at(1)
    end = min(scale.at(1 + size), scale.end)
    y = head + 41
    way = f"M{start:.1f} {y - 3:g}v6M{start:.1f} {y:g}H{end:.1f}M{end:.1f} {y - 3:g}v6"
    return joined(
        element("path", class_="bar", d=way) if end < scale.end else None,
        text(start, y - 6, f"critical difference {size:.2f}", "tick"),
    )


def _rank_line(name: str, rank: float, y: float, scale: Scale, left: float, kind: str) -> Markup:
    x = scale.at(rank)
    return element(
        "g",
        text(left, y + 4, name, "name", anchor="end"),
        element("line", class_="thread", x1=left + 6, y1=y, x2=x, y2=y),
        marker(kind, x, y, f"{name}: average rank {rank:.2f}", size=4.4),
        class_=f"series {kind}",
    )


def reliability_diagram(bins: Sequence[Bin], width: float = 340.0, height: float = 300.0) -> Markup:
    """Draw the share of right answers against confidence; honest ones lie on the diagonal.

    The area of a mark grows with its number of graphs.
    """
    across, up = (
        Axis(title, 0.0, 100.0, _PERCENT_TICKS) for title in ("confidence, %", "right, %")
    )
    frame = Frame(width, height, across, up)
    x, y = frame.x, frame.y
    diagonal = f"M{number(x.at(0))} {number(y.at(0))}L{number(x.at(100))} {number(y.at(100))}"
    most = max((each.n for each in bins), default=1)
    told = ", ".join(f"{b.share_right:.0%} right at {b.confidence:.0%}" for b in bins)
    return frame.around(
        element("path", class_="ideal", d=diagonal),
        *(_mark(each, frame, most) for each in bins),
        label=f"Reliability: {told}",
    )


def _mark(each: Bin, frame: Frame, most: int) -> Markup:
    x, y = frame.x.at(100 * each.confidence), frame.y.at(100 * each.share_right)
    ideal = frame.y.at(100 * each.confidence)
    size = max(_SMALLEST, _LARGEST * math.sqrt(each.n / most))
    note = f"{each.n} graphs: confidence {each.confidence:.0%}, right {each.share_right:.0%}"
    return element(
        "g",
        element("line", class_="gap", x1=x, y1=ideal, x2=x, y2=y),
        marker("s0", x, y, note, size=size),
        class_="series s0",
    )
