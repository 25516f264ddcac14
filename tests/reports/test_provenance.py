from dataclasses import replace

from kgnn.reports.provenance import how_it_was_made, what_is_missing
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


def test_what_was_run_with_other_settings_is_not_missing():
    of_paper = records([m for m in TABLE_2 if m != "wl"], PAPER_DATASETS, [0])
    assert what_is_missing(Results(of_paper)) == ["No runs of WL."]
    changed = records(["wl"], PAPER_DATASETS, [0], parameters={"iterations": [2]})
    assert what_is_missing(Results([*of_paper, *changed])) == []


def test_a_grid_of_ones_own_is_no_incomplete_table_of_the_paper():
    changed = records(["wl"], ["cycles-and-trees"], [0, 1], parameters={"iterations": [1]})
    assert what_is_missing(Results(changed)) == []
    assert what_is_missing(Results(records(["wl", "gnn-sup", "kgnn"], ["DD"], [0]))) == []


def test_a_store_of_other_datasets_does_not_miss_those_of_the_paper():
    assert what_is_missing(Results(records(TABLE_2, ["MUTAG"], [0]))) == []


def test_failures_are_told_with_their_reason():
    made = records(TABLE_2, ["MUTAG"], [0])
    made += [unfinished("failed", "vat", "MUTAG", "MemoryError: no", seed) for seed in (1, 2)]
    made += [unfinished("declined", "gk", "MUTAG", "too few nodes", 3)]
    assert what_is_missing(Results(made)) == [
        "VAT on MUTAG, 2 runs failed: MemoryError: no",
        "GK on MUTAG, 1 run declined: too few nodes",
    ]


def test_failures_on_unusual_terms_say_so():
    [like] = records(["kgnn"], ["MUTAG"], [0], labels=0.025, parameters={"width": 8})
    made = [replace(like, outcome="failed", reason="no", result={})]
    made += [unfinished("failed", "kgnn", "MUTAG", "boom", protocol="paper")]
    assert what_is_missing(Results(made)) == [
        "KGNN on MUTAG (2.5 % labels, width = 8), 1 run failed: no",
        "KGNN on MUTAG (paper protocol), 1 run failed: boom",
    ]


def test_places_with_fewer_runs_than_most_are_named():
    made = records(["wl", "sp", "kgnn"], ["MUTAG"], range(5))
    made = [r for r in made if (r.cell.method, r.cell.seed) != ("kgnn", 3)]
    assert what_is_missing(Results(made)) == ["Fewer runs on MUTAG: KGNN (4 of 5)."]


def test_a_store_of_the_papers_split_alone_misses_its_places():
    made = records([m for m in TABLE_2 if m != "wl"], PAPER_DATASETS, [0], protocol="paper")
    made += records(["wl"], PAPER_DATASETS[1:], [0], protocol="paper")
    assert what_is_missing(Results(made)) == ["No runs on PROTEINS: WL."]


def test_most_datasets_of_the_paper_make_the_others_missing():
    made = records(["kgnn"], PAPER_DATASETS[:-1], [0])
    assert what_is_missing(Results(made)) == ["No runs on COLLAB."]


def test_records_of_older_revisions_are_counted():
    old = records(["wl"], ["MUTAG"], range(3))
    new = [replace(r, cell=replace(r.cell, revision=2)) for r in old[:1]]
    assert what_is_missing(Results(old + new)) == [
        "WL: 3 runs of older revisions left out, as there are newer ones."
    ]
    failed = replace(new[0], outcome="failed", reason="bug", result={})
    assert what_is_missing(Results([*old, failed])) == [
        "WL: numbers are of revision 1, as no run of revision 2 is done.",
        "WL on MUTAG, 1 run failed: bug",
    ]


def test_many_failures_are_cut_short():
    made = [unfinished("failed", "vat", f"graphs-{i}", "?") for i in range(25)]
    lines = [line for line in what_is_missing(Results(made)) if "failed" in line or "more" in line]
    assert len(lines) == 21
    assert lines[-1] == "5 more such lines."


def test_versions_machines_days_and_protocols_are_told():
    made = records(["wl"], ["DD"], range(3)) + records(["wl"], ["DD"], [0], protocol="paper")
    made[0] = replace(made[0], versions={**made[0].versions, "numpy": "2.0.0"})
    lines = how_it_was_made(Results(made))
    assert lines[0] == "4 runs, from 2026-11-10 to 2026-11-12."
    assert [line.split(":")[0] for line in lines[1:3]] == ["Protocol fair", "Protocol paper"]
    assert "numpy 2.4.6, torch 2.13.0+cpu (3 runs)." in lines[3]
    assert "numpy 2.0.0, torch 2.13.0+cpu (1 run)." in lines[4]
    assert lines[5].startswith("Machine: system Linux x86_64, processor A processor @ 2.80GHz")


def test_no_records_are_no_error():
    assert how_it_was_made(Results([])) == ["There are no records yet."]
