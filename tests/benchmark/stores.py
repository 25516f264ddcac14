"""Records as a benchmark would write them, made up in no time."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from kgnn.benchmark.record import Cell, Record
from kgnn.estimator.registry import entries
from kgnn.evaluation.splits import Labels
from kgnn.graphs.datasets.catalog import find, is_known

# Method, dataset and seed to an accuracy in percent.
Accuracy = Callable[[str, str, int], float]

TABLE_2 = (
    *("gk", "sp", "wl", "dgk", "sub2vec", "graph2vec", "entmin", "pi-model", "mean-teacher"),
    *("vat", "infograph", "asgn", "graphcl", "joao", "kgnn"),
)
TABLE_3 = ("gnn-sup", "memnn-sup", "gnn-self", "ensemble-self", "kgnn-sep", "kgnn")
_ANNOTATING = ("gnn-self", "ensemble-self", "kgnn-sep", "kgnn")
_KERNELS = ("gk", "sp", "wl", "dgk", "sub2vec", "graph2vec", "ldp")
_TWINS = {"IMDB-BINARY": 0.6, "IMDB-MULTI": 0.75}  # share of test graphs that have one


def records(
    methods: Iterable[str],
    datasets: Iterable[str],
    seeds: Iterable[int],
    *,
    protocol: str = "fair",
    labels: Labels = 0.1,
    parameters: dict[str, Any] | None = None,
    accuracy: Accuracy | None = None,
) -> list[Record]:
    """One done record for each method, dataset and seed; the same ones whenever it is called."""
    methods, seeds = list(methods), list(seeds)
    return [
        record(
            Cell(
                dataset=dataset,
                fingerprint=find(dataset).fingerprint if is_known(dataset) else f"of-{dataset}",
                method=method,
                parameters=parameters or {},
                protocol=protocol,
                labels=labels,
                seed=seed,
                revision=entries()[method].revision if method in entries() else 1,
            ),
            accuracy,
        )
        for dataset in datasets
        for method in methods
        for seed in seeds
    ]


def record(cell: Cell, accuracy: Accuracy | None = None) -> Record:
    """What became of a cell that went well."""
    return Record(
        cell,
        "done",
        result(cell, (accuracy or likely_accuracy)(cell.method, cell.dataset, cell.seed)),
        all_parameters={"random_state": cell.seed, **cell.parameters},
        versions={"python": "3.11.7", "kgnn": "0.1.0", "numpy": "2.4.6", "torch": "2.13.0+cpu"},
        machine={
            "system": "Linux x86_64",
            "processor": "A processor @ 2.80GHz",
            "cores": 2,
            "byte_order": "little",
        },
        finished=f"2026-11-1{cell.seed % 10}T06:32:17+00:00",
    )


def with_metrics(made: Iterable[Record]) -> list[Record]:
    """Records as they are written now; those of `records` are older and have fewer numbers."""
    return [replace(each, result={**each.result, **_metrics(each)}) for each in made]


def _metrics(of: Record) -> dict[str, Any]:
    percent, random = of.result["accuracy"], _random("metrics", of.cell.key)
    return {
        "balanced_accuracy": percent - 5,
        "macro_f1": percent - 6,
        "matthews": random.uniform(-10, 60),
        "roc_auc": 100 - percent / 2,  # the other way round: who is accurate ranks worse
        "average_precision": random.uniform(40, 90),
        "log_loss": random.uniform(0.3, 1.5),
        "majority_share": 59.6,
        "recalls": {"a": percent + 12, "b": percent - 2, "c": percent - 20},
        "expected_accuracy": percent + 3,
        "expected_on": of.result["labeled"],
        **({"validation_accuracy": None} if of.cell.protocol == "budget" else {}),
    }


def unfinished(
    outcome: str, method: str, dataset: str, reason: str, seed: int = 0, protocol: str = "fair"
) -> Record:
    """A cell that was declined or failed."""
    [like] = records([method], [dataset], [seed], protocol=protocol)
    return Record(like.cell, outcome, reason=reason, versions=like.versions, machine=like.machine)


def likely_accuracy(method: str, dataset: str, seed: int) -> float:
    """Some methods are better, some splits are easier, and all have noise."""
    skill = _random("skill", method, dataset).uniform(56, 72)
    luck = _random("split", dataset, str(seed)).normal(0, 1.5)
    noise = _random("noise", method, dataset, str(seed)).normal(0, 1)
    return float(skill + luck + noise)


def sizes(dataset: str, labels: Labels = 0.1) -> tuple[int, int, int, int]:
    """Labeled, unlabeled, validation and test graphs, as in a split 7:1:2."""
    n = find(dataset).graphs if is_known(dataset) else 200
    ends = [-(-n * share // 10) for share in (2, 7, 8)]
    if not isinstance(labels, float):
        labels = 20 / n
    return -int(-n * labels // 1), ends[1] - ends[0], ends[2] - ends[1], n - ends[2]


def result(cell: Cell, percent: float) -> dict[str, Any]:
    """The fields of a record's result, around an accuracy."""
    random = _random("result", cell.method, cell.dataset, str(cell.seed))
    labeled, unlabeled, validation, test = sizes(cell.dataset, cell.labels)
    without_twins = round(test * (1 - _TWINS.get(cell.dataset, 0.0)))
    seconds = round((0.5 if cell.method in _KERNELS else 20) * random.uniform(1, 3), 3)
    return {
        "seed": cell.seed,
        "accuracy": percent,
        "validation_accuracy": percent + random.normal(0, 3),
        "accuracy_without_twins": percent - (4 if without_twins < test else 0),
        "without_twins": without_twins,
        "brier": random.uniform(0.3, 0.6),
        "calibration_error": random.uniform(0.02, 0.15),
        "coverage": random.uniform(84, 95),
        "set_size": random.uniform(1, 2),
        "labeled": labeled,
        "unlabeled": unlabeled,
        "validation": validation,
        "test": test,
        "seconds": round(seconds * 1.05, 3),
        "cpu_seconds": seconds,
        "rounds": _rounds(cell, unlabeled) if cell.method in _ANNOTATING else [],
        "curves": {} if cell.method in _KERNELS else _curves(cell),
        "peak_mib": round(random.uniform(300, 900), 1),
    }


def _rounds(cell: Cell, unlabeled: int) -> list[dict[str, Any]]:
    networks = {"kgnn": ("gnn", "memory"), "kgnn-sep": ("gnn", "memory")}
    random = _random("rounds", cell.method, cell.dataset, str(cell.seed))
    return [
        {
            "selected": unlabeled * turn // 5,
            "precision": 90.0 - 3 * turn if turn else None,
            "agreement": 80.0 + turn if cell.method == "kgnn" else None,
            "validation_accuracy": {
                name: 65 + turn + random.normal() for name in networks.get(cell.method, ("gnn",))
            },
        }
        for turn in range(4)
    ]


def _curves(cell: Cell) -> dict[str, list[float]]:
    names = ("gnn", "memory") if cell.method in ("kgnn", "kgnn-sep") else ("gnn",)
    return {name: [round(0.7 * 0.95**epoch, 4) for epoch in range(30)] for name in names}


def _random(*words: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32("/".join(words).encode()))
