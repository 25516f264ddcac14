from kgnn.reports.unfinished import unfinished_table
from tests.reports.stores import records, unfinished


def test_runs_with_the_same_reason_are_one_row():
    there = [unfinished("failed", "vat", "DD", "no memory", seed=seed) for seed in (3, 1)]
    there.append(unfinished("declined", "vat", "DD", "one class", seed=2))
    rows = [[cell.text for cell in row] for row in unfinished_table(there).rows]
    assert rows == [
        ["VAT", "DD", "failed", "splits 1, 3", "no memory"],
        ["VAT", "DD", "declined", "split 2", "one class"],
    ]


def test_unusual_terms_are_told():
    [like] = records(["wl"], ["DD"], [0], protocol="paper", labels=0.025, parameters={"C": [1]})
    failed = type(like)(like.cell, "failed", reason="x")
    [row] = unfinished_table([failed]).rows
    assert row[3].text == "split 0; paper protocol; 2.5 % labels; C = [1]"


def test_nothing_unfinished_is_an_empty_table():
    assert unfinished_table([]).is_empty
