"""Tables as LaTeX, for papers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kgnn.reports.table_data import Table, TableCell

_PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[landscape,margin=1.5cm]{geometry}
\usepackage{amssymb,booktabs,graphicx}
"""
_NOTHING = "\N{ZERO WIDTH NON-JOINER}"  # keeps two hyphens from becoming a dash
# Brackets and stars are options of a line break where they begin a row.
_SPECIAL = {
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
_MARKS = {
    "▲": r"\textsuperscript{$\blacktriangle$}",
    "▼": r"\textsuperscript{$\blacktriangledown$}",
}


def escape_latex(text: str) -> str:
    r"""Return text so that LaTeX prints it as it is.

    Examples
    --------
    >>> print(escape_latex("PTC_MR: 50 % & 3 ± 1, Π-Model"))
    PTC\_MR: 50 \% \& 3 $\pm$ 1, $\Pi$-Model
    """
    apart = re.sub("-(?=-)", f"-{_NOTHING}", " ".join(text.split()))
    return "".join(_SPECIAL.get(character, character) for character in apart)


def table_latex(table: Table) -> str:
    """Return a table that needs the packages booktabs, graphicx and amssymb."""
    lines = [
        r"\begin{table*}[ht]",
        r"\centering",
        rf"\caption{{{_caption(table)}}}",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * (len(table.headings) - 1)}}}",
        r"\toprule",
        _row(rf"\textbf{{{escape_latex(heading)}}}" for heading in table.headings),
        r"\midrule",
        *(_row(map(_cell, row)) for row in table.rows),
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


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: TableCell) -> str:
    # Without a number of ours, nobody shall take the other for ours.
    text = escape_latex(cell.text or ("–" if cell.aside else ""))
    if cell.is_best:
        text = rf"\textbf{{{text}}}"
    text += _MARKS.get(cell.mark, "")
    return f"{text} {{\\scriptsize {escape_latex(cell.aside)}}}" if cell.aside else text
