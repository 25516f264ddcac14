"""A table as plain data; as Markdown, LaTeX and a data frame."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kgnn.errors import MissingExtraError
from kgnn.reports.paper import Printed
from kgnn.reports.results import Group

if TYPE_CHECKING:
    import pandas as pd

# A bare & or < is harmless; one that begins an entity or an element is not.
_MARKDOWN = re.compile(r"([\\`*_|\[\]$~]|<(?=[A-Za-z/!?])|&(?=#?\w+;))")
_LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "-": "{-}",  # else two become a dash
}
_LAST_LATIN = 0x17E
# What pdflatex needs to be told of our letters and signs.
_LETTERS = {
    "▲": r"\textsuperscript{$\blacktriangle$}",
    "▼": r"\textsuperscript{$\blacktriangledown$}",
    "−": "$-$",
    "→": r"$\to$",
    "Π": r"$\Pi$",
    "α": r"$\alpha$",
}
_PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[landscape,margin=1.5cm]{geometry}
\usepackage{amssymb,booktabs,graphicx,textcomp}
\newcommand{\fitting}[1]{\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{#1}}
""" + "".join(
    f"\\DeclareUnicodeCharacter{{{ord(letter):04X}}}{{{command}}}\n"
    for letter, command in _LETTERS.items()
)


@dataclass(frozen=True)
class Cell:
    """The content of one cell of a table, and its source."""

    text: str = ""  # plain text; may be empty
    aside: str = ""  # a second number in small print; may have several lines
    mark: str = ""  # ▲ if significantly better than the reference, ▼ if worse
    is_best: bool = False  # whether nothing in the column is better, as printed
    value: float | None = None  # the number behind the text
    std: float | None = None
    n: int = 0  # splits behind the number
    paper: Printed | None = None  # what the paper printed here
    group: Group | None = None  # the records behind the number
    minus: Group | None = None  # if the number is a difference, the group that was subtracted


class Row(NamedTuple):
    """A name and a cell for each column."""

    name: str
    cells: tuple[Cell, ...]
    is_reference: bool = False


@dataclass(frozen=True)
class Table:
    """Headings and rows; the first heading is that of the row names."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: str = ""  # sentences below the table

    @property
    def is_empty(self) -> bool:
        """Whether all cells are empty."""
        return not any(cell.text for row in self.rows for cell in row.cells)

    def without_empty_columns(self) -> Table:
        """Return the table with the columns that have any text."""
        kept = [i for i in range(len(self.headings) - 1) if any(r.cells[i].text for r in self.rows)]
        rows = [row._replace(cells=tuple(row.cells[i] for i in kept)) for row in self.rows]
        headings = (self.headings[0], *(self.headings[i + 1] for i in kept))
        return replace(self, headings=headings, rows=tuple(rows))

    def frame(self) -> pd.DataFrame:
        """Return the numbers as a data frame, for each heading ``value``, ``std``, ``mark``, ….

        Values that no cell of a column has are left out, and so are columns without numbers.
        """
        columns: dict[tuple[str, str], list[Any]] = {}
        for at, heading in enumerate(self.headings[1:]):
            cells = [row.cells[at] for row in self.rows]
            own: dict[str, list[Any]] = {
                "value": [cell.value for cell in cells],
                "std": [cell.std for cell in cells],
                "n": [cell.n or None for cell in cells],
                "mark": [cell.mark or None for cell in cells],
                "paper": [cell.paper.mean if cell.paper else None for cell in cells],
            }
            for name, values in own.items():
                if any(value is not None for value in values):
                    columns[heading, name] = values
        frame = data_frame(columns)
        frame.index = [row.name for row in self.rows]
        frame.index.name = self.headings[0]
        return frame


def data_frame(data: Any) -> pd.DataFrame:
    """Return a data frame, or say how to install pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("A data frame", "pandas", "plot") from error
    return pd.DataFrame(data)


def with_best(column: Sequence[Cell], *, lowest: bool = False, fewest: int = 0) -> list[Cell]:
    """Mark the best cells; all that are printed with the best number are marked.

    Cells of fewer than ``fewest`` splits do not count.
    """
    values = [None if c.value is None or c.n < fewest else round(c.value, 1) for c in column]
    there = [value for value in values if value is not None]
    best = (min if lowest else max)(there, default=math.nan)
    return [replace(c, is_best=value == best) for c, value in zip(column, values, strict=True)]


# Formatting of numbers, the same everywhere.


def mean_with_std(mean: float, std: float | None, n: int) -> str:
    """Write a mean; a single value has no deviation to show.

    Examples
    --------
    >>> mean_with_std(73.18, 2.04, n=5), mean_with_std(73.18, 0.0, n=1)
    ('73.2 ± 2.0', '73.2')
    """
    return f"{mean:.1f} ± {std:.1f}" if std is not None and n > 1 else f"{mean:.1f}"


def signed(value: float) -> str:
    """Write a difference; one that rounds to zero has no sign.

    Examples
    --------
    >>> signed(1.25), signed(-0.31), signed(-0.04)
    ('+1.2', '−0.3', '0.0')
    """
    rounded = round(value, 1)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return f"{sign}{abs(rounded):.1f}"


def p_value(p: float) -> str:
    """Write a p-value.

    Examples
    --------
    >>> p_value(0.0421), p_value(0.00001)
    ('0.042', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def listed(several: Iterable[str]) -> str:
    """Write words as a list.

    Examples
    --------
    >>> listed(["DD"]), listed(["DD", "COLLAB"]), listed(["a", "b", "c"])
    ('DD', 'DD and COLLAB', 'a, b and c')
    """
    words = list(several)
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def counted(n: int, what: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> counted(1, "run"), counted(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{n:,} {what}{'s' if n != 1 else ''}"


# Markdown.


def escape_markdown(text: str) -> str:
    r"""Return text so that Markdown shows it as it is, also inside a table.

    Examples
    --------
    >>> print(escape_markdown("PTC_MR | <b> & p < 0.05"))
    PTC\_MR \| \<b> & p < 0.05
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def code_markdown(text: str) -> str:
    """Return a command in a code block of its own."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}bash\n{text}\n{fence}\n"


def table_markdown(table: Table, *, notes: bool = True) -> str:
    """Return a table with its notes below; the title is left to the page."""
    lines = [
        _markdown_row(map(escape_markdown, table.headings)),
        _markdown_row(["---", *["---:"] * (len(table.headings) - 1)]),
        *(
            _markdown_row([escape_markdown(row.name), *map(_markdown_cell, row.cells)])
            for row in table.rows
        ),
        "",
    ]
    return "\n".join(
        [*lines, *([escape_markdown(table.notes), ""] if notes and table.notes else [])]
    )


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    text = " ".join(filter(None, [f"**{text}**" if cell.is_best else text, cell.mark]))
    # Without a number of ours, its line stays empty, so the other is not taken for it.
    return f"{text}<br><sub>{escape_markdown(cell.aside)}</sub>" if cell.aside else text


# LaTeX.


def escape_latex(text: str) -> str:
    r"""Return text so that LaTeX prints it as it is, after the preamble of `latex_document`.

    Examples
    --------
    >>> print(escape_latex("PTC_MR: 50 % & 3 ± 1"))
    PTC\_MR: 50 \% \& 3 ± 1
    """
    return "".join(map(_latex_letter, " ".join(text.split())))


def _latex_letter(letter: str) -> str:
    # Of letters beyond Latin, pdflatex knows those that the preamble declares.
    is_known = letter.isprintable() and (ord(letter) <= _LAST_LATIN or letter in {*_LETTERS, "–"})
    return _LATEX.get(letter, letter if is_known else f"U+{ord(letter):04X}")


def latex_document(tables: Iterable[Table]) -> str:
    """Return a whole document with a table on each page."""
    pages = "\n\\clearpage\n".join(map(table_latex, tables))
    return f"{_PREAMBLE}\\begin{{document}}\n{pages}\\end{{document}}\n"


def table_latex(table: Table) -> str:
    """Return a table for a document with the preamble of `latex_document`."""
    headings = (rf"\textbf{{{escape_latex(heading)}}}" for heading in table.headings)
    rows = ([escape_latex(row.name), *map(_latex_cell, row.cells)] for row in table.rows)
    caption = escape_latex(f"{table.title}. {table.notes}")
    body = "\n".join(map(_latex_row, rows))
    return rf"""\begin{{table*}}[ht]
\centering
\caption{{{caption}}}
\fitting{{\begin{{tabular}}{{l{"r" * (len(table.headings) - 1)}}}
\toprule
{_latex_row(headings)}
\midrule
{body}
\bottomrule
\end{{tabular}}}}
\end{{table*}}
"""


def _latex_row(cells: Iterable[str]) -> str:
    # A row that begins with a bracket or a star would be an option of the line break before it.
    return f"{{}}{' & '.join(cells)} \\\\"


def _latex_cell(cell: Cell) -> str:
    # Without a number of ours, a dash keeps the other from being taken for it.
    text = escape_latex(cell.text or ("–" if cell.aside else ""))
    text = (rf"\textbf{{{text}}}" if cell.is_best else text) + cell.mark
    return rf"{text} {{\scriptsize {escape_latex(cell.aside)}}}" if cell.aside else text
