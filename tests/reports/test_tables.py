"""The numbers of tables, and how they are written."""

import re
import shutil
import subprocess

import pytest

from kgnn.reports.paper import TABLE_2 as PRINTED
from kgnn.reports.results import Results
from kgnn.reports.settings_tables import settings_tables
from kgnn.reports.table import (
    Cell,
    Row,
    Table,
    escape_latex,
    escape_markdown,
    latex_document,
    table_latex,
    table_markdown,
)
from kgnn.reports.tables import (
    accuracy_table,
    comparison_table,
    main_methods,
    measure_table,
    report_tables,
    unfinished_table,
    without_twins_table,
)
from tests.benchmark.stores import TABLE_2, TABLE_3, records, unfinished, with_metrics

METHODS = ("wl", "sp", "kgnn")
DATASETS = ("PROTEINS", "IMDB-BINARY")
MEANS = {"wl": 65.0, "sp": 70.02, "kgnn": 70.0}
WOBBLE = (-1.0, 0.5, 1.0, -0.5, 0.0)  # adds to 0


def accuracy(method, dataset, seed):
    # Noise of its own for each method, so that differences vary a little.
    return MEANS[method] + WOBBLE[seed] + 0.1 * WOBBLE[(seed * len(method)) % 5]


def made(datasets=DATASETS, seeds=range(5), methods=METHODS, **options):
    return records(methods, datasets, seeds, accuracy=accuracy, **options)


@pytest.fixture
def results():
    return Results(made())


def cells(table, heading):
    at = table.headings.index(heading) - 1
    return {row.name: row.cells[at] for row in table.rows}


def test_accuracy_stands_beside_what_was_printed(results):
    table = accuracy_table(results, METHODS, DATASETS)
    assert table.headings == ("method", "PROTEINS", "IMDB-B", "rank")
    assert [row.name for row in table.rows if row.is_reference] == ["KGNN"]
    found, group = cells(table, "PROTEINS"), results.find("wl", "PROTEINS")
    assert found["WL"].text == f"{group.mean:.1f} ± {group.std:.1f}"
    assert (found["WL"].aside, found["WL"].paper) == ("63.5 ± 1.6", PRINTED["wl"]["PROTEINS"])
    assert (found["WL"].value, found["WL"].n, found["WL"].group) == (group.mean, 5, group)
    # What is level as printed is best; what is significant is marked.
    assert {name: cell.is_best for name, cell in found.items()} == {"WL": 0, "SP": 1, "KGNN": 1}
    assert {name: cell.mark for name, cell in found.items()} == {"WL": "▼", "SP": "", "KGNN": ""}
    assert [cells(table, "rank")[name].text for name in ("WL", "SP", "KGNN")] == [
        "3.0", "1.0", "2.0"
    ]  # fmt: skip


def test_another_reference_is_what_others_are_compared_with():
    results = Results(made(), reference="wl")
    found = cells(accuracy_table(results, METHODS, DATASETS), "PROTEINS")
    assert (found["WL"].mark, found["KGNN"].mark) == ("", "▲")
    assert main_methods(results)[-1] == "wl"
    assert any(table.title == "WL against each method" for table in report_tables(results))


def test_what_was_not_run_is_empty_and_hurts_nothing(results):
    table = accuracy_table(results, [*METHODS, "vat"], ["PROTEINS", "DD"])
    vat = cells(table, "PROTEINS")["VAT"]
    assert (vat.text, vat.aside, cells(table, "rank")["SP"].text) == ("", "64.1 ± 1.2", "1.0")
    assert not cells(table, "DD")["KGNN"].is_best


def test_a_lucky_split_is_told_and_is_not_the_best():
    there = records(METHODS, ["DD"], range(3), accuracy=lambda m, d, s: 70.0)
    there += records(["gk"], ["DD"], [0], accuracy=lambda m, d, s: 90.0)
    table = accuracy_table(Results(there), [*METHODS, "gk"], ["DD"])
    found = cells(table, "DD")
    assert found["GK"].text == "90.0 (n = 1)"
    assert [name for name, cell in found.items() if cell.is_best] == ["WL", "SP", "KGNN"]
    assert "3 on DD; other numbers are given as n." in table.notes


def test_twins_are_left_out_where_there_are_any(results):
    table = without_twins_table(results, METHODS, DATASETS)
    assert table.headings == ("method", "IMDB-B (80 of 200)")  # PROTEINS has none
    cell, group = cells(table, "IMDB-B (80 of 200)")["WL"], results.find("wl", "IMDB-BINARY")
    assert cell.value == pytest.approx(group.mean - 4)
    assert cell.aside == f"{group.mean:.1f}"


@pytest.mark.parametrize(
    ("name", "given", "text", "aside"),
    [
        ("calibration", {"calibration_error": (0.021, 0.041), "brier": 0.25}, "3.1", "0.250"),
        ("label-sets", {"coverage": (88.0, 91.0), "set_size": 1.25}, "89.5", "1.25"),
        ("cost", {"cpu_seconds": (1.0, 500.0), "peak_mib": (300.0, 1200.4)}, "250", "1,200 MiB"),
        ("cost", {"cpu_seconds": (1.0, 2.0), "seconds_saved": 40.0, "peak_mib": None}, "41.5", ""),
        ("recall", {"accuracy": 65.0, "recalls": {"a": 77.0, "b": 63, "c": 45}}, "a 77, c 45", ""),
        (  # 150 labels that are worth 100, 68 %: from 58.3 to 76.3 %.
            "expected",
            {"expected_accuracy": 68.0, "expected_on": 150, "accuracy": (58.0, 59.0)},
            "+9.5",
            "68.0 for 58.5; 1 of 2",
        ),
    ],
)
def test_what_is_measured_beside_accuracy_has_tables(name, given, text, aside):
    there = made(["DD"], [0, 1])
    for each in there:
        own = {k: v[each.cell.seed] if isinstance(v, tuple) else v for k, v in given.items()}
        each.result.update(own if each.cell.method == "wl" else dict.fromkeys(own, None))
    results = Results([r for r in there if r.result["accuracy"] is not None])
    found = cells(measure_table(results, name, results.methods, ["DD"]), "DD")
    assert (found["WL"].text, found["WL"].aside) == (text, aside)
    assert {cell.text for name, cell in found.items() if name != "WL"} <= {""}  # from before
    assert found["WL"].is_best == (name == "calibration")


def test_the_reference_is_compared_with_each(results):
    table = comparison_table(results, METHODS, DATASETS, "each method")
    cell = cells(table, "PROTEINS")["WL"]
    assert (cell.text, cell.minus) == ("+5.0", results.find("wl", "PROTEINS"))
    assert cell.aside.startswith("p < 0.001\n→ ")
    assert [cell.mark for cell in cells(table, "PROTEINS").values()] == ["▲", ""]
    assert [cell.text for cell in cells(table, "mean").values()] == ["+5.0", "0.0"]


def test_another_headline_has_its_own_ranks_marks_and_words():
    there = with_metrics(made())
    table = accuracy_table(Results(there, "roc_auc"), METHODS, DATASETS)
    found = cells(table, "PROTEINS")["WL"]
    assert found.value == pytest.approx(100 - MEANS["wl"] / 2)
    assert (found.is_best, found.mark, found.aside, found.paper) == (True, "▲", "", None)
    assert table.notes.startswith("ROC AUC on TEST in percent")
    assert len(table.rows) == len(METHODS)  # no share of a class beside it
    by_accuracy = accuracy_table(Results(there), METHODS, DATASETS)
    assert [cell.text for cell in by_accuracy.rows[-1].cells] == ["59.6", "59.6", ""]
    assert Results(made(), "roc_auc").without_metric == len(made())


def test_other_labels_and_budgets_have_tables_of_their_own():
    there = made(["PROTEINS"], range(3))
    for labels in (20, "5/class"):
        there += with_metrics(made(["PROTEINS"], protocol="budget", labels=labels))
    there += made(["PROTEINS"], range(3), ["wl"], protocol="paper")
    titles = [table.title for table in report_tables(Results(there))]
    for words in ("20 labels", "5 labels per class"):
        for name in ("Accuracy", "Label sets for 90 % coverage"):
            assert f"{name}, {words} and no VAL" in titles
    assert "Accuracy on the split of the paper's code" in titles


def test_a_grid_of_ones_own_has_all_methods_in_the_main_table_and_no_paper():
    there = records(["wl"], ["mine"], range(3), parameters={"iterations": [2]})
    there += records(["gnn-sup", "of-my-own"], ["mine"], range(3), labels=0.1)
    table = report_tables(Results(there, reference="of-my-own"))[0]
    assert table.title == "Accuracy"
    assert [row.name for row in table.rows] == ["WL (iterations=[2])", "GNN-Sup", "of-my-own"]
    assert "paper" not in table.notes


def of(gains, seeds=range(5), method="kgnn", dataset="PROTEINS", **parameters):
    return records(
        [method],
        [dataset],
        seeds,
        parameters=parameters,
        accuracy=lambda m, d, seed: 70.0 + seed + gains[seed],
    )


def settings(*several):
    return settings_tables(Results([record for each in several for record in each]))


def test_settings_are_compared_with_the_defaults_on_the_same_splits():
    [table] = settings(
        of([0] * 5), of([-2, -3, -2, -3, -2], hops=1), of([9] * 3, [0, 1, 2], width=64)
    )
    (hops, [first]), (width, [second]) = (row[:2] for row in table.rows)
    assert (hops, first.text, first.aside) == ("hops=1", "−2.4 ± 0.4", "5 splits")
    assert (width, second.text, second.aside) == ("width=64", "+9.0 ± 0.0", "3 splits")
    # 669 graphs to train on, 222 of TEST; the deviation is that of 2, 3, 2, 3, 2.
    assert first.std == pytest.approx(0.3**0.5 * (1 / 5 + 222 / 669) ** 0.5)
    assert first.mark == "▼"


def test_means_over_datasets_leave_out_where_nothing_changed():
    few = [0, 1, 2]
    [table] = settings(
        of([0] * 3, few),
        of([0] * 3, few, dataset="DD"),
        of([0] * 3, few, pooling="last"),
        of([2] * 3, few, dataset="DD", pooling="last"),
        of([0] * 3, few, width=8),
    )
    pooling, width = (row.cells for row in table.rows)
    assert [cell.text for cell in pooling] == ["same", "+2.0 ± 0.0", "+2.0 ± 0.0"]
    assert (pooling[2].aside, width[2].text) == ("1 dataset", "same")


def test_without_defaults_on_the_same_splits_accuracies_are_told():
    against, alone = settings(
        of([0] * 3, [0, 1, 2], method="wl"),
        of([1] * 3, [0, 1, 2], method="wl", iterations=[2]),
        of([1] * 3, [0, 1, 2], method="wl", dataset="DD", iterations=[2]),
    )
    assert (against.title, against.headings[1:]) == ("WL with other settings", ("PROTEINS",))
    assert (alone.title, alone.headings[1:]) == ("WL with other settings: accuracy", ("DD",))
    assert alone.rows[0].cells[0].text == "72.0 ± 1.0"


def test_every_run_is_in_some_table():
    several = [
        records([method], [dataset], [0], protocol=protocol, labels=labels, parameters=parameters)
        for method in ("wl", "kgnn", "gnn-sup", "of-my-own")
        for dataset in ("DD", "mine.jsonl")
        for protocol in ("fair", "paper")
        for labels in (0.1, 0.05)
        for parameters in ({}, {"width": 64}, {"width": 8, "hops": 1})
    ]
    for kept in (several, several[1::3], several[6::12], several[-1:]):
        results = Results([record for each in kept for record in each])
        rows = [row for table in report_tables(results) for row in table.rows]
        shown = [cell.group for row in rows for cell in row.cells]
        assert [group for group in results.groups if group not in shown] == []


def test_runs_with_the_same_reason_are_one_row():
    there = [unfinished("failed", "vat", "DD", "no memory", seed=seed) for seed in (3, 1)]
    [like] = records(["wl"], ["DD"], [0], protocol="paper", labels=0.025, parameters={"C": [1]})
    there.append(type(like)(like.cell, "declined", reason="x"))
    rows = unfinished_table(there).rows
    assert [[row.name, *(cell.text for cell in row.cells)] for row in rows] == [
        ["VAT", "DD", "failed", "splits 1, 3", "no memory"],
        ["WL", "DD", "declined", "split 0; paper protocol; 2.5 % labels; C = [1]", "x"],
    ]


# How tables are written.


def test_users_take_numbers_as_a_frame(results):
    pytest.importorskip("pandas")
    wl = results.table2().loc["WL"]
    assert wl["PROTEINS", "value"] == results.find("wl", "PROTEINS").mean
    assert (wl["PROTEINS", "mark"], wl["PROTEINS", "paper"]) == ("▼", 63.5)
    assert len(results.frame()) == 30


def test_a_cell_shows_all_its_parts():
    row = Row(
        "WL",
        (
            Cell("70.1 ± 1.0", "57.3 ± 1.2", mark="▼"),
            Cell("73.1 ± 1.0", is_best=True),
            Cell("", "59.9 ± 2.6"),
            Cell(),
        ),
    )
    table = Table("t", ("method", "a", "b", "c", "d"), (row,), "A note.")
    assert table_markdown(table).splitlines()[2:] == [
        "| WL | 70.1 ± 1.0 ▼<br><sub>57.3 ± 1.2</sub> | **73.1 ± 1.0** | "
        "<br><sub>59.9 ± 2.6</sub> |  |",
        "",
        "A note.",
    ]
    assert (
        r"{}WL & 70.1 ± 1.0▼ {\scriptsize 57.3 ± 1.2} & \textbf{73.1 ± 1.0} & "
        r"– {\scriptsize 59.9 ± 2.6} &  \\" in table_latex(table).splitlines()
    )


@pytest.mark.parametrize(
    ("text", "markdown", "latex"),
    [
        ("PTC_MR", r"PTC\_MR", r"PTC\_MR"),
        ("a|b", r"a\|b", "a|b"),
        ("**bold** `code` [x]", r"\*\*bold\*\* \`code\` \[x\]", "**bold** `code` [x]"),
        ("<script> &lt; & p < 0.05", r"\<script> \&lt; & p < 0.05", r"<script> \&lt; \& p < 0.05"),
        ("C:\\new\nline", r"C:\\new line", r"C:\textbackslash{}new line"),
        ("Größe Ж中 \x1b", "Größe Ж中 \x1b", "Größe U+0416U+4E2D U+001B"),
    ],
)
def test_text_is_shown_as_it_is(text, markdown, latex):
    assert (escape_markdown(text), escape_latex(text)) == (markdown, latex)


def test_a_whole_report_is_well_formed_latex_and_pdflatex_makes_pages_of_it(tmp_path):
    names = ["a_b&c", "100 % #1 {x}~^\\", "Größe Ж中", "[p] *", "$x$ -- \x1b"]
    there = records([*TABLE_2, *TABLE_3, *names], ["PROTEINS", "IMDB-BINARY", *names], range(3))
    tables = report_tables(Results(there))
    text = latex_document(tables)
    for word in ("document", "table*", "tabular"):
        assert text.count(rf"\begin{{{word}}}") == text.count(rf"\end{{{word}}}") > 0
    bare = re.sub(r"\\[\\{}&%$#_]", "", text)
    assert bare.count("{") == bare.count("}")
    declared = {chr(int(found, 16)) for found in re.findall("UnicodeCharacter{([0-9A-F]+)}", text)}
    assert set(re.findall(r"[^\x00-\x7f]", text)) <= declared | set("±–öß")  # known to textcomp
    for table, part in zip(tables, text.split(r"\begin{tabular}")[1:], strict=True):
        rows = [re.sub(r"\\&", "", line) for line in part.splitlines() if line.endswith(r" \\")]
        assert {row.count("&") for row in rows} == {len(table.headings) - 1}
    if shutil.which("pdflatex"):
        (tmp_path / "report.tex").write_text(text, encoding="utf-8")
        words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:].decode(errors="replace")
        assert (tmp_path / "report.pdf").stat().st_size > 10_000
