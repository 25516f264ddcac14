"""The colors of drawings, figures and pages, on white and on black."""

from __future__ import annotations

from collections.abc import Mapping

# Okabe & Ito's colors, which people with any kind of color vision can distinguish, without yellow,
# which is hardly visible on white. The first one is for the subject of a figure.
LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "raised": "#f6f7f8",
    "ink": "#1c2126",
    "soft": "#5b6570",
    "rule": "#dfe3e7",
    "muted": "#a3abb3",
    "accent": "#0b5d8f",
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
    "bad": "#f08a4b",
    "s0": "#f07a1f",
    "s1": "#4a9fd8",
    "s2": "#1fbd90",
    "s3": "#d98fb8",
    "s4": "#e6ae35",
    "s5": "#86cdf5",
    "s6": "#e6e9ec",
}
N_SERIES = 7


def css_color(name: str) -> str:
    """Return a color as a CSS variable of the page, with a default for notebooks and files.

    The default of lines and letters is the color of the surrounding text, be it dark or light.

    Examples
    --------
    >>> css_color("s1"), css_color("ink")
    ('var(--s1,#0072b2)', 'var(--ink,currentColor)')
    """
    return f"var(--{name},{'currentColor' if name == 'ink' else LIGHT[name]})"
