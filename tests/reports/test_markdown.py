import re

import pytest

from kgnn.reports.comparison import Comparison
from kgnn.reports.markdown import code, escape_markdown, table_markdown
from kgnn.reports.table_data import Table, TableCell


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


def test_a_block_of_code_is_longer_than_any_fence_inside():
    assert code("kgnn bench") == "```bash\nkgnn bench\n```\n"
    assert code("echo ````").startswith("`````bash\n")
