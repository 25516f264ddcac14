import re

import pytest

from kgnn.reports.comparison import Comparison
from kgnn.reports.report_tables import report_tables
from kgnn.reports.results import Results
from kgnn.reports.table import (
    Table,
    TableCell,
    escape_latex,
    escape_markdown,
    html_table,
    latex_document,
    table_latex,
    table_markdown,
)
from tests.reports.stores import TABLE_2, TABLE_3, records


def columns(line):
    return len(re.findall(r"(?<!\\)\|", line)) - 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PTC_MR", r"PTC\_MR"),
        ("a|b", r"a\|b"),
        ("**bold** `code` [x](y)", r"\*\*bold\*\* \`code\` \[x\](y)"),
        ("<script>", r"\<script>"),
        ("&lt; & p < 0.05", r"\&lt; & p < 0.05"),
        ("C:\\new\nline", r"C:\\new line"),
        ("73.2 ± 2.0 → −1", "73.2 ± 2.0 → −1"),
    ],
)
def test_text_is_shown_as_it_is(text, expected):
    assert escape_markdown(text) == expected


def test_a_cell_shows_all_its_parts():
    worse = Comparison("wl", "kgnn", "DD", 5, -3.0, p=0.001, holm_p=0.01)
    rows = (
        (TableCell("WL"), TableCell("70.1 ± 1.0", "57.3 ± 1.2", comparison=worse)),
        (TableCell("KGNN"), TableCell("73.1 ± 1.0", is_best=True)),
        (TableCell("VAT"), TableCell("", "59.9 ± 2.6")),
        (TableCell("none"), TableCell()),
    )
    lines = table_markdown(Table("t", ("method", "DD"), rows)).splitlines()
    assert lines[2:] == [
        "| WL | 70.1 ± 1.0 ▼<br><sub>57.3 ± 1.2</sub> |",
        "| KGNN | **73.1 ± 1.0** |",
        "| VAT | <br><sub>59.9 ± 2.6</sub> |",
        "| none |  |",
    ]


def test_no_text_breaks_the_table():
    nasty = "a|b\n| c | <br> \\"
    table = Table("t", (nasty, nasty), ((TableCell(nasty), TableCell(nasty, nasty)),), (nasty,))
    lines = table_markdown(table).splitlines()
    assert [columns(line) for line in lines[:3]] == [2, 2, 2]
    assert lines[3] == ""


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


def test_a_cell_shows_all_its_parts_latex():
    better = Comparison("wl", "kgnn", "DD", 5, 3.0, p=0.001, holm_p=0.01)
    cell = TableCell("70.1 ± 1.0", "57.3", is_best=True, comparison=better)
    lines = table_latex(Table("t", ("method", "DD"), ((TableCell("WL"), cell),))).splitlines()
    assert (
        r"WL & \textbf{70.1 $\pm$ 1.0}\textsuperscript{$\blacktriangle$} {\scriptsize 57.3} \\"
    ) in lines


def test_an_empty_place_is_not_filled_by_the_paper():
    table = Table("t", ("method", "DD"), ((TableCell("WL"), TableCell("", "57.3")),))
    assert r"WL & -- {\scriptsize 57.3} \\" in table_latex(table)


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


def shown(*cells, name="KGNN", method="kgnn", position=3):
    headings = ("method", *("DD" for _ in cells))
    table = Table("Accuracy", headings, ((TableCell(name, method=method), *cells),), ("A note.",))
    return html_table(table, lambda cell: position)


def test_numbers_with_records_are_buttons_and_others_are_not():
    assert shown(TableCell("73.2")).count("<button") == 1
    assert "<button" not in shown(TableCell("73.2"), position=None)
    assert "<button" not in shown(TableCell("", aside="70.9"))


def test_an_empty_place_is_not_filled_by_the_paper_html_tables():
    assert "<td>–<small>70.9</small></td>" in shown(TableCell("", aside="70.9"))
    assert "<td></td>" in shown(TableCell())


def test_a_difference_leads_to_both_sides():
    cell = TableCell("+1.0", method="kgnn", dataset="DD", minus="wl")
    table = Table("t", ("method", "DD"), ((TableCell("WL"), cell),))
    page = html_table(table, lambda cell: {"kgnn": 3, "wl": 5}.get(cell.method))
    assert 'data-group="3" data-minus="5"' in page
    assert "data-minus" not in shown(TableCell("1.0"))


def test_the_best_is_bold_and_marks_say_what_they_mean():
    worse = Comparison("wl", "kgnn", "DD", 5, -3.0, p=0.001, holm_p=0.01)
    table = shown(TableCell("73.2", is_best=True), TableCell("70", comparison=worse))
    assert "<b>73.2</b>" in table
    assert 'title="significantly worse"' in table


def test_cells_are_escaped():
    table = shown(TableCell("<i>", aside="<s>"), name="<u>")
    assert not {"<i>", "<s>", "<u>"} & set(table.replace(">", "> ").split())
    assert "&lt;i&gt;" in table
