"""What records say in short: who is best, what is missing, how it was made; and as Markdown."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kgnn.benchmark.record import Record
from kgnn.estimator.metrics import METRICS
from kgnn.evaluation.metrics import mean_and_std
from kgnn.evaluation.paired_tests import ALPHA
from kgnn.evaluation.splits import labels_in_words
from kgnn.reports.comparison import compare, rank_methods
from kgnn.reports.paper import PAPER_DATASETS, TABLE_2, TABLE_3, dataset_title, method_title
from kgnn.reports.results import USUAL, Results, code_revision, on_common_splits
from kgnn.reports.table import (
    Cell,
    Row,
    Table,
    code_markdown,
    counted,
    escape_markdown,
    listed,
    mean_with_std,
    signed,
    table_markdown,
)
from kgnn.reports.tables import (
    ablations,
    has_most_of,
    main_methods,
    report_tables,
    table_datasets,
    unfinished_table,
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


def summary_tables(results: Results) -> list[Table]:
    """Build the short tables that say where the reference stands, those that say something."""
    return [each for each in (summary_table(results), standing_table(results)) if not each.is_empty]


def summary_table(results: Results) -> Table:
    """Build a short table: for each dataset the reference, what the paper has, and the best."""
    methods, reference = main_methods(results), results.reference
    ranking = rank_methods(results, methods, table_datasets(results))
    is_compared = len(ranking.methods) > 1 and reference in ranking.methods
    datasets = ranking.datasets if is_compared else ()
    printed = TABLE_2.get(reference, {}) if _is_like_papers(results) else {}
    name, title = results.title(reference), method_title(reference)
    rows = []
    for dataset in datasets:
        found = results.find_all(ranking.methods, [dataset]).values()
        groups = {group.method: group for group in on_common_splits(list(found))}
        own, best = groups[reference], ranking.best(dataset)
        n, low, high = len(own.records), own.mean - own.interval, own.mean + own.interval
        shares = own.values("majority_share") if results.metric == "accuracy" else []
        told = mean_with_std(groups[best[0]].mean, groups[best[0]].std, n)
        cells = (
            Cell(
                mean_with_std(own.mean, own.std, n),
                is_best=reference in best,
                group=results.find(reference, dataset),
            ),
            Cell(f"{low:.1f} to {high:.1f}" if n > 1 else ""),
            Cell(mean_with_std(*printed[dataset], n=5) if dataset in printed else ""),
            Cell(f"{listed(map(method_title, best))}, {told}"),
            Cell(f"{mean_and_std(shares)[0]:.1f}" if shares else ""),
        )
        rows.append(Row(dataset_title(dataset), cells))
    headings = (
        *("dataset", name, "95 % interval", f"{title} in the paper"),
        *(f"best of {len(ranking.methods)}", "majority class"),
    )
    note = (
        f"{results.headline} on TEST in percent: mean ± standard deviation over splits; the "
        f"interval is that of {title}'s mean, corrected for overlapping splits."
    )
    parts = set(ablations(results)) - {reference}
    note += f" Ablations are not among the {len(ranking.methods)}." if parts else ""
    table = Table(f"{name} and the best method", headings, tuple(rows), note)
    return table.without_empty_columns()


def _is_like_papers(results: Results) -> bool:
    return results.metric == "accuracy" and results.terms == USUAL


def standing_table(results: Results) -> Table:
    """Build a row of ranks and tests for the other methods, and one for the ablations of KGNN."""
    datasets, reference = table_datasets(results), results.reference
    rows, left_out = [], []
    for others, methods in (
        ("other method", main_methods(results)),
        ("ablation", ablations(results)),
    ):
        ranking = rank_methods(results, methods, datasets)
        ranks = {method: rank for method, rank in ranking.ranks.items() if method != reference}
        if not ranks or reference not in ranking.ranks:
            continue
        best = min(ranks, key=lambda method: ranks[method])
        first = sum(reference in ranking.best(dataset) for dataset in ranking.datasets)
        compared = [c for d in ranking.datasets for c in compare(results, methods, d).values()]
        verdicts = Counter(each.verdict for each in compared if not math.isnan(each.p))
        tested = [f"{verdicts[each]} of {verdicts.total()}" for each in ("worse", "better")]
        cells = (
            f"{first} of {counted(len(ranking.datasets), 'dataset')}",
            f"{ranking.ranks[reference]:.1f}",
            f"{method_title(best)}, {ranks[best]:.1f}",
            f"{ranking.critical_difference:.1f}",
            *(tested if verdicts else ("", "")),
        )
        rows.append(Row(counted(len(ranks), others), tuple(map(Cell, cells))))
        left_out += [d for d in datasets if d not in ranking.datasets]
    name = method_title(reference)
    headings = (
        f"{results.title(reference)} among",
        *("first on", "average rank", "best of the others", "critical difference"),
        *("significantly better", "significantly worse"),
    )
    note = (
        "Average ranks closer than the critical difference do not differ significantly (Nemenyi, "
        f"α = {ALPHA:g}). Last: in how many comparisons with one method on one dataset {name} is "
        "significantly better or worse."
    )
    if left_out:
        named = listed(map(dataset_title, dict.fromkeys(left_out)))
        note += f" Not counted, as some methods have no or few runs: {named}."
    return Table(f"{name} among the methods", headings, tuple(rows), note)


def summary_sentences(results: Results) -> list[str]:
    """Say what a reader has to know of the reference and its runs."""
    datasets, reference, terms = table_datasets(results), results.reference, results.terms
    name, own = results.title(reference), results.find_all([reference], datasets)
    if not own:
        return [
            f"There are no runs of {name} to compare other methods with; "
            "kgnn report --reference NAME compares with another method."
        ]
    told = []
    if terms != USUAL:
        told.append(
            f"These numbers are of runs with {labels_in_words(terms.labels)} by the protocol "
            f"{terms.protocol}."
        )
    current = code_revision(reference)
    if current not in (None, results.revisions[reference]):
        told.append(
            f"The numbers are of {name}; none of these records is of the current revision, "
            f"{current}."
        )
    printed = TABLE_2.get(reference, {}) if _is_like_papers(results) else {}
    gaps = [group.mean - printed[d].mean for (_, d), group in own.items() if d in printed]
    if gaps:
        told.append(
            f"Compared with the accuracy that the paper reports for {method_title(reference)}, "
            f"ours is {signed(sum(gaps) / len(gaps))} points on average over "
            f"{counted(len(gaps), 'dataset')}, from {signed(min(gaps))} to {signed(max(gaps))}."
        )
    return told


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
        f"{counted(n, 'run')} of {method_title(method)} revision {revision}, as there are runs of "
        f"revision {shown[method]}"
        for (method, revision), n in sorted(results.outdated.items())
    ]
    if results.without_metric:
        metric = METRICS[results.metric].title
        lacking.insert(0, f"{counted(results.without_metric, 'run')} without {metric}")
    lines = [f"Left out: {each}." for each in lacking]
    if newer:
        lines.append(f"The code is newer than the runs of {listed(newer)}.")
    printed = [table for table in (TABLE_2, TABLE_3) if has_most_of(results, table)]
    nowhere = [m for table in printed for m in table if m not in results.methods]
    if nowhere:
        lines.append(f"No runs of {listed(map(method_title, dict.fromkeys(nowhere)))}.")
    unseen = [d for d in PAPER_DATASETS if d not in results.datasets] if printed else []
    if unseen:
        lines.append(f"No runs on {listed(map(dataset_title, unseen))}.")
    # On any terms: what was run with other settings is in a table of its own.
    run = {(group.method, group.dataset) for group in results.groups}
    for dataset in results.datasets:
        if none := [m for m in results.methods if (m, dataset) not in run]:
            told = listed(map(method_title, none))
            lines.append(f"No runs on {dataset_title(dataset)}: {told}.")
    return lines


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


# As Markdown.


def summary_markdown(results: Results, commands: str = "") -> str:
    """Return the whole page of results, with the commands that made it, one a line."""
    unfinished = unfinished_table(results.unfinished)
    missing = what_is_missing(results) or ["No place of the tables is empty."]
    parts = [
        "# Results",
        readme_markdown(results),
        *(
            f"## {escape_markdown(table.title)}\n\n{table_markdown(table)}"
            for table in report_tables(results)
        ),
        "## What is missing",
        _bullets(missing),
        table_markdown(unfinished) if unfinished.rows else "",
        "## How it was made",
        code_markdown(commands) if commands else "",
        _bullets(how_it_was_made(results)),
    ]
    if results.groups:
        command = code_markdown(results.groups[0].records[0].cell.command)
        parts.append(f"A single run, such as the first:\n\n{command}")
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def readme_markdown(results: Results) -> str:
    """Return the short version, tables and sentences."""
    tables = map(table_markdown, summary_tables(results))
    return "\n".join([*tables, _bullets(summary_sentences(results))]).strip()


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences)
