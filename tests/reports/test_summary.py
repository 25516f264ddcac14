import re
import subprocess
import sys

from kgnn.benchmark.store import Store
from kgnn.reports.results import PAPER_DATASETS, Results
from kgnn.reports.summary import summary_markdown, summary_sentences, summary_table
from tests.reports.stores import TABLE_2, TABLE_3, records, unfinished


def headings(text):
    return re.findall("^## (.+)$", text, re.MULTILINE)


def test_the_page_has_all_its_parts():
    made = records([*TABLE_2, "ldp", *TABLE_3], PAPER_DATASETS[:4], range(3))
    made += records(["kgnn"], ["PROTEINS"], range(3), protocol="paper")
    made += [unfinished("failed", "vat", "COLLAB", "MemoryError: a|b")]
    text = summary_markdown(Results(made), commands="make everything")
    assert headings(text) == [
        "Table 2: all methods",
        "Table 3: ablations",
        "Accuracy on the split of the paper's code",
        "Accuracy on test graphs without a twin",
        "KGNN against each method",
        "KGNN against its ablations",
        "Calibration",
        "Label sets for 90 % coverage",
        "Cost",
        "What is missing",
        "How it was made",
    ]
    assert "- No runs on REDDIT-B, REDDIT-M-5k and COLLAB." in text
    assert r"- VAT on COLLAB, 1 run failed: MemoryError: a\|b" in text
    assert "```bash\nmake everything\n```" in text
    assert "kgnn run gk PROTEINS --protocol fair --labels 0.1 --seed 0 --splits 1" in text


def test_commands_of_the_paper_are_told_where_the_records_are_of_it():
    paper = records(TABLE_2, ["PROTEINS"], [0])
    assert "kgnn bench table2" in summary_markdown(Results(paper))
    assert "kgnn bench table3" not in summary_markdown(Results(paper))
    both = summary_markdown(Results([*paper, *records(TABLE_3[:-1], ["PROTEINS"], [0])]))
    assert "kgnn bench table2 -o results\nkgnn bench table3 -o results\nkgnn report" in both
    for others in (
        records(["wl"], ["PROTEINS"], [0]),
        records(TABLE_2, ["MUTAG"], [0]),
        records(TABLE_2, ["PROTEINS"], [0], parameters={"a": 1}),
    ):
        text = summary_markdown(Results(others))
        assert "kgnn bench" not in text
        assert "kgnn run" in text


def test_every_table_is_one_that_markdown_knows():
    made = records([*TABLE_2, *TABLE_3], ["PROTEINS", "x_y|z"], range(3))
    for block in re.findall(r"(?:^\|.*\n)+", summary_markdown(Results(made)), re.MULTILINE):
        lines = block.splitlines()
        assert re.fullmatch(r"\| --- (\| ---: )+\|", lines[1])
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1


def test_a_store_with_one_record_is_enough():
    text = summary_markdown(Results(records(["kgnn"], ["DD"], [0])))
    assert "There are only records of KGNN" in text
    assert "nan" not in text


def test_no_records_make_a_page_that_says_so():
    text = summary_markdown(Results([]))
    assert headings(text) == ["What is missing", "How it was made"]
    assert "There are no records yet." in text


def test_the_page_is_the_same_whenever_it_is_made(tmp_path):
    store = Store(tmp_path)
    for record in records(["wl", "kgnn"], ["DD"], range(3)):
        store.put(record)
    assert summary_markdown(Results(store)) == summary_markdown(Results(store))


def test_a_report_needs_no_torch(tmp_path):
    store = Store(tmp_path)
    for record in records(["wl", "gnn-sup", "kgnn"], ["DD", "IMDB-BINARY"], range(3)):
        store.put(record)
    check = f"""
import sys
from kgnn.benchmark.store import Store
from kgnn.reports.table import latex_document
from kgnn.reports.records_csv import records_csv
from kgnn.reports.report_tables import report_tables
from kgnn.reports.results import Results
from kgnn.reports.summary import summary_markdown
records = list(Store({str(tmp_path)!r}))
results = Results(records)
made = summary_markdown(results), latex_document(report_tables(results)), records_csv(records)
print(all(made), [m for m in ("torch", "sklearn", "kgnn.evaluation.protocol") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True []"


def ranked(means):
    """Records whose accuracy is the mean of the method on the dataset, plus the luck of a split."""
    return [
        record
        for (method, dataset), mean in means.items()
        for record in records(
            [method], [dataset], range(5), accuracy=lambda _, __, seed, m=mean: m + seed
        )
    ]


def test_the_summary_says_where_kgnn_stands():
    made = ranked({("kgnn", "DD"): 70, ("wl", "DD"): 60, ("sp", "DD"): 65})
    made += ranked({("kgnn", "PROTEINS"): 70, ("wl", "PROTEINS"): 75, ("sp", "PROTEINS"): 60})
    told = summary_sentences(Results(made))
    assert "with the 2 other methods, KGNN is first on 1 of 2 datasets (DD)" in told[0]
    assert "Its average rank is 1.5; the best of the others is WL with 2.0" in told[0]
    table = summary_table(Results(made))
    shown = [[cell.text for cell in row] for row in table.rows]
    assert [row[0] for row in shown] == ["PROTEINS", "DD"]
    assert shown[0][4] == "WL, 77.0 ± 1.6"
    assert [row[1].is_best for row in table.rows] == [False, True]


def test_what_is_level_as_printed_is_first():
    made = ranked({("kgnn", "DD"): 70.01, ("wl", "DD"): 70.04, ("sp", "DD"): 60})
    assert "KGNN is first on 1 of 1 dataset (DD)" in summary_sentences(Results(made))[0]


def test_significant_differences_are_counted_from_the_side_of_kgnn():
    made = records(["kgnn"], ["DD"], range(8), accuracy=lambda m, d, s: 80 + (s % 3))
    made += records(["wl"], ["DD"], range(8), accuracy=lambda m, d, s: 60 + (s % 4))
    told = " ".join(summary_sentences(Results(made)))
    assert "significantly better 1 times and significantly worse 0 times" in told


def test_a_dataset_that_not_all_methods_have_is_not_counted():
    made = ranked({("kgnn", "DD"): 70, ("wl", "DD"): 60, ("kgnn", "COLLAB"): 70})
    told = " ".join(summary_sentences(Results(made)))
    assert "1 of 1 dataset (DD)" in told
    assert "Not counted, as some methods have no or few runs: COLLAB." in told


def test_without_kgnn_the_summary_says_so():
    assert "no records of KGNN" in summary_sentences(Results(records(["wl"], ["DD"], [0])))[0]
    assert summary_table(Results(records(["wl", "sp"], ["DD"], [0]))).is_empty
