"""What each choice in KGNN is worth: one change at a time, paired over the same splits.

    python benchmarks/studies/kgnn_choices.py PROTEINS IMDB-BINARY --splits 10
    python benchmarks/studies/kgnn_choices.py PROTEINS --table methods --markdown

Every cell (dataset, variant, split) is a JSON file in ``--store``; running again runs only what is
missing, and an interrupted study goes on where it was. The table shows the mean accuracy of each
variant, or of each method beside KGNN, and its mean difference from KGNN with its defaults over the
splits that both have, with the standard error of that difference: one or two points on a few splits
are noise.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from kgnn.evaluation.protocol import evaluate_split
from kgnn.evaluation.splits import make_split
from kgnn.files import write_text
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.loading import load
from kgnn.methods.registry import make
from kgnn.threads import limit_threads

# Name of a variant to the method and what differs from its defaults.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "kgnn": ("kgnn", {}),
    **{
        name: (name, {})
        for name in ("kgnn-sep", "ensemble-self", "gnn-self", "memnn-sup", "gnn-sup", "wl", "ldp")
    },
}
CHOICES: dict[str, tuple[str, dict[str, Any]]] = {
    "kgnn": ("kgnn", {}),
    "rate 0.01 for the GIN": ("kgnn", {"learning_rate": 0.01}),
    "width 64": ("kgnn", {"width": 64}),
    "128 coordinates": ("kgnn", {"dimensions": 128}),
    "scaled by dataset": ("kgnn", {"normalize": "dataset"}),
    "scaled by level": ("kgnn", {"normalize": "level"}),
    "all nodes alike": ("kgnn", {"features": "paper"}),
    "degrees as features": ("kgnn", {"features": "degree"}),
    "last layer pooled": ("kgnn", {"pooling": "last"}),
    "all layers pooled": ("kgnn", {"pooling": "all"}),
    "sum readout": ("kgnn", {"readout": "sum"}),
    "no averaged weights": ("kgnn", {"averaging": 0.0}),
    "dot attention": ("kgnn", {"attention": "dot"}),
    "no labels in memory": ("kgnn", {"memory_labels": False}),
    "exact colors only": ("kgnn", {"coarse": ()}),
    "no rounds": ("kgnn", {"rounds": 0}),
    "soft targets": ("kgnn", {"soft": True}),
    "no quotas": ("kgnn", {"balanced": False}),
    "best round": ("kgnn", {"average_rounds": False}),
    "p alone predicts": ("kgnn", {"predict_with": "gnn"}),
    "q alone predicts": ("kgnn", {"predict_with": "memory"}),
}
VARIANTS = {**METHODS, **CHOICES}


def where(store: Path, graphs: GraphDataset, variant: str, seed: int) -> Path:
    """Return the file of one result."""
    return store / graphs.name / f"{variant.replace(' ', '-')}-{seed}.json"


def cell(store: Path, graphs: GraphDataset, variant: str, seed: int) -> dict[str, Any]:
    """Return one result, from the store or by running it."""
    path = where(store, graphs, variant, seed)
    if path.exists():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    method, settings = VARIANTS[variant]
    split = make_split(graphs, seed=seed)
    result = asdict(evaluate_split(make(method, random_state=seed, **settings), graphs, split))
    write_text(path, json.dumps(result))
    return result


def row(values: list[float], base: list[float]) -> list[str]:
    """Return accuracy, mean difference and its standard error over the splits of both."""
    n_both = min(len(values), len(base))
    if n_both == 0:
        return ["", "", "", "0"]
    difference = np.subtract(values[:n_both], base[:n_both])
    error = difference.std(ddof=1) / np.sqrt(n_both) if n_both > 1 else np.nan
    spread = np.std(values, ddof=1) if len(values) > 1 else np.nan
    accuracy = f"{np.mean(values):.1f} ± {spread:.1f}"
    return [accuracy, f"{difference.mean():+.1f}", f"{error:.1f}", str(len(values))]


def show(name: str, accuracy: dict[str, list[float]], markdown: bool) -> None:
    """Print the table of one dataset."""
    headings = ["variant", "accuracy %", "difference", "standard error", "splits"]
    rows = [[variant, *row(values, accuracy["kgnn"])] for variant, values in accuracy.items()]
    rows[0][2:4] = ["", ""]
    if markdown:
        print(f"\n**{name}**\n\n| {' | '.join(headings)} |\n| --- | ---: | ---: | ---: | ---: |")
        print("\n".join(f"| {' | '.join(each)} |" for each in rows))
        return
    table = Table(title=name, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "variant" else "right")
    for each in rows:
        table.add_row(*each)
    Console(width=100).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--table", choices=["methods", "choices"], default="choices")
    parser.add_argument("--only", nargs="*", choices=list(VARIANTS))
    parser.add_argument("--store", type=Path, default=Path("results/kgnn-choices"))
    parser.add_argument("--markdown", action="store_true", help="for a page")
    parser.add_argument("--stored", action="store_true", help="show what is there, run nothing")
    chosen = parser.parse_args()
    names = chosen.only or list(METHODS if chosen.table == "methods" else CHOICES)
    variants = ["kgnn", *(v for v in names if v != "kgnn")]
    with limit_threads(1):
        for name in chosen.datasets:
            graphs = load(name)
            accuracy: dict[str, list[float]] = {variant: [] for variant in variants}
            for variant in variants:
                for seed in range(chosen.splits):
                    if chosen.stored and not where(chosen.store, graphs, variant, seed).exists():
                        break
                    result = cell(chosen.store, graphs, variant, seed)
                    accuracy[variant].append(result["accuracy"])
                    if not chosen.stored:
                        print(f"{graphs.name}, split {seed}, {variant}: {result['accuracy']:.1f}")
            show(graphs.name, {v: a for v, a in accuracy.items() if a}, chosen.markdown)


if __name__ == "__main__":
    main()
