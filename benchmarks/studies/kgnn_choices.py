"""What each choice in KGNN is worth: one change at a time, paired over the same splits.

    python benchmarks/studies/kgnn_choices.py PROTEINS IMDB-BINARY --splits 10

Every cell (dataset, variant, split) is a JSON file in ``--store``; running again runs only what is
missing, and an interrupted study goes on where it was. The table shows the mean accuracy of each
variant and its mean difference from the defaults over the splits that both have, with the standard
error of that difference: one or two points on a few splits are noise.
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
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "defaults": ("kgnn", {}),
    "width 32": ("kgnn", {"width": 32}),
    "sum readout": ("kgnn", {"readout": "sum"}),
    "no averaged weights": ("kgnn", {"averaging": 0.0}),
    "dot attention": ("kgnn", {"attention": "dot"}),
    "no labels in memory": ("kgnn", {"memory_labels": False}),
    "exact colors only": ("kgnn", {"coarse": ()}),
    "64 coordinates": ("kgnn", {"dimensions": 64}),
    "no rounds": ("kgnn", {"rounds": 0}),
    "soft targets": ("kgnn", {"soft": True}),
    "no quotas": ("kgnn", {"balanced": False}),
    "best round": ("kgnn", {"average_rounds": False}),
    "p alone predicts": ("kgnn", {"predict_with": "gnn"}),
    "q alone predicts": ("kgnn", {"predict_with": "memory"}),
    "kgnn-sep": ("kgnn-sep", {}),
    "gnn-sup": ("gnn-sup", {}),
    "memnn-sup": ("memnn-sup", {}),
    "wl": ("wl", {}),
    "ldp": ("ldp", {}),
}


def cell(store: Path, graphs: GraphDataset, variant: str, seed: int) -> dict[str, Any]:
    """Return one result, from the store or by running it."""
    path = store / graphs.name / f"{variant.replace(' ', '-')}-{seed}.json"
    if path.exists():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    method, settings = VARIANTS[variant]
    split = make_split(graphs, seed=seed)
    result = asdict(evaluate_split(make(method, random_state=seed, **settings), graphs, split))
    write_text(path, json.dumps(result))
    return result


def show(name: str, accuracy: dict[str, list[float]]) -> None:
    """Print the table of one dataset."""
    table = Table(title=f"{name}, {len(accuracy['defaults'])} splits", title_justify="left")
    for heading in ("variant", "accuracy %", "difference", "standard error"):
        table.add_column(heading, justify="left" if heading == "variant" else "right")
    for variant, values in accuracy.items():
        difference = np.subtract(values, accuracy["defaults"])
        error = difference.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        row = [f"{np.mean(values):.1f}", f"{difference.mean():+.1f}", f"{error:.1f}"]
        table.add_row(variant, *(row if variant != "defaults" else [row[0], "", ""]))
    Console(width=100).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--store", type=Path, default=Path("results/kgnn-choices"))
    chosen = parser.parse_args()
    variants = ["defaults", *(v for v in chosen.only if v != "defaults")]
    with limit_threads(1):
        for name in chosen.datasets:
            graphs = load(name)
            accuracy: dict[str, list[float]] = {variant: [] for variant in variants}
            for seed in range(chosen.splits):
                for variant in variants:
                    result = cell(chosen.store, graphs, variant, seed)
                    accuracy[variant].append(result["accuracy"])
                    print(f"{graphs.name}, split {seed}, {variant}: {result['accuracy']:.1f}")
            show(graphs.name, accuracy)


if __name__ == "__main__":
    main()
