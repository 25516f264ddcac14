"""What is said of records in short, and the page of results as Markdown."""

import re
import subprocess
import sys
from dataclasses import replace

from kgnn.benchmark.store import Store
from kgnn.reports.results import PAPER_DATASETS, Results
from kgnn.reports.summary import (
    how_it_was_made,
    standing_table,
    summary_markdown,
    summary_sentences,
    summary_table,
    what_is_missing,
)
from tests.benchmark.stores import TABLE_2, TABLE_3, records, unfinished


def ranked(means, noise=0.0):
    """Records whose accuracy is the mean of the method on the dataset, plus the luck of a split."""
    return [
        record
        for (method, dataset), mean in means.items()
        for record in records(
            [method],
            [dataset],
            range(5),
            accuracy=lambda m, d, seed, mean=mean: mean + seed + noise * (seed * len(m) % 3),
        )
    ]


def standing(made, **options):
    """The texts of each row, by its name."""
    rows = standing_table(Results(made, **options)).rows
    return {row.name: [cell.text for cell in row.cells] for row in rows}


def test_the_summary_says_where_the_reference_stands():
    made = ranked({("kgnn", "DD"): 70, ("wl", "DD"): 60, ("sp", "DD"): 65}, noise=0.1)
    made += ranked(
        {("kgnn", "PROTEINS"): 70, ("wl", "PROTEINS"): 75, ("sp", "PROTEINS"): 60}, noise=0.1
    )
    # WL is 5 better once and 10 worse once, SP 5 and 10 worse: all of it significant.
    assert standing(made) == {
        "2 other methods": ["1 of 2 datasets", "1.5", "WL, 2.0", "2.3", "3 of 4", "1 of 4"]
    }
    table = summary_table(Results(made))
    assert [row.name for row in table.rows] == ["PROTEINS", "DD"]
    assert table.rows[0].cells[3].text.startswith("WL, 77.")
    assert [row.cells[0].is_best for row in table.rows] == [False, True]
    assert standing(made, reference="wl")["2 other methods"][2] == "KGNN, 1.5"
    assert "KGNN in the paper" not in summary_table(Results(made, reference="wl")).headings


def test_what_is_level_as_printed_is_first_and_ablations_stand_apart():
    made = ranked({("kgnn", "DD"): 70.01, ("wl", "DD"): 70.04, ("gnn-sup", "DD"): 60})
    found = standing(made)
    assert found["1 other method"][:2] == ["1 of 1 dataset", "2.0"]
    assert found["1 ablation"][:3] == ["1 of 1 dataset", "1.0", "GNN-Sup, 2.0"]


def test_a_dataset_that_not_all_methods_have_is_not_counted():
    made = ranked({("kgnn", "DD"): 70, ("wl", "DD"): 60, ("kgnn", "COLLAB"): 70})
    table = standing_table(Results(made))
    assert table.rows[0].cells[0].text == "1 of 1 dataset"
    assert "Not counted, as some methods have no or few runs: COLLAB." in table.notes


def test_without_the_reference_the_summary_says_so():
    results = Results(records(["wl", "sp"], ["DD"], [0]))
    [told] = summary_sentences(results)
    assert told.startswith("There are no runs of KGNN to compare other methods with")
    assert summary_table(results).is_empty
    assert standing_table(results).is_empty


def test_methods_datasets_and_places_without_runs_are_named():
    assert what_is_missing(Results(records([*TABLE_2, *TABLE_3], PAPER_DATASETS, [0]))) == []
    made = records(TABLE_2[:-2], PAPER_DATASETS[:-1], [0])
    made += records(["kgnn"], PAPER_DATASETS[1:-1], [0])
    assert what_is_missing(Results(made)) == [
        "No runs of JOAO.",
        "No runs on COLLAB.",
        "No runs on PROTEINS: KGNN.",
    ]


def test_versions_machines_days_and_protocols_are_told():
    made = records(["wl"], ["DD"], range(3)) + records(["wl"], ["DD"], [0], protocol="paper")
    made[0] = replace(made[0], versions={**made[0].versions, "numpy": "2.0.0"})
    lines = how_it_was_made(Results(made))
    assert lines[0] == "4 runs, from 2026-11-10 to 2026-11-12."
    assert [line.split(":")[0] for line in lines[1:3]] == ["Protocol fair", "Protocol paper"]
    assert "numpy 2.4.6, torch 2.13.0+cpu (3 runs)." in lines[3]
    assert lines[5].startswith("Machine: system Linux x86_64, processor A processor @ 2.80GHz")


def test_the_page_has_all_its_parts():
    made = records([*TABLE_2, "ldp", *TABLE_3], PAPER_DATASETS[:4], range(3))
    made += [unfinished("failed", "vat", "COLLAB", "MemoryError: a|b")]
    text = summary_markdown(Results(made), commands="make everything")
    headings = re.findall("^## (.+)$", text, re.MULTILINE)
    assert headings[:2] == ["Table 2: accuracy of all methods", "Table 3: ablations"]
    assert headings[-2:] == ["What is missing", "How it was made"]
    assert r"| VAT | COLLAB | failed | split 0 | MemoryError: a\|b |" in text
    assert "```bash\nmake everything\n```" in text
    assert "kgnn run gk PROTEINS --protocol fair --labels 0.1 --seed 0 --splits 1" in text
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1
    assert "There are no records yet." in summary_markdown(Results([]))
    assert "nan" not in summary_markdown(Results(records(["kgnn"], ["DD"], [0])))


def test_a_report_needs_no_torch_and_no_slow_part_of_scipy(tmp_path):
    store = Store(tmp_path)
    for record in records(["wl", "gnn-sup", "kgnn"], ["DD", "IMDB-BINARY"], range(3)):
        store.put(record)
    check = f"""
import sys
from kgnn.benchmark.records_csv import records_csv
from kgnn.reports.results import Results
from kgnn.reports.results_page import results_page
from kgnn.reports.summary import summary_markdown
results = Results.read({str(tmp_path)!r})
made = summary_markdown(results), results_page(results), records_csv(results.given)
slow = ("torch", "sklearn", "scipy.stats", "kgnn.evaluation.protocol")
print(all(made), [name for name in slow if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True []"
