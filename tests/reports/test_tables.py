"""The numbers of tables, and how they are written."""

import re
import shutil
import subprocess

import pytest

from kgnn.reports.method_tables import (
    accuracy_table,
    comparison_table,
    measure_table,
    without_twins_table,
)
from kgnn.reports.paper import TABLE_2 as PRINTED
from kgnn.reports.results import USUAL, Results, Terms
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
from kgnn.reports.tables import main_methods, report_tables, unfinished_table
from tests.reports.stores import TABLE_2, TABLE_3, records, unfinished, with_metrics

METHODS = ("wl", "sp", "kgnn")
DATASETS = ("PROTEINS", "IMDB-BINARY")
MEANS = {"wl": 65.0, "sp": 70.02, "kgnn": 70.0}
WOBBLE = (-1.0, 0.5, 1.0, -0.5, 0.0)  # adds to 0


def accuracy(method, dataset, seed):
    # Noise of its own for each method, so that differences vary a little.
    return MEANS[method] + WOBBLE[seed] + 0.1 * WOBBLE[(seed * len(method)) % 5]


@pytest.fixture
def results():
    return Results(records(METHODS, DATASETS, range(5), accuracy=accuracy))


def cells(table, heading):
    at = table.headings.index(heading) - 1
    return {row.name: row.cells[at] for row in table.rows}


def test_accuracy_stands_beside_what_was_printed(results):
    table = accuracy_table(results, METHODS, DATASETS)
    assert table.headings == ("method", "PROTEINS", "IMDB-B", "rank")
    assert [row.name for row in table.rows if row.is_reference] == ["KGNN"]
    cell, group = cells(table, "PROTEINS")["WL"], results.find("wl", "PROTEINS")
    assert cell.text == f"{group.mean:.1f} ± {group.std:.1f}"
    assert (cell.aside, cell.paper) == ("63.5 ± 1.6", PRINTED["wl"]["PROTEINS"])
    assert (cell.value, cell.std, cell.n, cell.group) == (group.mean, group.std, 5, group)


def test_the_best_as_printed_and_what_is_significant_are_marked(results):
    found = cells(accuracy_table(results, METHODS, DATASETS), "PROTEINS")
    assert {name: cell.is_best for name, cell in found.items()} == {"WL": 0, "SP": 1, "KGNN": 1}
    assert {name: cell.mark for name, cell in found.items()} == {"WL": "▼", "SP": "", "KGNN": ""}
    ranks = cells(accuracy_table(results, METHODS, DATASETS), "rank")
    assert [ranks[name].text for name in ("WL", "SP", "KGNN")] == ["3.0", "1.0", "2.0"]


def test_another_reference_is_what_others_are_compared_with():
    made = records(METHODS, DATASETS, range(5), accuracy=accuracy)
    results = Results(made, reference="wl")
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
    made = records(METHODS, ["DD"], range(3), accuracy=lambda m, d, s: 70.0)
    made += records(["gk"], ["DD"], [0], accuracy=lambda m, d, s: 90.0)
    table = accuracy_table(Results(made), [*METHODS, "gk"], ["DD"])
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


def measured(name, made, terms=USUAL):
    results = Results(made)
    return measure_table(results, name, results.methods, results.datasets, terms)


def test_calibration_is_in_percent_and_lowest_is_best():
    made = records(["wl", "kgnn"], ["DD"], range(2))
    for each in made:
        each.result.update(calibration_error=0.05, brier=0.25)
        if each.cell.method == "wl":
            each.result.update(calibration_error=0.021 if each.cell.seed else 0.041)
    found = cells(measured("calibration", made), "DD")
    assert (found["WL"].text, found["WL"].aside, found["WL"].is_best) == ("3.1", "0.250", True)
    assert (found["KGNN"].text, found["KGNN"].is_best) == ("5.0", False)


def test_label_sets_say_how_often_they_are_right_and_how_large_they_are():
    made = records(["wl", "sp"], ["DD"], range(2))
    for each in made:
        each.result.update(coverage=91.0 if each.cell.seed else 88.0, set_size=1.25)
        if each.cell.method == "sp":  # of a time before label sets
            del each.result["coverage"], each.result["set_size"]
    found = cells(measured("label-sets", made), "DD")
    assert (found["WL"].text, found["WL"].aside, found["SP"].text) == ("89.5", "1.25", "")


def test_cost_is_the_median_and_the_peak():
    made = records(["wl"], ["DD"], range(3))
    for each, seconds, mib in zip(made, (1.0, 500.0, 3.0), (300.0, 1200.4, None), strict=True):
        each.result.update(cpu_seconds=seconds, peak_mib=mib)
    found = cells(measured("cost", made), "DD")["WL"]
    assert (found.text, found.aside) == ("3.0", "1,200 MiB")
    made[2].result["seconds_saved"] = 40.0  # of counts that another run had made
    assert cells(measured("cost", made), "DD")["WL"].text == "43.0"


def test_recalls_far_from_the_headline_and_expected_accuracy_are_told():
    terms = Terms("budget", "5/class")
    made = with_metrics(
        records(
            METHODS, ["PROTEINS"], range(5), accuracy=accuracy, protocol="budget", labels="5/class"
        )
    )
    assert cells(measured("recall", made, terms), "PROTEINS")["WL"].text == "a 77, c 45"
    cell = cells(measured("expected", made, terms), "PROTEINS")["WL"]
    assert (cell.text, cell.aside) == ("+3.0", "68.0 for 65.0; 5 of 5")
    # Of 100 labels, 68 right: from 58.3 to 76.3 %.
    for each, actual in zip(made, (58.0, 59.0, 68.0, 76.0, 77.0), strict=False):
        each.result.update(accuracy=actual, expected_accuracy=68.0, expected_on=100)
    cell = cells(measured("expected", made[:5], terms), "PROTEINS")[made[0].cell.method.upper()]
    assert cell.aside.endswith("; 3 of 5")


def test_the_reference_is_compared_with_each(results):
    table = comparison_table(results, METHODS, DATASETS)
    assert cells(table, "PROTEINS")["WL"].text == "+5.0"
    assert cells(table, "PROTEINS")["WL"].aside.startswith("p < 0.001\n→ ")
    assert cells(table, "PROTEINS")["WL"].minus == results.find("wl", "PROTEINS")
    assert [row.cells[-3].text for row in table.rows] == ["+5.0", "0.0"]
    assert [row.cells[-2].text for row in table.rows] == ["2 / 0 / 0", "0 / 2 / 0"]
    assert [row.cells[-1].text for row in table.rows] == ["2 / 0", "0 / 0"]


def test_another_headline_has_its_own_ranks_marks_and_words():
    made = with_metrics(records(METHODS, DATASETS, range(5), accuracy=accuracy))
    results = Results(made, "roc_auc")
    table = accuracy_table(results, METHODS, DATASETS)
    found = cells(table, "PROTEINS")["WL"]
    assert found.value == pytest.approx(100 - MEANS["wl"] / 2)
    assert (found.is_best, found.mark, found.aside, found.paper) == (True, "▲", "", None)
    assert table.notes.startswith("ROC AUC on TEST in percent")
    assert len(table.rows) == len(METHODS)  # no share of a class beside it
    by_accuracy = accuracy_table(Results(made), METHODS, DATASETS)
    assert [cell.text for cell in by_accuracy.rows[-1].cells] == ["59.6", "59.6", ""]
    assert Results(records(METHODS, ["DD"], range(5)), "roc_auc").without_metric == 15


def test_other_labels_and_budgets_have_tables_of_their_own():
    made = records(METHODS, ["PROTEINS"], range(3))
    for labels in (20, "5/class"):
        made += with_metrics(
            records(METHODS, ["PROTEINS"], range(5), protocol="budget", labels=labels)
        )
    made += records(["wl"], ["PROTEINS"], range(3), protocol="paper")
    titles = [table.title for table in report_tables(Results(made))]
    for words in ("20 labels", "5 labels per class"):
        for name in ("Accuracy", "Label sets for 90 % coverage"):
            assert f"{name}, {words} and no VAL" in titles
    assert "Accuracy on the split of the paper's code" in titles


def test_a_grid_of_ones_own_has_all_methods_in_the_main_table_and_no_paper():
    made = records(["wl"], ["mine"], range(3), parameters={"iterations": [2]})
    made += records(["gnn-sup", "of-my-own"], ["mine"], range(3), labels=0.1)
    table = report_tables(Results(made, reference="of-my-own"))[0]
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
    [table] = settings(
        of([0] * 3, [0, 1, 2]),
        of([0] * 3, [0, 1, 2], dataset="DD"),
        of([0] * 3, [0, 1, 2], pooling="last"),
        of([2] * 3, [0, 1, 2], dataset="DD", pooling="last"),
        of([0] * 3, [0, 1, 2], width=8),
    )
    pooling, width = (row.cells for row in table.rows)
    assert [cell.text for cell in pooling] == ["same", "+2.0 ± 0.0", "+2.0 ± 0.0"]
    assert (pooling[2].aside, width[2].text) == ("1 dataset", "same")


def test_without_defaults_on_the_same_splits_accuracies_are_told():
    several = [
        of([0] * 3, [0, 1, 2], method="wl"),
        of([1] * 3, [0, 1, 2], method="wl", iterations=[2]),
        of([1] * 3, [0, 1, 2], method="wl", dataset="DD", iterations=[2]),
    ]
    against, alone = settings(*several)
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
        shown = [
            cell.group
            for table in report_tables(results)
            for row in table.rows
            for cell in row.cells
        ]
        assert [group for group in results.groups if group not in shown] == []


def test_runs_with_the_same_reason_are_one_row():
    there = [unfinished("failed", "vat", "DD", "no memory", seed=seed) for seed in (3, 1)]
    [like] = records(["wl"], ["DD"], [0], protocol="paper", labels=0.025, parameters={"C": [1]})
    there.append(type(like)(like.cell, "declined", reason="x"))
    assert [
        [row.name, *(cell.text for cell in row.cells)] for row in unfinished_table(there).rows
    ] == [
        ["VAT", "DD", "failed", "splits 1, 3", "no memory"],
        ["WL", "DD", "declined", "split 0; paper protocol; 2.5 % labels; C = [1]", "x"],
    ]


# How tables are written.

CELLS = (
    Cell("70.1 ± 1.0", "57.3 ± 1.2", mark="▼"),
    Cell("73.1 ± 1.0", is_best=True),
    Cell("", "59.9 ± 2.6"),
    Cell(),
)
TABLE = Table("t", ("method", "a", "b", "c", "d"), (Row("WL", CELLS),), "A note.")


def test_users_take_numbers_as_a_frame(results):
    pytest.importorskip("pandas")
    frame = results.table2()
    assert frame.loc["WL", ("PROTEINS", "value")] == results.find("wl", "PROTEINS").mean
    assert frame.loc["WL", ("PROTEINS", "mark")] == "▼"
    assert frame.loc["WL", ("PROTEINS", "paper")] == 63.5
    assert len(results.frame()) == 30


def test_a_cell_shows_all_its_parts():
    assert table_markdown(TABLE).splitlines()[2:] == [
        "| WL | 70.1 ± 1.0 ▼<br><sub>57.3 ± 1.2</sub> | **73.1 ± 1.0** | "
        "<br><sub>59.9 ± 2.6</sub> |  |",
        "",
        "A note.",
    ]
    assert (
        r"{}WL & 70.1 ± 1.0▼ {\scriptsize 57.3 ± 1.2} & \textbf{73.1 ± 1.0} & "
        r"– {\scriptsize 59.9 ± 2.6} &  \\" in table_latex(TABLE).splitlines()
    )


@pytest.mark.parametrize(
    ("text", "markdown", "latex"),
    [
        ("PTC_MR", r"PTC\_MR", r"PTC\_MR"),
        ("a|b", r"a\|b", "a|b"),
        ("**bold** `code` [x]", r"\*\*bold\*\* \`code\` \[x\]", "**bold** `code` [x]"),
        ("<script> &lt; & p < 0.05", r"\<script> \&lt; & p < 0.05", r"<script> \&lt; \& p < 0.05"),
        ("C:\\new\nline", r"C:\\new line", r"C:\textbackslash{}new line"),
        ("50 % #1 {y}~^ --", r"50 % #1 {y}\~^ --", None),
        ("Größe Ж中 \x1b", "Größe Ж中 \x1b", "Größe U+0416U+4E2D U+001B"),
    ],
)
def test_text_is_shown_as_it_is(text, markdown, latex):
    assert escape_markdown(text) == markdown
    assert latex is None or escape_latex(text) == latex


def test_no_text_breaks_a_table_of_markdown():
    nasty = "a|b\n| c | <br> \\"
    lines = table_markdown(Table("t", (nasty, nasty), (Row(nasty, (Cell(nasty, nasty),)),), nasty))
    for line in lines.splitlines()[:3]:
        assert len(re.findall(r"(?<!\\)\|", line)) == 3


def test_a_whole_report_is_well_formed_latex():
    made = records([*TABLE_2, *TABLE_3, "a_b&c"], ["PROTEINS", "IMDB-BINARY", "x_1"], range(3))
    tables = report_tables(Results(made))
    text = latex_document(tables)
    for word in ("document", "table*", "tabular"):
        assert text.count(rf"\begin{{{word}}}") == text.count(rf"\end{{{word}}}") > 0
    bare = re.sub(r"\\[\\{}&%$#_]", "", text)
    assert bare.count("{") == bare.count("}")
    declared = {chr(int(found, 16)) for found in re.findall("UnicodeCharacter{([0-9A-F]+)}", text)}
    assert set(re.findall(r"[^\x00-\x7f]", text)) <= declared | set("±–")  # which textcomp knows
    for table, part in zip(tables, text.split(r"\begin{tabular}")[1:], strict=True):
        rows = [re.sub(r"\\&", "", line) for line in part.splitlines() if line.endswith(r" \\")]
        assert {row.count("&") for row in rows} == {len(table.headings) - 1}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_pdflatex_makes_pages_of_a_whole_report(tmp_path):
    names = ["a_b&c", "100 % #1 {x}~^\\", "Größe Ж中", "[p] *", "$x$ -- \x1b"]
    made = records([*TABLE_2, *TABLE_3, *names], ["PROTEINS", "IMDB-BINARY", *names], range(3))
    (tmp_path / "report.tex").write_text(latex_document(report_tables(Results(made))))
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:].decode(errors="replace")
    assert (tmp_path / "report.pdf").stat().st_size > 10_000
