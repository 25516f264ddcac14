import pytest

from kgnn.reports.choices_table import choices_tables
from kgnn.reports.report_tables import report_tables
from kgnn.reports.results import Results
from tests.reports.stores import records

DATASET = "PROTEINS"


def made(gains, seeds=range(5), method="kgnn", dataset=DATASET, terms=(), **parameters):
    return records(
        [method],
        [dataset],
        seeds,
        parameters=parameters,
        **dict(terms),
        accuracy=lambda m, d, seed: 70.0 + seed + gains[seed],
    )


def tables(*several):
    return choices_tables(Results([record for each in several for record in each]))


def table(*several):
    [only] = tables(*several)
    return only


def test_settings_are_compared_with_the_defaults_on_the_same_splits():
    found = table(
        made([0] * 5), made([-2, -3, -2, -3, -2], hops=1), made([9] * 3, [0, 1, 2], width=64)
    )
    assert found.headings == ("setting", "PROTEINS")
    (hops, first), (width, second) = found.rows
    assert (hops.text, first.text, first.aside) == ("hops=1", "−2.4 ± 0.4", "5 splits")
    assert (width.text, second.text, second.aside) == ("width=64", "+9.0 ± 0.0", "3 splits")
    # 669 graphs to train on, 222 of TEST; the deviation is that of 2, 3, 2, 3, 2.
    assert first.comparison.error == pytest.approx(0.3**0.5 * (1 / 5 + 222 / 669) ** 0.5)
    assert (first.mark, first.minus) == ("▼", "kgnn")
    assert first.mean == pytest.approx(-2.4)


def test_the_mean_over_datasets_has_the_error_of_independent_ones():
    found = table(
        made([0] * 5),
        made([0] * 5, dataset="DD"),
        made([-2, -3, -2, -3, -2], hops=1),
        made([1, 0, 1, 0, 1], dataset="DD", hops=1),
        made([1] * 5, dataset="DD", width=8),
    )
    assert found.headings == ("setting", "PROTEINS", "DD", "mean")
    (_, first, second, mean), (*_, alone) = found.rows
    assert (mean.text, mean.aside) == ("−0.9 ± 0.3", "2 datasets")
    assert mean.mean == pytest.approx((first.mean + second.mean) / 2)
    assert (alone.text, alone.aside) == ("+1.0 ± 0.0", "1 dataset")
    assert "mean over the datasets" in found.notes[-1]


def test_a_setting_that_changes_nothing_somewhere_is_not_averaged_there():
    found = table(
        made([0] * 3, [0, 1, 2]),
        made([0] * 3, [0, 1, 2], dataset="DD"),
        made([0] * 3, [0, 1, 2], pooling="last"),
        made([2] * 3, [0, 1, 2], dataset="DD", pooling="last"),
        made([0] * 3, [0, 1, 2], width=8),
    )
    (_, first, second, mean), (*_, nothing) = found.rows
    assert (first.text, second.text) == ("same", "+2.0 ± 0.0")
    assert (mean.text, mean.aside, nothing.text) == ("+2.0 ± 0.0", "1 dataset", "same")


def test_without_defaults_to_compare_with_accuracies_are_told():
    found = table(
        made([0] * 2, [0, 1], method="wl", iterations=[10]),
        made([3], [0], method="wl", iterations=[2]),
        made([0] * 2, [0, 1], method="kgnn"),
    )
    assert found.title == "WL with other settings"
    (first, a), (second, b) = found.rows
    assert (first.text, a.text, a.aside) == ("iterations=2", "73.0", "1 split")
    assert (second.text, b.text, b.aside) == ("iterations=10", "70.5 ± 0.7", "2 splits")
    assert (a.mark, b.mean, b.parameters) == ("", 70.5, {"iterations": [10]})


def test_differences_and_accuracies_are_not_in_one_table():
    several = [
        made([0] * 3, [0, 1, 2], method="wl"),
        made([1] * 3, [0, 1, 2], method="wl", iterations=[2]),
        made([1] * 3, [0, 1, 2], method="wl", dataset="DD", iterations=[2]),
    ]
    against, alone = tables(*several)
    assert (against.title, against.headings[1:]) == ("WL with other settings", ("PROTEINS",))
    assert (alone.title, alone.headings[1:]) == ("WL with other settings: accuracy", ("DD",))
    assert "minus" in against.notes[0]
    assert "minus" not in alone.notes[0]


def test_every_run_is_in_some_table():
    several = [
        made([0], [0], method=method, dataset=dataset, terms=terms.items(), **parameters)
        for method in ("wl", "kgnn", "gnn-sup", "of-my-own")
        for dataset in ("DD", "mine.jsonl")
        for terms in (
            {"protocol": protocol, "labels": labels}
            for protocol in ("fair", "paper")
            for labels in (0.1, 0.05)
        )
        for parameters in ({}, {"width": 64}, {"width": 8, "hops": 1})
    ]
    for kept in (several, several[1::3], several[6::12], several[-1:]):
        results = Results([record for each in kept for record in each])
        shown = {
            (cell.method, cell.dataset, made.protocol, made.labels, *cell.parameters.items())
            for made in report_tables(results)
            for row in made.rows
            for cell in row[1:]
            if cell.text
        }
        for g in results.groups:
            assert (g.method, g.dataset, g.protocol, g.labels, *g.parameters.items()) in shown
