"""``kgnn compare``: which method works best on your own graphs, and the command that fits it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from kgnn.cli.own_graphs import (
    DataArgument,
    IdColumn,
    IgnoreUnknown,
    JsonOption,
    KeepTargets,
    LabelColumn,
    LabelsFile,
    LabelsOption,
    MetricOption,
    Reading,
    ReadOption,
    SkipBad,
    ThreadsOption,
    reading_options,
    require_labels_file,
    tell_skipped,
)
from kgnn.cli.show import err, out, print_json, progress_bars, say, table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from kgnn.evaluation.comparing import Comparison, Row

_INTERRUPTED = 130


def compare(
    data: DataArgument,
    labels: LabelsOption = None,
    minutes: Annotated[float, typer.Option(min=0.01, help="Time limit for all methods.")] = 5.0,
    method: Annotated[
        list[str] | None,
        typer.Option(help="A name from `kgnn methods`, or FILE.py:Class. Default: nearly all."),
    ] = None,
    metric: MetricOption = "accuracy",
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and methods.")] = 0,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    ignore_unknown: IgnoreUnknown = False,
    keep_targets: KeepTargets = False,
    skip_bad: SkipBad = False,
    read: ReadOption = None,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Compare methods on the graphs in DATA by cross-validation.

    For example: kgnn compare molecules.csv --minutes 5
    """
    given = LabelsFile(labels, id_column, label_column, ignore_unknown, keep_targets)
    require_labels_file(given)
    reading_options(data, read)
    reading = Reading(data, read or [], given, skip_bad)
    live = _Live(data)
    with progress_bars(above=None if as_json else live.shown) as bars:
        waiting = bars.add_task(f"reading {data}", total=None)
        from kgnn.estimator.metrics import require_metric
        from kgnn.evaluation.comparing import comparisons, methods_of
        from kgnn.graphs.description import describe
        from kgnn.threads import limit_threads

        metric, classes = require_metric(metric), methods_of(method)
        found = reading.load()
        bars.remove_task(waiting)
        if not as_json:
            tell_skipped(found.skipped)
            say(*describe(found.graphs))
        with limit_threads(threads):
            for known in comparisons(
                found.graphs, methods=classes, minutes=minutes, metric=metric, seed=seed
            ):
                if not as_json:
                    live.update(known)
                    bars.refresh()
    _tell(data, known, _command(known, reading, seed, threads), as_json)
    if known.interrupted:
        raise typer.Exit(_INTERRUPTED)
    if known.best is None:
        raise typer.Exit(1)


class _Live:
    """The table while methods are fitted: live on a terminal, otherwise one line per method."""

    def __init__(self, data: str) -> None:
        self._data = data
        self._known: Comparison | None = None
        self._told: set[str] = set()

    def update(self, known: Comparison) -> None:
        """Take the comparison after another method."""
        self._known = known
        if err().is_terminal:
            return
        for row in known:
            if row.standing != "waiting" and row.method not in self._told:
                self._told.add(row.method)
                say(_line(row, known.metric))

    def shown(self) -> RenderableType:
        """Return the table so far, with the method that is being fitted."""
        if self._known is None:
            return ""
        waiting = [row for row in self._known if row.standing == "waiting"]
        grid = _as_table(self._data, self._known)
        if waiting:
            grid.add_row(waiting[0].method, *[""] * (len(grid.columns) - 2), "fitting")
        return grid


def _as_table(data: str, known: Comparison) -> Table:
    first, *numbers, last = known.columns()
    title = f"Methods on {data}, {known.labels:,} labels"
    grid = table(title, first, *(f">{heading}" for heading in numbers), last)
    for cells in known.cells():
        grid.add_row(*cells, style="bold" if cells[-1] == "best" else None)
    return grid


def _line(row: Row, metric: str) -> str:
    from kgnn.estimator.metrics import METRICS
    from kgnn.evaluation.comparing import interval_in_words

    if row.score is None or row.interval is None:
        return f"{row.method}: {row.note}"
    known = METRICS[metric]
    seconds = "" if row.seconds is None else f", {row.seconds:.1f} s"
    ends = interval_in_words(known, row.interval)
    return f"{row.method}: {known.title} {known.in_words(row.score)} ({ends}){seconds}"


def _tell(data: str, known: Comparison, command: str | None, as_json: bool) -> None:
    if as_json:
        print_json({"data": data, **known.record(), "command": command})
        return
    out().print(_as_table(data, known))
    say(*known.in_words())
    if command is not None:
        say(f"Fit it with: {command}")


def _command(known: Comparison, reading: Reading, seed: int, threads: int) -> str | None:
    """Return the command that fits the best method on the same graphs and labels."""
    if known.best is None:
        return None
    words = ["kgnn", "fit", *reading.words(), "--method", known.best.method, "-o", "model"]
    words += ["--ignore-unknown"] if reading.table.ignores_unknown else []
    words += ["--keep-targets"] if reading.table.keeps_targets else []
    words += ["--metric", known.metric] if known.metric != "accuracy" else []
    words += ["--seed", str(seed)] if seed else []
    words += ["--threads", str(threads)] if threads != 1 else []
    return shlex.join(words)
