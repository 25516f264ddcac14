"""``kgnn bench``: run a grid of methods and datasets, skipping cells that have a record."""

from __future__ import annotations

import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kgnn.cli.own_graphs import JsonOption, require_writable_folder
from kgnn.cli.show import err, out, print_json, progress_bars, say, table
from kgnn.errors import ParameterError

if TYPE_CHECKING:
    from kgnn.benchmark.engines import Engine
    from kgnn.benchmark.record import Cell
    from kgnn.benchmark.running import Progress
    from kgnn.benchmark.store import Store

_ENGINES = ("processes", "here", "ray")
_MOST_LINES = 8  # of running or failed cells
_LEAST_MEMORY = 64 << 20  # bytes; libraries alone allocate as much for their threads


def bench(
    grid: Annotated[str, typer.Argument(help="A grid's name (table2, quick, …) or a .toml file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The store: a folder of records.")],
    protocol: Annotated[
        str | None, typer.Option(help="fair, paper or budget. Default: as in the grid.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="Headline metric, as in `kgnn run`. Default: as in the grid."),
    ] = None,
    splits: Annotated[int | None, typer.Option(min=1, help="Number of splits.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Part of the grid: method=kgnn,wl or dataset=PROTEINS.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="processes, here (one process), or ray.")
    ] = "processes",
    workers: Annotated[int | None, typer.Option(min=1, help="Cells to run in parallel.")] = None,
    address: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster. Default: start one here.")
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="Memory limit per cell, such as 4GiB or 500MiB.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run the cells of GRID that have no record yet; stop and resume at any time.

    For example: kgnn bench quick -o out --workers 2
    """
    from dataclasses import replace

    from kgnn.benchmark.grid import Grid
    from kgnn.benchmark.running import run_missing
    from kgnn.benchmark.store import Store
    from kgnn.graphs.loading import load
    from kgnn.progress import track

    chosen = Grid.load(grid)
    if protocol is not None:
        chosen = replace(chosen, protocol=protocol)
    if metric is not None:
        chosen = replace(chosen, metric=metric)
    if splits is not None:
        chosen = replace(chosen, splits=splits, splits_of={})
    chosen = chosen.only(**_parts(only or []))
    running_on = _engine(engine, workers, address, _bytes(memory_limit))
    require_writable_folder(output)
    with progress_bars():  # load each dataset once, so that workers find it in the cache
        loaded = {name: load(name) for name in track(chosen.datasets, "opening datasets")}
    sizes = {name: float(graphs.n_nodes + graphs.n_arcs) for name, graphs in loaded.items()}
    store = Store(output)
    cells = list(chosen.cells({name: graphs.fingerprint for name, graphs in loaded.items()}))
    try:
        with (
            redirect_stdout(sys.stderr),  # Ray reports dead workers on stdout
            Live(console=err(), refresh_per_second=4, transient=True) as live,
        ):
            progress = run_missing(
                cells,
                store,
                running_on,
                sizes,
                lambda now: live.update(_view(chosen.title, now)),
            )
    except KeyboardInterrupt:
        kept = f"stopped; finished cells are in {output}, and the same command resumes from there"
        none = "stopped before any cell was finished; nothing was written"
        say(kept if output.is_dir() else none)
        raise typer.Exit(130) from None
    summary = {**_summary(progress), **_scores(cells, store, chosen.metric)}
    if as_json:
        print_json(summary)
    else:
        if summary["scores"]:
            out().print(_score_table(summary))
        _tell(summary, output)
    if progress.failed:
        raise typer.Exit(1)


def _parts(only: list[str]) -> dict[str, list[str]]:
    """Parse ``method=kgnn,wl`` and ``dataset=PROTEINS``, also ``method=kgnn,dataset=PROTEINS``."""
    parts: dict[str, list[str]] = {}
    key = ""
    for word in ",".join(only).split(",") if only else []:
        head, equals, name = word.partition("=")
        key = head.strip() if equals else key
        if not key:
            raise ParameterError(f"--only takes method=… or dataset=…, got '{word}'.")
        parts.setdefault(key, []).append((name if equals else head).strip())
    return parts


def _engine(
    name: str, workers: int | None, address: str | None, memory_limit: int | None
) -> Engine:
    from kgnn.benchmark.engines import Processes, RayCluster, ThisProcess

    if address is not None and name != "ray":
        raise ParameterError(f"--address needs --engine ray, got '{name}'.")
    if name == "here":
        if workers is not None and workers > 1:
            raise ParameterError(
                f"--engine here runs one cell at a time, got --workers {workers}. Omit one of "
                "the two."
            )
        return ThisProcess(memory_limit)
    if name == "processes":
        return Processes(workers, memory_limit)
    if name == "ray":
        return RayCluster(workers, address, memory_limit)
    raise ParameterError(f"The engine must be one of {', '.join(_ENGINES)}, got '{name}'.")


def _bytes(text: str | None) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?B)?", text.strip(), re.IGNORECASE)
    if not found:
        raise ParameterError(f"A memory limit needs a unit, such as 4GiB or 500MiB, got '{text}'.")
    n_bytes = int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper()))
    if n_bytes < _LEAST_MEMORY:
        raise ParameterError(
            f"A memory limit must be at least {_LEAST_MEMORY >> 20}MiB for a cell to run at all, "
            f"got '{text}'."
        )
    return n_bytes


def _view(title: str, progress: Progress) -> Group:
    n_done = progress.found + len(progress.finished) - len(progress.failed)
    headings = (">cells", ">done", ">running", ">waiting", ">failed", ">time left")
    counts = table(title, *headings)
    numbers = (n_done, len(progress.running), len(progress.waiting), len(progress.failed))
    left = "?" if progress.seconds_left is None else _duration(progress.seconds_left)
    counts.add_row(str(len(progress.cells)), *map(str, numbers), left)
    lines = [Text(f"  {cell}", style="dim") for cell in progress.running[:_MOST_LINES]]
    lines += [
        Text(f"  failed: {record.cell}: {record.reason}", style="red", overflow="ellipsis")
        for record in progress.failed[-_MOST_LINES:]
    ]
    return Group(counts, *lines)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes}:{rest:02}"


def _summary(progress: Progress) -> dict[str, Any]:
    return {
        "cells": len(progress.cells),
        "found": progress.found,
        "done": sum(record.outcome == "done" for record in progress.finished),
        "declined": sum(record.outcome == "declined" for record in progress.finished),
        "failed": {str(record.cell): record.reason for record in progress.failed},
    }


def _scores(cells: list[Cell], store: Store, metric: str) -> dict[str, Any]:
    """Return the mean of each metric over splits, for each method on each dataset."""
    from kgnn.estimator.metrics import METRICS
    from kgnn.evaluation.metrics import mean_and_std
    from kgnn.reports.results import Results

    records = [record for record in store.find(cells) if record is not None]
    names = ("majority_share", *METRICS)
    scores = []
    for group in Results(records, metric).groups:
        values = {name: group.values(name) for name in names}
        means = {name: mean_and_std(own)[0] if own else None for name, own in values.items()}
        scores.append(
            {
                **{key: getattr(group, key) for key in ("method", "dataset", "labels")},
                "parameters": group.parameters,
                "splits": len(group.records),
                "mean": group.mean,
                "std": group.std if len(group.records) > 1 else None,
                "majority_share": means.pop("majority_share"),
                "metrics": means,
            }
        )
    return {"metric": metric, "scores": scores}


def _score_table(summary: dict[str, Any]) -> Table:
    """Return a table of the headline metric: a row per method, labels and settings."""
    from kgnn.estimator.metrics import METRICS
    from kgnn.evaluation.splits import labels_in_words

    metric, scores = METRICS[summary["metric"]], summary["scores"]
    datasets = list(dict.fromkeys(each["dataset"] for each in scores))
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    majority: dict[str, str] = {}
    for each in scores:
        settings = ", ".join(f"{key}={value}" for key, value in each["parameters"].items())
        row = (each["method"], labels_in_words(each["labels"]), settings)
        spread = "" if each["std"] is None else f" ± {metric.written(each['std'])}"
        rows.setdefault(row, {})[each["dataset"]] = metric.written(each["mean"]) + spread
        majority[each["dataset"]] = METRICS["accuracy"].written(each["majority_share"])
    unit = ", %" if metric.is_percent else ""
    title = f"Mean {metric.title} on TEST{unit}"
    grid = table(title, "method", "labels", "settings", *(f">{name}" for name in datasets))
    for row, found in rows.items():
        grid.add_row(*row, *(found.get(dataset, "") for dataset in datasets))
    if summary["metric"] == "accuracy":
        grid.add_section()
        grid.add_row("majority class", "", "", *(majority[dataset] for dataset in datasets))
    return grid


def _tell(told: dict[str, Any], store: Path) -> None:
    for cell, reason in told["failed"].items():
        err().print(Text.assemble(("failed:", "red"), f" {cell}: {reason}"), soft_wrap=True)
    declined = f", {told['declined']} declined" if told["declined"] else ""
    failed = f", {len(told['failed'])} failed (run again to retry)" if told["failed"] else ""
    were = "was" if told["found"] == 1 else "were"
    say(
        f"{told['cells']} cell{'s' * (told['cells'] != 1)}: {told['found']} {were} there already, "
        f"{told['done']} done now{declined}{failed}. "
        f"To see them: kgnn report {store} -o page.html"
    )
