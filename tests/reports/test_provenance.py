from dataclasses import replace

from kgnn.reports.provenance import how_it_was_made, what_is_missing
from kgnn.reports.report_tables import unfinished_table
from kgnn.reports.results import PAPER_DATASETS, Results
from tests.reports.stores import TABLE_2, TABLE_3, records, unfinished


def test_nothing_is_missing_from_a_whole_store():
    made = records([*TABLE_2, *TABLE_3], PAPER_DATASETS, [0])
    assert what_is_missing(Results(made)) == []


def test_methods_datasets_and_places_without_runs_are_named():
    made = records(TABLE_2[:-2], PAPER_DATASETS[:-1], [0])
    made += records(["kgnn"], PAPER_DATASETS[1:-1], [0])
    assert what_is_missing(Results(made)) == [
        "No runs of JOAO.",
        "No runs on COLLAB.",
        "No runs on PROTEINS: KGNN.",
    ]


def test_failures_are_told_with_their_reason():
    made = records(TABLE_2, ["MUTAG"], [0])
    made += [unfinished("failed", "vat", "MUTAG", "MemoryError: no", seed) for seed in (1, 2)]
    made += [unfinished("declined", "gk", "MUTAG", "too few nodes", 3)]
    assert what_is_missing(Results(made)) == [
        "VAT on MUTAG, 2 runs failed: MemoryError: no",
        "GK on MUTAG, 1 run declined: too few nodes",
    ]


def test_places_with_fewer_runs_than_most_are_named():
    made = records(["wl", "sp", "kgnn"], ["MUTAG"], range(5))
    made = [r for r in made if (r.cell.method, r.cell.seed) != ("kgnn", 3)]
    assert what_is_missing(Results(made)) == ["Fewer runs on MUTAG: KGNN (4 of 5)."]


def test_versions_machines_days_and_protocols_are_told():
    made = records(["wl"], ["DD"], range(3)) + records(["wl"], ["DD"], [0], protocol="paper")
    made[0] = replace(made[0], versions={**made[0].versions, "numpy": "2.0.0"})
    lines = how_it_was_made(Results(made))
    assert lines[0] == "4 runs, from 2026-11-10 to 2026-11-12."
    assert [line.split(":")[0] for line in lines[1:3]] == ["Protocol fair", "Protocol paper"]
    assert "numpy 2.4.6, torch 2.13.0+cpu (3 runs)." in lines[3]
    assert "numpy 2.0.0, torch 2.13.0+cpu (1 run)." in lines[4]
    assert lines[5].startswith("Machine: system Linux x86_64, processor A processor @ 2.80GHz")


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
