"""What is said of records in words, and the page of results as Markdown."""

import re
import subprocess
import sys
from dataclasses import replace

from kgnn.benchmark.store import Store
from kgnn.reports.results import PAPER_DATASETS, Results
from kgnn.reports.summary import (
    how_it_was_made,
    summary_markdown,
    summary_sentences,
    what_is_missing,
)
from kgnn.reports.tables import summary_table
from tests.reports.stores import TABLE_2, TABLE_3, records, unfinished


def ranked(means):
    """Records whose accuracy is the mean of the method on the dataset, plus the luck of a split."""
    return [
        record
        for (method, dataset), mean in means.items()
        for record in records(
            [method], [dataset], range(5), accuracy=lambda _, __, seed, m=mean: m + seed
        )
    ]


def test_the_summary_says_where_the_reference_stands():
    made = ranked({("kgnn", "DD"): 70, ("wl", "DD"): 60, ("sp", "DD"): 65})
    made += ranked({("kgnn", "PROTEINS"): 70, ("wl", "PROTEINS"): 75, ("sp", "PROTEINS"): 60})
    told = summary_sentences(Results(made))
    assert "KGNN is first on 1 of 2 datasets (DD). Its average rank is 1.5; the best" in told[0]
    assert "is WL with 2.0." in told[0]
    table = summary_table(Results(made))
    assert [row.name for row in table.rows] == ["PROTEINS", "DD"]
    assert table.rows[0].cells[3].text == "WL, 77.0 ± 1.6"
    assert [row.cells[0].is_best for row in table.rows] == [False, True]
    of_wl = " ".join(summary_sentences(Results(made, reference="wl")))
    assert "WL is first on 1 of 2 datasets (PROTEINS)" in of_wl
    assert "KGNN in the paper" not in summary_table(Results(made, reference="wl")).headings


def test_what_is_level_as_printed_is_first():
    made = ranked({("kgnn", "DD"): 70.01, ("wl", "DD"): 70.04, ("sp", "DD"): 60})
    assert "KGNN is first on 1 of 1 dataset (DD)" in summary_sentences(Results(made))[0]


def test_significant_differences_are_counted_from_the_side_of_the_reference():
    made = records(["kgnn"], ["DD"], range(8), accuracy=lambda m, d, s: 80 + (s % 3))
    made += records(["wl"], ["DD"], range(8), accuracy=lambda m, d, s: 60 + (s % 4))
    told = " ".join(summary_sentences(Results(made)))
    assert "significantly better 1 times and significantly worse 0 times" in told


def test_a_dataset_that_not_all_methods_have_is_not_counted():
    made = ranked({("kgnn", "DD"): 70, ("wl", "DD"): 60, ("kgnn", "COLLAB"): 70})
    told = " ".join(summary_sentences(Results(made)))
    assert "1 of 1 dataset (DD)" in told
    assert "Not counted, as some methods have no or few runs: COLLAB." in told


def test_without_the_reference_the_summary_says_so():
    results = Results(records(["wl", "sp"], ["DD"], [0]))
    [told] = summary_sentences(results)
    assert told.startswith("There are no runs of KGNN to compare other methods with")
    assert summary_table(results).is_empty


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
    fewer = records(["wl", "sp", "kgnn"], ["MUTAG"], range(5))
    fewer = [r for r in fewer if (r.cell.method, r.cell.seed) != ("kgnn", 3)]
    assert what_is_missing(Results(fewer)) == ["Fewer runs on MUTAG: KGNN (4 of 5)."]


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
    assert r"- VAT on COLLAB, failed (1 run): MemoryError: a\|b" in text
    assert "```bash\nmake everything\n```" in text
    assert "kgnn run gk PROTEINS --protocol fair --labels 0.1 --seed 0 --splits 1" in text
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1
    assert "There are no records yet." in summary_markdown(Results([]))
    assert "nan" not in summary_markdown(Results(records(["kgnn"], ["DD"], [0])))


def test_commands_of_the_paper_are_told_where_the_records_are_of_it():
    paper = records(TABLE_2, ["PROTEINS"], [0])
    assert "kgnn bench table2" in summary_markdown(Results(paper))
    assert "kgnn bench table3" not in summary_markdown(Results(paper))
    for others in (records(["wl"], ["PROTEINS"], [0]), records(TABLE_2, ["MUTAG"], [0])):
        text = summary_markdown(Results(others))
        assert "kgnn bench" not in text
        assert "kgnn run" in text


def test_a_report_needs_no_torch_and_no_scikit_learn(tmp_path):
    store = Store(tmp_path)
    for record in records(["wl", "gnn-sup", "kgnn"], ["DD", "IMDB-BINARY"], range(3)):
        store.put(record)
    check = f"""
import sys
from kgnn.reports.records_csv import records_csv
from kgnn.reports.results import Results
from kgnn.reports.results_page import results_page
from kgnn.reports.summary import summary_markdown
results = Results.read({str(tmp_path)!r})
made = summary_markdown(results), results_page(results), records_csv(results.given)
print(all(made), [m for m in ("torch", "sklearn", "kgnn.evaluation.protocol") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True []"
