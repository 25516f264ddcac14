"""Tables with a row for each method and a column for each dataset, all that records allow."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from kgnn.benchmark.record import Cell as BenchmarkCell
from kgnn.benchmark.record import Record
from kgnn.estimator.metrics import METRICS
from kgnn.evaluation.metrics import mean_and_std, out_of_fold_interval, recalls_apart
from kgnn.evaluation.paired_tests import ALPHA
from kgnn.evaluation.splits import labels_in_words
from kgnn.reports.comparison import ASSUMPTION, MARKS, TEST, Comparison, compare, rank_methods
from kgnn.reports.paper import (
    PAPER_DATASETS,
    TABLE_2,
    TABLE_3,
    PaperTable,
    dataset_title,
    method_title,
)
from kgnn.reports.results import USUAL, Group, Groups, Results, terms_of, usual_splits
from kgnn.reports.settings_tables import settings_tables
from kgnn.reports.table import Cell, Row, Table, listed, mean_with_std, p_value, signed, with_best

# Most graphs of these have a copy.
_FULL_OF_TWINS = ("IMDB-BINARY", "IMDB-MULTI")


# Which methods and datasets there are.


def table_datasets(results: Results) -> list[str]:
    """Return the datasets that have a number for the tables; others are only in figures."""
    return [d for d in results.datasets if results.find_all(results.methods, [d])]


def main_methods(results: Results) -> list[str]:
    """Return the methods of Table 2 that there are, then others, then the reference."""
    apart = {*ablations(results), results.reference}
    others = [method for method in results.methods if method not in apart]
    others.sort(key=lambda method: (method not in TABLE_2, [*TABLE_2, method].index(method)))
    return [*others, *(m for m in results.methods if m == results.reference)]


def ablations(results: Results) -> list[str]:
    """Return the methods of Table 3 that there are, where KGNN is the reference and among them."""
    there = [method for method in TABLE_3 if method in results.methods]
    is_apart = results.reference == "kgnn" in there and len(there) > 1
    return there if is_apart else []


def has_most_of(results: Results, table: PaperTable) -> bool:
    """Tell whether half of a table of the paper was run; else a store is a grid of one's own."""
    is_there = 2 * len(set(table) & set(results.methods)) >= len(table)
    return is_there and bool(set(results.datasets) & set(PAPER_DATASETS))


def report_tables(results: Results) -> list[Table]:
    """Build all tables that have something to say."""
    datasets, main, parts = table_datasets(results), main_methods(results), ablations(results)
    every = list(dict.fromkeys([*main, *parts]))
    measured = ["calibration", "label-sets", "cost"]
    if results.terms.protocol == "budget":
        measured.insert(2, "expected")
    tables = [
        table_2(results),
        table_3(results),
        without_twins_table(results, every, datasets),
        measure_table(results, "recall", every, datasets),
        comparison_table(results, main, datasets, "each method"),
        comparison_table(results, parts, datasets, "its ablations"),
        *(measure_table(results, name, every, datasets) for name in measured),
        *_tables_of_other_terms(results, every),
        *settings_tables(results),
    ]
    return [table for table in tables if not table.is_empty]


def table_2(results: Results) -> Table:
    """Build the main table: all methods but the ablations, beside what the paper printed."""
    methods = main_methods(results)
    if set(methods) <= set(ablations(results)):  # KGNN alone is a row of Table 3 already
        methods = []
    metric = METRICS[results.metric].title
    is_papers = has_most_of(results, TABLE_2)
    title = f"Table 2: {metric} of all methods" if is_papers else results.headline
    return accuracy_table(results, methods, table_datasets(results), title)


def table_3(results: Results) -> Table:
    """Build the table of the ablations."""
    title = "Table 3: ablations" if has_most_of(results, TABLE_3) else "Ablations"
    return accuracy_table(results, ablations(results), table_datasets(results), title)


def _tables_of_other_terms(results: Results, methods: Sequence[str]) -> list[Table]:
    """Build tables of other labels and protocols than the usual ones."""
    there = [g for g in results.groups if g.parameters == results.usual_parameters(g.method)]
    tables = []
    for terms in terms_of(there):
        if terms == results.terms:
            continue
        own = results.on(*terms)
        run = own.find_all(methods, results.datasets)
        chosen = [m for m in methods if any(m == method for method, _ in run)]
        datasets = [d for d in results.datasets if any(d == dataset for _, dataset in run)]
        tables.append(accuracy_table(own, chosen, datasets, results.headline))
        if terms.protocol == "budget":
            measured = ("recall", "expected", "label-sets")
            tables += [measure_table(own, name, chosen, datasets) for name in measured]
    return tables


def _by_method(
    results: Results,
    title: str,
    methods: Sequence[str],
    columns: Sequence[tuple[str, Sequence[Cell]]],
    *notes: str,
) -> Table:
    """Put columns, each with its heading, beside the methods; empty notes are left out."""
    cells = zip(*(column for _, column in columns), strict=True) if columns else [()] * len(methods)
    rows = [
        Row(results.title(method), tuple(own), method == results.reference)
        for method, own in zip(methods, cells, strict=True)
    ]
    headings = ("method", *(heading for heading, _ in columns))
    title = f"{title}{results.terms.in_words}"
    return Table(title, headings, tuple(rows), " ".join(filter(None, notes)))


# Accuracy or another headline.


def accuracy_table(
    results: Results, methods: Sequence[str], datasets: Sequence[str], title: str = "Accuracy"
) -> Table:
    """Build a table of accuracy or another headline, with what the paper printed beside ours.

    Accuracy stands above the share of the most frequent class, where the records have it.
    """
    groups, terms = results.find_all(methods, datasets), results.terms
    is_like_papers = results.metric == "accuracy" and terms.labels == USUAL.labels
    printed = {**TABLE_3, **TABLE_2} if is_like_papers and terms.protocol != "budget" else {}
    usual = {dataset: usual_splits(groups, dataset) for dataset in datasets}
    tested = False
    columns = []
    for dataset in datasets:
        compared = compare(results, methods, dataset)
        tested |= any(not math.isnan(each.p) for each in compared.values())
        column = []
        for method in methods:
            paper = printed.get(method, {}).get(dataset)
            cell = _score(groups.get((method, dataset)), results.metric, usual[dataset])
            aside = mean_with_std(*paper, n=5) if paper else ""
            mark = MARKS[compared[method].verdict] if method in compared else ""
            column.append(replace(cell, aside=aside, paper=paper, mark=mark))
        columns.append((dataset_title(dataset), with_best(column, fewest=usual[dataset])))
    has_printed = any(cell.paper for _, column in columns for cell in column)
    ranking = rank_methods(results, methods, datasets)
    is_ranked = len(ranking.ranks) > 1
    if is_ranked:
        ranks = [ranking.ranks.get(method) for method in methods]
        cells = [Cell() if r is None else Cell(f"{r:.1f}", value=r) for r in ranks]
        columns.append(("rank", with_best(cells, lowest=True)))
    over = "seeds of the method on one split" if terms.protocol == "paper" else "splits"
    test = TEST.format(over="methods of a column")
    table = _by_method(
        results,
        title,
        methods,
        columns,
        f"{results.headline} on TEST in percent: mean ± standard deviation over {over}.",
        "Below ours, what the paper printed." if has_printed else "",
        _splits_note(usual),
        f"▲ and ▼: significantly better or worse than {method_title(results.reference)} ({test}). "
        f"{ASSUMPTION}"
        if tested
        else "",
        f"Average rank over {listed(map(dataset_title, ranking.datasets))}; 1 is best."
        if is_ranked
        else "",
    )
    return _above_majority(table, groups, datasets) if results.metric == "accuracy" else table


def _above_majority(table: Table, groups: Groups, datasets: Sequence[str]) -> Table:
    """Add the accuracy of always naming the most frequent class, where the records have it."""
    shares = [_mean_of(groups, dataset, "majority_share") for dataset in datasets]
    if not table.rows or all(map(math.isnan, shares)):
        return table
    cells = [Cell() if math.isnan(share) else Cell(f"{share:.1f}", value=share) for share in shares]
    cells += [Cell()] * (len(table.headings) - 1 - len(cells))
    return replace(table, rows=(*table.rows, Row("majority class", tuple(cells))))


def _mean_of(groups: Groups, dataset: str, name: str) -> float:
    """Return the mean over all records of a dataset; nan without any."""
    there = [value for (_, d), g in groups.items() if d == dataset for value in g.values(name)]
    return mean_and_std(there)[0] if there else math.nan


def _score(group: Group | None, name: str, usual: int) -> Cell:
    """Return mean ± deviation, with the number of splits where it is not the usual one."""
    values = group.values(name) if group else []
    if not values:
        return Cell()
    (mean, std), n = mean_and_std(values), len(values)
    unusual = "" if n == usual else f" (n = {n})"
    return Cell(mean_with_std(mean, std, n) + unusual, value=mean, std=std, n=n, group=group)


def _splits_note(splits: dict[str, int]) -> str:
    """Say how many splits each dataset has, those with the same number together."""
    by_number: dict[int, list[str]] = {}
    for dataset, n in splits.items():
        if n:
            by_number.setdefault(n, []).append(dataset_title(dataset))
    told = "; ".join(f"{n} on {listed(names)}" for n, names in sorted(by_number.items()))
    return f"Runs per method: {told}; other numbers are given as n." if told else ""


def without_twins_table(results: Results, methods: Sequence[str], datasets: Sequence[str]) -> Table:
    """Build a table of accuracy on test graphs of which no copy is in training or validation.

    It has the datasets where that differs from the accuracy on all test graphs, and none where
    accuracy is not the headline.
    """
    groups = results.find_all(methods, datasets)
    columns = []
    for dataset in datasets if results.metric == "accuracy" else ():
        alone, test = _mean_of(groups, dataset, "without_twins"), _mean_of(groups, dataset, "test")
        if f"{alone:.0f}" == f"{test:.0f}" and not (dataset in _FULL_OF_TWINS and alone <= test):
            continue
        usual = usual_splits(groups, dataset)
        column = []
        for method in methods:
            group = groups.get((method, dataset))
            cell = _score(group, "accuracy_without_twins", usual)
            column.append(replace(cell, aside=f"{group.mean:.1f}" if group else ""))
        heading = f"{dataset_title(dataset)} ({alone:.0f} of {test:.0f})"
        columns.append((heading, with_best(column, fewest=usual)))
    return _by_method(
        results,
        "Accuracy on test graphs without a twin",
        methods,
        columns,
        "Accuracy in percent on the test graphs that differ from all graphs of training and "
        "validation: mean ± standard deviation over splits. Below it, accuracy on all test "
        "graphs. In the heading, how many such graphs a split has, on average.",
    )


# What is measured beside the headline.


class _Measure(NamedTuple):
    """A number of each group of records that has a table of its own."""

    title: str
    needs: str  # what a group must have
    cell: Callable[[Group], Cell]
    note: str


def _means(group: Group, *, name: str, scale: float, beside: str, digits: int) -> Cell:
    """Return the mean of one number, with that of another beside it."""
    values = [scale * value for value in group.values(name)]
    (mean, std), (other, _) = mean_and_std(values), mean_and_std(group.values(beside))
    return Cell(f"{mean:.1f}", f"{other:.{digits}f}", value=mean, std=std, n=len(values))


def _expected(group: Group) -> Cell:
    told = [r.result for r in group.records if r.result.get("expected_accuracy") is not None]
    expected = mean_and_std([each["expected_accuracy"] for each in told])[0]
    actual = mean_and_std([each["accuracy"] for each in told])[0]
    gap = expected - actual
    covered = sum(_is_covered(each) for each in told)
    note = f"{expected:.1f} for {actual:.1f}; {covered} of {len(told)}"
    return Cell(signed(gap), note, value=gap, n=len(told))


def _is_covered(result: Mapping[str, Any]) -> bool:
    """Tell whether the accuracy on TEST is in the interval that the user is shown."""
    low, high = out_of_fold_interval(result["expected_accuracy"] / 100, result["expected_on"])
    return low <= result["accuracy"] / 100 <= high


def _recall(group: Group) -> Cell:
    apart = recalls_apart(group.recalls, group.mean)
    return Cell(", ".join(f"{name} {recall:.0f}" for name, recall in apart.items()))


def _cost(group: Group) -> Cell:
    middle, memory = median(group.cpu_seconds), group.values("peak_mib")
    text = f"{middle:.1f}" if middle < 100 else f"{middle:,.0f}"
    most = f"{max(memory):,.0f} MiB" if memory else ""
    return Cell(text, most, value=middle, n=len(group.cpu_seconds))


_MEASURES = {
    "calibration": _Measure(
        "Calibration",
        "calibration_error",
        partial(_means, name="calibration_error", scale=100, beside="brier", digits=3),
        "Expected calibration error on TEST in percentage points (ten bins), mean over splits; 0 "
        "is best. Below it, the Brier score, from 0 to 2; 0 is best. Test sets are small: even "
        "correct probabilities have an error of a few points.",
    ),
    "label-sets": _Measure(
        "Label sets for 90 % coverage",
        "coverage",
        partial(_means, name="coverage", scale=1, beside="set_size", digits=2),
        "Percent of the TEST graphs whose true label is in the set that should hold 90 % of them, "
        "mean over splits ({conformal}, which also made the methods' choices). Below it, the mean "
        "number of labels in a set: at the same coverage, smaller sets are better.",
    ),
    "expected": _Measure(
        "Expected and actual accuracy",
        "expected_accuracy",
        _expected,
        "By how many points the accuracy that a method expects, from the labeled graphs that were "
        "held out of training in turn, is above that on TEST: mean over splits, 0 is honest. Below "
        "it, the two, and for how many splits the accuracy on TEST is in the 95 % interval of the "
        "expected one.",
    ),
    "recall": _Measure(
        "Classes that are found more or less often",
        "accuracy",
        _recall,
        "Percent of the TEST graphs of a class that are found (recall), mean over splits, of the "
        "classes where it is ten points or more from the {metric}.",
    ),
    "cost": _Measure(
        "Cost",
        "cpu_seconds",
        _cost,
        "CPU seconds to fit and predict once, on one thread: median over splits, including the "
        "time for counting subtrees where an earlier run had kept the counts. Below it, the most "
        "memory that any of these runs used, libraries included.",
    ),
}


def measure_table(
    results: Results, name: str, methods: Sequence[str], datasets: Sequence[str]
) -> Table:
    """Build a table of what is measured beside the headline, such as ``calibration``."""
    measure, columns = _MEASURES[name], []
    groups = {
        place: group
        for place, group in results.find_all(methods, datasets).items()
        if group.values(measure.needs)
    }
    for dataset in datasets:
        found = [groups.get((method, dataset)) for method in methods]
        column = [replace(measure.cell(group), group=group) if group else Cell() for group in found]
        if name == "calibration":
            column = with_best(column, lowest=True, fewest=usual_splits(groups, dataset))
        if any(each.text for each in column) or name != "recall":
            columns.append((dataset_title(dataset), column))
    is_budget = results.terms.protocol == "budget"
    conformal = "cross-conformal on the labeled graphs" if is_budget else "split-conformal on VAL"
    note = measure.note.format(conformal=conformal, metric=METRICS[results.metric].title)
    return _by_method(results, measure.title, methods, columns, note)


# One method against the others.


def comparison_table(
    results: Results, methods: Sequence[str], datasets: Sequence[str], others: str
) -> Table:
    """Build a table of the reference against each other method, from the reference's view.

    Datasets on which there is nothing to compare have no column.
    """
    every = {dataset: compare(results, methods, dataset) for dataset in datasets}
    compared = {dataset: found for dataset, found in every.items() if found}
    rows = [m for m in methods if any(m in each for each in compared.values())]
    columns = []
    for dataset, found in compared.items():
        ours = results.find(results.reference, dataset)
        column = [_against(found.get(m), ours, results.find(m, dataset)) for m in rows]
        columns.append((dataset_title(dataset), column))
    met = [[each[m].difference for each in compared.values() if m in each] for m in rows]
    means = [-mean_and_std(differences)[0] for differences in met]
    columns.append(("mean", [Cell(signed(mean), value=mean) for mean in means]))
    tested = any(not math.isnan(each.p) for own in compared.values() for each in own.values())
    name = method_title(results.reference)
    return _by_method(
        results,
        f"{results.title(results.reference)} against {others}",
        rows,
        columns,
        f"{results.headline} of {name} minus that of the method on the same splits, in percentage "
        "points; last, the mean over datasets.",
        "Below it, p of the paired t-test with the correction of Nadeau & Bengio → after Holm's "
        f"correction over the methods of the column. ▲ and ▼: {name} is significantly better or "
        f"worse (α = {ALPHA:g}). {ASSUMPTION}"
        if tested
        else "There are too few splits for a test.",
    )


def _against(found: Comparison | None, ours: Group | None, theirs: Group | None) -> Cell:
    if found is None:
        return Cell()
    ahead, mark = -found.difference, {"worse": "▲", "better": "▼", "": ""}[found.verdict]
    told = "" if math.isnan(found.p) else f"p {p_value(found.p)}\n→ {p_value(found.holm_p)}"
    return Cell(signed(ahead), told, mark, value=ahead, n=found.n, group=ours, minus=theirs)


# What has no number.


def unfinished_table(records: Iterable[Record]) -> Table:
    """Build a table of what has no number, runs with the same reason together."""
    runs: dict[tuple[str, ...], list[int]] = {}
    for record in records:
        cell = record.cell
        terms = "".join(f"; {term}" for term in _unusual_terms(cell))
        place = (cell.method, cell.dataset, record.outcome, terms, record.reason)
        runs.setdefault(place, []).append(cell.seed)
    rows = []
    for (method, dataset, outcome, terms, reason), seeds in runs.items():
        told = f"split{'s' * (len(seeds) > 1)} {', '.join(map(str, sorted(seeds)))}{terms}"
        cells = (dataset_title(dataset), outcome, told, reason)
        rows.append(Row(method_title(method), tuple(map(Cell, cells))))
    headings = ("method", "dataset", "outcome", "runs", "reason")
    return Table("Declined and failed runs", headings, tuple(rows))


def _unusual_terms(cell: BenchmarkCell) -> list[str]:
    """Say what sets the terms of a run apart from the usual ones."""
    told = [f"{cell.protocol} protocol"] if cell.protocol != USUAL.protocol else []
    is_usual = cell.labels == USUAL.labels and cell.protocol != "budget"
    told += [] if is_usual else [labels_in_words(cell.labels)]
    return told + [f"{k} = {json.dumps(v)}" for k, v in cell.parameters.items()]
