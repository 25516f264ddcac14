"""``kgnn compare``: which method suits a person's own graphs, and the command that fits it."""

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
    ReadOption,
    ThreadsOption,
    load_with_labels,
    reading_options,
    require_labels_file,
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
    minutes: Annotated[float, typer.Option(min=0.01, help="Time for all methods together.")] = 5.0,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Names from `kgnn methods`, or FILE.py:Class. Default: nearly all."),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="What counts: accuracy, balanced-accuracy, roc-auc, …")
    ] = "accuracy",
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and methods.")] = 0,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    ignore_unknown: IgnoreUnknown = False,
    keep_targets: KeepTargets = False,
    read: ReadOption = None,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Say which method suits the graphs in DATA best, by labels that it did not know."""
    given = LabelsFile(labels, id_column, label_column, ignore_unknown, keep_targets)
    require_labels_file(given)
    options = reading_options(data, read)
    live = _Live(data)
    with progress_bars(above=None if as_json else live.shown) as bars:
        waiting = bars.add_task(f"reading {data}", total=None)
        from kgnn.evaluation.comparing import comparisons, methods_of, require_metric
        from kgnn.graphs.description import describe
        from kgnn.threads import limit_threads

        metric, classes = require_metric(metric), methods_of(method)
        graphs = load_with_labels(data, given, options).graphs
        bars.remove_task(waiting)
        if not as_json:
            say(*describe(graphs))
        with limit_threads(threads):
            for known in comparisons(
                graphs, methods=classes, minutes=minutes, metric=metric, seed=seed
            ):
                if not as_json:
                    live.update(known)
                    bars.refresh()
    _tell(data, known, _command(data, known, given, read, seed, threads), as_json)
    if known.interrupted:
        raise typer.Exit(_INTERRUPTED)
    if known.best is None:
        raise typer.Exit(1)


class _Live:
    """The table while methods are fitted: shown on a terminal, else a line for each method."""

    def __init__(self, data: str) -> None:
        self._data = data
        self._known: Comparison | None = None
        self._told: set[str] = set()

    def update(self, known: Comparison) -> None:
        """Take what is known after a method."""
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
    from kgnn.evaluation.comparing import METRICS

    if row.score is None or row.interval is None:
        return f"{row.method}: {row.note}"
    title, written = METRICS[metric].title, METRICS[metric].written
    unit = " %" if METRICS[metric].is_percent else ""
    seconds = "" if row.seconds is None else f", {row.seconds:.1f} s"
    ends = " to ".join(map(written, row.interval))
    return f"{row.method}: {title} {written(row.score)}{unit} ({ends}){seconds}"


def _tell(data: str, known: Comparison, command: str | None, as_json: bool) -> None:
    if as_json:
        print_json({"data": data, **known.record(), "command": command})
        return
    out().print(_as_table(data, known))
    say(*known.in_words())
    if command is not None:
        say(f"Fit it with: {command}")


def _command(
    data: str,
    known: Comparison,
    given: LabelsFile,
    read: list[str] | None,
    seed: int,
    threads: int,
) -> str | None:
    """Return the command that fits the best method on the same graphs and labels."""
    if known.best is None:
        return None
    words = ["kgnn", "fit", data, "--method", known.best.method, "-o", "model"]
    words += [word for path in given.paths or [] for word in ("--labels", str(path))]
    words += ["--id-column", given.id_column] if given.id_column is not None else []
    words += ["--label-column", given.label_column] if given.label_column is not None else []
    words += ["--ignore-unknown"] if given.ignores_unknown else []
    words += ["--keep-targets"] if given.keeps_targets else []
    words += [word for each in read or [] for word in ("--read", each)]
    words += ["--seed", str(seed)] if seed else []
    words += ["--threads", str(threads)] if threads != 1 else []
    return shlex.join(words)
