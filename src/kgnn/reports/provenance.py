"""Where the numbers come from, and which are not there: lines of plain text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from kgnn.benchmark.record import Record
from kgnn.evaluation.metrics import METRICS
from kgnn.reports.numbers import counted, listed
from kgnn.reports.paper import (
    PAPER_DATASETS,
    TABLE_2,
    TABLE_3,
    PaperTable,
    dataset_title,
    method_title,
)
from kgnn.reports.report_tables import unusual_terms, usual_methods
from kgnn.reports.results import Groups, Results, code_revision, find_groups, usual_splits

_MOST_REASONS = 20
_PROTOCOLS = {
    "fair": (
        "Protocol fair: a new stratified split for each run, with 10 % of all graphs labeled "
        "unless said otherwise, 50 % unlabeled, 10 % to choose on, 20 % for the score."
    ),
    "paper": (
        "Protocol paper: the one split of the paper's code; runs differ by the seed of the method."
    ),
    "budget": (
        "Protocol budget: the TEST of fair, 20 % of all graphs, for each run; the labels that are "
        "named are all that there are, and all other graphs are unlabeled. None are left to "
        "choose on."
    ),
}


def how_it_was_made(results: Results) -> list[str]:
    """Say when, on which terms, with which software and on which machines."""
    records = [record for group in results.groups for record in group.records]
    if not records:
        return ["There are no records yet."]
    protocols = {record.cell.protocol for record in records}
    return [
        f"{counted(len(records), 'run')}{_when(records)}.",
        *(text for name, text in _PROTOCOLS.items() if name in protocols),
        *(f"Versions: {each}." for each in _variants(records, "versions")),
        *(f"Machine: {each}." for each in _variants(records, "machine")),
    ]


def what_is_missing(results: Results) -> list[str]:
    """Say which places of the tables are empty or half full, what failed, and why."""
    return [*empty_places(results), *_reasons(results.unfinished)]


def empty_places(results: Results) -> list[str]:
    """Say what the tables lack: what is outdated, what was not run, or not as often."""
    lacking = results.without_metric
    told = f"{counted(lacking, 'run')} without {METRICS[results.metric].title} left out."
    return [
        *([told] if lacking else []),
        *_outdated(results),
        *_without_records(results),
        *_with_few_records(results),
    ]


def has_most_of(results: Results, table: PaperTable) -> bool:
    """Tell whether half of a table's methods were run; else a store is a grid of one's own."""
    return 2 * len(set(table) & set(usual_methods(results))) >= len(table)


def _when(records: Sequence[Record]) -> str:
    days = sorted(record.finished[:10] for record in records if record.finished)
    if not days:
        return ""
    return f", on {days[0]}" if days[0] == days[-1] else f", from {days[0]} to {days[-1]}"


def _variants(records: Sequence[Record], name: str) -> list[str]:
    """Return each set of versions, or each machine, that made records; most frequent first."""
    counts = Counter(json.dumps(getattr(record, name)) for record in records)
    told = []
    for text, n in counts.most_common():
        values: dict[str, Any] = json.loads(text)
        share = f" ({counted(n, 'run')})" if len(counts) > 1 else ""
        words = [f"{key.replace('_', ' ')} {value}" for key, value in values.items()]
        told.append((", ".join(words) or "unknown") + share)
    return told


def _outdated(results: Results) -> list[str]:
    """Say which revisions of methods are left out, and where the code is newer than its results."""
    shown = results.revisions
    lines = [
        f"{method_title(method)}: {counted(n, 'run')} of revision {revision} left out, as there "
        f"are runs of revision {shown[method]}."
        for (method, revision), n in sorted(results.outdated.items())
    ]
    return lines + [
        f"{results.title(method)}: the code is at revision {current}, of which there are no runs."
        for method in results.methods
        if (current := code_revision(method)) and current > shown[method]
    ]


def _without_records(results: Results) -> list[str]:
    """Name what is not there: methods and datasets as a whole, then single places."""
    printed = [table for table in (TABLE_2, TABLE_3) if has_most_of(results, table)]
    nowhere = [m for m in dict.fromkeys(chain(*printed)) if m not in results.methods]
    lines = [f"No runs of {_methods(nowhere)}."] if nowhere else []
    usual = {group.dataset for group in results.groups if not group.parameters}
    of_paper = usual & set(PAPER_DATASETS)
    if (printed and of_paper) or 2 * len(of_paper) >= len(PAPER_DATASETS):
        unseen = [dataset_title(d) for d in PAPER_DATASETS if d not in results.datasets]
        lines += [f"No runs on {listed(unseen)}."] if unseen else []
    # On any terms: what was run with other settings is in a table of its own.
    run = {(group.method, group.dataset) for group in results.groups}
    for dataset in {dataset: None for _, dataset in _places(results)}:
        some = [method for method in _in_order(results) if (method, dataset) not in run]
        lines += [f"No runs on {dataset_title(dataset)}: {_methods(some)}."] if some else []
    return lines


def _with_few_records(results: Results) -> list[str]:
    """Name the places that have fewer runs than most of their dataset."""
    places = _places(results)
    lines = []
    for dataset in {dataset: None for _, dataset in places}:
        usual = usual_splits(places, dataset)
        few = [
            f"{method_title(method)} ({len(group.records)} of {usual})"
            for (method, d), group in places.items()
            if d == dataset and len(group.records) < usual
        ]
        lines += [f"Fewer runs on {dataset_title(dataset)}: {listed(few)}."] if few else []
    return lines


def _places(results: Results) -> Groups:
    """Return what stands in the tables of the paper, by dataset; on its split if that is all."""
    methods, datasets = _in_order(results), results.datasets
    found = find_groups(results, methods, datasets)
    found = found or find_groups(results, methods, datasets, protocol="paper")
    return {(m, d): found[m, d] for d in datasets for m in methods if (m, d) in found}


def _in_order(results: Results) -> list[str]:
    return [m for m in dict.fromkeys([*TABLE_2, *results.methods]) if m in results.methods]


def _methods(names: Sequence[str]) -> str:
    return listed([method_title(name) for name in names])


def _reasons(unfinished: Sequence[Record]) -> list[str]:
    """Return a line for each outcome, method, dataset and terms, with its most frequent reason."""
    by_place: dict[tuple[str, str, str, str], list[str]] = {}
    for record in unfinished:
        cell, unusual = record.cell, ", ".join(unusual_terms(record.cell))
        place = (record.outcome, cell.method, cell.dataset, f" ({unusual})" if unusual else "")
        by_place.setdefault(place, []).append(record.reason)
    lines = []
    for (outcome, method, dataset, unusual), reasons in by_place.items():
        [(reason, _)] = Counter(reasons).most_common(1)
        where = f"{method_title(method)} on {dataset_title(dataset)}{unusual}"
        lines.append(f"{where}, {counted(len(reasons), 'run')} {outcome}: {reason}")
    more = len(lines) - _MOST_REASONS
    return [*lines[:_MOST_REASONS], f"{more} more such lines."] if more > 0 else lines
