"""Named points in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kgnn.reports.frame import FONT_SIZE, Axis, Frame, text
from kgnn.reports.label_places import Box, beside_points
from kgnn.reports.legend import legend
from kgnn.reports.markup import Markup, element, joined, number
from kgnn.reports.palette import marker
from kgnn.reports.scales import log_ticks, nice_ticks


class Dot(NamedTuple):
    """A named point; ``style`` is a class of `kgnn.reports.palette`."""

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
    """Draw points over a logarithmic axis, each with its name, no name over another.

    Parameters
    ----------
    title : str
    dots : sequence of Dot
    x_title, y_title : str
    styles : sequence of (style, name)
        What the styles mean.
    width, height : float

    Examples
    --------
    >>> dots = [Dot("WL", 1.2, 70, "s1", ""), Dot("KGNN", 30, 74, "s0", "")]
    >>> scatter("Cost", dots, x_title="seconds", y_title="accuracy").count('class="mark"')
    2
    """
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
