"""Numbers of many methods side by side: a line for each dataset, a mark for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kgnn.reports.frame import FONT_SIZE, drawing, text
from kgnn.reports.label_places import text_width
from kgnn.reports.legend import legend
from kgnn.reports.markup import Markup, element, joined
from kgnn.reports.palette import marker
from kgnn.reports.scales import Scale, nice_ticks, tick_label

_ROW = 24.0
_TITLE = 24.0
_BOTTOM = 44.0


class Mark(NamedTuple):
    """A number on a line; ``style`` is a class of `kgnn.reports.palette`."""

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
    """Draw marks along lines over one axis.

    Parameters
    ----------
    title : str
    rows : dict of str to sequence of Mark
        By the name of the line, from the top; later marks are drawn over earlier ones.
    x_title : str
    promised : float, optional
        A number to compare all marks with, a line across the chart.
    styles : sequence of (style, name)
        What the styles mean.

    Examples
    --------
    >>> rows = {"PROTEINS": [Mark(88.1, "s1", "WL"), Mark(90.4, "s0", "KGNN")]}
    >>> strip_chart("Coverage", rows, x_title="%", promised=90.0).count('class="mark"')
    2
    """
    values = [mark.value for marks in rows.values() for mark in marks]
    ticks = nice_ticks(*_range(values if promised is None else [*values, promised]), n=6)
    explained, head = legend(styles, width, _TITLE)
    top, left = _TITLE + head + 8, 18 + max(text_width(name, FONT_SIZE) for name in rows)
    scale = Scale(ticks[0], ticks[-1], left, width - 14)
    floor = top + _ROW * len(rows)
    lines = [
        _line(name, marks, top + _ROW * (position + 0.5), scale, left)
        for position, (name, marks) in enumerate(rows.items())
    ]
    told = "; ".join(f"{name}: " + ", ".join(m.note for m in ms) for name, ms in rows.items())
    return drawing(
        width,
        floor + _BOTTOM,
        text(0, 15, title, "heading"),
        explained,
        _ticks(ticks, scale, top, floor),
        _promise(promised, scale, top, floor),
        *lines,
        text((left + width) / 2, floor + _BOTTOM - 8, x_title, "tick", anchor="middle"),
        label=f"{title}: {told}",
    )


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _ticks(ticks: Sequence[float], scale: Scale, top: float, floor: float) -> Markup:
    marks = []
    for tick in ticks:
        x = scale.at(tick)
        marks.append(element("line", class_="grid", x1=x, y1=top, x2=x, y2=floor))
        marks.append(text(x, floor + 17, tick_label(tick), "tick", anchor="middle"))
    return joined(*marks)


def _promise(promised: float | None, scale: Scale, top: float, floor: float) -> Markup | None:
    if promised is None:
        return None
    x = scale.at(promised)
    note = element("title", f"promised: {promised:g}")
    return element("line", note, class_="axis", x1=x, y1=top - 4, x2=x, y2=floor + 4)


def _line(name: str, marks: Sequence[Mark], y: float, scale: Scale, left: float) -> Markup:
    drawn = [
        element(
            "g",
            marker(mark.style, scale.at(mark.value), y, mark.note),
            class_=f"series {mark.style}",
        )
        for mark in marks
    ]
    return joined(text(left - 10, y + 4, name, "name", anchor="end"), *drawn)
