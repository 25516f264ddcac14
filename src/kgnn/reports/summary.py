"""What records say in a few sentences: who is best, what is missing, how it was made."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kgnn.benchmark.record import Record
from kgnn.estimator.metrics import METRICS
from kgnn.evaluation.paired_tests import ALPHA
from kgnn.evaluation.splits import labels_in_words
from kgnn.reports.comparison import compare, rank_methods
from kgnn.reports.paper import (
    PAPER_DATASETS,
    TABLE_2,
    TABLE_3,
    dataset_title,
    method_title,
)
from kgnn.reports.results import USUAL, Results, code_revision, usual_splits
from kgnn.reports.table import (
    code_markdown,
    counted,
    escape_markdown,
    listed,
    signed,
    table_markdown,
)
from kgnn.reports.tables import (
    ablations,
    best_methods,
    has_most_of,
    main_methods,
    report_tables,
    summary_table,
    table_datasets,
    unusual_terms,
)

_MOST_REASONS = 20
_REPORTS = (
    "kgnn report results --format markdown -o docs/results.md",
    "kgnn report results -o page.html",
)
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


# Where the reference stands.


def summary_sentences(results: Results) -> list[str]:
    """Say where the reference stands among all methods and, if it is KGNN, its ablations."""
    datasets, reference = table_datasets(results), results.reference
    name, terms = results.title(reference), results.terms
    own = {d: group for d in datasets if (group := results.find(reference, d, terms))}
    if not own:
        return [
            f"There are no runs of {name} to compare other methods with; "
            "kgnn report --reference NAME compares with another method."
        ]
    told = []
    if terms != USUAL:
        told.append(
            f"All that follows is of runs with {labels_in_words(terms.labels)} by the protocol "
            f"{terms.protocol}."
        )
    known, current = results.revisions[reference], code_revision(reference)
    if current not in (None, known):
        told.append(
            f"The numbers are of {name}; none of these records is of the current revision, "
            f"{current}."
        )
    told += _standing(results, main_methods(results), datasets, "the {n} other methods")
    told += _standing(results, ablations(results), datasets, "its {n} ablations")
    printed = TABLE_2.get(reference, {}) if terms == USUAL else {}
    gaps = [group.mean - printed[d].mean for d, group in own.items() if d in printed]
    if gaps and results.metric == "accuracy":
        told.append(
            f"Compared with the accuracy that the paper reports for {method_title(reference)}, "
            f"ours is {signed(sum(gaps) / len(gaps))} points on average over "
            f"{counted(len(gaps), 'dataset')}, from {signed(min(gaps))} to {signed(max(gaps))}."
        )
    return told


def _standing(
    results: Results, methods: Sequence[str], datasets: Sequence[str], others: str
) -> list[str]:
    """Say how the reference compares with others on the datasets that all of them have."""
    terms, reference = results.terms, results.reference
    ranking = rank_methods(results, methods, datasets, terms)
    ranks = {method: rank for method, rank in ranking.ranks.items() if method != reference}
    if not ranks or reference not in ranking.ranks:
        return []
    name, best = results.title(reference), min(ranks, key=lambda method: ranks[method])
    first = [d for d in ranking.datasets if reference in best_methods(ranking, d)]
    compared = [c for d in ranking.datasets for c in compare(results, methods, d, terms).values()]
    verdicts = Counter(each.verdict for each in compared if not math.isnan(each.p))
    told = [
        f"Compared with {others.format(n=len(ranks))}, {name} is first on {len(first)} of "
        f"{counted(len(ranking.datasets), 'dataset')}{_in_brackets(first)}. Its average rank is "
        f"{ranking.ranks[reference]:.1f}; the best of the others is {method_title(best)} with "
        f"{ranks[best]:.1f}. Ranks closer than {ranking.critical_difference:.1f} do not differ "
        f"significantly (Nemenyi, α = {ALPHA:g}).",
    ]
    if verdicts:
        told.append(
            f"In {verdicts.total()} comparisons with one of these on one dataset, {name} is "
            f"significantly better {verdicts['worse']} times and significantly worse "
            f"{verdicts['better']} times."
        )
    left_out = [dataset_title(d) for d in datasets if d not in ranking.datasets]
    if left_out:
        told.append(f"Not counted, as some methods have no or few runs: {listed(left_out)}.")
    return told


def _in_brackets(datasets: Sequence[str]) -> str:
    return f" ({listed([dataset_title(d) for d in datasets])})" if datasets else ""


# What is missing.


def what_is_missing(results: Results) -> list[str]:
    """Say what the tables lack: what is outdated, what was not run, or not as often."""
    shown = results.revisions
    newer = [
        f"{results.title(method)} (now {current})"
        for method in results.methods
        if (current := code_revision(method)) and current > shown[method]
    ]
    lacking = [
        f"{counted(results.without_metric, 'run')} without {METRICS[results.metric].title}"
        if results.without_metric
        else "",
        *(
            f"{counted(n, 'run')} of {method_title(method)} revision {revision}, as there are runs "
            f"of revision {shown[method]}"
            for (method, revision), n in sorted(results.outdated.items())
        ),
    ]
    lines = [f"Left out: {each}." for each in lacking if each]
    if newer:
        lines.append(f"The code is newer than the runs of {listed(newer)}.")
    return [*lines, *_without_runs(results)]


def _without_runs(results: Results) -> list[str]:
    """Name what was not run, or fewer times than most: methods and datasets, then places."""
    printed = [table for table in (TABLE_2, TABLE_3) if has_most_of(results, table)]
    nowhere = [m for table in printed for m in table if m not in results.methods]
    unseen = [d for d in PAPER_DATASETS if d not in results.datasets] if printed else []
    lines = []
    if nowhere:
        lines.append(f"No runs of {listed([method_title(m) for m in dict.fromkeys(nowhere)])}.")
    if unseen:
        lines.append(f"No runs on {listed(list(map(dataset_title, unseen)))}.")
    # On any terms: what was run with other settings is in a table of its own.
    run = {(group.method, group.dataset) for group in results.groups}
    places = results.find_all(results.methods, results.datasets, results.terms)
    for dataset in dict.fromkeys(dataset for _, dataset in places):
        title, usual = dataset_title(dataset), usual_splits(places, dataset)
        none = [method_title(m) for m in results.methods if (m, dataset) not in run]
        few = [
            f"{method_title(method)} ({len(group.records)} of {usual})"
            for (method, d), group in places.items()
            if d == dataset and len(group.records) < usual
        ]
        lines += [f"No runs on {title}: {listed(none)}."] if none else []
        lines += [f"Fewer runs on {title}: {listed(few)}."] if few else []
    return lines


def _reasons(unfinished: Sequence[Record]) -> list[str]:
    """Return a line for each outcome, method, dataset and terms, with its most frequent reason."""
    by_place: dict[str, list[str]] = {}
    for record in unfinished:
        cell, unusual = record.cell, ", ".join(unusual_terms(record.cell))
        where = f"{method_title(cell.method)} on {dataset_title(cell.dataset)}"
        place = f"{where}{f' ({unusual})' if unusual else ''}, {record.outcome}"
        by_place.setdefault(place, []).append(record.reason)
    lines = [
        f"{place} ({counted(len(reasons), 'run')}): {Counter(reasons).most_common(1)[0][0]}"
        for place, reasons in by_place.items()
    ]
    more = len(lines) - _MOST_REASONS
    return [*lines[:_MOST_REASONS], f"{more} more such lines."] if more > 0 else lines


# How it was made.


def how_it_was_made(results: Results) -> list[str]:
    """Say when, on which terms, with which software and on which machines."""
    records = [record for group in results.groups for record in group.records]
    if not records:
        return ["There are no records yet."]
    days = sorted({record.finished[:10] for record in records if record.finished})
    when = f", from {days[0]} to {days[-1]}" if len(days) > 1 else "".join(f", {d}" for d in days)
    protocols = {record.cell.protocol for record in records}
    return [
        f"{counted(len(records), 'run')}{when}.",
        *(text for name, text in _PROTOCOLS.items() if name in protocols),
        *(f"Versions: {each}." for each in _variants(records, "versions")),
        *(f"Machine: {each}." for each in _variants(records, "machine")),
    ]


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


# The page of results as Markdown.


def summary_markdown(results: Results, commands: str | None = None) -> str:
    """Return the whole page of results.

    ``commands`` make the records and the page, one a line. Unless given, they are those of the
    paper's tables where the records are of these.
    """
    commands = _commands(results) if commands is None else commands
    missing = [*what_is_missing(results), *_reasons(results.unfinished)]
    parts = [
        "# Results",
        _bullets(summary_sentences(results)),
        _summary_table(results),
        *(
            f"## {escape_markdown(table.title)}\n\n{table_markdown(table)}"
            for table in report_tables(results)
        ),
        "## What is missing",
        _bullets(missing or ["No place of the tables is empty."]),
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
            group.labels != USUAL.labels for group in results.groups if group.protocol != "budget"
        ),
        "fig-dimensions": {"width"} in settings,
        "fig-hops": {"hops"} in settings,
        "choices": any(each not in ({"width"}, {"hops"}) for each in settings),
    }
    made = [f"kgnn bench {grid} -o results" for grid, is_run in is_there.items() if is_run]
    return "\n".join([*made, *_REPORTS])


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences)
