"""``kgnn fit``: fit a method to your own graphs and labels, and save the model."""

from __future__ import annotations

import shlex
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgnn.cli.own_graphs import (
    DataArgument,
    IdColumn,
    IgnoreUnknown,
    JsonOption,
    KeepTargets,
    LabelColumn,
    LabeledGraphs,
    LabelsFile,
    LabelsOption,
    MetricOption,
    PresetOption,
    Reading,
    ReadOption,
    SettingsOption,
    SkipBad,
    ThreadsOption,
    chosen_parameters,
    method_names,
    reading_options,
    require_labels_file,
    require_writable,
    save_anyway,
    tell_skipped,
    unused_columns,
    where_classes_are,
    why_no_label,
)
from kgnn.cli.show import print_json, progress_bars, say
from kgnn.errors import GraphDataError, KgnnError, KgnnWarning, excerpt

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier
    from kgnn.evaluation.holding_out import LabelUse
    from kgnn.evaluation.metrics import Quality
    from kgnn.graphs.graph import GraphDataset

_INTERRUPTED = 130
_NAMED = 5  # ids in a message


def fit(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the model.")],
    labels: LabelsOption = None,
    method: Annotated[
        str,
        typer.Option(
            help="A name from `kgnn methods`, or FILE.py:Class.", autocompletion=method_names
        ),
    ] = "kgnn",
    settings: SettingsOption = None,
    preset: PresetOption = None,
    validation: Annotated[
        float,
        typer.Option(
            help="Share of labels for a validation set. With 0, all labels are used for training "
            "and accuracy is estimated by cross-validation."
        ),
    ] = 0.0,
    metric: MetricOption = "accuracy",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    report: Annotated[
        Path | None, typer.Option(help="Also write an HTML report about the model.")
    ] = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    ignore_unknown: IgnoreUnknown = False,
    keep_targets: KeepTargets = False,
    skip_bad: SkipBad = False,
    read: ReadOption = None,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Fit a method to the graphs in DATA, some of them labeled, and save the model.

    For example: kgnn fit graphs.jsonl --labels labels.csv -o model --report report.html
    """
    from kgnn.estimator.metrics import require_metric
    from kgnn.estimator.parameters import check
    from kgnn.estimator.registry import method_class, name_of

    headline = require_metric(metric)
    table = LabelsFile(labels, id_column, label_column, ignore_unknown, keep_targets)
    require_labels_file(table)
    reading_options(data, read)
    cls = method_class(method)
    chosen = chosen_parameters(cls, preset, settings, headline)
    model = cls(**{"random_state": seed, **chosen})
    check(model)
    reading = Reading(data, read or [], table, skip_bad)
    with progress_bars(news=not as_json) as bars:
        waiting = bars.add_task(f"reading {data}", total=None)
        from kgnn.estimator.saved_files import file_of
        from kgnn.threads import limit_threads

        needed: list[str | Path] = [data, *(table.paths or [])]
        require_writable(file_of(output), *needed)
        if report is not None:
            require_writable(report, file_of(output), *needed)
        with limit_threads(threads):
            try:
                graphs, use = _read(reading, validation, model)
                bars.update(waiting, description=f"fitting {method}")
                start = time.perf_counter()
                held_out = graphs[use.validation] if len(use.validation) else None
                model.fit(graphs[use.training], validation=held_out)
            except KeyboardInterrupt:  # fit catches it once the model can predict
                say("Stopped before there was a model to save; nothing was written.")
                raise typer.Exit(_INTERRUPTED) from None
            seconds = time.perf_counter() - start
            model.fitted_on_["read"] = reading.record()  # for suggest, which reads the data again
            file, is_in_place = save_anyway(model.save, output)
            if report is not None:
                bars.update(waiting, description="writing the report")
                _write_report(report, model, graphs, use, headline, seconds)
    from kgnn.evaluation.model_facts import held_out_quality

    quality = held_out_quality(model)
    record = {
        "model": str(file.parent if file.name == "model.safetensors" else file),
        "method": name_of(cls),
        "fitted_on": model.fitted_on_,
        "metric": headline,
        "held_out": None if quality is None else quality.short_record(),
        "seconds": seconds,
        "interrupted": model.interrupted_,
    }
    print_json(record) if as_json else _tell_result(record, model, quality, report)
    if model.interrupted_:
        raise typer.Exit(_INTERRUPTED)
    if not is_in_place:
        raise typer.Exit(1)


def _read(reading: Reading, share: float, model: GraphClassifier) -> tuple[GraphDataset, LabelUse]:
    """Read graphs and labels, decide how to use the labels, and print both."""
    from kgnn.evaluation.holding_out import plan_labels

    found = reading.load()
    if (found.graphs.targets < 0).all():
        raise GraphDataError(why_no_label(reading, len(found.graphs)))
    use = plan_labels(found.graphs, share, model.random_state, model.cross_fit)
    _tell_data(reading, found, use)
    return found.graphs, use


def _tell_data(reading: Reading, found: LabeledGraphs, use: LabelUse) -> None:
    from kgnn.graphs.description import describe
    from kgnn.graphs.loading import find_format

    source = f"{find_format(reading.data).name}{where_classes_are(reading)}"
    tell_skipped(found.skipped)
    say(f"{reading.data} ({source})", *describe(found.graphs), use.reason)
    if unused := unused_columns(reading):
        say(f"unused columns: {excerpt(', '.join(unused), 300)}")
    if left_out := found.unknown_ids:
        say(f"{len(left_out)} ids of --labels match no graph and were ignored: {_first(left_out)}")
    table = reading.table
    if found.only_in_data and table.paths and not table.keeps_targets:
        say(
            f"{found.only_in_data} graphs have a class in the data but not in --labels; they "
            "count as unlabeled (use --keep-targets to keep their classes)"
        )
    if use.unjudged:
        why = _first(list(use.unjudged))
        warnings.warn(
            f"{why[0].upper()}{why[1:]}: that is little to learn from, and the accuracy on such a "
            "class cannot be estimated. Label at least one more graph.",
            KgnnWarning,
            stacklevel=2,
        )


def _first(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def _tell_result(
    record: dict[str, Any], model: GraphClassifier, quality: Quality | None, report: Path | None
) -> None:
    from kgnn.evaluation.model_facts import basis_in_words

    if quality is None:
        say(f"The accuracy on new graphs is not known: {basis_in_words(model)}.")
        say("The probabilities are not calibrated.")
    else:
        say(f"{quality.in_words(record['metric'])}.")
        say(f"Expect this on new graphs; it was estimated on {basis_in_words(model)}.")
    if report is not None:
        say(f"The report is in {report}.")
    say(
        f"The model is in {record['model']}; fitting took {record['seconds']:.0f} s. To use it: "
        f"kgnn predict {record['model']} DATA -o predictions.csv"
    )


def _write_report(
    path: Path,
    model: GraphClassifier,
    graphs: GraphDataset,
    use: LabelUse,
    headline: str,
    seconds: float,
) -> None:
    from kgnn.evaluation.model_facts import facts_of
    from kgnn.files import write_text
    from kgnn.reports.model_page import model_page

    command = shlex.join(["kgnn", *sys.argv[1:]])
    made = {"data": graphs.name, "command": command, "seconds": f"{seconds:.1f}"}
    page = model_page(facts_of(model, graphs, use, made, headline))
    try:
        write_text(path, page)
    except OSError as error:
        raise KgnnError(f"The report cannot be written to {path}: {error.strerror}") from error
