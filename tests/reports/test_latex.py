import re

import pytest

from kgnn.reports.comparison import Comparison
from kgnn.reports.latex import escape_latex, latex_document, table_latex
from kgnn.reports.report_tables import report_tables
from kgnn.reports.results import Results
from kgnn.reports.table_data import Table, TableCell
from tests.reports.stores import TABLE_2, TABLE_3, records


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50 % & #1_x {y}", r"50 \% \& \#1\_x \{y\}"),
        ("a\\b~c^d", r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d"),
        ("p < 0.05", "p $<$ 0.05"),
        ("Π-Model, 3 ± 1", r"$\Pi$-Model, 3 $\pm$ 1"),
        ("--set", "-{}-set"),
        ("none: –", "none: --"),
        ("[1]", "{[}1{]}"),
    ],
)
def test_text_is_printed_as_it_is(text, expected):
    assert escape_latex(text) == expected


def test_a_cell_shows_all_its_parts():
    better = Comparison("wl", "kgnn", "DD", 5, 3.0, p=0.001, holm_p=0.01)
    cell = TableCell("70.1 ± 1.0", "57.3", is_best=True, comparison=better)
    lines = table_latex(Table("t", ("method", "DD"), ((TableCell("WL"), cell),))).splitlines()
    assert (
        r"WL & \textbf{70.1 $\pm$ 1.0}\textsuperscript{$\blacktriangle$} {\scriptsize 57.3} \\"
    ) in lines


def test_an_empty_place_is_not_filled_by_the_paper():
    table = Table("t", ("method", "DD"), ((TableCell("WL"), TableCell("", "57.3")),))
    assert r"WL & -- {\scriptsize 57.3} \\" in table_latex(table)


def test_a_table_has_one_number():
    assert r"\caption{All methods, as Table 2 of the paper. In \%.}" in table_latex(
        Table("Table 2: all methods", ("method",), (), ("In %.",))
    )
    assert r"\caption{WL: accuracy.}" in table_latex(Table("WL: accuracy", ("method",), ()))


def test_a_whole_report_is_well_formed():
    made = records(
        [*TABLE_2, *TABLE_3, "ldp", "a_b&c"], ["PROTEINS", "IMDB-BINARY", "x_1"], range(3)
    )
    tables = report_tables(Results(made))
    text = latex_document(tables)
    assert text.count(r"\begin{tabular}") == len(tables)
    for word in ("document", "table*", "tabular"):
        assert text.count(rf"\begin{{{word}}}") == text.count(rf"\end{{{word}}}")
    bare = re.sub(r"\\[\\{}&%$#_]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[^\x00-\x7f]", text)
    for table, part in zip(tables, text.split(r"\begin{tabular}")[1:], strict=True):
        rows = [re.sub(r"\\&", "", line) for line in part.splitlines() if line.endswith(r" \\")]
        assert {row.count("&") for row in rows} == {len(table.headings) - 1}
        assert len(rows) == len(table.rows) + 1
