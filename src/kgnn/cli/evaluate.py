"""``kgnn evaluate``: evaluate a saved model on labeled graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.table import Table

from kgnn.cli.own_graphs import (
    DataArgument,
    IdColumn,
    IgnoreUnknown,
    JsonOption,
    LabelColumn,
    LabelsFile,
    LabelsOption,
    MetricOption,
    ReadOption,
    ThreadsOption,
    as_fitted,
    load_with_labels,
    reading_options,
    require_labels_file,
    require_model,
)
from kgnn.cli.show import out, print_json, progress_bars, say, table
from kgnn.errors import GraphDataError

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier
    from kgnn.evaluation.metrics import Quality
    from kgnn.graphs.graph import GraphDataset


def evaluate(
    model: Annotated[Path, typer.Argument(help="A saved model.")],
    data: DataArgument,
    labels: LabelsOption = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    ignore_unknown: IgnoreUnknown = False,
    metric: MetricOption = "accuracy",
    read: ReadOption = None,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Evaluate the predictions of MODEL on the labeled graphs in DATA.

    For example: kgnn evaluate model new.csv --labels labels.csv
    """
    from kgnn.estimator.metrics import require_metric

    headline = require_metric(metric)
    given_in = LabelsFile(labels, id_column, label_column, ignore_unknown)
    require_labels_file(given_in)
    require_model(model)
    reading_options(data, read)
    with progress_bars() as bars:
        bars.add_task(f"evaluating on {data}", total=None)
        from kgnn.estimator.saving import open_model
        from kgnn.threads import limit_threads

        opened = open_model(model)
        options = reading_options(data, as_fitted(data, read, opened))
        graphs = load_with_labels(data, given_in, options).graphs
        with limit_threads(threads):
            found = _evaluated(opened, graphs)
    if as_json:
        print_json({"metric": headline, **found.record()})
    else:
        _show(found.quality, headline)
        say(*found.notes())


class Evaluated(NamedTuple):
    """The quality of a model, and how many of the graphs were new to it."""

    quality: Quality  # on graphs that were not trained on; on all if there are no others
    counts_trained_on: bool  # there are no others, so the quality is that on training graphs
    trained_on: int  # graphs
    held_out: int  # labels of the validation set, which may be among the evaluated graphs
    without_twins: int  # graphs that do not look exactly like a training graph
    accuracy_without_twins: float | None  # on these; None if there are none

    def record(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        kept = ("trained_on", "counts_trained_on", "without_twins", "accuracy_without_twins")
        return {**self.quality.record(), **{key: getattr(self, key) for key in kept}}

    def notes(self) -> list[str]:
        """Say which of the graphs do not test generalization."""
        n = self.quality.n
        if self.counts_trained_on:
            return [
                f"All {n:,} graphs were in the training set: the numbers say nothing about new "
                "graphs."
            ]
        told = []
        if self.trained_on:
            held = (
                f" The others may include the {self.held_out:,} graphs of the validation set, on "
                "which the model was selected."
            )
            told.append(
                f"{self.trained_on:,} of these {n + self.trained_on:,} graphs were in the training "
                f"set and are not counted.{held if self.held_out else ''}"
            )
        if self.without_twins < n:
            rest = (
                "; there are no others"
                if self.accuracy_without_twins is None
                else f"; of the other {self.without_twins:,}, "
                f"{100 * self.accuracy_without_twins:.1f} % are right"
            )
            told.append(
                f"{n - self.without_twins:,} of the {n:,} graphs look exactly like a training "
                f"graph{rest}."
            )
        return told


def _evaluated(model: GraphClassifier, graphs: GraphDataset) -> Evaluated:
    import numpy as np

    from kgnn.evaluation.metrics import Met, quality
    from kgnn.evaluation.model_facts import ERRORS

    rows = np.flatnonzero(graphs.targets >= 0)
    if not len(rows):
        raise GraphDataError(
            f"none of the {len(graphs)} graphs has a label to compare with; use --labels"
        )
    met = Met.among(model.labeled_graphs_, graphs[rows])
    counts_trained_on = bool(met.trained_on.all())
    chosen = rows[~met.trained_on | counts_trained_on]
    is_new = ~met.alike[~met.trained_on | counts_trained_on]
    proba = model.predict_proba(graphs[chosen])
    has_sets = model.held_out_ is not None
    sets = [(error, model.sets_of(proba, error=error)) for error in ERRORS if has_sets]
    known = np.array(graphs.class_names)[graphs.targets[chosen]]
    classes = np.array(model.class_names)
    is_right = classes[proba.argmax(axis=1)] == known
    return Evaluated(
        quality(known.tolist(), proba, classes.tolist(), sets),
        counts_trained_on,
        int(met.trained_on.sum()),
        int(model.fitted_on_["validation"]),
        int(is_new.sum()),
        float(is_right[is_new].mean()) if is_new.any() else None,
    )


def _show(found: Quality, headline: str) -> None:
    console = out()
    console.print(found.in_words(headline), highlight=False, soft_wrap=True)
    console.print(_metrics(found, headline))
    console.print(_confusion(found))
    if found.sets:
        console.print(_sets(found))
    if unknown := set(found.true_classes) - set(found.classes):
        say(
            f"The model does not know the classes {', '.join(sorted(unknown))}; their graphs count "
            "as wrong."
        )


def _metrics(found: Quality, headline: str) -> Table:
    """Return a table of all metrics, the headline first."""
    from kgnn.estimator.metrics import METRICS

    grid = table("Metrics", "metric", ">value")
    for name in sorted(METRICS, key=lambda name: name != headline):
        metric = METRICS[name]
        shown = metric.in_words(getattr(found, name))
        grid.add_row(metric.title, shown, style="bold" if name == headline else None)
    return grid


def _confusion(found: Quality) -> Table:
    title = "Confusion matrix: true classes in rows, predicted ones in columns"
    grid = table(title, "class", *(f">{name}" for name in found.classes), ">recall %")
    for name, counts in zip(found.true_classes, found.confusion, strict=True):
        if n := sum(counts):
            right = counts[found.classes.index(name)] if name in found.classes else 0
            grid.add_row(name, *(f"{c:,}" for c in counts), f"{100 * right / n:.1f}")
    predicted = [sum(column) for column in zip(*found.confusion, strict=True)]
    precise = [
        f"{100 * found.confusion[i][i] / n:.1f}" if n else "–" for i, n in enumerate(predicted)
    ]
    grid.add_section()
    grid.add_row("precision %", *precise, "")
    return grid


def _sets(found: Quality) -> Table:
    headings = (">allowed error %", ">coverage %", ">labels per set")
    grid = table("Label sets", *headings)
    for each in found.sets:
        error, coverage = f"{100 * each.error:.1f}", f"{100 * each.coverage:.1f}"
        grid.add_row(error, coverage, f"{each.mean_size:.2f}")
    return grid
