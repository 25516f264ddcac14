"""Tables of text, whatever their separator."""

import pytest

from kgnn.errors import GraphDataError, Skipped
from kgnn.graphs.readers.text import csv_rows, find_column


def rows_of(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    return [(row.line, row.cells) for row in csv_rows(path)]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_the_header_s(tmp_path, separator):
    text = f"id{separator}label\na{separator}x y\n"
    assert rows_of(tmp_path, text) == [(1, ["id", "label"]), (2, ["a", "x y"])]


def test_lines_are_counted_with_blank_ones_and_quoted_cells_may_span_them(tmp_path):
    text = 'id,label\n\na,"x\ny"\nb,z\n'
    assert [line for line, _ in rows_of(tmp_path, text)] == [1, 4, 5]


def test_rows_come_as_they_are_asked_for(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,label\na,x\nb\n")
    rows = csv_rows(path)
    assert [next(rows).line, next(rows).line] == [1, 2]
    with pytest.raises(GraphDataError, match=r"line 3: expected 2 cells, got 1: \['b'\]"):
        next(rows)


def test_an_open_quote_is_refused_by_line(tmp_path):
    with pytest.raises(GraphDataError, match="line 2: not readable as CSV"):
        rows_of(tmp_path, 'id,label\n"a,x\n')


def test_columns_are_asked_for_or_recognized(tmp_path):
    header = ["ID", "Klasse"]
    assert find_column(tmp_path, header, None, ("id",)) == 0
    assert find_column(tmp_path, header, "Klasse", ("label",)) == 1
    assert find_column(tmp_path, header, None, ("label",)) is None
    with pytest.raises(GraphDataError, match="has no column 'class', only"):
        find_column(tmp_path, header, "class", ("label",))


def test_an_open_quote_is_told_with_the_lines_that_it_swallows(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('a,b\n1,2\n"3,4\n5,6\n7,8\n')
    with pytest.raises(GraphDataError, match="x.csv, lines 3 to 5: not readable as CSV"):
        list(csv_rows(path))


def test_rows_can_be_left_out_but_not_the_header(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b'a,b\n1\n2,3\n\xff,4\n"5"6,7\n8,9\n0,"1')
    skipped = Skipped()
    assert [row.cells for row in csv_rows(path, on_error=skipped)] == [
        ["a", "b"], ["2", "3"], ["8", "9"]
    ]  # fmt: skip
    assert skipped.n == 4
    for header in (b"a,\xff", b'"a"b,c', b"a\0,b"):
        path.write_bytes(header + b"\n1,2\n")
        with pytest.raises(GraphDataError, match="x.csv, line 1: "):
            list(csv_rows(path, on_error=skipped))


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path):
    with pytest.raises(GraphDataError, match="cannot be read: Is a directory"):
        list(csv_rows(tmp_path))
