import re
import subprocess
import sys

from kgnn.benchmark.store import Store
from kgnn.reports.results import PAPER_DATASETS, Results
from kgnn.reports.summary_markdown import readme_markdown, summary_markdown
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
        "KGNN against its own parts",
        "Calibration",
        "Label sets that promise 90 %",
        "Cost",
        "What is missing",
        "How it was made",
    ]
    assert "- No runs on REDDIT-B, REDDIT-M-5k and COLLAB." in text
    assert r"- VAT on COLLAB, 1 run failed: MemoryError: a\|b" in text
    assert "```bash\nmake everything\n```" in text
    assert "kgnn run gk PROTEINS --protocol fair --labels 0.1 --seed 0 --splits 1" in text


def test_the_short_version_says_where_kgnn_is_not_first():
    made = records([*TABLE_2, *TABLE_3], PAPER_DATASETS[:4], range(3))
    text = readme_markdown(Results(made))
    page = summary_markdown(Results(made))
    *sentences, last = [line for line in text.splitlines() if line.startswith("- ")]
    assert sentences[0].startswith("- KGNN is first of 15 methods on ")
    assert last.startswith(("- None of its own parts", "- Of its own parts"))
    assert all(line in page for line in text.splitlines())
    assert "average rank" not in text


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
    assert "KGNN is the only method with records." in text
    assert "nan" not in text


def test_parts_of_a_store_give_parts_of_the_page():
    made = records(["wl", "kgnn"], ["DD"], range(3)) + records(["gk"], ["PROTEINS"], [4])
    text = summary_markdown(Results(made))
    assert "nan" not in text
    assert "No runs on DD: GK." in text


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
from kgnn.reports.latex import latex_document
from kgnn.reports.records_csv import records_csv
from kgnn.reports.report_tables import report_tables
from kgnn.reports.results import Results
from kgnn.reports.summary_markdown import summary_markdown
records = list(Store({str(tmp_path)!r}))
results = Results(records)
made = summary_markdown(results), latex_document(report_tables(results)), records_csv(records)
print(all(made), [m for m in ("torch", "sklearn", "kgnn.evaluation.protocol") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True []"
