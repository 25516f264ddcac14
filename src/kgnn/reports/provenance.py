"""Where the numbers come from, and which are not there: lines of plain text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kgnn.benchmark.record import Record
from kgnn.reports.numbers import listed, runs
from kgnn.reports.paper import TABLE_2, TABLE_3, dataset_title, method_title
from kgnn.reports.report_tables import table_datasets
from kgnn.reports.results import PAPER_DATASETS, Results

_MOST_REASONS = 20
_PROTOCOLS = {
    "fair": (
        "Protocol fair: a new stratified split for each run, with 10 % of all graphs labeled "
        "unless said otherwise, 50 % unlabeled, 10 % to choose on, 20 % for the score."
    ),
    "paper": (
        "Protocol paper: the one split of the paper's code; runs differ by the seed of the method."
    ),
}


def how_it_was_made(results: Results) -> list[str]:
    """Say when, on which terms, with which software and on which machines."""
    records = [record for group in results.groups for record in group.records]
    if not records:
        return ["There are no records yet."]
    protocols = {record.cell.protocol for record in records}
    return [
        f"{runs(len(records))}{_when(records)}.",
        *(text for name, text in _PROTOCOLS.items() if name in protocols),
        *(f"Versions: {each}." for each in _variants(records, "versions")),
        *(f"Machine: {each}." for each in _variants(records, "machine")),
    ]


def what_is_missing(results: Results) -> list[str]:
    """Say which places of Tables 2 and 3 are empty, what failed, and why."""
    return [*_without_records(results), *_reasons(results.unfinished)]


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
        share = f" ({runs(n)})" if len(counts) > 1 else ""
        words = [f"{key.replace('_', ' ')} {value}" for key, value in values.items()]
        told.append((", ".join(words) or "unknown") + share)
    return told


def _without_records(results: Results) -> list[str]:
    """Name what is not there: methods and datasets as a whole, then single places."""
    wanted = [*TABLE_2, *(m for m in results.methods if m not in TABLE_2)]
    if set(results.methods) & (set(TABLE_3) - {"kgnn"}):
        wanted += [method for method in TABLE_3 if method not in wanted]
    there = table_datasets(results)
    absent = {d: {m for m in wanted if not results.find(m, d)} for d in there}
    nowhere = [method for method in wanted if all(method in absent[d] for d in there)]
    lines = [f"No runs of {_methods(nowhere)}."] if nowhere else []
    if set(there) & set(PAPER_DATASETS):
        unseen = [dataset_title(d) for d in PAPER_DATASETS if d not in there]
        lines += [f"No runs on {listed(unseen)}."] if unseen else []
    for dataset in there:
        some = [method for method in wanted if method in absent[dataset] and method not in nowhere]
        lines += [f"No runs on {dataset_title(dataset)}: {_methods(some)}."] if some else []
    return lines


def _methods(names: Sequence[str]) -> str:
    return listed([method_title(name) for name in names])


def _reasons(unfinished: Sequence[Record]) -> list[str]:
    """Return a line for each outcome, method and dataset, with its most frequent reason."""
    by_place: dict[tuple[str, str, str], list[str]] = {}
    for record in unfinished:
        place = (record.outcome, record.cell.method, record.cell.dataset)
        by_place.setdefault(place, []).append(record.reason)
    lines = []
    for (outcome, method, dataset), reasons in by_place.items():
        [(reason, _)] = Counter(reasons).most_common(1)
        where = f"{method_title(method)} on {dataset_title(dataset)}"
        lines.append(f"{where}, {runs(len(reasons))} {outcome}: {reason}")
    more = len(lines) - _MOST_REASONS
    return [*lines[:_MOST_REASONS], f"{more} more such lines."] if more > 0 else lines
