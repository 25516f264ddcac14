"""Where KGNN stands, in a few sentences and a table; and the page of results as Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from kgnn.evaluation.metrics import mean_and_std
from kgnn.evaluation.paired_tests import ALPHA
from kgnn.reports.comparison import REFERENCE, Ranking, compare, rank_methods
from kgnn.reports.numbers import counted, listed, mean_with_std, signed
from kgnn.reports.paper import (
    PAPER_DATASETS,
    TABLE_2,
    TABLE_3,
    dataset_title,
    method_title,
)
from kgnn.reports.provenance import has_most_of, how_it_was_made, what_is_missing
from kgnn.reports.report_tables import ablations, main_methods, report_tables, table_datasets
from kgnn.reports.results import Group, Results, code_revision, on_common_splits
from kgnn.reports.table import Table, TableCell, code_markdown, escape_markdown, table_markdown

_REPORTS = (
    "kgnn report results --format markdown -o docs/results.md",
    "kgnn report results -o page.html",
)
_LABELS = 0.1  # share of all graphs, in the tables of the paper


def summary_sentences(results: Results) -> list[str]:
    """Say where KGNN stands among all methods, and among its own parts."""
    datasets, methods, parts = table_datasets(results), main_methods(results), ablations(results)
    name = results.title(REFERENCE)
    if not any(results.find(REFERENCE, dataset) for dataset in datasets):
        return ["There are no records of KGNN with its defaults, 10 % of labels and fair splits."]
    sentences = []
    if name != method_title(REFERENCE):
        sentences.append(
            f"The numbers are of {name}; the code is at revision {code_revision(REFERENCE)}, "
            "which has not been run on these datasets."
        )
    sentences += _standing(results, methods, datasets, "the {n} other methods")
    sentences += _standing(results, parts, datasets, "its {n} ablations") if len(parts) > 1 else []
    gaps = [
        group.mean - TABLE_2[REFERENCE][d].mean
        for d in datasets
        if d in TABLE_2[REFERENCE] and (group := results.find(REFERENCE, d))
    ]
    if gaps and results.metric == "accuracy":
        sentences.append(
            f"Compared with the accuracy that the paper reports for KGNN, ours is "
            f"{signed(sum(gaps) / len(gaps))} points on average over "
            f"{counted(len(gaps), 'dataset')}, from {signed(min(gaps))} to {signed(max(gaps))}."
        )
    return sentences


def _standing(
    results: Results, methods: Sequence[str], datasets: Sequence[str], others: str
) -> list[str]:
    """Say how KGNN compares with other methods on the datasets that all of them have."""
    ranking = rank_methods(results, methods, datasets)
    name, own, n = results.title(REFERENCE), ranking.ranks.get(REFERENCE), len(ranking.methods) - 1
    if n < 1:
        return [f"There are only records of {name}, so there is nothing to compare it with."]
    if own is None:
        return [f"No dataset has enough runs to compare {name} with {others.format(n=n)}."]
    first = [dataset_title(d) for d in ranking.datasets if REFERENCE in _best(ranking, d)]
    ranks = {method: rank for method, rank in ranking.ranks.items() if method != REFERENCE}
    best = min(ranks, key=lambda method: ranks[method])
    where = f" ({listed(first)})" if first else ""
    sentences = [
        f"Compared with {others.format(n=n)}, {name} is first on {len(first)} of "
        f"{counted(len(ranking.datasets), 'dataset')}{where}. Its average rank is {own:.1f}; the "
        f"best of the others is {method_title(best)} with {ranks[best]:.1f}. Ranks closer than "
        f"{ranking.critical_difference:.1f} are not significantly different (Nemenyi, "
        f"α = {ALPHA:g})."
    ]
    compared = [c for d in ranking.datasets for c in compare(results, methods, d).values()]
    verdicts = Counter(each.verdict for each in compared if not math.isnan(each.p))
    if verdicts:
        sentences.append(
            f"In {verdicts.total()} comparisons with one of these on one dataset, {name} is "
            f"significantly better {verdicts['worse']} times and significantly worse "
            f"{verdicts['better']} times."
        )
    left_out = [dataset_title(d) for d in datasets if d not in ranking.datasets]
    if left_out:
        sentences.append(f"Not counted, as some methods have no or few runs: {listed(left_out)}.")
    return sentences


def _best(ranking: Ranking, dataset: str) -> list[str]:
    """Return the methods with the highest accuracy as printed, to a tenth."""
    scores = [round(score, 1) for score in ranking.scores[ranking.datasets.index(dataset)]]
    return [m for m, score in zip(ranking.methods, scores, strict=True) if score == max(scores)]


def summary_table(results: Results) -> Table:
    """Build a short table: for each dataset KGNN, what the paper printed for it, and the best."""
    methods, name = main_methods(results), results.title(REFERENCE)
    ranking = rank_methods(results, methods, table_datasets(results))
    rows = []
    is_compared = len(ranking.methods) > 1 and REFERENCE in ranking.methods
    for dataset in ranking.datasets if is_compared else ():
        found = [results.find(method, dataset) for method in ranking.methods]
        groups = {g.method: g for g in on_common_splits([group for group in found if group])}
        own, best = groups[REFERENCE], _best(ranking, dataset)
        printed = TABLE_2[REFERENCE].get(dataset) if results.metric == "accuracy" else None
        shares = own.values("majority_share") if results.metric == "accuracy" else []
        low, high = own.mean - own.interval, own.mean + own.interval
        cell = TableCell(
            _accuracy(own),
            is_best=REFERENCE in best,
            method=REFERENCE,
            dataset=dataset,
            mean=own.mean,
            std=own.std,
            interval=own.interval,
            n=len(own.records),
            paper=printed,
        )
        rows.append(
            (
                TableCell(dataset_title(dataset)),
                cell,
                TableCell(f"{low:.1f} to {high:.1f}" if len(own.records) > 1 else ""),
                TableCell(mean_with_std(*printed, n=5) if printed else ""),
                TableCell(f"{listed(list(map(method_title, best)))}, {_accuracy(groups[best[0]])}"),
                TableCell(f"{mean_and_std(shares)[0]:.1f}" if shares else ""),
            )
        )
    n = len(ranking.methods)
    has_shares = any(row[-1].text for row in rows)
    has_parts = set(TABLE_3) & set(results.methods) - set(methods)
    return Table(
        f"{name} and the best method",
        (
            "dataset",
            name,
            "95 % interval",
            f"{method_title(REFERENCE)} in the paper",
            f"best of {n}",
            *(["majority class"] if has_shares else []),
        ),
        tuple(rows if has_shares else [row[:-1] for row in rows]),
        (
            f"{results.headline} on TEST in percent: mean ± standard deviation over splits; the "
            "interval is that of KGNN's mean, corrected for overlapping splits.",
            *([f"The ablations of KGNN are not among the {n}."] if has_parts else []),
        ),
    )


def _accuracy(group: Group) -> str:
    return mean_with_std(group.mean, group.std, len(group.records))


def summary_markdown(results: Results, commands: str | None = None) -> str:
    """Return the whole page of results.

    ``commands`` make the records and the page, one a line. Unless given, they are those of the
    paper's tables where the records are of these.
    """
    commands = _commands(results) if commands is None else commands
    parts = [
        "# Results",
        _bullets(summary_sentences(results)),
        _summary_table(results),
        *(
            f"## {escape_markdown(table.title)}\n\n{table_markdown(table)}"
            for table in report_tables(results)
        ),
        "## What is missing",
        _bullets(what_is_missing(results)) or "Nothing of these tables.",
        "## How it was made",
        code_markdown(commands) if commands else "",
        _bullets(how_it_was_made(results)),
    ]
    if results.groups:
        command = code_markdown(results.groups[0].records[0].cell.command)
        parts.append(f"A single run, such as the first:\n\n{command}")
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def readme_markdown(results: Results) -> str:
    """Return the short version, a table and sentences."""
    return f"{_summary_table(results)}\n\n{_bullets(summary_sentences(results))}".strip()


def _summary_table(results: Results) -> str:
    table = summary_table(results)
    return "" if table.is_empty else table_markdown(table).strip()


def _commands(results: Results) -> str:
    """Return the commands that make the paper's tables, as far as the records are of these."""
    if not set(results.datasets) & set(PAPER_DATASETS):
        return ""
    settings = [set(group.parameters) for group in results.groups if group.parameters]
    are_tables = {
        "table2": has_most_of(results, TABLE_2),
        "table3": has_most_of(results, TABLE_3),
    }
    if not any(are_tables.values()):
        return ""
    is_there = {
        **are_tables,
        "fig-label-ratio": any(
            group.labels != _LABELS for group in results.groups if group.protocol != "budget"
        ),
        "fig-dimensions": {"width"} in settings,
        "fig-hops": {"hops"} in settings,
        "choices": any(each not in ({"width"}, {"hops"}) for each in settings),
    }
    made = [f"kgnn bench {grid} -o results" for grid, is_run in is_there.items() if is_run]
    return "\n".join([*made, *_REPORTS])


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences)
