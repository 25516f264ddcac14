"""What the styles of marks mean, in lines above a chart."""

from __future__ import annotations

from collections.abc import Sequence

from kgnn.reports.frame import FONT_SIZE, text
from kgnn.reports.label_places import text_width
from kgnn.reports.markup import Markup, element, joined
from kgnn.reports.palette import marker

_LINE = 16.0


def legend(
    styles: Sequence[tuple[str, str]], width: float, top: float = 0.0
) -> tuple[Markup, float]:
    """Say what styles mean; return that, and how much room it takes.

    Parameters
    ----------
    styles : sequence of (style, name)
    width : float
        That a line may take.
    top : float
        Where the first line starts.
    """
    entries, start, line = [], 4.0, 0
    for kind, name in styles:
        needed = text_width(name, FONT_SIZE) + 16
        if start + needed > width:
            start, line = 4.0, line + 1
        y = top + 9 + _LINE * line
        mark = marker(kind, start, y, name, role="mark key")
        entries.append(element("g", mark, text(start + 8, y + 4, name, "tick"), class_=kind))
        start += needed
    return joined(*entries), 6 + _LINE * (line + 1) if styles else 0.0
