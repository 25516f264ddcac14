"""Tables of accuracy: methods down, datasets across."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgnn.evaluation.metrics import mean_and_std
from kgnn.reports.comparison import (
    ALPHA,
    ASSUMPTION,
    REFERENCE,
    Ranking,
    compare,
    rank_methods,
)
from kgnn.reports.numbers import listed, mean_with_std
from kgnn.reports.paper import PaperTable, dataset_title, method_title
from kgnn.reports.results import Group, Results
from kgnn.reports.table_data import Table, TableCell, method_column, method_table, with_best
from kgnn.reports.table_groups import Groups, find_groups, usual_splits

# Most graphs of these have a copy, so that the table is about them first of all.
_FULL_OF_TWINS = ("IMDB-BINARY", "IMDB-MULTI")
_MARKS = (
    f"▲ and ▼: significantly better or worse than {method_title(REFERENCE)} (paired t-test over "
    "the same splits with the correction of Nadeau & Bengio, then Holm's over the methods of a "
    f"column, α = {ALPHA:g}). {ASSUMPTION}"
)


def accuracy_table(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    *,
    title: str = "Accuracy",
    printed: PaperTable | None = None,
    protocol: str = "fair",
    labels: float = 0.1,
) -> Table:
    """Build a table of accuracy, with what the paper printed beside ours.

    Parameters
    ----------
    results : Results
    methods, datasets : sequence of str
        Rows and columns; places that have no records are left empty.
    title : str
    printed : dict, optional
        Such as `kgnn.reports.paper.TABLE_2`.
    protocol : {"fair", "paper"}
    labels : float
        Labeled graphs as a share of all.
    """
    groups = find_groups(results, methods, datasets, protocol=protocol, labels=labels)
    papers_split = find_groups(results, methods, datasets, protocol="paper", labels=labels)
    if protocol == "paper":
        papers_split = {}  # they are the table
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
            _score(groups.get((method, dataset)), "accuracy", splits[dataset]),
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
    notes = (
        _accuracy_note(protocol, columns),
        "In brackets, ours on the one split of the paper's code." if papers_split else "",
        _splits_note(splits),
        _MARKS if tested else "",
        _rank_note(ranking) if is_ranked else "",
    )
    table = method_table(title, methods, columns, notes)
    return replace(table, protocol=protocol, labels=labels)


def paper_protocol_table(
    results: Results,
    methods: Sequence[str],
    datasets: Sequence[str],
    *,
    printed: PaperTable | None = None,
    labels: float = 0.1,
) -> Table:
    """Build a table of accuracy on the one split of the paper's code, where that was run."""
    groups = find_groups(results, methods, datasets, protocol="paper", labels=labels)
    return accuracy_table(
        results,
        [method for method in methods if any((method, d) in groups for d in datasets)],
        [dataset for dataset in datasets if any((m, dataset) in groups for m in methods)],
        title="Accuracy on the split of the paper's code",
        printed=printed,
        protocol="paper",
        labels=labels,
    )


def without_twins_table(
    results: Results, methods: Sequence[str], datasets: Sequence[str], *, labels: float = 0.1
) -> Table:
    """Build a table of accuracy on test graphs of which no copy is in training or validation.

    It has the datasets where that differs from the accuracy on all test graphs.
    """
    groups = find_groups(results, methods, datasets, labels=labels)

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
    return method_table("Accuracy on test graphs without a twin", methods, columns, notes)


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
        interval=group.interval if name == "accuracy" else None,
        n=n,
    )


def _rank_column(ranking: Ranking, methods: Sequence[str]) -> list[TableCell]:
    def cell(method: str, _: str) -> TableCell:
        rank = ranking.ranks.get(method)
        return TableCell() if rank is None else TableCell(f"{rank:.1f}", mean=rank)

    return with_best(method_column(methods, "", cell), decimals=1, lowest=True)


def _accuracy_note(protocol: str, columns: Sequence[tuple[str, list[TableCell]]]) -> str:
    printed = any(cell.paper for _, column in columns for cell in column)
    over = "seeds of the method on one split" if protocol == "paper" else "splits"
    beside = " Beside ours, what the paper printed." if printed else ""
    return f"Accuracy on TEST in percent: mean ± standard deviation over {over}.{beside}"


def _splits_note(splits: Mapping[str, int]) -> str:
    """Say how many splits each dataset has, those with the same number together."""
    by_number: dict[int, list[str]] = {}
    for dataset, n in splits.items():
        if n:
            by_number.setdefault(n, []).append(dataset_title(dataset))
    told = "; ".join(f"{n} on {listed(names)}" for n, names in sorted(by_number.items()))
    return f"Runs per method: {told}; where it is another number, n says it." if told else ""


def _rank_note(ranking: Ranking) -> str:
    return f"Average rank over {listed([dataset_title(d) for d in ranking.datasets])}; 1 is best."
