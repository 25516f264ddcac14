"""Tables of what else was measured: trust in probabilities and label sets, time and memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.numbers import median
from kgnn.reports.paper import dataset_title
from kgnn.reports.results import Results
from kgnn.reports.table_data import Table, TableCell, method_column, method_table, with_best
from kgnn.reports.table_groups import Groups, find_groups, usual_splits


def calibration_table(
    results: Results, methods: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> Table:
    """Build a table of how far the probabilities can be trusted."""
    groups = find_groups(results, methods, datasets, labels=labels)

    def cell(errors: list[float], scores: list[float]) -> TableCell:
        mean, std = (100 * value for value in mean_and_std(errors))
        brier = mean_and_std(scores)[0]
        return TableCell(f"{mean:.1f}", f"{brier:.3f}", mean=mean, std=std, n=len(errors))

    names = "calibration_error", "brier"
    columns = _columns(groups, methods, datasets, names, cell, marks_lowest=True)
    notes = (
        "Expected calibration error on TEST in percentage points (ten bins), mean over splits; 0 "
        "is best. Beside it, the Brier score, from 0 to 2; 0 is best. Test sets are small: even "
        "probabilities that are right have an error of a few points.",
    )
    return method_table("Calibration", methods, columns, notes)


def label_sets_table(
    results: Results, methods: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> Table:
    """Build a table of whether label sets keep their promise, and how large they are."""
    groups = find_groups(results, methods, datasets, labels=labels)

    def cell(covered: list[float], sizes: list[float]) -> TableCell:
        (mean, std), size = mean_and_std(covered), mean_and_std(sizes)[0]
        return TableCell(f"{mean:.1f}", f"{size:.2f}", mean=mean, std=std, n=len(covered))

    columns = _columns(groups, methods, datasets, ("coverage", "set_size"), cell)
    notes = (
        "Percent of the TEST graphs whose true label is in the set that promises 90 %, mean over "
        "splits (split-conformal on VAL, which has also made the methods' choices). Beside it, "
        "the mean number of labels in a set: of two methods that keep the promise, the one with "
        "the smaller sets says more.",
    )
    return method_table("Label sets that promise 90 %", methods, columns, notes)


def cost_table(
    results: Results, methods: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> Table:
    """Build a table of time and memory."""
    groups = find_groups(results, methods, datasets, labels=labels)

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
        "CPU seconds to fit and predict once, on one thread: median over splits. A run that found "
        "counts of subtrees kept by an earlier one is charged with what they took to make. Beside "
        "it, the most memory that any of these runs used, libraries included.",
    )
    return method_table("Cost", methods, columns, notes)


def _columns(
    groups: Groups,
    methods: Sequence[str],
    datasets: Sequence[str],
    names: tuple[str, str],
    cell: Callable[[list[float], list[float]], TableCell],
    *,
    marks_lowest: bool = False,
) -> list[tuple[str, list[TableCell]]]:
    """Return a column for each dataset, with cells of two numbers of each split."""

    def own(method: str, dataset: str) -> TableCell:
        first, second = (_values(groups, method, dataset, name) for name in names)
        return cell(first, second) if first else TableCell()

    columns = {dataset: method_column(methods, dataset, own) for dataset in datasets}
    if marks_lowest:
        for dataset, column in columns.items():
            fewest = usual_splits(groups, dataset)
            columns[dataset] = with_best(column, 1, lowest=True, fewest=fewest)
    return [(dataset_title(dataset), column) for dataset, column in columns.items()]


def _values(groups: Groups, method: str, dataset: str, name: str) -> list[float]:
    group = groups.get((method, dataset))
    return group.values(name) if group else []
