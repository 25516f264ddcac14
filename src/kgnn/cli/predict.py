"""``kgnn predict``: the predictions of a saved model, for any number of graphs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kgnn.cli.own_graphs import (
    ForSpreadsheets,
    ReadOption,
    SkipBad,
    ThreadsOption,
    as_fitted,
    reading_options,
    require_model,
    require_writable,
    tell_skipped,
)
from kgnn.cli.show import csv_line, json_line, progress_bars, say, writing
from kgnn.errors import GraphDataError, ParameterError, Skipped
from kgnn.progress import track

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier
    from kgnn.evaluation.answers import Answer

_ENGINES = ("here", "ray")


def predict(
    model: Annotated[Path, typer.Argument(help="A saved model.")],
    data: Annotated[list[str], typer.Argument(help="Files or folders of graphs.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write; - for standard output.")
    ] = "-",
    sets: Annotated[
        float | None,
        typer.Option(
            help="Also write label sets (conformal prediction) that miss the true label for at "
            "most this share of graphs, such as 0.1."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write JSON Lines instead of CSV.")
    ] = False,
    for_spreadsheets: ForSpreadsheets = False,
    skip_bad: SkipBad = False,
    engine: Annotated[str, typer.Option(help="here, or ray with one task per file.")] = "here",
    workers: Annotated[int | None, typer.Option(min=1, help="Files at a time (ray).")] = None,
    address: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster. Default: start one here.")
    ] = None,
    read: ReadOption = None,
    threads: ThreadsOption = 1,
) -> None:
    """Predict the classes of the graphs in DATA, which need not fit into memory.

    For example: kgnn predict model new.jsonl -o predictions.csv --sets 0.1
    """
    _require_engine(engine, workers, address)
    if for_spreadsheets and as_json:
        raise ParameterError("--for-spreadsheets is for CSV; leave out --json.")
    require_model(model)
    for each in data:
        reading_options(each, read)
    with progress_bars() as bars:
        waiting = bars.add_task("opening the model", total=None)
        from kgnn.estimator.saved_files import file_of
        from kgnn.evaluation.answers import columns
        from kgnn.threads import limit_threads

        file = str(file_of(model).resolve())
        if output != "-":
            require_writable(Path(output), file, *data)
        opened = _opened(file)
        _require_promise(opened, sets)
        jobs = []
        for each in data:
            options = reading_options(each, as_fitted(each, read, opened))
            jobs.append(Job(each, tuple(options.items())))
        from kgnn.graphs.loading import columns_of

        given = dict.fromkeys(
            column for job in jobs for column in columns_of(job.source, **dict(job.options))
        )
        asked = Asked(file, sets, as_json, len(data) > 1, skip_bad, for_spreadsheets, tuple(given))
        summary = Summary()
        bars.update(waiting, description="predicting")
        with limit_threads(threads), writing(output) as stream:
            named = ["source"] if asked.names_source else []
            headings = [*named, *columns(opened, has_sets=sets is not None)]
            headings += [f"given_{name}" if name in headings else name for name in given]
            heading = "" if as_json else csv_line(headings, for_spreadsheets)
            for lines, part in _parts(asked, jobs, engine, workers, address):
                stream.write(heading + lines)
                heading = ""
                summary.add(part)
                bars.update(waiting, description=f"predicting, {summary.n:,} graphs")
            stream.write(heading)
    _say(summary, output)


class Job(NamedTuple):
    """A source of graphs and how to read it."""

    source: str
    options: tuple[tuple[str, str], ...]


class Asked(NamedTuple):
    """A model, what to predict with it, and how to write the predictions."""

    model: str
    error: float | None
    as_json: bool
    names_source: bool
    skips_bad: bool = False
    for_spreadsheets: bool = False
    columns: tuple[str, ...] = ()  # of the data, copied to the output


@dataclass
class Summary:
    """Counts of what was predicted."""

    n: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    novel: int = 0
    graphs_with_unknown: int = 0
    unknown_nodes: int = 0
    skipped: Skipped = field(default_factory=Skipped)

    def add(self, other: Summary) -> None:
        """Add the counts of another summary."""
        self.n += other.n
        self.labels += other.labels
        self.novel += other.novel
        self.graphs_with_unknown += other.graphs_with_unknown
        self.unknown_nodes += other.unknown_nodes
        self.skipped.add(other.skipped)


Part = tuple[str, Summary]


def _parts(
    asked: Asked, jobs: list[Job], engine: str, workers: int | None, address: str | None
) -> Iterator[Part]:
    if engine == "here":
        for job in track(jobs, "files") if len(jobs) > 1 else jobs:
            yield from answer_lines(asked, job)
        return
    from kgnn.benchmark.engines import RayCluster, ray_map

    absolute = [job._replace(source=_absolute(job.source)) for job in jobs]
    with redirect_stdout(sys.stderr):  # Ray reports dead workers on stdout
        yield from ray_map(RayCluster(workers, address), partial(whole_answer, asked), absolute)


def answer_lines(asked: Asked, job: Job) -> Iterator[Part]:
    """Yield the output for the graphs of a source, batch by batch."""
    from kgnn.evaluation.answers import answers
    from kgnn.graphs.loading import stream

    model = _opened(asked.model)
    write = _writer(asked, job)
    skipped = Skipped()
    reading: dict[str, Any] = {
        "has_node_labels": model.familiar_.has_labels,
        "on_error": skipped if asked.skips_bad else _raise_with_hint,
        **dict(job.options),
    }
    for graphs in stream(job.source, **reading):
        found = answers(model, graphs, error=asked.error)
        yield "".join(map(write, found)), _summary(found)
    yield "", Summary(skipped=skipped)


def _raise_with_hint(error: GraphDataError) -> None:
    raise GraphDataError(f"{error} (--skip-bad skips such graphs)") from error


def whole_answer(asked: Asked, job: Job) -> Part:
    """Return the output for all graphs of a source; runs in a worker of a cluster."""
    from kgnn.threads import limit_threads

    summary, lines = Summary(), []
    with limit_threads(1):
        for text, part in answer_lines(asked, job):
            lines.append(text)
            summary.add(part)
    return "".join(lines), summary


@cache
def _opened(file: str) -> GraphClassifier:
    """Open a model, once in each process."""
    from kgnn.estimator.saving import open_model

    return open_model(file)


def _writer(asked: Asked, job: Job) -> Callable[[Answer], str]:
    """Return a function that writes an answer, followed by the columns of the data."""
    from kgnn.graphs.loading import cells_of

    own = {"source": job.source} if asked.names_source else {}
    rows = cells_of(job.source, **dict(job.options))

    def write(answer: Answer) -> str:
        # Graphs come in the order of the table, without those that could not be read.
        cells = next((cells for name, cells in rows if name == answer.id), {})
        if asked.as_json:
            told = {name: cells[name] for name in asked.columns if name in cells}
            return json_line({**own, **answer.record(), **({"given": told} if told else {})})
        added = [cells.get(name, "") for name in asked.columns]
        line = [*own.values(), *answer.cells().values(), *added]
        return csv_line(line, asked.for_spreadsheets)

    return write


def _summary(found: Iterable[Answer]) -> Summary:
    summary = Summary()
    for answer in found:
        summary.n += 1
        summary.labels[answer.label] += 1
        summary.novel += answer.novelty.is_novel
        summary.graphs_with_unknown += answer.novelty.unknown_labels > 0
        summary.unknown_nodes += answer.novelty.unknown_labels
    return summary


def _absolute(source: str) -> str:
    """Return an absolute path, since workers start in another folder."""
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source


def _require_engine(engine: str, workers: int | None, address: str | None) -> None:
    if engine not in _ENGINES:
        raise ParameterError(f"The engine must be one of {', '.join(_ENGINES)}, got '{engine}'.")
    if engine != "ray" and (workers or address):
        raise ParameterError("--workers and --address need --engine ray.")


def _require_promise(model: GraphClassifier, error: float | None) -> None:
    """Refuse --sets before reading, if the model cannot make label sets."""
    import numpy as np

    if error is not None and not 0 < error < 1:
        raise ParameterError(f"--sets must be an error rate between 0 and 1, got {error}.")
    if error is not None:
        model.sets_of(np.ones((0, len(model.classes_))), error=error)


def _say(summary: Summary, output: str) -> None:
    counts = ", ".join(f"{n:,} of class {name}" for name, n in sorted(summary.labels.items()))
    told = [f"{summary.n:,} graph{'s' * (summary.n != 1)}{': ' * bool(counts)}{counts}."]
    if summary.novel:
        told.append(f"{summary.novel:,} look unlike the training graphs (see novelty_reason).")
    if summary.unknown_nodes:
        told.append(
            f"{summary.unknown_nodes:,} nodes in {summary.graphs_with_unknown:,} graphs have "
            "labels that the model has never seen."
        )
    if output != "-":
        told.append(f"Written to {output}.")
    say(" ".join(told))
    tell_skipped(summary.skipped)
