"""A reliability diagram: how often predictions of about equal confidence are right."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kgnn.evaluation.quality import Bin
from kgnn.reports.frame import Axis, Frame
from kgnn.reports.markup import Markup, element, number
from kgnn.reports.palette import marker

_SMALLEST, _LARGEST = 3.0, 9.0  # marks
_TICKS = (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)


def reliability_diagram(bins: Sequence[Bin], width: float = 340.0, height: float = 300.0) -> Markup:
    """Draw the share of right answers against confidence; honest ones lie on the diagonal.

    The area of a mark grows with its number of graphs.

    Examples
    --------
    >>> drawn = reliability_diagram([Bin(8, 0.9, 0.75), Bin(2, 0.6, 0.5)])
    >>> drawn.count('class="mark"')
    2
    """
    across, up = (Axis(title, 0.0, 100.0, _TICKS) for title in ("confidence, %", "right, %"))
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
