"""Figures as PNG files, for slides and papers."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from kgnn.errors import MissingExtraError
from kgnn.files import replacing
from kgnn.progress import track
from kgnn.reports.figure_data import Figure
from kgnn.reports.markup import Markup, element
from kgnn.reports.palette import LIGHT, inlined

_ZOOM = 3  # pixels per unit: sharp in print at the width of a column


def write_pngs(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Write each panel of each figure as ``figure-panel.png``; return where they are.

    Parameters
    ----------
    figures : iterable of Figure
    folder : Path
        Made if it is not there.
    """
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
    """Return a drawing with its style in it, in light colors, so that any program shows it.

    Examples
    --------
    >>> from kgnn.reports.drawing import draw
    >>> "<style>" in standalone(draw(2, [(0, 1)]))
    True
    """
    sheet = files("kgnn.reports").joinpath("templates", "figures.css")
    style = element("style", Markup(inlined(sheet.read_text(encoding="utf-8"), LIGHT)))
    start, end, rest = drawn.partition(">")
    return f"{start}{end}{style}{rest}"


def _file_name(name: str) -> str:
    """Return a name with which a file can be written on any system."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)[:80]
