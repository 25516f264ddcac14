"""``kgnn demo``: the main job from end to end, on graphs made from Python's own source code."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text

from kgnn.cli.own_graphs import JsonOption, require_writable
from kgnn.cli.show import out, print_json, progress_bars, table

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier
    from kgnn.evaluation.splits import Split
    from kgnn.graphs.graph import GraphDataset

_METHODS = ("wl", "gnn-sup", "kgnn")
_SHOWN = 10
_PAGE = "explanation.html"  # beside the model


def demo(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to keep the model; else a temporary folder."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and of the methods.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Guess which package a function comes from, knowing that of one function in ten."""
    folder = Path(tempfile.mkdtemp(prefix="kgnn-demo-")) if output is None else output
    with progress_bars() as bars:
        waiting = bars.add_task("building python-functions", total=2 + len(_METHODS))
        from kgnn.estimator.registry import make
        from kgnn.estimator.saved_files import file_of
        from kgnn.evaluation.metrics import majority_share
        from kgnn.evaluation.protocol import evaluate_split
        from kgnn.evaluation.splits import make_split
        from kgnn.files import write_text
        from kgnn.graphs.loading import load
        from kgnn.reports.explanation_page import explanation_page
        from kgnn.threads import limit_threads

        file = file_of(folder)
        require_writable(file)
        require_writable(file.with_name(_PAGE))
        graphs = load("python-functions")
        split = make_split(graphs, seed=seed)
        fitted: dict[str, GraphClassifier] = {}
        results = {}
        with limit_threads(1):
            for name in _METHODS:
                bars.update(waiting, description=f"training {name}", advance=1)
                fitted[name] = make(name, random_state=seed)
                results[name] = evaluate_split(fitted[name], graphs, split)
        # The method is chosen on VAL, like everything else that is chosen.
        best = max(results, key=lambda name: results[name].validation_accuracy or 0.0)
        fitted[best].name_classes(graphs.class_names)
        predictions = _predictions(fitted[best], graphs, split)
        bars.update(waiting, description="saving and explaining", advance=1)
        with limit_threads(1):
            surest = _surest(predictions)
            model = fitted[best].save(folder)
            page = model.with_name(_PAGE)
            explanation = fitted[best].explain(graphs[int(split.test[surest])])
            write_text(page, explanation_page(explanation))
    record = {
        "dataset": graphs.name,
        "graphs": len(graphs),
        "classes": list(graphs.class_names),
        "labeled": len(split.labeled),
        "unlabeled": len(split.unlabeled),
        "test": len(split.test),
        "majority": 100 * majority_share(graphs.targets[split.test]),
        "accuracy": {name: result.accuracy for name, result in results.items()},
        "seconds": {name: result.seconds for name, result in results.items()},
        "best": best,
        "predictions": predictions,
        "model": str(model.parent),
        "explanation": str(page),
    }
    print_json(record) if as_json else _show(record)


def _predictions(
    method: GraphClassifier, graphs: GraphDataset, split: Split
) -> list[dict[str, Any]]:
    """Ask the method about the first few test graphs, which it has never seen."""
    rows = split.test[:_SHOWN]
    proba = method.predict_proba(graphs[rows])
    labels = method.classes_[proba.argmax(axis=1)].tolist()
    return [
        {
            "name": graphs[int(row)].name,
            "predicted": label,
            "confidence": float(p.max()),
            "truth": graphs[int(row)].target,
        }
        for row, label, p in zip(rows, labels, proba, strict=True)
    ]


def _surest(predictions: list[dict[str, Any]]) -> int:
    """Return the place of the most confident prediction."""
    return max(range(len(predictions)), key=lambda at: float(predictions[at]["confidence"]))


def _short(name: str, length: int = 29) -> str:
    """Drop the package, which is the answer, and what else does not fit."""
    inner = name.partition(".")[2]
    return inner if len(inner) <= length else f"…{inner[1 - length :]}"


def _show(record: dict[str, Any]) -> None:
    console = out()
    console.print(
        f"\n{record['graphs']} functions of Python's standard library, each a graph of its syntax "
        f"tree, from {len(record['classes'])} packages ({', '.join(record['classes'])}).\n"
        f"The package of {record['labeled']} is known, that of {record['unlabeled']} more is "
        f"hidden; which packages do {record['test']} new functions come from?\n"
    )
    grid = table("Accuracy on new functions", "method", ">%", ">seconds")
    grid.add_row("always the largest package", f"{record['majority']:.1f}", "")
    for name, value in record["accuracy"].items():
        mark = " (chosen on VAL)" if name == record["best"] else ""
        grid.add_row(name + mark, f"{value:.1f}", f"{record['seconds'][name]:.1f}")
    console.print(grid)
    title = f"What {record['best']} says of new functions"
    grid = table(title, "function", "predicted", ">confidence", "truth")
    for p in record["predictions"]:
        right = "green" if p["predicted"] == p["truth"] else "red"
        predicted = Text(p["predicted"], style=right)
        grid.add_row(_short(p["name"]), predicted, f"{p['confidence']:.0%}", p["truth"])
    console.print(grid)
    first = record["predictions"][_surest(record["predictions"])]
    console.print(
        f"The model is in {record['model']}; why {_short(first['name'])} is taken for "
        f"{first['predicted']}: {record['explanation']}",
        highlight=False,
        soft_wrap=True,
    )
    console.print(
        f"Next: [bold]kgnn predict {escape(record['model'])} python-functions[/] asks it again; "
        "[bold]kgnn fit GRAPHS --labels labels.csv -o model[/] learns from your own graphs; "
        "[bold]kgnn datasets[/] and [bold]kgnn methods[/] list what there is.",
        markup=True,
        highlight=False,
        soft_wrap=True,
    )
