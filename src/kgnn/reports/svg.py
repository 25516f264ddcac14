"""Parts of drawings: colors, marks, words, legends, and files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kgnn.errors import MissingExtraError
from kgnn.files import replacing
from kgnn.progress import track
from kgnn.reports.axes import FONT_SIZE, text
from kgnn.reports.markup import LIGHT, Markup, element, joined, number, template

N_STYLES = 7
MUTED = "muted"
_ZOOM = 3  # pixels per unit: sharp in print at the width of a column
_LINE = 16.0  # of a legend
# Widths of letters in a wide font, of their height; capitals and some others are wider.
_NARROW, _WIDE = 0.6, 0.78
_PASSES = 3
_FURTHER = (1.0, 2.2, 3.6, 5.2)


@dataclass(frozen=True)
class Figure:
    """Drawings that belong together."""

    name: str  # for links and files
    title: str
    caption: str  # what a reader has to know; sentences
    # Drawings by name; without any, the records have nothing to show here.
    panels: dict[str, Markup]


def style(index: int) -> str:
    """Return the class of the series at a position; what is beyond the palette is muted."""
    return f"s{index}" if index < N_STYLES else MUTED


def marker(
    kind: str, x: float, y: float, note: str, size: float = 3.6, role: str = "mark"
) -> Markup:
    """Return the mark of a data point, in the shape of its series, with a note to read over it."""
    title = element("title", note)
    corners = _SHAPES.get(kind)
    if corners is None:
        return element("circle", title, class_=role, cx=x, cy=y, r=size)
    places = (f"{number(x + size * dx)} {number(y + size * dy)}" for dx, dy in corners)
    return element("path", title, class_=role, d=f"M{'L'.join(places)}Z")


def _polygon(n: int, turn: float, radius: float) -> tuple[tuple[float, float], ...]:
    angles = [turn + 2 * math.pi * i / n for i in range(n)]
    return tuple((radius * math.cos(a), radius * math.sin(a)) for a in angles)


_PLUS = tuple(
    (0.35 * x, 0.35 * y)
    for x, y in (
        *((3.3, -1), (3.3, 1), (1, 1), (1, 3.3), (-1, 3.3), (-1, 1)),
        *((-3.3, 1), (-3.3, -1), (-1, -1), (-1, -3.3), (1, -3.3), (1, -1)),
    )
)
_SHAPES = {
    "s1": _polygon(4, math.pi / 4, 1.25),
    "s2": _polygon(3, -math.pi / 2, 1.35),
    "s3": _polygon(4, 0.0, 1.3),
    "s4": _polygon(3, math.pi / 2, 1.35),
    "s5": _PLUS,
    "s6": _polygon(5, -math.pi / 2, 1.2),
}


class Box(NamedTuple):
    """A rectangle from left to right and top to bottom."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """Return the area that two boxes share."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is."""
    return size * sum(_WIDE if c.isupper() or c in "mw" else _NARROW for c in text)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places near the wanted ones, at least ``gap`` apart and within ``low`` to ``high``.

    Where there is not enough room for all, they are evenly spaced.
    """
    if not wanted:
        return []
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    # Blocks of labels that touch: each sits where its members' wishes are met best on average.
    blocks: list[tuple[list[int], float]] = []
    for i in order:
        blocks.append(([i], float(min(max(wanted[i], low), high))))
        while len(blocks) > 1:
            (above, top), (below, next_top) = blocks[-2:]
            if top + len(above) * gap <= next_top + 1e-9:
                break
            members = above + below
            best = sum(wanted[j] - rank * gap for rank, j in enumerate(members)) / len(members)
            blocks[-2:] = [(members, max(low, min(best, high - (len(members) - 1) * gap)))]
    placed = [0.0] * len(wanted)
    for members, top in blocks:
        for rank, i in enumerate(members):
            placed[i] = top + rank * gap
    return placed


def beside_points(
    points: Sequence[tuple[float, float]], texts: Sequence[str], size: float, within: Box
) -> list[Box]:
    """Return a box for the text of each point: near it, free of points and of other texts.

    Each text takes the place that covers least of the others; crowded points choose first.
    """
    marks = [Box(x - 5, y - 5, x + 5, y + 5) for x, y in points]
    placed: dict[int, Box] = {}
    crowds = [sum(1 / (1 + abs(x - a) / 4 + abs(y - b)) for a, b in points) for x, y in points]
    order = sorted(range(len(points)), key=lambda i: -crowds[i])
    for i in order * _PASSES:
        others = [mark for j, mark in enumerate(marks) if j != i]
        others += [box for j, box in placed.items() if j != i]
        choices = _around(*points[i], text_width(texts[i], size), size)
        placed[i] = min(choices, key=lambda choice: _cost(choice, others, within))
    return [placed[i] for i in range(len(points))]


def _around(x: float, y: float, width: float, height: float) -> list[Box]:
    """Return places around a point, the nearest and best ones first."""
    boxes = []
    for far in _FURTHER:
        aside, up = 8.0 * far, 0.9 * height * far
        for left, middle in (
            (x + aside, y),
            (x - aside - width, y),
            (x - width / 2, y - up - 3),
            (x - width / 2, y + up + 3),
            (x + aside, y - up),
            (x + aside, y + up),
            (x - aside - width, y - up),
            (x - aside - width, y + up),
        ):
            boxes.append(Box(left, middle - height / 2, left + width, middle + height / 2))
    return boxes


def _cost(choice: Box, others: Sequence[Box], within: Box) -> float:
    area = (choice.right - choice.left) * (choice.bottom - choice.top)
    outside = area - choice.overlap(within)
    return sum(choice.overlap(other) for other in others) + 10 * outside


def legend(
    styles: Sequence[tuple[str, str]], width: float, top: float = 0.0
) -> tuple[Markup, float]:
    """Say what styles, given with their names, mean; return that, and how much room it takes."""
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


def write_pngs(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Write each panel of each figure as ``figure-panel.png``; return where they are."""
    panels = [
        (folder / f"{figure.name}-{_file_name(name)}.png", panel)
        for figure in figures
        for name, panel in figure.panels.items()
    ]
    for path, panel in track(panels, "drawing figures"):
        with replacing(path) as aside:
            aside.write_bytes(png(panel))
    return [path for path, _ in panels]


def png(drawn: Markup) -> bytes:
    """Return a drawing of a report as PNG, on white."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise MissingExtraError.of("--format png", "resvg-py", "plot") from error
    return bytes(svg_to_bytes(svg_string=standalone(drawn), background="#ffffff", zoom=_ZOOM))


def standalone(drawn: Markup) -> str:
    """Return a drawing with its style in it, in light colors, so that any program shows it."""
    css = re.sub(r"var\(--([\w-]+)\)", lambda found: LIGHT[found[1]], template("figures.css"))
    style = element("style", Markup(css))  # with colors themselves: not all know properties
    start, end, rest = drawn.partition(">")
    return f"{start}{end}{style}{rest}"


def _file_name(name: str) -> str:
    """Return a name with which a file can be written on any system."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)[:80]
