"""``kgnn evaluate``: how good a saved model is on labeled graphs."""

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
    model: Annotated[Path, typer.Argument(help="A model that was saved.")],
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
    """Compare the predictions of a model with the labels of the graphs in DATA.

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
            found = _judged(opened, graphs)
    if as_json:
        print_json({"metric": headline, **found.record()})
    else:
        _show(found.quality, headline)
        say(*found.notes())


class Judged(NamedTuple):
    """How good a model is, and on how many graphs that it has not met before."""

    quality: Quality  # on graphs that were not trained on; on all, where there are no others
    counts_trained_on: bool  # whether there are no others, so that the numbers are those of memory
    trained_on: int  # graphs that were
    held_out: int  # labels that were held out of training, which may be among the others
    without_twins: int  # graphs that do not even look like one that was trained on
    accuracy_without_twins: float | None  # on these; None where there are none

    def record(self) -> dict[str, Any]:
        """Return all of it as plain values for JSON."""
        kept = ("trained_on", "counts_trained_on", "without_twins", "accuracy_without_twins")
        return {**self.quality.record(), **{key: getattr(self, key) for key in kept}}

    def notes(self) -> list[str]:
        """Say which of the graphs test memory rather than judgment."""
        n = self.quality.n
        if self.counts_trained_on:
            return [
                f"All {n:,} graphs were trained on: the numbers say what the model remembers, and "
                "nothing about new graphs."
            ]
        told = []
        if self.trained_on:
            held = (
                f" The {self.held_out:,} labels that were held out of training may be among the "
                "others; choices were made on them."
            )
            told.append(
                f"{self.trained_on:,} of these {n + self.trained_on:,} graphs were trained on and "
                f"do not count.{held if self.held_out else ''}"
            )
        if self.without_twins < n:
            rest = (
                "; there are no others"
                if self.accuracy_without_twins is None
                else f"; of the other {self.without_twins:,}, "
                f"{100 * self.accuracy_without_twins:.1f} % are right"
            )
            told.append(
                f"{n - self.without_twins:,} of the {n:,} graphs look exactly like one that was "
                f"trained on{rest}."
            )
        return told


def _judged(model: GraphClassifier, graphs: GraphDataset) -> Judged:
    import numpy as np

    from kgnn.evaluation.metrics import Met, quality
    from kgnn.evaluation.model_facts import ERRORS

    rows = np.flatnonzero(graphs.targets >= 0)
    if not len(rows):
        raise GraphDataError(
            f"none of the {len(graphs)} graphs has a label to compare with; give --labels"
        )
    met = Met.among(model.labeled_graphs_, graphs[rows])
    counts_trained_on = bool(met.trained_on.all())
    judged = rows[~met.trained_on | counts_trained_on]
    is_new = ~met.alike[~met.trained_on | counts_trained_on]
    proba = model.predict_proba(graphs[judged])
    can_promise = model.held_out_ is not None
    sets = [(error, model.sets_of(proba, error=error)) for error in ERRORS if can_promise]
    known = np.array(graphs.class_names)[graphs.targets[judged]]
    classes = np.array(model.class_names)
    is_right = classes[proba.argmax(axis=1)] == known
    return Judged(
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
    if strange := set(found.true_classes) - set(found.classes):
        say(
            f"The model does not know the classes {', '.join(sorted(strange))}; their graphs count "
            "as wrong."
        )


def _metrics(found: Quality, headline: str) -> Table:
    """Write all metrics, the headline first."""
    from kgnn.estimator.metrics import METRICS

    grid = table("Metrics", "metric", ">value")
    for name in sorted(METRICS, key=lambda name: name != headline):
        metric = METRICS[name]
        shown = metric.in_words(getattr(found, name))
        grid.add_row(metric.title, shown, style="bold" if name == headline else None)
    return grid


def _confusion(found: Quality) -> Table:
    title = "True classes (rows) and predicted ones (columns)"
    grid = table(title, "class", *(f">{name}" for name in found.classes), ">right %")
    for name, counts in zip(found.true_classes, found.confusion, strict=True):
        if n := sum(counts):
            right = counts[found.classes.index(name)] if name in found.classes else 0
            grid.add_row(name, *(f"{c:,}" for c in counts), f"{100 * right / n:.1f}")
    predicted = [sum(column) for column in zip(*found.confusion, strict=True)]
    precise = [
        f"{100 * found.confusion[i][i] / n:.1f}" if n else "–" for i, n in enumerate(predicted)
    ]
    grid.add_section()
    grid.add_row("of these right %", *precise, "")
    return grid


def _sets(found: Quality) -> Table:
    headings = (">allowed error %", ">truth in the set %", ">labels in a set")
    grid = table("Sets of labels", *headings)
    for each in found.sets:
        error, coverage = f"{100 * each.error:.1f}", f"{100 * each.coverage:.1f}"
        grid.add_row(error, coverage, f"{each.mean_size:.2f}")
    return grid
