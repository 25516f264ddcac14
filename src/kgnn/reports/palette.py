"""Colors by name, for light and for dark paper, and shapes that tell series apart without color."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from kgnn.reports.markup import Markup, element, number

# Okabe & Ito's colors, which people with any kind of color vision tell apart; yellow is left out,
# since it is hardly seen on white. The first one is for the method that a chart is about.
LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "raised": "#f6f7f8",
    "ink": "#1c2126",
    "soft": "#5b6570",
    "rule": "#dfe3e7",
    "muted": "#a3abb3",
    "accent": "#0b5d8f",
    "good": "#00704f",
    "bad": "#a63d00",
    "s0": "#d55e00",
    "s1": "#0072b2",
    "s2": "#009e73",
    "s3": "#cc79a7",
    "s4": "#e69f00",
    "s5": "#56b4e9",
    "s6": "#1c2126",
}
DARK: Mapping[str, str] = {
    "paper": "#14181c",
    "raised": "#1c2228",
    "ink": "#e6e9ec",
    "soft": "#9aa5b0",
    "rule": "#323a43",
    "muted": "#66717c",
    "accent": "#6db9ec",
    "good": "#45c49b",
    "bad": "#f08a4b",
    "s0": "#f07a1f",
    "s1": "#4a9fd8",
    "s2": "#1fbd90",
    "s3": "#d98fb8",
    "s4": "#e6ae35",
    "s5": "#86cdf5",
    "s6": "#e6e9ec",
}
N_STYLES = 7
MUTED = "muted"


def style(index: int) -> str:
    """Return the class of the series at a position; what is beyond the palette is muted."""
    return f"s{index}" if index < N_STYLES else MUTED


def variables(colors: Mapping[str, str]) -> str:
    """Return the colors as custom properties of CSS."""
    return "".join(f"--{name}:{value};" for name, value in colors.items())


def inlined(css: str, colors: Mapping[str, str]) -> str:
    """Return CSS with the colors themselves, for programs that know no custom properties.

    Examples
    --------
    >>> inlined("text{fill:var(--ink)}", LIGHT)
    'text{fill:#1c2126}'
    """
    return re.sub(r"var\(--([\w-]+)\)", lambda found: colors.get(found[1], "none"), css)


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


_CROSS = (0.35, 1.15)
_PLUS = tuple(
    corner
    for (a, b), (c, d) in zip(
        ((1, 0), (0, 1), (-1, 0), (0, -1)), ((0, 1), (-1, 0), (0, -1), (1, 0)), strict=True
    )
    for corner in (
        (a * _CROSS[1] - c * _CROSS[0], b * _CROSS[1] - d * _CROSS[0]),
        (a * _CROSS[1] + c * _CROSS[0], b * _CROSS[1] + d * _CROSS[0]),
        ((a + c) * _CROSS[0], (b + d) * _CROSS[0]),
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
