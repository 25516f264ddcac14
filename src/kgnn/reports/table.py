"""A table as plain data, and as Markdown, LaTeX or HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kgnn.evaluation.splits import Labels
from kgnn.reports.comparison import REFERENCE, Comparison
from kgnn.reports.markup import Markup, element, joined, scrolling
from kgnn.reports.paper import Printed
from kgnn.reports.results import Results

# A bare & or < is harmless; one that begins an entity or an element is not.
_MARKDOWN = re.compile(r"([\\`*_|\[\]$~]|<(?=[A-Za-z/!?])|&(?=#?\w+;))")
_PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[landscape,margin=1.5cm]{geometry}
\usepackage{amssymb,booktabs,graphicx}
"""
_NOTHING = "\N{ZERO WIDTH NON-JOINER}"  # keeps two hyphens from becoming a dash
# Brackets and stars are options of a line break where they begin a row.
_LATEX = {
    _NOTHING: "{}",
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{character: f"{{{character}}}" for character in "[]*"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "…": r"\dots{}",
    "→": r"$\to$",
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$",
    "Π": r"$\Pi$",
    "α": r"$\alpha$",
    "θ": r"$\theta$",
    "φ": r"$\phi$",
}
_LATEX_MARKS = {
    "▲": r"\textsuperscript{$\blacktriangle$}",
    "▼": r"\textsuperscript{$\blacktriangledown$}",
}
# A cell to where the data of the page tells of it, if it does.
Positions = Callable[["TableCell"], "int | None"]
_MARK_TITLES = {"▲": "significantly better", "▼": "significantly worse"}


@dataclass(frozen=True)
class TableCell:
    """What stands in one place of a table, and where it comes from."""

    text: str = ""  # to be read, without any markup; empty where there is nothing
    aside: str = ""  # A second number that belongs to the first, smaller; may have several lines
    is_best: bool = False  # whether nothing in the column is better, as printed
    # What it is about, where it is about one.
    method: str = ""
    dataset: str = ""
    # Of the method, where they are not the defaults.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    # The numbers behind the text; ``interval`` is half the width of the 95 % interval.
    mean: float | None = None
    std: float | None = None
    interval: float | None = None
    n: int = 0  # splits behind the number
    paper: Printed | None = None  # what the paper printed here
    comparison: Comparison | None = None  # with KGNN on the same splits
    # Where the number is a difference, the method, with its defaults, that was subtracted.
    minus: str = ""

    @property
    def mark(self) -> str:
        """▲ where significantly better than KGNN, ▼ where worse."""
        verdict = self.comparison.verdict if self.comparison else ""
        return {"better": "▲", "worse": "▼", "": ""}[verdict]


@dataclass(frozen=True)
class Table:
    """Headings and rows; the first column names the row."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]  # each as long as the headings
    notes: tuple[str, ...] = ()  # what a reader has to know; sentences
    protocol: str = "fair"
    labels: Labels = 0.1  # on which terms the runs of its cells were made

    @property
    def is_empty(self) -> bool:
        """Whether all cells but the names of rows are empty of our numbers."""
        return not any(cell.text for row in self.rows for cell in row[1:])


def method_column(
    methods: Sequence[str], dataset: str, cell: Callable[[str, str], TableCell]
) -> list[TableCell]:
    """Return a cell for each method, which says of what it is."""
    return [replace(cell(m, dataset), method=m, dataset=dataset) for m in methods]


def with_best(
    column: list[TableCell], decimals: int, *, lowest: bool = False, fewest: int = 0
) -> list[TableCell]:
    """Say which cells are best; those that are printed with the same number all are.

    Cells of fewer than ``fewest`` splits do not count.
    """
    means = [
        None if cell.mean is None or cell.n < fewest else round(cell.mean, decimals)
        for cell in column
    ]
    there = [mean for mean in means if mean is not None]
    if not there:
        return column
    best = min(there) if lowest else max(there)
    return [replace(cell, is_best=mean == best) for cell, mean in zip(column, means, strict=True)]


def method_table(
    results: Results,
    title: str,
    methods: Sequence[str],
    columns: Sequence[tuple[str, list[TableCell]]],
    notes: Iterable[str] = (),
) -> Table:
    """Put columns, each with its heading, beside the methods; empty notes are left out."""
    names = [TableCell(results.title(method), method=method) for method in methods]
    return Table(
        title,
        ("method", *(heading for heading, _ in columns)),
        tuple(zip(names, *(column for _, column in columns), strict=True)),
        tuple(filter(None, notes)),
    )


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


def table_markdown(table: Table) -> str:
    """Return a table, with its notes below; the title is left to the page."""
    lines = [_markdown_row(map(escape_markdown, table.headings))]
    lines.append(_markdown_row(["---", *["---:"] * (len(table.headings) - 1)]))
    lines += [_markdown_row(map(_markdown_cell, row)) for row in table.rows]
    notes = " ".join(map(escape_markdown, table.notes))
    return "\n".join([*lines, "", *([notes, ""] if notes else [])])


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: TableCell) -> str:
    text = escape_markdown(cell.text)
    if cell.is_best:
        text = f"**{text}**"
    if cell.mark:
        text = f"{text} {cell.mark}"
    aside = f"<sub>{escape_markdown(cell.aside)}</sub>" if cell.aside else ""
    # Without a number of ours, its line stays empty, so the other is not taken for it.
    return f"{text}<br>{aside}" if aside else text


def escape_latex(text: str) -> str:
    r"""Return text so that LaTeX prints it as it is.

    Examples
    --------
    >>> print(escape_latex("PTC_MR: 50 % & 3 ± 1, Π-Model"))
    PTC\_MR: 50 \% \& 3 $\pm$ 1, $\Pi$-Model
    """
    apart = re.sub("-(?=-)", f"-{_NOTHING}", " ".join(text.split()))
    return "".join(_LATEX.get(character, character) for character in apart)


def table_latex(table: Table) -> str:
    """Return a table that needs the packages booktabs, graphicx and amssymb."""
    lines = [
        r"\begin{table*}[ht]",
        r"\centering",
        rf"\caption{{{_caption(table)}}}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * (len(table.headings) - 1)}}}",
        r"\toprule",
        _latex_row(rf"\textbf{{{escape_latex(heading)}}}" for heading in table.headings),
        r"\midrule",
        *(_latex_row(map(_latex_cell, row)) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def latex_document(tables: Iterable[Table]) -> str:
    """Return a whole document with a table on each page."""
    pages = "\n\\clearpage\n".join(map(table_latex, tables))
    return f"{_PREAMBLE}\\begin{{document}}\n{pages}\\end{{document}}\n"


def _caption(table: Table) -> str:
    """Return title and notes; LaTeX numbers tables itself, so the paper's number comes after."""
    number, _, name = table.title.rpartition(": ")
    is_papers = number.startswith("Table ")
    title = f"{name[:1].upper()}{name[1:]}, as {number} of the paper" if is_papers else table.title
    return " ".join(map(escape_latex, (f"{title}.", *table.notes)))


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: TableCell) -> str:
    # Without a number of ours, a dash keeps the other from being taken for it.
    text = escape_latex(cell.text or ("–" if cell.aside else ""))
    if cell.is_best:
        text = rf"\textbf{{{text}}}"
    text += _LATEX_MARKS.get(cell.mark, "")
    return f"{text} {{\\scriptsize {escape_latex(cell.aside)}}}" if cell.aside else text


def html_table(table: Table, positions: Positions) -> Markup:
    """Return a table in a box that scrolls by itself, with its notes below."""
    body = [_html_row(row, positions) for row in table.rows]
    notes = " ".join(note for note in table.notes if note)
    return joined(
        scrolling(table.title, table.headings, body),
        element("p", notes, class_="note") if notes else None,
    )


def _html_row(cells: Sequence[TableCell], positions: Positions) -> Markup:
    name, *others = cells
    return element(
        "tr",
        element("th", name.text, scope="row"),
        *(_html_cell(cell, positions) for cell in others),
        class_="ours" if name.method == REFERENCE else None,
    )


def _html_cell(cell: TableCell, positions: Positions) -> Markup:
    # Without a number of ours, a dash keeps the other from being taken for it.
    text = cell.text or ("–" if cell.aside else "")
    number = element("b", text) if cell.is_best else text
    position = positions(cell)
    if position is not None and cell.text:
        other = replace(cell, method=cell.minus, parameters={})
        minus = positions(other) if cell.minus else None
        number = element("button", number, type="button", data_group=position, data_minus=minus)
    mark = element("abbr", cell.mark, title=_MARK_TITLES[cell.mark]) if cell.mark else None
    aside = element("small", cell.aside) if cell.aside else None
    return element("td", number, mark, aside)
