"""Axes of charts: scales, ticks, titles."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kgnn.reports.markup import Markup, element, joined

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_GAP = 16.0  # between drawings that are put together


def nice_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return about ``n`` round numbers that reach from at most ``low`` to at least ``high``.

    Examples
    --------
    >>> nice_ticks(61.3, 78.2)
    [60.0, 65.0, 70.0, 75.0, 80.0]
    >>> nice_ticks(3, 3)
    [2.5, 3.0, 3.5]
    """
    if high - low < 1e-9 * max(1.0, abs(low)):
        low, high = low - 0.5, high + 0.5
        n = 3
    rough = (high - low) / (n - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten within the range, with halves of decades where there are few.

    Examples
    --------
    >>> log_ticks(0.4, 150)
    [1.0, 10.0, 100.0]
    >>> log_ticks(2, 9)
    [2.0, 5.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    decades = [10.0**p for p in powers if low <= 10.0**p <= high]
    if len(decades) >= 3:
        return decades
    return [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]


def tick_label(value: float) -> str:
    """Write a tick."""
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


@dataclass(frozen=True)
class Scale:
    """A range of numbers on a stretch of the drawing.

    Examples
    --------
    >>> Scale(0, 10, 100, 200).at(5)
    150.0
    >>> Scale(1, 100, 0, 2, is_log=True).at(10)
    1.0
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a number."""
        low, high = self._bend(self.low), self._bend(self.high)
        share = (self._bend(value) - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def _bend(self, value: float) -> float:
        return math.log10(value) if self.is_log else value


FONT_SIZE = 12.0


@dataclass(frozen=True)
class Axis:
    """What an axis says."""

    title: str
    low: float
    high: float
    ticks: Sequence[float]
    is_log: bool = False
    label: Callable[[float], str] = tick_label


@dataclass(frozen=True)
class Frame:
    """A chart's area and its two axes."""

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
        middle = (self.left + self.width - self.right) / 2
        return joined(
            *lines,
            text(0, 15, self.title, "heading") if self.title else None,
            text(0, self.top - 11, self.y_axis.title, "tick"),
            text(middle, self.height - 8, self.x_axis.title, "tick", anchor="middle"),
        )


def drawing(width: float, height: float, *content: Markup | None, label: str) -> Markup:
    """Return a drawing that scales with its place; ``label`` says what it shows."""
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


def drawings_together(panels: Sequence[Markup], *, columns: int = 2, label: str) -> Markup:
    """Return one drawing of several of equal size, row by row."""
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', panels[0])
    if found is None:
        raise ValueError("What is put together must be made by `drawing`.")
    across, down = float(found[1]) + _GAP, float(found[2]) + _GAP
    placed = [
        Markup(f'<svg x="{i % columns * across:g}" y="{i // columns * down:g}"{panel[4:]}')
        for i, panel in enumerate(panels)
    ]
    n_rows = -(-len(panels) // columns)
    return drawing(columns * across - _GAP, n_rows * down - _GAP, *placed, label=label)


def text(x: float, y: float, words: str, kind: str, anchor: str | None = None) -> Markup:
    """Return words at a place."""
    return element("text", words, x=x, y=y, class_=kind, text_anchor=anchor)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return element("line", class_=kind, x1=x1, y1=y1, x2=x2, y2=y2)
