"""Figures of matplotlib in our style: panels, marks and lines; as files and in pages."""

from __future__ import annotations

import io
import math
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgnn.colors import LIGHT
from kgnn.errors import MissingExtraError
from kgnn.files import replacing
from kgnn.progress import track

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as _Figure
    from matplotlib.lines import Line2D
except ImportError as error:
    raise MissingExtraError.of("A figure", "matplotlib", "plot") from error

_LABEL_GAP = 11.5  # points between the names of two lines
_WHISKERED = 5  # lines; whiskers of more would cover each other
_DPI = 220
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # in XML
_LONGEST_NAME = 34  # letters; longer ones are cut
_TIP = "tip:"  # begins the id of what has something to tell
_MARKERS = ("o", "s", "^", "D", "v", "P", "p")
_STYLE = {
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.labelcolor": LIGHT["soft"],
    "axes.edgecolor": LIGHT["soft"],
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "grid.color": LIGHT["rule"],
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handletextpad": 0.3,
    "legend.columnspacing": 1.0,
    "lines.markersize": 5.0,
    "lines.markeredgecolor": LIGHT["paper"],
    "lines.markeredgewidth": 0.6,
    "text.color": LIGHT["ink"],
    "text.parse_math": False,  # a name with a dollar is a name
    "xtick.color": LIGHT["soft"],
    "ytick.color": LIGHT["soft"],
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "ytick.major.size": 0,
    "svg.fonttype": "none",
    "svg.hashsalt": "kgnn",
}


class Figure(_Figure):
    """A figure of matplotlib that a notebook shows without being told to."""

    def _repr_png_(self) -> bytes:
        return _saved(self, "png")


class Panel(NamedTuple):
    """One pair of axes: its title, and what is drawn on them."""

    title: str
    draw: Callable[[Axes], None]
    height: float | None = None  # in inches, where it is not that of all panels


@dataclass(frozen=True)
class Chart:
    """A figure with its caption; it is drawn when it is asked for."""

    name: str  # for links and files
    title: str
    caption: str  # what a reader has to know; sentences
    panels: Mapping[str, Panel]  # by name; without any, there is nothing to show
    legend: Sequence[tuple[str, str]] = ()  # color and name
    size: tuple[float, float] = (4.2, 2.9)  # of a panel, in inches

    def figure(self, columns: int = 2) -> Figure:
        """Draw all panels as one figure."""
        return self._drawn(list(self.panels.values()), columns)

    def apart(self) -> Iterator[tuple[str, Panel, Figure]]:
        """Draw each panel as a figure of its own."""
        for name, panel in self.panels.items():
            yield name, panel, self._drawn([panel], 1, panel.height)

    def _drawn(self, panels: Sequence[Panel], columns: int, height: float | None = None) -> Figure:
        columns = max(1, min(columns, len(panels)))
        rows = max(1, math.ceil(len(panels) / columns))
        with _styled():
            size = (self.size[0] * columns, (height or self.size[1]) * rows)
            figure = Figure(figsize=size, layout="constrained")
            grid = figure.subplots(rows, columns, squeeze=False).ravel()
            for axes, panel in zip(grid, panels, strict=False):
                axes.set_title(short(panel.title))
                panel.draw(axes)
            for axes in grid[len(panels) :]:
                axes.remove()
            if self.legend:
                marks = [_mark_of(color) for color, _ in self.legend]
                names = [name for _, name in self.legend]
                place = "outside upper left"
                figure.legend(marks, names, loc=place, ncols=4 * columns)
        return figure


def write_figures(charts: Iterable[Chart], folder: Path, form: str = "png") -> list[Path]:
    """Write each panel of each chart as ``chart-panel.png`` or another form; return where."""
    written = []
    for chart in track(list(charts), "drawing figures"):
        for name, _, figure in chart.apart():
            path = folder / f"{chart.name}-{_file_name(name)}.{form}"
            with replacing(path) as aside:
                aside.write_bytes(_saved(figure, form))
            written.append(path)
    return written


def save(figure: _Figure, path: Path) -> None:
    """Write a figure in the form that the file's name ends with: PNG, PDF or SVG."""
    with replacing(path) as aside:
        aside.write_bytes(_saved(figure, path.suffix.removeprefix(".").lower() or "png"))


def _saved(figure: _Figure, form: str) -> bytes:
    buffer = io.BytesIO()
    none = {"Date": None} if form == "svg" else {"CreationDate": None} if form == "pdf" else {}
    with _styled():
        figure.savefig(buffer, format=form, dpi=_DPI, metadata=none)
    return buffer.getvalue()


@contextmanager
def _styled() -> Iterator[None]:
    """Draw in our style; letters that a font lacks and names that are too long are no news."""
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _file_name(name: str) -> str:
    """Return a name with which a file can be written on any system."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)[:80]


def svg(figure: _Figure, title: str) -> str:
    """Return a figure to stand in a page: with the page's colors and fonts, light and dark.

    A page allows no style in elements, so matplotlib's become attributes. The notes of all marks
    are read to those who cannot see them.
    """
    notes = [title]
    variables = {color: f"var(--{name})" for name, color in LIGHT.items()}
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    root = ET.fromstring(_FORBIDDEN.sub("", _saved(figure, "svg").decode()))
    for parent in list(root.iter()):
        parent.tail = None  # line breaks
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
        for declared in parent.attrib.pop("style", "").split(";"):
            name, _, value = (each.strip() for each in declared.partition(":"))
            if name == "font":
                words = value.split(" ")
                parent.set("font-size", next(word for word in words if word.endswith("px")))
                if "bold" in words or "700" in words:
                    parent.set("font-weight", "bold")
            elif name:
                parent.set(name, variables.get(value, value))
        given = parent.get("id", "")
        if parent.tag == f"{{{_SVG}}}g":
            parent.attrib.pop("id", None)
        if given.startswith(_TIP):
            note = ET.Element(f"{{{_SVG}}}title")
            note.text = given.removeprefix(_TIP)
            notes.append(note.text)
            parent.insert(0, note)
    for name, text in {"class": "chart", "role": "img", "aria-label": "; ".join(notes)}.items():
        root.set(name, text)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    return ET.tostring(root, encoding="unicode")


def short(name: str) -> str:
    """Cut a name that is too long to stand in a figure."""
    name = " ".join(name.split())
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _mark_of(color: str) -> Line2D:
    return Line2D([], [], linestyle="none", marker=_marker(color), color=LIGHT[color])


def _marker(color: str) -> str:
    return _MARKERS[int(color[1:])] if color[1:].isdigit() else "o"


def tip(note: str) -> str:
    """Return the id of something that tells a note when it is pointed at."""
    return f"{_TIP}{note}"


def mark(axes: Axes, x: float, y: float, color: str, note: str, **more: Any) -> None:
    """Draw a mark that tells something when it is pointed at."""
    given: dict[str, Any] = {"marker": _marker(color), "zorder": 3.0 + (color == "s0")} | more
    axes.plot([x], [y], color=LIGHT[color], linestyle="none", gid=tip(note), **given)


class Point(NamedTuple):
    """A value with what is likely around it, and what to say of it."""

    x: float
    y: float
    low: float
    high: float
    note: str


class Line(NamedTuple):
    """Points that belong together."""

    name: str
    points: Sequence[Point]
    color: str


def draw_lines(
    axes: Axes,
    lines: Sequence[Line],
    *,
    x_title: str,
    y_title: str,
    dodged: bool = False,
    is_log: bool = False,
) -> None:
    """Draw lines, each named where it ends; the first color lies above the others.

    Points of lines that are ``dodged`` stand side by side and have whiskers: the bands of several
    lines could not be told apart.
    """
    if is_log:
        axes.set_xscale("log", base=2)
        axes.minorticks_off()
    xs = sorted({point.x for line in lines for point in line.points})
    nearest = min((b - a for a, b in pairwise(xs)), default=1.0)
    step = min(0.02 * (xs[-1] - xs[0]), 0.7 * nearest / len(lines)) if dodged else 0.0
    for number, line in enumerate(lines):
        shift = step * (number - (len(lines) - 1) / 2)
        at = [point.x + shift for point in line.points]
        ys, lows, highs = ([p[i] for p in line.points] for i in (1, 2, 3))
        color, above = LIGHT[line.color], line.color == "s0"
        if highs > lows and dodged and (len(lines) <= _WHISKERED or above):
            axes.vlines(at, lows, highs, color=color, alpha=0.6, linewidth=1.1)
        elif highs > lows and not dodged and len(at) > 1:
            axes.fill_between(at, lows, highs, color=color, alpha=0.14, linewidth=0)
        axes.plot(at, ys, color=color, linewidth=2.0 if above else 1.3, zorder=2.0 + above)
        for x, point in zip(at, line.points, strict=True):
            mark(axes, x, point.y, line.color, point.note)
    if len(xs) <= 8:
        axes.set_xticks(xs, [f"{x:g}" for x in xs])
    axes.grid(axis="y")
    axes.set_xlabel(x_title)
    title_y_axis(axes, y_title)
    if len(lines) > 1:
        _name_lines(axes, lines)


def title_y_axis(axes: Axes, words: str) -> None:
    """Write what an axis shows above it, where it is read without turning the head."""
    axes.set_title(axes.get_title(loc="left"), pad=18)
    axes.annotate(
        words,
        (0, 1),
        (0, 7),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=8,
        color=LIGHT["soft"],
    )


def _name_lines(axes: Axes, lines: Sequence[Line]) -> None:
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    figure: Any = axes.figure
    rows = axes.get_gridspec().nrows  # type: ignore[union-attr]
    gap = _LABEL_GAP / (figure.get_size_inches()[1] / rows * 72 * 0.66)  # of the axes' height
    wanted = [(line.points[-1].y - low) / (high - low) for line in lines]
    for line, place, start in zip(lines, spread(wanted, gap), wanted, strict=True):
        own: dict[str, Any] = {
            "color": LIGHT[line.color], "transform": axes.transAxes, "clip_on": False
        }  # fmt: skip
        axes.plot([1.0, 1.05], [start, place], linewidth=0.6, alpha=0.6, **own)
        axes.plot([1.07], [place], marker=_marker(line.color), **own)
        weight = "bold" if line.color == "s0" else "normal"
        name, at = short(line.name), axes.transAxes
        axes.text(1.1, place, name, transform=at, va="center", fontweight=weight)


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Return places from 0 to 1 near the wanted ones, in their order, at least ``gap`` apart.

    Where there is not enough room for all, they are evenly spaced.

    Examples
    --------
    >>> spread([0.5, 0.5, 0.9], gap=0.2)
    [0.4, 0.6, 0.9]
    """
    gap = min(gap, 1 / max(1, len(wanted) - 1))
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    free = np.asarray(wanted)[order] - steps
    # Pushed up from below, pushed down from above: half of both is in order, too.
    pushed = np.maximum.accumulate(free) + np.minimum.accumulate(free[::-1])[::-1]
    placed = np.empty(len(wanted))
    placed[order] = np.clip(pushed / 2, 0, 1 - steps[-1]) + steps
    return placed.round(9).tolist()
