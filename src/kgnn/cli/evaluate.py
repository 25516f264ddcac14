"""``kgnn evaluate``: how far the answers of a saved model can be trusted on labeled graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from kgnn.cli.own_graphs import (
    IdColumn,
    IgnoreUnknown,
    LabelColumn,
    LabelsFile,
    LabelsOption,
    ReadOption,
    load_with_labels,
    reading_options,
)
from kgnn.cli.show import err, out, print_json, progress_bars, table
from kgnn.errors import GraphDataError

if TYPE_CHECKING:
    from kgnn.evaluation.quality import Quality
    from kgnn.graphs.graph import GraphDataset
    from kgnn.methods.base import GraphClassifier


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model that was saved.")],
    data: Annotated[str, typer.Argument(help="A file or folder of graphs, or a dataset's name.")],
    labels: LabelsOption = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    ignore_unknown: IgnoreUnknown = False,
    read: ReadOption = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads to compute with.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Compare what a model says with the labels of the graphs in DATA."""
    given_in = LabelsFile(labels, id_column, label_column, ignore_unknown)
    options = reading_options(data, read)
    with progress_bars() as bars:
        bars.add_task(f"evaluating on {data}", total=None)
        from kgnn.methods.model_file import open_model
        from kgnn.threads import limit_threads

        opened = open_model(model)
        graphs, given, _ = load_with_labels(data, given_in, options)
        with limit_threads(threads):
            found = _judged(opened, graphs, given)
    if as_json:
        print_json(found.record())
    else:
        _show(found)


def _judged(model: GraphClassifier, graphs: GraphDataset, given: list[str | None]) -> Quality:
    from kgnn.evaluation.model_facts import ERRORS
    from kgnn.evaluation.quality import quality

    rows = [row for row, label in enumerate(given) if label is not None]
    if not rows:
        raise GraphDataError(
            f"none of the {len(graphs)} graphs has a label to compare with; give --labels"
        )
    proba = model.predict_proba(graphs[rows])
    can_promise = model.held_out_ is not None
    sets = [(error, model.sets_of(proba, error=error)) for error in ERRORS if can_promise]
    known = [str(label) for label in given if label is not None]
    return quality(known, proba, list(map(str, model.classes_.tolist())), sets)


def _show(found: Quality) -> None:
    console = out()
    told = f"{found.in_words()}, Brier score {found.brier:.3f}"
    console.print(told, highlight=False, soft_wrap=True)
    console.print(_confusion(found))
    if found.sets:
        console.print(_sets(found))
    if strange := set(found.true_classes) - set(found.classes):
        err().print(
            f"The model does not know the classes {', '.join(sorted(strange))}; their graphs count "
            "as wrong.",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def _confusion(found: Quality) -> Table:
    columns = [(name, "right") for name in found.classes]
    grid = table(
        "True classes (rows) and predicted ones (columns)",
        ("class", "left"),
        *columns,
        ("right %", "right"),
    )
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
    grid = table(
        "Sets of labels",
        ("promised error %", "right"),
        ("truth in the set %", "right"),
        ("labels in a set", "right"),
    )
    for each in found.sets:
        cells = (100 * each.error, 100 * each.coverage)
        grid.add_row(*(f"{cell:.1f}" for cell in cells), f"{each.mean_size:.2f}")
    return grid
