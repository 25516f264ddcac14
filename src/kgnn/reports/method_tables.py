"""Tables with a row for each method and a column for each dataset."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from kgnn.evaluation.metrics import METRICS, mean_and_std, recalls_apart
from kgnn.evaluation.paired_tests import ALPHA
from kgnn.evaluation.splits import Labels
from kgnn.reports.comparison import (
    ASSUMPTION,
    REFERENCE,
    Comparison,
    Ranking,
    compare,
    rank_methods,
)
from kgnn.reports.numbers import listed, mean_with_std, p_value, signed
from kgnn.reports.paper import PaperTable, dataset_title, method_title
from kgnn.reports.results import Group, Groups, Results, find_groups, usual_splits
from kgnn.reports.table import Table, TableCell, method_column, method_table, with_best

# Most graphs of these have a copy.
_FULL_OF_TWINS = ("IMDB-BINARY", "IMDB-MULTI")
_NAME = method_title(REFERENCE)
_MARKS = (
    f"▲ and ▼: significantly better or worse than {_NAME} (paired t-test over "
    "the same splits with the correction of Nadeau & Bengio, then Holm's over the methods of a "
    f"column, α = {ALPHA:g}). {ASSUMPTION}"
)
_DIFFERENCES = (
    f"{{metric}} of {_NAME} minus that of the method on the same splits, in percentage points."
)
_TESTS = (
    "Beside it, p of the paired t-test with the correction of Nadeau & Bengio → after Holm's "
    f"correction over the methods of the column. {ASSUMPTION}"
)
_BALANCE = (
    f"Last: datasets on which {_NAME} is above, equal (to a tenth of a point), below; and on how "
    f"many of these significantly, above / below (α = {ALPHA:g})."
)


def accuracy_table(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    *,
    title: str = "Accuracy",
    printed: PaperTable | None = None,
    protocol: str = "fair",
    labels: Labels = 0.1,
) -> Table:
    """Build a table of accuracy or another headline, with what the paper printed beside ours.

    Accuracy stands above the share of the most frequent class, where the records have it.
    """
    groups = find_groups(results, methods, datasets, protocol=protocol, labels=labels)
    papers_split = find_groups(results, methods, datasets, protocol="paper", labels=labels)
    if protocol != "fair":
        papers_split = {}  # they are the table, or have other labels
    if results.metric != "accuracy":
        printed = {}  # the paper has accuracy alone
    splits = {dataset: usual_splits(groups, dataset) for dataset in datasets}
    compared = {
        dataset: compare(results, methods, dataset, protocol=protocol, labels=labels)
        for dataset in datasets
    }

    def cell(method: str, dataset: str) -> TableCell:
        paper = (printed or {}).get(method, {}).get(dataset)
        own = papers_split.get((method, dataset))
        asides = [mean_with_std(*paper, n=5)] if paper else []
        asides += [f"[{mean_with_std(own.mean, own.std, len(own.records))}]"] if own else []
        return replace(
            _score(groups.get((method, dataset)), results.metric, splits[dataset]),
            aside="\n".join(asides),
            paper=paper,
            comparison=compared[dataset].get(method),
        )

    columns = [
        (dataset_title(d), with_best(method_column(methods, d, cell), 1, fewest=splits[d]))
        for d in datasets
    ]
    ranking = rank_methods(results, methods, datasets, protocol=protocol, labels=labels)
    is_ranked = len(ranking.ranks) > 1
    if is_ranked:
        columns.append(("rank", _rank_column(ranking, methods)))
    tested = any(not math.isnan(c.p) for each in compared.values() for c in each.values())
    ranked = listed([dataset_title(d) for d in ranking.datasets])
    notes = (
        _headline_note(results, protocol, columns),
        "In brackets, ours on the one split of the paper's code." if papers_split else "",
        _splits_note(splits),
        _MARKS if tested else "",
        f"Average rank over {ranked}; 1 is best." if is_ranked else "",
    )
    table = method_table(results, title, methods, columns, notes)
    if results.metric == "accuracy":
        table = _above_majority(table, groups, datasets)
    return replace(table, protocol=protocol, labels=labels)


def _above_majority(table: Table, groups: Groups, datasets: Sequence[str]) -> Table:
    """Add the accuracy of always naming the most frequent class, where the records have it."""
    shares = [_mean_of(groups, dataset, "majority_share") for dataset in datasets]
    if not table.rows or all(map(math.isnan, shares)):
        return table
    cells = [TableCell() if math.isnan(share) else TableCell(f"{share:.1f}") for share in shares]
    cells += [TableCell()] * (len(table.headings) - 1 - len(cells))
    return replace(table, rows=(*table.rows, (TableCell("majority class"), *cells)))


def paper_protocol_table(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    printed: PaperTable | None = None,
) -> Table:
    """Build a table of accuracy on the one split of the paper's code, where that was run."""
    groups = find_groups(results, methods, datasets, protocol="paper")
    return accuracy_table(
        results,
        [method for method in methods if any((method, d) in groups for d in datasets)],
        [dataset for dataset in datasets if any((m, dataset) in groups for m in methods)],
        title=f"{results.headline} on the split of the paper's code",
        printed=printed,
        protocol="paper",
    )


def without_twins_table(results: Results, methods: Sequence[str], datasets: Sequence[str]) -> Table:
    """Build a table of accuracy on test graphs of which no copy is in training or validation.

    It has the datasets where that differs from the accuracy on all test graphs, and none where
    accuracy is not the headline.
    """
    datasets = datasets if results.metric == "accuracy" else ()
    groups = find_groups(results, methods, datasets)

    def cell(method: str, dataset: str) -> TableCell:
        group = groups.get((method, dataset))
        score = _score(group, "accuracy_without_twins", usual_splits(groups, dataset))
        return replace(score, aside=f"{group.mean:.1f}" if group else "")

    columns = []
    for dataset in datasets:
        alone, test = _mean_of(groups, dataset, "without_twins"), _mean_of(groups, dataset, "test")
        if f"{alone:.0f}" != f"{test:.0f}" or (dataset in _FULL_OF_TWINS and alone <= test):
            heading = f"{dataset_title(dataset)} ({alone:.0f} of {test:.0f})"
            usual = usual_splits(groups, dataset)
            column = with_best(method_column(methods, dataset, cell), 1, fewest=usual)
            columns.append((heading, column))
    notes = (
        "Accuracy in percent on the test graphs that differ from all graphs of training and "
        "validation: mean ± standard deviation over splits. Beside it, accuracy on all test "
        "graphs. In the heading, how many such graphs a split has, on average.",
    )
    return method_table(results, "Accuracy on test graphs without a twin", methods, columns, notes)


def _mean_of(groups: Groups, dataset: str, name: str) -> float:
    """Return the mean over all records of a dataset; nan without any."""
    there = [value for (_, d), g in groups.items() if d == dataset for value in g.values(name)]
    return mean_and_std(there)[0] if there else math.nan


def _score(group: Group | None, name: str, usual: int) -> TableCell:
    """Return mean ± deviation, with the number of splits where it is not the usual one."""
    values = group.values(name) if group else []
    if not group or not values:
        return TableCell()
    mean, std = mean_and_std(values)
    n = len(values)
    unusual = "" if n == usual else f" (n = {n})"
    return TableCell(
        mean_with_std(mean, std, n) + unusual,
        mean=mean,
        std=std,
        interval=group.interval if name == group.metric else None,
        n=n,
    )


def _rank_column(ranking: Ranking, methods: Sequence[str]) -> list[TableCell]:
    def cell(method: str, _: str) -> TableCell:
        rank = ranking.ranks.get(method)
        return TableCell() if rank is None else TableCell(f"{rank:.1f}", mean=rank)

    return with_best(method_column(methods, "", cell), decimals=1, lowest=True)


def _headline_note(
    results: Results, protocol: str, columns: Sequence[tuple[str, list[TableCell]]]
) -> str:
    printed = any(cell.paper for _, column in columns for cell in column)
    over = "seeds of the method on one split" if protocol == "paper" else "splits"
    beside = " Beside ours, what the paper printed." if printed else ""
    return f"{results.headline} on TEST in percent: mean ± standard deviation over {over}.{beside}"


def _splits_note(splits: Mapping[str, int]) -> str:
    """Say how many splits each dataset has, those with the same number together."""
    by_number: dict[int, list[str]] = {}
    for dataset, n in splits.items():
        if n:
            by_number.setdefault(n, []).append(dataset_title(dataset))
    told = "; ".join(f"{n} on {listed(names)}" for n, names in sorted(by_number.items()))
    return f"Runs per method: {told}; other numbers are given as n." if told else ""


def comparison_table(
    results: Results, methods: Sequence[str], datasets: Sequence[str], others: str = "each method"
) -> Table:
    """Build a table of KGNN against each other method, from KGNN's point of view.

    Datasets on which there is nothing to compare have no column.
    """
    every = {d: compare(results, methods, d) for d in datasets}
    compared = {dataset: found for dataset, found in every.items() if found}
    rows = [m for m in methods if any(m in each for each in compared.values())]
    met = {m: [each[m] for each in compared.values() if m in each] for m in rows}

    def cell(method: str, dataset: str) -> TableCell:
        each = compared[dataset].get(method)
        if each is None:
            return TableCell()
        told = "" if math.isnan(each.p) else f"p {p_value(each.p)}\n→ {p_value(each.holm_p)}"
        return TableCell(
            signed(-each.difference),
            told,
            method=REFERENCE,
            dataset=dataset,
            mean=-each.difference,
            n=each.n,
            minus=method,
        )

    columns = [(dataset_title(d), [cell(m, d) for m in rows]) for d in compared]
    means = [-mean_and_std([each.difference for each in met[m]])[0] for m in rows]
    verdicts = [Counter(each.verdict for each in met[m]) for m in rows]
    columns += [
        ("mean", [TableCell(signed(mean), mean=mean) for mean in means]),
        ("wins / ties / losses", [TableCell(_balance(met[m])) for m in rows]),
        ("significant", [TableCell(f"{v['worse']} / {v['better']}") for v in verdicts]),
    ]
    tested = any(not math.isnan(each.p) for several in met.values() for each in several)
    differences = _DIFFERENCES.format(metric=results.headline)
    notes = (differences, _TESTS if tested else "There are too few splits for a test.", _BALANCE)
    title = f"{results.title(REFERENCE)} against {others}"
    return method_table(results, title, rows, columns, notes)


def _balance(met: list[Comparison]) -> str:
    above = [-round(each.difference, 1) for each in met]
    return f"{sum(x > 0 for x in above)} / {above.count(0)} / {sum(x < 0 for x in above)}"


def calibration_table(results: Results, methods: Sequence[str], datasets: Sequence[str]) -> Table:
    """Build a table of how far the probabilities can be trusted."""
    groups = find_groups(results, methods, datasets)

    def cell(method: str, dataset: str) -> TableCell:
        errors, scores = _values(groups, method, dataset, "calibration_error", "brier")
        if not errors:
            return TableCell()
        mean, std = (100 * value for value in mean_and_std(errors))
        brier = mean_and_std(scores)[0]
        return TableCell(f"{mean:.1f}", f"{brier:.3f}", mean=mean, std=std, n=len(errors))

    columns = [
        (
            dataset_title(d),
            with_best(
                method_column(methods, d, cell), 1, lowest=True, fewest=usual_splits(groups, d)
            ),
        )
        for d in datasets
    ]
    notes = (
        "Expected calibration error on TEST in percentage points (ten bins), mean over splits; 0 "
        "is best. Beside it, the Brier score, from 0 to 2; 0 is best. Test sets are small: even "
        "correct probabilities have an error of a few points.",
    )
    return method_table(results, "Calibration", methods, columns, notes)


def label_sets_table(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    *,
    title: str = "Label sets for 90 % coverage",
    protocol: str = "fair",
    labels: Labels = 0.1,
) -> Table:
    """Build a table of how often label sets hold the true label, and how large they are."""
    groups = find_groups(results, methods, datasets, protocol=protocol, labels=labels)

    def cell(method: str, dataset: str) -> TableCell:
        covered, sizes = _values(groups, method, dataset, "coverage", "set_size")
        if not covered:
            return TableCell()
        (mean, std), size = mean_and_std(covered), mean_and_std(sizes)[0]
        return TableCell(f"{mean:.1f}", f"{size:.2f}", mean=mean, std=std, n=len(covered))

    columns = [(dataset_title(d), method_column(methods, d, cell)) for d in datasets]
    is_budget = protocol == "budget"
    how = "cross-conformal on the labeled graphs" if is_budget else "split-conformal on VAL"
    notes = (
        "Percent of the TEST graphs whose true label is in the set that should hold 90 % of them, "
        f"mean over splits ({how}, which also made the methods' choices). Beside "
        "it, the mean number of labels in a set: at the same coverage, smaller sets are better.",
    )
    table = method_table(results, title, methods, columns, notes)
    return replace(table, protocol=protocol, labels=labels)


def expected_table(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    *,
    title: str = "Expected and actual accuracy",
    protocol: str = "budget",
    labels: Labels = 0.1,
) -> Table:
    """Build a table of how far the accuracy that methods expect is from that on TEST."""
    groups = find_groups(results, methods, datasets, protocol=protocol, labels=labels)

    def cell(method: str, dataset: str) -> TableCell:
        group = groups.get((method, dataset))
        told = [r.result for r in group.records] if group else []
        told = [each for each in told if each.get("expected_accuracy") is not None]
        if not told:
            return TableCell()
        expected, actual = (
            mean_and_std([each[name] for each in told])[0]
            for name in ("expected_accuracy", "accuracy")
        )
        gap, n = expected - actual, len(told)
        return TableCell(signed(gap), f"{expected:.1f} for {actual:.1f}", mean=gap, n=n)

    columns = [(dataset_title(d), method_column(methods, d, cell)) for d in datasets]
    notes = (
        "By how many points the accuracy that a method expects, from the labeled graphs that were "
        "held out of training in turn, is above that on TEST: mean over splits, 0 is honest. "
        "Beside it, the two.",
    )
    table = method_table(results, title, methods, columns, notes)
    return replace(table, protocol=protocol, labels=labels)


def recalls_table(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    *,
    title: str = "Classes that are found more or less often",
    protocol: str = "fair",
    labels: Labels = 0.1,
) -> Table:
    """Build a table of the recalls that are ten points or more from the headline."""
    groups = find_groups(results, methods, datasets, protocol=protocol, labels=labels)

    def cell(method: str, dataset: str) -> TableCell:
        group = groups.get((method, dataset))
        apart = recalls_apart(group.recalls, group.mean) if group else {}
        return TableCell(", ".join(f"{name} {recall:.0f}" for name, recall in apart.items()))

    every = [(dataset_title(d), method_column(methods, d, cell)) for d in datasets]
    columns = [(title, cells) for title, cells in every if any(each.text for each in cells)]
    notes = (
        "Percent of the TEST graphs of a class that are found (recall), mean over splits, of the "
        f"classes where it is ten points or more from the {METRICS[results.metric].title}.",
    )
    table = method_table(results, title, methods, columns, notes)
    return replace(table, protocol=protocol, labels=labels)


def cost_table(results: Results, methods: Sequence[str], datasets: Sequence[str]) -> Table:
    """Build a table of time and memory."""
    groups = find_groups(results, methods, datasets)

    def cell(method: str, dataset: str) -> TableCell:
        group = groups.get((method, dataset))
        if not group or not group.cpu_seconds:
            return TableCell()
        middle, memory = median(group.cpu_seconds), group.values("peak_mib")
        return TableCell(
            f"{middle:.1f}" if middle < 100 else f"{middle:,.0f}",
            f"{max(memory):,.0f} MiB" if memory else "",
            mean=middle,
            n=len(group.cpu_seconds),
        )

    columns = [(dataset_title(d), method_column(methods, d, cell)) for d in datasets]
    notes = (
        "CPU seconds to fit and predict once, on one thread: median over splits, including the "
        "time for counting subtrees where an earlier run had kept the counts. Beside it, the most "
        "memory that any of these runs used, libraries included.",
    )
    return method_table(results, "Cost", methods, columns, notes)


def _values(groups: Groups, method: str, dataset: str, *names: str) -> list[list[float]]:
    group = groups.get((method, dataset))
    return [group.values(name) if group else [] for name in names]
