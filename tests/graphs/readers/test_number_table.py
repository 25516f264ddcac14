"""Tables of numbers are read exactly, or the bad line is named."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgnn.errors import GraphDataError
from kgnn.graphs.readers.archive import TextFiles
from kgnn.graphs.readers.number_table import read_pieces, read_table
from tests.graphs.mutations import mutated


def table(folder, text, dtype=np.int64, columns=None):
    (folder / "t.txt").write_text(text)
    return read_table(TextFiles(folder), "t.txt", dtype, columns)


_INTEGERS = st.integers(-(2**63) + 2, 2**63 - 2)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(_INTEGERS, _INTEGERS), min_size=1))
def test_integers_are_read_exactly(tmp_path_factory, rows):
    text = "".join(f"{u}, {v}\n" for u, v in rows)
    assert table(tmp_path_factory.getbasetemp(), text).tolist() == [list(row) for row in rows]


@given(st.lists(st.lists(_FLOATS, min_size=3, max_size=3), min_size=1))
def test_floats_are_read_exactly(tmp_path_factory, rows):
    text = "".join(",".join(map(repr, row)) + "\n" for row in rows)
    assert table(tmp_path_factory.getbasetemp(), text, np.float64).tolist() == rows


def test_line_ends_of_windows_and_blank_lines_at_the_end_do_no_harm(tmp_path):
    assert table(tmp_path, "1,2\r\n3,4\r\n\r\n").tolist() == [[1, 2], [3, 4]]


def test_an_empty_file_is_an_empty_table(tmp_path):
    assert table(tmp_path, "", columns=2).shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nx\n", "line 2: expected an integer, got 'x'"),
        ("1\n2.5\n", "line 2: expected an integer, got '2.5'"),
        ("1\n\n2\n", "line 2: expected an integer, got ''"),
        ("1\n1 2\n", "line 2: expected an integer, got '1 2'"),
        ("1\n2, 3\n", "line 2: expected 1 value, got 2 in '2, 3'"),
        ("1, 2\n3\n", "line 2: expected 2 values, got 1 in '3'"),
        ("1, 2\n3, 4,\n", "line 2: expected 2 values, got 3"),
        ("1\n99999999999999999999\n", "line 2: expected an integer, got '99999999999999999999'"),
        ("1\n0x10\n", "line 2: expected an integer, got '0x10'"),
        ("1\n-\n", "line 2: expected an integer, got '-'"),
        ("+\n1\n\n", r"line 1: expected an integer, got '\+'"),
        ("1\n- 2\n", "line 2: expected an integer, got '- 2'"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, message):
    with pytest.raises(GraphDataError, match=message):
        table(tmp_path, text)


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf", "1e999", "one"])
def test_numbers_that_are_not_finite_are_refused(tmp_path, bad):
    with pytest.raises(GraphDataError, match=f"line 2: expected a finite number, got '{bad}'"):
        table(tmp_path, f"1.5, 2\n3, {bad}\n", np.float64)


def test_lines_are_counted_across_pieces(tmp_path, monkeypatch):
    whole = TextFiles.chunks
    monkeypatch.setattr(TextFiles, "chunks", lambda self, name: whole(self, name, 8))
    (tmp_path / "t.txt").write_text("1\n2\n3\n4\n5\n6\n7\n8\nx\n")
    with pytest.raises(GraphDataError, match="line 9"):
        list(read_pieces(TextFiles(tmp_path), "t.txt", np.int64))


def test_a_missing_number_is_not_made_up_for_by_another(tmp_path):
    for text, columns in (("1 2\n\n3\n", 1), ("1 2,\n3, 4\n", 2), ("1,2,3\n4 5, ,6\n", 3)):
        with pytest.raises(GraphDataError, match="line"):
            table(tmp_path, text, columns=columns)


def test_a_byte_order_mark_does_no_harm(tmp_path):
    assert table(tmp_path, "\ufeff1,2\n3,4\n").tolist() == [[1, 2], [3, 4]]


_PLAIN = re.compile(r"[ \t\v\f\r]*[+-]?\d{1,19}[ \t\v\f\r]*", re.ASCII)


@settings(max_examples=300)
@given(mutated(b"1, 2\n30, -4\n5, 6\n"))
def test_a_damaged_table_is_refused_or_read_as_a_slow_reader_would(tmp_path_factory, content):
    folder = tmp_path_factory.getbasetemp()
    (folder / "t.txt").write_bytes(content)
    try:
        found = read_table(TextFiles(folder), "t.txt", np.int64, 2)
    except GraphDataError as error:
        told = str(error)
        assert "t.txt" in told
        return
    text = content.removeprefix(b"\xef\xbb\xbf").rstrip().decode()
    lines = [line.split(",") for line in text.split("\n")] if text else []
    assert all(_PLAIN.fullmatch(cell) for line in lines for cell in line)
    assert found.tolist() == [[int(cell) for cell in line] for line in lines]
