"""The frame of a chart: its area, axes, ticks and titles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgnn.reports.markup import Markup, element, joined
from kgnn.reports.scales import Scale, tick_label

FONT_SIZE = 12.0


@dataclass(frozen=True)
class Axis:
    """What an axis says.

    Attributes
    ----------
    title : str
    low, high : float
    ticks : sequence of float
    is_log : bool
    label : function
        How a tick is written.
    """

    title: str
    low: float
    high: float
    ticks: Sequence[float]
    is_log: bool = False
    label: Callable[[float], str] = tick_label


@dataclass(frozen=True)
class Frame:
    """A chart's area and its two axes.

    Attributes
    ----------
    width, height : float
        Of the whole drawing.
    x_axis, y_axis : Axis
    title : str
        Above the area.
    right : float
        Room for labels beside the area.
    head : float
        Room for more above it.
    """

    width: float
    height: float
    x_axis: Axis
    y_axis: Axis
    title: str = ""
    right: float = 12.0
    head: float = 0.0

    left = 38.0
    bottom = 42.0

    @property
    def top(self) -> float:
        """Where the area starts; the title of the vertical axis stands above it."""
        return self.head + (44.0 if self.title else 26.0)

    @property
    def x(self) -> Scale:
        """Numbers to places, left to right."""
        axis = self.x_axis
        return Scale(axis.low, axis.high, self.left, self.width - self.right, axis.is_log)

    @property
    def y(self) -> Scale:
        """Numbers to places, bottom to top."""
        axis = self.y_axis
        return Scale(axis.low, axis.high, self.height - self.bottom, self.top, axis.is_log)

    def around(self, *content: Markup, label: str) -> Markup:
        """Return the chart: axes with the content drawn over them."""
        return drawing(self.width, self.height, self._axes(), *content, label=label)

    def _axes(self) -> Markup:
        lines = []
        for tick in self.y_axis.ticks:
            place = self.y.at(tick)
            lines.append(_line("grid", self.left, place, self.width - self.right, place))
            lines.append(
                text(self.left - 6, place + 4, self.y_axis.label(tick), "tick", anchor="end")
            )
        floor = self.height - self.bottom
        for tick in self.x_axis.ticks:
            place = self.x.at(tick)
            lines.append(_line("axis", place, floor, place, floor + 4))
            lines.append(text(place, floor + 17, self.x_axis.label(tick), "tick", anchor="middle"))
        lines.append(_line("axis", self.left, floor, self.width - self.right, floor))
        return joined(*lines, self._titles())

    def _titles(self) -> Markup:
        middle = (self.left + self.width - self.right) / 2
        return joined(
            text(0, 15, self.title, "heading") if self.title else None,
            text(0, self.top - 11, self.y_axis.title, "tick"),
            text(middle, self.height - 8, self.x_axis.title, "tick", anchor="middle"),
        )


def drawing(width: float, height: float, *content: Markup | None, label: str) -> Markup:
    """Return a drawing that scales with its place and says what it shows to those who cannot see.

    Examples
    --------
    >>> drawing(20, 10, label="nothing")[:29]
    '<svg xmlns="http://www.w3.org'
    """
    return element(
        "svg",
        *content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        class_="chart",
        role="img",
        aria_label=label,
    )


def text(x: float, y: float, words: str, kind: str, anchor: str | None = None) -> Markup:
    """Return words at a place."""
    return element("text", words, x=x, y=y, class_=kind, text_anchor=anchor)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return element("line", class_=kind, x1=x1, y1=y1, x2=x2, y2=y2)
