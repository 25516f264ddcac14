"""Every table that records allow, and which methods and datasets are in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kgnn.benchmark.record import Cell as BenchmarkCell
from kgnn.benchmark.record import Record
from kgnn.evaluation.metrics import mean_and_std
from kgnn.evaluation.splits import labels_in_words
from kgnn.reports.comparison import (
    Ranking,
    rank_methods,
)
from kgnn.reports.method_tables import (
    accuracy_table,
    comparison_table,
    measure_table,
    terms_in_words,
    without_twins_table,
)
from kgnn.reports.paper import (
    PAPER_DATASETS,
    TABLE_2,
    TABLE_3,
    PaperTable,
    dataset_title,
    method_title,
)
from kgnn.reports.results import (
    USUAL,
    Results,
    on_common_splits,
    terms_of,
)
from kgnn.reports.settings_tables import accuracy_cell, settings_tables
from kgnn.reports.table import (
    Cell,
    Row,
    Table,
    listed,
    mean_with_std,
)


def table_datasets(results: Results) -> list[str]:
    """Return the datasets that have a number for the tables; others are only in figures."""
    terms = results.terms
    return [d for d in results.datasets if any(results.find(m, d, terms) for m in results.methods)]


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
    terms = results.terms
    tables = [
        table_2(results),
        table_3(results),
        without_twins_table(results, every, datasets, terms),
        measure_table(results, "recall", every, datasets, terms),
        comparison_table(results, main, datasets, "each method", terms),
        comparison_table(results, parts, datasets, "its ablations", terms),
        measure_table(results, "calibration", every, datasets, terms),
        measure_table(results, "label-sets", every, datasets, terms),
        *(
            [measure_table(results, "expected", every, datasets, terms)]
            if terms.protocol == "budget"
            else []
        ),
        measure_table(results, "cost", every, datasets, terms),
        *_tables_of_other_terms(results, every),
        *settings_tables(results),
    ]
    return [table for table in tables if not table.is_empty]


def table_2(results: Results) -> Table:
    """Build the main table: all methods but the ablations, beside what the paper printed."""
    methods = main_methods(results)
    if set(methods) <= set(ablations(results)):  # KGNN alone is a row of Table 3 already
        methods = []
    is_papers = has_most_of(results, TABLE_2)
    title = f"Table 2: {_lower(results.headline)} of all methods" if is_papers else results.headline
    title += terms_in_words(results.terms)
    return accuracy_table(
        results, methods, table_datasets(results), title=title, terms=results.terms
    )


def table_3(results: Results) -> Table:
    """Build the table of the ablations."""
    title = "Table 3: ablations" if has_most_of(results, TABLE_3) else "Ablations"
    title += terms_in_words(results.terms)
    return accuracy_table(
        results,
        ablations(results),
        table_datasets(results),
        title=title,
        terms=results.terms,
        printed=TABLE_3,
    )


def _tables_of_other_terms(results: Results, methods: Sequence[str]) -> list[Table]:
    """Build tables of other labels and protocols than the usual ones."""
    there = [g for g in results.groups if g.parameters == results.usual_parameters(g.method)]
    tables = []
    for terms in terms_of(there):
        if terms == results.terms:
            continue
        own = [group for group in there if group.terms == terms]
        run = {group.method for group in own}, {group.dataset for group in own}
        chosen = [m for m in methods if m in run[0]], [d for d in results.datasets if d in run[1]]
        words = terms_in_words(terms)
        tables.append(
            accuracy_table(results, *chosen, title=f"{results.headline}{words}", terms=terms)
        )
        if terms.protocol == "budget":
            tables += [
                measure_table(results, name, *chosen, terms)
                for name in ("recall", "expected", "label-sets")
            ]
    return tables


def _lower(title: str) -> str:
    return title if title[:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def best_methods(ranking: Ranking, dataset: str) -> list[str]:
    """Return the methods with the highest accuracy as printed, to a tenth."""
    scores = [round(score, 1) for score in ranking.scores[ranking.datasets.index(dataset)]]
    return [m for m, score in zip(ranking.methods, scores, strict=True) if score == max(scores)]


def summary_table(results: Results) -> Table:
    """Build a short table: for each dataset the reference, what the paper has, and the best."""
    methods, terms, reference = main_methods(results), results.terms, results.reference
    ranking = rank_methods(results, methods, table_datasets(results), terms)
    is_compared = len(ranking.methods) > 1 and reference in ranking.methods
    is_like_papers = results.metric == "accuracy" and terms == USUAL
    columns: dict[str, list[Cell]] = {}
    datasets = ranking.datasets if is_compared else ()
    name, title = results.title(reference), method_title(reference)
    for dataset in datasets:
        found = [results.find(method, dataset, terms) for method in ranking.methods]
        groups = {g.method: g for g in on_common_splits([group for group in found if group])}
        own, best = groups[reference], best_methods(ranking, dataset)
        printed = TABLE_2.get(reference, {}).get(dataset) if is_like_papers else None
        shares = own.values("majority_share") if results.metric == "accuracy" else []
        low, high, n = own.mean - own.interval, own.mean + own.interval, len(own.records)
        told = f"{listed(list(map(method_title, best)))}, {accuracy_cell(groups[best[0]]).text}"
        cells = {
            name: replace(accuracy_cell(own), aside="", is_best=reference in best, group=found[-1]),
            "95 % interval": Cell(f"{low:.1f} to {high:.1f}" if n > 1 else ""),
            f"{title} in the paper": Cell(mean_with_std(*printed, n=5) if printed else ""),
            f"best of {len(ranking.methods)}": Cell(told),
            "majority class": Cell(f"{mean_and_std(shares)[0]:.1f}" if shares else ""),
        }
        for heading, cell in cells.items():
            columns.setdefault(heading, []).append(cell)
    columns = {heading: own for heading, own in columns.items() if any(c.text for c in own)}
    rows = [
        Row(dataset_title(d), tuple(own[i] for own in columns.values()))
        for i, d in enumerate(datasets)
    ]
    note = (
        f"{results.headline} on TEST in percent: mean ± standard deviation over splits; the "
        f"interval is that of {title}'s mean, corrected for overlapping splits."
    )
    parts = set(ablations(results)) - {reference}
    note += f" Ablations are not among the {len(ranking.methods)}." if parts else ""
    return Table(f"{name} and the best method", ("dataset", *columns), tuple(rows), note)


def unfinished_table(records: Iterable[Record]) -> Table:
    """Build a table of what has no number, runs with the same reason together."""
    runs: dict[tuple[str, ...], list[int]] = {}
    for record in records:
        cell = record.cell
        terms = "".join(f"; {term}" for term in unusual_terms(cell))
        place = (cell.method, cell.dataset, record.outcome, terms, record.reason)
        runs.setdefault(place, []).append(cell.seed)
    rows = []
    for (method, dataset, outcome, terms, reason), seeds in runs.items():
        told = f"split{'s' * (len(seeds) > 1)} {', '.join(map(str, sorted(seeds)))}{terms}"
        cells = (dataset_title(dataset), outcome, told, reason)
        rows.append(Row(method_title(method), tuple(map(Cell, cells))))
    headings = ("method", "dataset", "outcome", "runs", "reason")
    return Table("Declined and failed runs", headings, tuple(rows))


def unusual_terms(cell: BenchmarkCell) -> list[str]:
    """Say what sets the terms of a run apart from the usual ones."""
    told = [f"{cell.protocol} protocol"] if cell.protocol != USUAL.protocol else []
    is_usual = cell.labels == USUAL.labels and cell.protocol != "budget"
    told += [] if is_usual else [labels_in_words(cell.labels)]
    return told + [f"{k} = {json.dumps(v)}" for k, v in cell.parameters.items()]
