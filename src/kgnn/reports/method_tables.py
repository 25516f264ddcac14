"""Tables with a row for each method and a column for each dataset."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, NamedTuple

from kgnn.estimator.metrics import METRICS
from kgnn.evaluation.metrics import mean_and_std, recalls_apart, wilson_interval
from kgnn.evaluation.paired_tests import ALPHA
from kgnn.evaluation.splits import labels_in_words
from kgnn.reports.comparison import (
    ASSUMPTION,
    Comparison,
    compare,
    rank_methods,
)
from kgnn.reports.paper import (
    TABLE_2,
    TABLE_3,
    PaperTable,
    dataset_title,
    method_title,
)
from kgnn.reports.results import (
    USUAL,
    Group,
    Groups,
    Results,
    Terms,
    usual_splits,
)
from kgnn.reports.table import (
    Cell,
    Row,
    Table,
    listed,
    mean_with_std,
    p_value,
    signed,
    with_best,
)

# Most graphs of these have a copy.
_FULL_OF_TWINS = ("IMDB-BINARY", "IMDB-MULTI")


MARKS = {"better": "▲", "worse": "▼", "": ""}


TEST = (
    "paired t-test over the same splits with the correction of Nadeau & Bengio, then Holm's over "
    "the {over}, α = " + f"{ALPHA:g}"
)


def terms_in_words(terms: Terms) -> str:
    """Name the terms of runs in a title, where they are not the usual ones."""
    if terms.protocol == "budget":
        return f", {labels_in_words(terms.labels)} and no VAL"
    labels = float(terms.labels)
    split = " on the split of the paper's code" if terms.protocol == "paper" else ""
    # The paper counts in TRAIN-L, which is a fifth of all graphs.
    share = f", {100 * labels:g} % labeled ({500 * labels:g} % of TRAIN-L)"
    return split + ("" if labels == USUAL.labels else share)


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
    return Table(title, headings, tuple(rows), " ".join(filter(None, notes)))


def accuracy_table(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    *,
    title: str = "Accuracy",
    terms: Terms = USUAL,
    printed: PaperTable = TABLE_2,
) -> Table:
    """Build a table of accuracy or another headline, with what the paper printed beside ours.

    Accuracy stands above the share of the most frequent class, where the records have it.
    """
    groups = results.find_all(methods, datasets, terms)
    is_like_papers = results.metric == "accuracy" and terms.labels == USUAL.labels
    printed = {**TABLE_3, **printed} if is_like_papers and terms.protocol != "budget" else {}
    usual = {dataset: usual_splits(groups, dataset) for dataset in datasets}
    tested = False
    columns = []
    for dataset in datasets:
        compared = compare(results, methods, dataset, terms)
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
    ranking = rank_methods(results, methods, datasets, terms)
    is_ranked = len(ranking.ranks) > 1
    if is_ranked:
        ranks = [ranking.ranks.get(method) for method in methods]
        cells = [Cell() if r is None else Cell(f"{r:.1f}", value=r) for r in ranks]
        columns.append(("rank", with_best(cells, lowest=True)))
    over = "seeds of the method on one split" if terms.protocol == "paper" else "splits"
    name = method_title(results.reference)
    test = TEST.format(over="methods of a column")
    table = _by_method(
        results,
        title,
        methods,
        columns,
        f"{results.headline} on TEST in percent: mean ± standard deviation over {over}.",
        "Below ours, what the paper printed." if has_printed else "",
        _splits_note(usual),
        f"▲ and ▼: significantly better or worse than {name} ({test}). {ASSUMPTION}"
        if tested
        else "",
        f"Average rank over {_named(ranking.datasets)}; 1 is best." if is_ranked else "",
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


def _splits_note(splits: Mapping[str, int]) -> str:
    """Say how many splits each dataset has, those with the same number together."""
    by_number: dict[int, list[str]] = {}
    for dataset, n in splits.items():
        if n:
            by_number.setdefault(n, []).append(dataset_title(dataset))
    told = "; ".join(f"{n} on {listed(names)}" for n, names in sorted(by_number.items()))
    return f"Runs per method: {told}; other numbers are given as n." if told else ""


def _named(datasets: Iterable[str]) -> str:
    return listed([dataset_title(dataset) for dataset in datasets])


def without_twins_table(
    results: Results, methods: Sequence[str], datasets: Sequence[str], terms: Terms = USUAL
) -> Table:
    """Build a table of accuracy on test graphs of which no copy is in training or validation.

    It has the datasets where that differs from the accuracy on all test graphs, and none where
    accuracy is not the headline.
    """
    groups = results.find_all(methods, datasets, terms)
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
        f"Accuracy on test graphs without a twin{terms_in_words(terms)}",
        methods,
        columns,
        "Accuracy in percent on the test graphs that differ from all graphs of training and "
        "validation: mean ± standard deviation over splits. Below it, accuracy on all test "
        "graphs. In the heading, how many such graphs a split has, on average.",
    )


class _Measure(NamedTuple):
    """A number of each group of records that has a table of its own."""

    title: str
    cell: Callable[[Group], Cell]
    note: str
    is_best_low: bool = False  # else no place of the table is best


def _calibration(group: Group) -> Cell:
    errors, scores = group.values("calibration_error"), group.values("brier")
    mean, std = (100 * value for value in mean_and_std(errors))
    brier = mean_and_std(scores)[0]
    return Cell(f"{mean:.1f}", f"{brier:.3f}", value=mean, std=std, n=len(errors))


def _label_sets(group: Group) -> Cell:
    (mean, std), n = mean_and_std(group.values("coverage")), len(group.values("coverage"))
    size = mean_and_std(group.values("set_size"))[0]
    return Cell(f"{mean:.1f}", f"{size:.2f}", value=mean, std=std, n=n)


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
    low, high = wilson_interval(result["expected_accuracy"] / 100, result["expected_on"])
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
        _calibration,
        "Expected calibration error on TEST in percentage points (ten bins), mean over splits; 0 "
        "is best. Below it, the Brier score, from 0 to 2; 0 is best. Test sets are small: even "
        "correct probabilities have an error of a few points.",
        is_best_low=True,
    ),
    "label-sets": _Measure(
        "Label sets for 90 % coverage",
        _label_sets,
        "Percent of the TEST graphs whose true label is in the set that should hold 90 % of them, "
        "mean over splits ({conformal}, which also made the methods' choices). Below it, the mean "
        "number of labels in a set: at the same coverage, smaller sets are better.",
    ),
    "expected": _Measure(
        "Expected and actual accuracy",
        _expected,
        "By how many points the accuracy that a method expects, from the labeled graphs that were "
        "held out of training in turn, is above that on TEST: mean over splits, 0 is honest. Below "
        "it, the two, and for how many splits the accuracy on TEST is in the 95 % interval of the "
        "expected one.",
    ),
    "recall": _Measure(
        "Classes that are found more or less often",
        _recall,
        "Percent of the TEST graphs of a class that are found (recall), mean over splits, of the "
        "classes where it is ten points or more from the {metric}.",
    ),
    "cost": _Measure(
        "Cost",
        _cost,
        "CPU seconds to fit and predict once, on one thread: median over splits, including the "
        "time for counting subtrees where an earlier run had kept the counts. Below it, the most "
        "memory that any of these runs used, libraries included.",
    ),
}


# What a group must have for a measure of it.
_NEEDS = {"calibration": "calibration_error", "label-sets": "coverage", "cost": "cpu_seconds"}


_NEEDS |= {"expected": "expected_accuracy"}


def measure_table(
    results: Results, name: str, methods: Sequence[str], datasets: Sequence[str], terms: Terms
) -> Table:
    """Build a table of what is measured beside the headline, such as ``calibration``."""
    measure = _MEASURES[name]
    groups = results.find_all(methods, datasets, terms)

    def cell(group: Group | None) -> Cell:
        if group is None or (name in _NEEDS and not group.values(_NEEDS[name])):
            return Cell()
        return replace(measure.cell(group), group=group)

    columns = []
    for dataset in datasets:
        column = [cell(groups.get((method, dataset))) for method in methods]
        if measure.is_best_low:
            column = with_best(column, lowest=True, fewest=usual_splits(groups, dataset))
        if any(each.text for each in column) or name != "recall":
            columns.append((dataset_title(dataset), column))
    is_budget = terms.protocol == "budget"
    conformal = "cross-conformal on the labeled graphs" if is_budget else "split-conformal on VAL"
    note = measure.note.format(conformal=conformal, metric=METRICS[results.metric].title)
    title = measure.title + terms_in_words(terms)
    return _by_method(results, title, methods, columns, note)


def comparison_table(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    others: str = "each method",
    terms: Terms = USUAL,
) -> Table:
    """Build a table of the reference against each other method, from the reference's view.

    Datasets on which there is nothing to compare have no column.
    """
    every = {d: compare(results, methods, d, terms) for d in datasets}
    compared = {dataset: found for dataset, found in every.items() if found}
    rows = [m for m in methods if any(m in each for each in compared.values())]
    met = {m: [each[m] for each in compared.values() if m in each] for m in rows}

    def cell(method: str, dataset: str) -> Cell:
        each = compared[dataset].get(method)
        if each is None:
            return Cell()
        ours, theirs = (results.find(m, dataset, terms) for m in (results.reference, method))
        told = "" if math.isnan(each.p) else f"p {p_value(each.p)}\n→ {p_value(each.holm_p)}"
        ahead = -each.difference
        return Cell(signed(ahead), told, value=ahead, n=each.n, group=ours, minus=theirs)

    columns = [(dataset_title(d), [cell(m, d) for m in rows]) for d in compared]
    means = [-mean_and_std([each.difference for each in met[m]])[0] for m in rows]
    verdicts = [Counter(each.verdict for each in met[m]) for m in rows]
    columns += [
        ("mean", [Cell(signed(mean), value=mean) for mean in means]),
        ("wins / ties / losses", [Cell(_balance(met[m])) for m in rows]),
        ("significant", [Cell(f"{v['worse']} / {v['better']}") for v in verdicts]),
    ]
    tested = any(not math.isnan(each.p) for several in met.values() for each in several)
    name = method_title(results.reference)
    return _by_method(
        results,
        f"{results.title(results.reference)} against {others}{terms_in_words(terms)}",
        rows,
        columns,
        f"{results.headline} of {name} minus that of the method on the same splits, in percentage "
        "points.",
        "Below it, p of the paired t-test with the correction of Nadeau & Bengio → after Holm's "
        f"correction over the methods of the column. {ASSUMPTION}"
        if tested
        else "There are too few splits for a test.",
        f"Last: datasets on which {name} is above, equal (to a tenth of a point), below; and on "
        f"how many of these significantly, above / below (α = {ALPHA:g}).",
    )


def _balance(met: list[Comparison]) -> str:
    above = [-round(each.difference, 1) for each in met]
    return f"{sum(x > 0 for x in above)} / {above.count(0)} / {sum(x < 0 for x in above)}"
