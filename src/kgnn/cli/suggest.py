"""``kgnn suggest``: which graphs to label next, and how much their labels help."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgnn.cli.own_graphs import (
    ForSpreadsheets,
    IdColumn,
    JsonOption,
    LabelColumn,
    LabeledGraphs,
    LabelsFile,
    LabelsOption,
    Reading,
    ReadOption,
    SettingsOption,
    SkipBad,
    as_fitted,
    reading_options,
    require_labels_file,
    require_model,
    require_writable,
    tell_skipped,
)
from kgnn.cli.show import csv_line, err, out, print_json, progress_bars, say, table
from kgnn.errors import ParameterError

if TYPE_CHECKING:
    from rich.table import Table

    from kgnn.estimator.classifier import GraphClassifier
    from kgnn.estimator.suggestion import Suggestion
    from kgnn.evaluation.labeling import Labeling

# Columns of the table to fill in that help the person who labels.
_WHY = ("predicted", "confidence", "disagreement", "distance", "alike", "why")
_OF_MODELS = ("number", "labels", "id_column", "label_column", "skip_bad", "for_spreadsheets")
_OF_SIMULATIONS = ("method", "settings", "start", "step", "rounds", "splits", "seed")
_USAGE = "Write: kgnn suggest MODEL DATA, or: kgnn suggest --simulate DATASET"
_FIGURES = (".svg", ".png", ".pdf")


def suggest(
    context: typer.Context,
    model: Annotated[str | None, typer.Argument(help="A saved model.")] = None,
    data: Annotated[
        str | None, typer.Argument(help="Graphs to choose from: a dataset's name or a path.")
    ] = None,
    number: Annotated[int, typer.Option("-n", "--number", min=1, help="Number of graphs.")] = 20,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A .csv file to fill in and pass to fit --labels, or .json. With --simulate also "
            ".svg, .png or .pdf.",
        ),
    ] = None,
    for_spreadsheets: ForSpreadsheets = False,
    as_json: JsonOption = False,
    labels: LabelsOption = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    skip_bad: SkipBad = False,
    read: ReadOption = None,
    simulate: Annotated[
        str | None,
        typer.Option(help="A labeled dataset on which to compare suggestions with random choice."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="For --simulate: a name from `kgnn methods`.")
    ] = "kgnn",
    settings: SettingsOption = None,
    start: Annotated[int, typer.Option(min=1, help="Random labels to start with.")] = 20,
    step: Annotated[int, typer.Option(min=1, help="Labels added per round.")] = 20,
    rounds: Annotated[int, typer.Option(min=1, help="Number of rounds.")] = 4,
    splits: Annotated[int, typer.Option(min=1, help="Number of random splits.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first split.")] = 0,
) -> None:
    """Suggest which graphs of DATA to label next, or simulate how much that helps.

    For example: kgnn suggest model new.csv -n 20 -o next.csv
    """
    _require_useful(context, _OF_MODELS if simulate is not None else _OF_SIMULATIONS)
    if simulate is not None:
        if model is not None:
            raise ParameterError(f"--simulate fits its own models, got MODEL {model}. {_USAGE}")
        _require_output(output, [simulate], *_FIGURES, ".csv", ".json")
        amounts = {"start": start, "step": step, "rounds": rounds, "splits": splits, "seed": seed}
        options = reading_options(simulate, read)
        _simulate(simulate, options, method, settings or [], amounts, output, as_json)
    elif model is None or data is None:
        raise ParameterError(f"MODEL and DATA are both needed. {_USAGE}")
    else:
        _require_output(output, [model, data, *(labels or [])], ".csv", ".json")
        require_model(model)
        reading_options(data, read)
        require_labels_file(LabelsFile(labels, id_column, label_column))
        table = LabelsFile(labels, id_column, label_column, True, keeps_targets=True)
        reading = Reading(data, read or [], table, skip_bad)
        _suggest(model, reading, number, output, as_json, for_spreadsheets)


def _require_useful(context: typer.Context, useless: Sequence[str]) -> None:
    """Refuse options that would have no effect."""
    options = {each.name: each.opts[-1] for each in context.command.params}
    sources = {name: context.get_parameter_source(name) for name in useless}
    given = [options[name] for name, of in sources.items() if of and of.name == "COMMANDLINE"]
    if given:
        raise ParameterError(f"{', '.join(given)} cannot be used here. {_USAGE}")


def _require_output(path: Path | None, inputs: Sequence[str | Path], *allowed: str) -> None:
    if path is None:
        return
    if path.suffix.lower() not in allowed:
        raise ParameterError(f"The output must end in {' or '.join(allowed)}, got {path}.")
    require_writable(path, *inputs)


def _suggest(
    path: str,
    given: Reading,
    number: int,
    output: Path | None,
    as_json: bool,
    for_spreadsheets: bool,
) -> None:
    with progress_bars():
        from kgnn.estimator.saving import open_model

        model = open_model(path)
        reading = given.completed(model.fitted_on_.get("read"))
        if reading.data != (model.fitted_on_.get("read") or {}).get("data"):
            reading = reading._replace(settings=as_fitted(reading.data, given.settings, model))
        elif reading != given:
            say(f"reading {reading.data} with {shlex.join(reading.words()[1:])}, as for the fit")
        read = reading.load()
        tell_skipped(read.skipped)
        graphs, table = read.graphs, reading.table
        found = model.suggest(graphs, number)
    listed = [suggestion._asdict() for suggestion in found]
    if output is not None:
        require_writable(output, *(table.paths or []))
        columns = [table.id_column or "id", table.label_column or "label"]
        options = reading_options(reading.data, reading.settings)
        why = [column for column in _WHY if column not in columns]
        from kgnn.graphs.loading import columns_of

        cells = _cells(reading, {each.name for each in found})
        own = [name for name in columns_of(reading.data, **options) if name not in columns]
        headings = [*columns, *why, *(f"given_{name}" if name in why else name for name in own)]
        rows = [
            [each.name, "", *(getattr(each, key) for key in why)]
            + [cells.get(each.name, {}).get(name, "") for name in own]
            for each in found
        ]
        everything = {"dataset": graphs.name, "suggestions": listed}
        _write(output, headings, rows, everything, for_spreadsheets)
        if rows and output.suffix.lower() == ".csv":
            _tell_next(model, reading, read, output)
    if as_json:
        print_json({"dataset": graphs.name, "suggestions": listed})
    elif not found:
        err().print(f"All graphs of {graphs.name} are labeled or look exactly like a labeled one.")
    elif output is None:
        out().print(_as_table(graphs.name, found))


def _cells(reading: Reading, names: set[str]) -> dict[str, dict[str, str]]:
    """Return the cells of a table of graphs for some of the graphs."""
    from kgnn.graphs.loading import cells_of

    options = reading_options(reading.data, reading.settings)
    return {name: cells for name, cells in cells_of(reading.data, **options) if name in names}


def _tell_next(model: GraphClassifier, reading: Reading, read: LabeledGraphs, output: Path) -> None:
    """Print the command that fits with the new labels and all earlier ones."""
    from kgnn.estimator.parameters import as_settings
    from kgnn.estimator.registry import name_of
    from kgnn.estimator.suggestion import n_without_label

    labeled = read.graphs[read.graphs.targets >= 0]
    if lost := n_without_label(model.labeled_graphs_, labeled):
        say(
            f"Fill in the label column. {lost:,} of the {len(model.labeled_graphs_):,} labels "
            "that the model was fitted on were not read here, so the next fit would lose them: "
            f"pass the same --labels and --read as to fit. If {reading.data} does not contain "
            "these graphs, put all graphs into one file."
        )
        return
    words = ["kgnn", "fit", *reading.words(output)]
    words += ["--keep-targets"] if read.only_in_data else []
    words += ["--ignore-unknown"] if read.unknown_ids else []
    method = name_of(type(model))
    words += [] if method == "kgnn" else ["--method", method]
    words += [word for setting in as_settings(model) for word in ("--set", setting)]
    say(f"Fill in the label column, then: {shlex.join(words)} -o MODEL")


def _as_table(dataset: str, found: list[Suggestion]) -> Table:
    headings = ("graph", "predicted", ">confidence", ">distance", "why")
    grid = table(f"Graphs of {dataset} to label next", *headings)
    for each in found:
        numbers = (f"{each.confidence:.2f}", f"{each.distance:.2f}")
        grid.add_row(each.name, str(each.predicted), *numbers, each.why)
    return grid


def _simulate(
    dataset: str,
    options: dict[str, Any],
    method: str,
    settings: list[str],
    amounts: dict[str, int],
    output: Path | None,
    as_json: bool,
) -> None:
    from kgnn.estimator.parameters import parse
    from kgnn.estimator.registry import method_class

    cls = method_class(method)
    chosen = parse(cls, settings)
    is_figure = output is not None and output.suffix.lower() in _FIGURES
    with progress_bars():
        if is_figure:
            import kgnn.reports.chart  # noqa: F401 - fails now if matplotlib is missing

        from kgnn.evaluation.labeling import Fit, simulate_labeling
        from kgnn.graphs.loading import load
        from kgnn.threads import limit_threads

        with limit_threads(1):
            graphs = load(dataset, **options)
            done = simulate_labeling(
                lambda seed: cls(**{"random_state": seed, **chosen}), graphs, **amounts
            )
    summary = {"method": method.lower(), **done.summary()}
    if amounts["splits"] == 1:
        summary["gain_error"] = None  # one split has no spread
    if is_figure and output is not None:
        from kgnn.reports.chart import save
        from kgnn.reports.model_figures import labeling_chart

        save(labeling_chart(done, method).figure(), output)
        say(f"wrote {output}")
    elif output is not None:
        _write(output, Fit._fields, (fit.values() for fit in summary["fits"]), summary)
    if as_json:
        print_json(summary)
    else:
        out().print(_curves_table(done, method))
        err().print(_gain_in_words(summary), highlight=False)


def _gain_in_words(summary: dict[str, Any]) -> str:
    apart, told = "", "a single split has no standard error"
    if summary["gain_error"] is not None:
        apart = f" ± {summary['gain_error']:.1f}"
        told = f"± is the standard error over {summary['splits']} splits"
    return (
        f"Suggested labels change the accuracy by {summary['gain']:+.1f}{apart} points on average "
        f"over rounds; {told}."
    )


def _curves_table(done: Labeling, method: str) -> Table:
    from kgnn.evaluation.labeling import RANDOM, SUGGESTED

    title = f"{method} on {done.dataset}: accuracy in % with suggested and with random labels"
    grid = table(title, ">labels", f">{SUGGESTED}", f">{RANDOM}", ">difference")
    columns = (done.labels, done.mean(SUGGESTED), done.mean(RANDOM), *done.difference())
    has_error = len(done.accuracies(RANDOM)) > 1
    for labels, suggested, random, apart, error in zip(*columns, strict=True):
        difference = f"{apart:+.1f} ± {error:.1f}" if has_error else f"{apart:+.1f}"
        grid.add_row(str(labels), f"{suggested:.1f}", f"{random:.1f}", difference)
    return grid


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _write(
    path: Path,
    columns: Iterable[str],
    rows: Iterable[Iterable[Any]],
    everything: dict[str, Any],
    for_spreadsheets: bool = False,
) -> None:
    if path.suffix.lower() == ".json":
        _write_text(path, json.dumps(everything, indent=2, ensure_ascii=False) + "\n")
        return
    cells = [list(map(_cell, row)) for row in rows]
    _write_text(path, "".join(csv_line(row, for_spreadsheets) for row in [list(columns), *cells]))


def _write_text(path: Path, text: str) -> None:
    from kgnn.files import write_text

    write_text(path, text)
    say(f"wrote {path}")
