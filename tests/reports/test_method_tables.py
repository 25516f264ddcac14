import pytest

from kgnn.reports.method_tables import (
    accuracy_table,
    calibration_table,
    comparison_table,
    cost_table,
    expected_table,
    label_sets_table,
    paper_protocol_table,
    recalls_table,
    without_twins_table,
)
from kgnn.reports.paper import TABLE_2
from kgnn.reports.provenance import what_is_missing
from kgnn.reports.report_tables import main_methods, report_tables
from kgnn.reports.results import Results
from tests.reports.stores import TABLE_3, records, with_metrics

METHODS = ("wl", "sp", "kgnn")
MEANS = {"wl": 65.0, "sp": 70.02, "kgnn": 70.0}
WOBBLE = (-1.0, 0.5, 1.0, -0.5, 0.0)  # adds to 0


def accuracy(method, dataset, seed):
    # Noise of its own for each method, so that differences vary a little.
    return MEANS[method] + WOBBLE[seed] + 0.1 * WOBBLE[(seed * len(method)) % 5]


@pytest.fixture
def results():
    return Results(records(METHODS, ["PROTEINS", "IMDB-BINARY"], range(5), accuracy=accuracy))


def cells(table, heading):
    column = table.headings.index(heading)
    return {row[0].method: row[column] for row in table.rows}


def test_accuracy_stands_beside_what_was_printed(results):
    table = accuracy_table(results, METHODS, ["PROTEINS", "IMDB-BINARY"], printed=TABLE_2)
    assert table.headings == ("method", "PROTEINS", "IMDB-B", "rank")
    assert [row[0].text for row in table.rows] == ["WL", "SP", "KGNN"]
    cell = cells(table, "PROTEINS")["wl"]
    group = results.find("wl", "PROTEINS")
    assert cell.text == f"{group.mean:.1f} ± {group.std:.1f}"
    assert (cell.aside, cell.paper) == ("63.5 ± 1.6", (63.5, 1.6))
    assert (cell.method, cell.dataset, cell.n) == ("wl", "PROTEINS", 5)
    assert (cell.mean, cell.std, cell.interval) == (group.mean, group.std, group.interval)


def test_the_best_as_printed_are_marked_all_of_them(results):
    found = cells(accuracy_table(results, METHODS, ["PROTEINS"]), "PROTEINS")
    assert {m: cell.is_best for m, cell in found.items()} == {"wl": 0, "sp": 1, "kgnn": 1}


def test_significance_is_marked(results):
    table = accuracy_table(results, METHODS, ["PROTEINS"])
    found = cells(table, "PROTEINS")
    assert {m: cell.mark for m, cell in found.items()} == {"wl": "▼", "sp": "", "kgnn": ""}
    assert found["wl"].comparison.holm_p < 0.05
    [note] = [note for note in table.notes if "Holm" in note]
    assert "counts labeled and unlabeled graphs as training graphs" in note


def test_ranks_are_last(results):
    table = accuracy_table(results, METHODS, ["PROTEINS", "IMDB-BINARY"])
    assert {m: cell.text for m, cell in cells(table, "rank").items()} == {
        "wl": "3.0",
        "sp": "1.0",
        "kgnn": "2.0",
    }
    assert cells(table, "rank")["sp"].is_best


def test_what_is_missing_is_empty_and_hurts_nothing(results):
    table = accuracy_table(results, [*METHODS, "vat"], ["PROTEINS", "DD"], printed=TABLE_2)
    assert cells(table, "PROTEINS")["vat"].text == ""
    assert cells(table, "PROTEINS")["vat"].aside == "64.1 ± 1.2"
    assert not cells(table, "DD")["kgnn"].is_best
    assert cells(table, "rank")["vat"].text == ""
    assert cells(table, "rank")["sp"].text == "1.0"


@pytest.mark.parametrize(
    "build",
    [
        accuracy_table,
        paper_protocol_table,
        without_twins_table,
        calibration_table,
        cost_table,
        label_sets_table,
        comparison_table,
    ],
)
def test_no_records_give_an_empty_table(build):
    assert build(Results([]), METHODS, ["PROTEINS"]).is_empty


def test_another_number_of_splits_is_said():
    made = records(["wl", "sp"], ["DD"], range(5)) + records(["kgnn"], ["DD"], range(3))
    table = accuracy_table(Results(made), METHODS, ["DD"])
    found = cells(table, "DD")
    assert found["kgnn"].text.endswith(" (n = 3)")
    assert "n =" not in found["wl"].text
    assert "Runs per method: 5 on DD; other numbers are given as n." in table.notes


def test_a_single_split_has_no_deviation():
    table = accuracy_table(Results(records(["wl"], ["DD"], [0])), ["wl"], ["DD"])
    assert "±" not in cells(table, "DD")["wl"].text


def test_the_papers_protocol_shows_what_was_run_on_it():
    made = records(METHODS, ["PROTEINS", "DD"], range(3))
    made += records(["wl", "kgnn"], ["DD"], range(3), protocol="paper")
    table = paper_protocol_table(Results(made), METHODS, ["PROTEINS", "DD"], printed=TABLE_2)
    assert table.headings == ("method", "DD", "rank")
    assert [row[0].text for row in table.rows] == ["WL", "KGNN"]
    assert not any(cell.mark for row in table.rows for cell in row)
    assert "one split" in table.notes[0]


def test_the_papers_split_stands_beside_new_ones():
    made = records(METHODS, ["PROTEINS", "DD"], range(3))
    made += records(["wl"], ["DD"], range(3), protocol="paper", accuracy=lambda m, d, s: 50.0 + s)
    table = accuracy_table(Results(made), METHODS, ["PROTEINS", "DD"], printed=TABLE_2)
    assert cells(table, "DD")["wl"].aside == "57.3 ± 1.2\n[51.0 ± 1.0]"
    assert "[" not in cells(table, "PROTEINS")["wl"].aside
    assert any("In brackets" in note for note in table.notes)
    alone = paper_protocol_table(Results(made), METHODS, ["DD"], printed=TABLE_2)
    assert cells(alone, "DD")["wl"].aside == "57.3 ± 1.2"


def test_twins_are_left_out_where_there_are_any(results):
    table = without_twins_table(results, METHODS, ["PROTEINS", "IMDB-BINARY"])
    assert table.headings == ("method", "IMDB-B (80 of 200)")  # PROTEINS has none
    cell = cells(table, "IMDB-B (80 of 200)")["wl"]
    assert cell.mean == pytest.approx(results.find("wl", "IMDB-BINARY").mean - 4)
    assert cell.aside == f"{results.find('wl', 'IMDB-BINARY').mean:.1f}"


def test_a_lucky_split_is_not_the_best_of_those_with_many():
    made = records(["wl", "sp", "kgnn"], ["DD"], range(3), accuracy=lambda m, d, s: 70.0)
    made += records(["gk"], ["DD"], [0], accuracy=lambda m, d, s: 90.0)
    found = cells(accuracy_table(Results(made), ["wl", "sp", "gk", "kgnn"], ["DD"]), "DD")
    assert found["gk"].text.startswith("90.0")
    assert [m for m, cell in found.items() if cell.is_best] == ["wl", "sp", "kgnn"]


def test_calibration_is_in_percent_and_lowest_is_best():
    made = records(["wl", "kgnn"], ["DD"], range(2))
    for each in made:
        each.result.update(calibration_error=0.05, brier=0.25)
        if each.cell.method == "wl":
            each.result.update(calibration_error=0.021 if each.cell.seed else 0.041)
    found = cells(calibration_table(Results(made), ["wl", "kgnn"], ["DD"]), "DD")
    assert (found["wl"].text, found["wl"].aside, found["wl"].is_best) == ("3.1", "0.250", True)
    assert (found["kgnn"].text, found["kgnn"].is_best) == ("5.0", False)


def test_label_sets_say_how_often_they_are_right_and_how_large_they_are():
    made = records(["wl", "sp"], ["DD"], range(2))
    for each in made:
        each.result.update(coverage=91.0 if each.cell.seed else 88.0, set_size=1.25)
        if each.cell.method == "sp":  # of a time before label sets
            del each.result["coverage"], each.result["set_size"]
    found = cells(label_sets_table(Results(made), ["wl", "sp"], ["DD"]), "DD")
    assert (found["wl"].text, found["wl"].aside) == ("89.5", "1.25")
    assert found["sp"].text == ""


def test_cost_is_the_median_and_the_peak():
    made = records(["wl"], ["DD"], range(3))
    for each, seconds, mib in zip(made, (1.0, 500.0, 3.0), (300.0, 1200.4, None), strict=True):
        each.result.update(cpu_seconds=seconds, peak_mib=mib)
    found = cells(cost_table(Results(made), ["wl"], ["DD"]), "DD")["wl"]
    assert (found.text, found.aside) == ("3.0", "1,200 MiB")
    made[2].result["seconds_saved"] = 40.0  # of counts that another run had made
    assert cells(cost_table(Results(made), ["wl"], ["DD"]), "DD")["wl"].text == "43.0"


def test_kgnn_is_compared_with_each(results):
    table = comparison_table(results, METHODS, ["PROTEINS", "IMDB-BINARY"])
    assert [row[0].text for row in table.rows] == ["WL", "SP"]
    assert cells(table, "PROTEINS")["wl"].text == "+5.0"
    assert cells(table, "PROTEINS")["sp"].text == "0.0"
    assert cells(table, "PROTEINS")["wl"].aside.startswith("p < 0.001\n→ ")
    assert [row[-3].text for row in table.rows] == ["+5.0", "0.0"]
    assert [row[-2].text for row in table.rows] == ["2 / 0 / 0", "0 / 2 / 0"]
    assert [row[-1].text for row in table.rows] == ["2 / 0", "0 / 0"]


def test_a_dataset_with_nothing_to_compare_is_no_column(results):
    more = records(["wl"], ["DD"], range(5))
    made = [r for group in results.groups for r in group.records]
    table = comparison_table(Results([*made, *more]), METHODS, ["PROTEINS", "DD", "IMDB-BINARY"])
    assert table.headings[1:3] == ("PROTEINS", "IMDB-B")


def test_losses_are_counted_as_such():
    def swapped(method, dataset, seed):
        return accuracy({"wl": "kgnn", "kgnn": "wl"}[method], dataset, seed)

    results = Results(records(["wl", "kgnn"], ["DD"], range(5), accuracy=swapped))
    [row] = comparison_table(results, ["wl", "kgnn"], ["DD"]).rows
    assert [cell.text for cell in row[2:]] == ["−5.0", "0 / 0 / 1", "0 / 1"]


def test_every_row_is_as_long_as_the_headings(results):
    made = records([*METHODS, *TABLE_3, "ldp"], ["PROTEINS", "IMDB-BINARY"], range(3))
    made += records(["kgnn"], ["DD"], range(2), protocol="paper")
    tables = report_tables(Results(made))
    assert len(tables) == 9
    for table in tables:
        assert {len(row) for row in table.rows} == {len(table.headings)}


def test_methods_of_others_come_before_kgnn():
    results = Results(records(["kgnn", "gnn-sup", "mine", "ldp", "gk"], ["DD"], [0]))
    assert main_methods(results) == ["gk", "ldp", "mine", "kgnn"]


DATASETS = ("PROTEINS", "IMDB-BINARY")


def test_the_largest_class_stands_below_the_accuracies():
    made = with_metrics(records(METHODS, DATASETS, range(5), accuracy=accuracy))
    table = accuracy_table(Results(made), METHODS, DATASETS, printed=TABLE_2)
    assert [cell.text for cell in table.rows[-1]] == ["majority class", "59.6", "59.6", ""]
    older = Results(records(METHODS, DATASETS, range(5), accuracy=accuracy))
    assert len(accuracy_table(older, METHODS, DATASETS).rows) == len(METHODS)


def test_another_headline_has_its_own_ranks_marks_and_words():
    made = with_metrics(records(METHODS, DATASETS, range(5), accuracy=accuracy))
    results = Results(made, "roc_auc")
    table = accuracy_table(results, METHODS, DATASETS, printed=TABLE_2)
    found = cells(table, "PROTEINS")
    assert found["wl"].mean == pytest.approx(100 - MEANS["wl"] / 2)
    assert found["wl"].interval == results.find("wl", "PROTEINS").interval
    assert (found["wl"].is_best, found["wl"].mark) == (True, "▲")
    assert (found["wl"].aside, found["wl"].paper) == ("", None)
    assert cells(table, "rank")["wl"].text == "1.0"
    assert table.notes[0].startswith("ROC AUC on TEST in percent")
    assert len(table.rows) == len(METHODS)  # no share of a class beside it
    assert without_twins_table(results, METHODS, DATASETS).is_empty
    [against] = [t for t in report_tables(results) if t.title == "KGNN against each method"]
    assert against.notes[0].startswith("ROC AUC of KGNN minus")


def test_runs_without_the_headline_are_left_out_and_counted():
    older = records(METHODS, ["PROTEINS"], range(5))
    newer = with_metrics(records(["wl"], ["IMDB-BINARY"], range(3)))
    results = Results([*older, *newer], "roc_auc")
    assert results.without_metric == 15
    assert [(g.method, g.dataset) for g in results.groups] == [("wl", "IMDB-BINARY")]
    assert "15 runs without ROC AUC left out." in what_is_missing(results)
    assert Results([*older, *newer]).without_metric == 0


def test_recalls_far_from_the_headline_are_shown():
    made = with_metrics(records(METHODS, ["PROTEINS"], range(5), accuracy=accuracy))
    table = recalls_table(Results(made), METHODS, ["PROTEINS"])
    assert cells(table, "PROTEINS")["wl"].text == "a 77, c 45"
    assert recalls_table(Results(records(METHODS, ["PROTEINS"], [0])), METHODS, []).is_empty


def test_a_budget_has_tables_of_what_the_methods_know_of_themselves():
    made = [
        record
        for labels in (0.1, 20, "5/class")
        for record in with_metrics(
            records(METHODS, ["PROTEINS"], range(5), protocol="budget", labels=labels)
        )
    ]
    results = Results(made)
    titles = [table.title for table in report_tables(results)]
    for words in ("10 % labels", "20 labels", "5 labels per class"):
        terms = f", {words} and no VAL"
        assert f"Accuracy{terms}" in titles
        assert f"Label sets for 90 % coverage{terms}" in titles
    assert titles.index("Accuracy, 20 labels and no VAL") < titles.index(
        "Accuracy, 5 labels per class and no VAL"
    )
    table = expected_table(results, METHODS, ["PROTEINS"], labels="5/class")
    group = results.find("wl", "PROTEINS", protocol="budget", labels="5/class")
    cell = cells(table, "PROTEINS")["wl"]
    assert (cell.text, cell.aside) == ("+3.0", f"{group.mean + 3:.1f} for {group.mean:.1f}")
