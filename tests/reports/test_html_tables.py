from kgnn.reports.comparison import Comparison
from kgnn.reports.html_tables import html_table
from kgnn.reports.table_data import Table, TableCell


def shown(*cells, name="KGNN", method="kgnn", position=3):
    headings = ("method", *("DD" for _ in cells))
    table = Table("Accuracy", headings, ((TableCell(name, method=method), *cells),), ("A note.",))
    return html_table(table, lambda cell: position)


def test_numbers_with_records_are_buttons_and_others_are_not():
    assert shown(TableCell("73.2")).count("<button") == 1
    assert "<button" not in shown(TableCell("73.2"), position=None)
    assert "<button" not in shown(TableCell("", aside="70.9"))


def test_an_empty_place_is_not_filled_by_the_paper():
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


def test_kgnn_stands_out_and_the_box_scrolls_by_itself():
    assert 'class="ours"' in shown(TableCell("1"))
    assert 'class="ours"' not in shown(TableCell("1"), name="WL", method="wl")
    assert 'class="scroll" tabindex="0" role="region"' in shown(TableCell("1"))


def test_cells_are_escaped():
    table = shown(TableCell("<i>", aside="<s>"), name="<u>")
    assert not {"<i>", "<s>", "<u>"} & set(table.replace(">", "> ").split())
    assert "&lt;i&gt;" in table
