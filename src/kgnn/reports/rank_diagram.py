"""Average ranks of methods, with bars over those that cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgnn.reports.frame import FONT_SIZE, drawing, text
from kgnn.reports.label_places import text_width
from kgnn.reports.legend import legend
from kgnn.reports.markup import Markup, element, joined
from kgnn.reports.palette import marker
from kgnn.reports.scales import Scale, nice_ticks, tick_label

_ROW = 19.0
_TOP = 74.0
_TITLE = 24.0
_BAR_GAP = 9.0
_PLAIN = "other"  # a style that means nothing


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

    Parameters
    ----------
    title : str
    names, ranks : sequence
        Of the methods; 1 is the best rank.
    groups : sequence of sequence of int
        Positions of methods that are not significantly different from each other; each group is
        a bar on the right.
    critical_difference : float
    kinds : sequence of str
        The style of each method, a class of `kgnn.reports.palette`; unless given, all are alike.
    styles : sequence of (style, name)
        What these styles mean.
    width : float

    References
    ----------
    Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006.

    Examples
    --------
    >>> drawn = rank_diagram("Ranks", ["a", "b", "c"], [1, 2.1, 2.9], [[1, 2]], 1.0)
    >>> drawn.count('class="mark"'), drawn.count("cannot be told apart")
    (3, 1)
    """
    order = sorted(range(len(ranks)), key=lambda i: ranks[i])
    explained, head = legend(styles, width, _TITLE)
    top = _TOP + head
    rows = {i: top + _ROW * position for position, i in enumerate(order)}
    left = 14 + max(text_width(name, FONT_SIZE) for name in names)
    right = width - 12 - _BAR_GAP * len(groups)
    ticks = [tick for tick in nice_ticks(1, max(2, math.ceil(max(ranks))), n=6) if tick >= 1]
    ticks = sorted({1.0, *ticks})
    scale = Scale(1, ticks[-1], left + 8, right - 12)
    height = top + _ROW * len(names)
    lines = [
        _line(names[i], ranks[i], rows[i], scale, left, kinds[i] if kinds else _PLAIN)
        for i in order
    ]
    bars = [_bar(rows, group, right + _BAR_GAP * k) for k, group in enumerate(groups)]
    told = ", ".join(f"{names[i]} {ranks[i]:.2f}" for i in order)
    return drawing(
        width,
        height,
        text(0, 15, title, "heading"),
        explained,
        _ticks(ticks, scale, top, height),
        _difference(critical_difference, scale, head),
        *lines,
        *bars,
        label=f"{title}: {told}; critical difference {critical_difference:.2f}",
    )


def _ticks(ticks: Sequence[float], scale: Scale, top: float, height: float) -> Markup:
    marks = []
    for tick in ticks:
        x = scale.at(tick)
        marks.append(element("line", class_="grid", x1=x, y1=top - 12, x2=x, y2=height - 8))
        marks.append(text(x, top - 16, tick_label(tick), "tick", anchor="middle"))
    return joined(*marks)


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


def _line(name: str, rank: float, y: float, scale: Scale, left: float, kind: str) -> Markup:
    x = scale.at(rank)
    return element(
        "g",
        text(left, y + 4, name, "name", anchor="end"),
        element("line", class_="thread", x1=left + 6, y1=y, x2=x, y2=y),
        marker(kind, x, y, f"{name}: average rank {rank:.2f}", size=4.4),
        class_=f"series {kind}",
    )


def _bar(rows: dict[int, float], group: Sequence[int], x: float) -> Markup:
    ys = [rows[i] for i in group]
    note = element("title", f"{len(group)} methods that cannot be told apart")
    return element("line", note, class_="bar", x1=x, y1=min(ys) - 5, x2=x, y2=max(ys) + 5)
