"""``kgnn demo``: semi-supervised classification and an explanation on generated graphs."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.markup import escape
from rich.text import Text

from kgnn.cli.own_graphs import JsonOption, require_writable
from kgnn.cli.show import out, print_json, progress_bars, table

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier
    from kgnn.graphs.graph import GraphDataset, Ints

_GRAPHS, _TEST, _LABELED = 800, 200, 30
_MOTIF = 5  # the first nodes of each graph of `planted_motifs`
_SHOWN = 10
_PAGE = "explanation.html"  # beside the model


class _Fit(NamedTuple):
    """A method and its training data."""

    method: str
    n_labeled: int
    n_unlabeled: int


_FITS = (
    _Fit("wl", _LABELED, 0),
    _Fit("gnn-sup", _LABELED, 0),
    _Fit("kgnn", _LABELED, _GRAPHS - _TEST - _LABELED),
    _Fit("gnn-sup", 10 * _LABELED, 0),  # for comparison: ten times the labels
)
_SAVED = 2  # the fit whose model is saved and used for predictions


def demo(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the model. Default: a temporary one."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of graphs and methods.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show in half a minute how unlabeled graphs help when labels are few.

    For example: kgnn demo -o model
    """
    folder = Path(tempfile.mkdtemp(prefix="kgnn-demo-")) if output is None else output
    with progress_bars() as bars:
        waiting = bars.add_task("making graphs", total=1 + len(_FITS))
        import numpy as np

        from kgnn.estimator.registry import make
        from kgnn.estimator.saved_files import file_of
        from kgnn.evaluation.model_facts import held_out_quality
        from kgnn.files import write_text
        from kgnn.graphs.datasets.toy import planted_motifs
        from kgnn.reports.explanation_page import explanation_page
        from kgnn.seeds import generator
        from kgnn.threads import limit_threads

        file = file_of(folder)
        require_writable(file)
        require_writable(file.with_name(_PAGE))
        graphs = planted_motifs(_GRAPHS, seed=seed)
        order = generator(seed, "demo").permutation(_GRAPHS)
        test, rest = order[:_TEST], order[_TEST:]
        models: list[GraphClassifier] = []
        fits = []
        with limit_threads(1):
            for each in _FITS:
                bars.update(waiting, description=f"training {each.method}", advance=1)
                known = _balanced(rest, graphs, each.n_labeled)
                rows = rest if each.n_unlabeled else known
                labels = np.where(np.isin(rows, known), graphs.targets[rows], -1)
                start = time.perf_counter()
                models.append(make(each.method, random_state=seed).fit(graphs[rows], labels))
                score = models[-1].score(graphs[test], graphs.targets[test])
                seconds = time.perf_counter() - start
                fits.append({**each._asdict(), "accuracy": 100 * score, "seconds": seconds})
            bars.update(waiting, description="saving and explaining", advance=1)
            model = models[_SAVED]
            quality = held_out_quality(model)
            model.name_classes(graphs.class_names)
            predictions = _predictions(model, graphs, test[:_SHOWN])
            # Explain a fan: its extra edges are evidence that a drawing can show.
            fans = [each for each in predictions if each["predicted"] == graphs.class_names[0]]
            surest = max(fans or predictions, key=lambda each: float(each["confidence"]))
            explanation = model.explain(graphs[surest["graph"]])
            saved = model.save(folder)
            page = saved.with_name(_PAGE)
            write_text(page, explanation_page(explanation))
    strongest = np.argsort(-np.array(explanation.evidence.nodes), kind="stable")[:_MOTIF]
    record = {
        "dataset": graphs.name,
        "graphs": len(graphs),
        "classes": list(graphs.class_names),
        "test": _TEST,
        "fits": fits,
        "expected": None if quality is None else 100 * quality.accuracy,
        "predictions": predictions,
        "explained": surest["graph"],
        "strongest": strongest.tolist(),
        "model": str(saved.parent),
        "explanation": str(page),
    }
    print_json(record) if as_json else _show(record)


def _balanced(rows: Ints, graphs: GraphDataset, n: int) -> Ints:
    """Return the first ``n`` rows with equally many of each class."""
    import numpy as np

    targets, n_classes = graphs.targets[rows], len(graphs.class_names)
    return np.sort(np.concatenate([rows[targets == c][: n // n_classes] for c in range(n_classes)]))


def _predictions(model: GraphClassifier, graphs: GraphDataset, rows: Ints) -> list[dict[str, Any]]:
    """Predict graphs that the model was not trained on."""
    proba = model.predict_proba(graphs[rows])
    labels = model.classes_[proba.argmax(axis=1)].tolist()
    return [
        {
            "graph": int(row),
            "predicted": label,
            "confidence": float(p.max()),
            "truth": graphs[int(row)].target,
        }
        for row, label, p in zip(rows, labels, proba, strict=True)
    ]


def _show(record: dict[str, Any]) -> None:
    console = out()
    fit = record["fits"][_SAVED]
    one, other = record["classes"]
    console.print(
        f"\n{record['graphs']} random graphs. Each contains either a {one} (a center with four "
        f"neighbors, and two edges between neighbors) or a {other} (the same without these two "
        f"edges). {fit['n_labeled']} graphs are labeled, {fit['n_unlabeled']} more are not. The "
        f"task: tell {one} from {other} in {record['test']} new graphs.\n"
    )
    grid = table("Accuracy on new graphs", "method", "trained on", ">%", ">seconds")
    for each in record["fits"]:
        numbers = f"{each['accuracy']:.1f}", f"{each['seconds']:.1f}"
        from_labels = f"{each['n_labeled']} labels"
        more = f" and {each['n_unlabeled']} unlabeled graphs" if each["n_unlabeled"] else ""
        grid.add_row(each["method"], from_labels + more, *numbers)
    console.print(grid)
    if record["expected"] is not None:
        console.print(
            f"kgnn's own estimate was {record['expected']:.0f} %, by cross-validation on its "
            f"{fit['n_labeled']} labels.\n"
        )
    grid = table("Predictions of kgnn for new graphs", ">graph", "predicted", ">confidence", "true")
    for p in record["predictions"]:
        right = "green" if p["predicted"] == p["truth"] else "red"
        predicted = Text(p["predicted"], style=right)
        grid.add_row(str(p["graph"]), predicted, f"{p['confidence']:.0%}", p["truth"])
    console.print(grid)
    found = sum(node < _MOTIF for node in record["strongest"])
    of_class = next(p for p in record["predictions"] if p["graph"] == record["explained"])
    console.print(
        f"Why is graph {record['explained']} a {of_class['predicted']}? Of the {_MOTIF} nodes with "
        f"the strongest evidence for that class, {found} belong to the planted {_MOTIF}: "
        f"{record['explanation']}\n"
        f"The model is in {record['model']}.",
        highlight=False,
        soft_wrap=True,
    )
    console.print(
        f"Next: [bold]kgnn predict {escape(record['model'])} planted-motifs[/] predicts other "
        "graphs; [bold]kgnn fit GRAPHS --labels labels.csv -o model[/] fits your own; "
        "[bold]kgnn datasets[/] and [bold]kgnn methods[/] list datasets and methods.",
        markup=True,
        highlight=False,
        soft_wrap=True,
    )
