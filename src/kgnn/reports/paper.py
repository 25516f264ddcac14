"""What the paper printed, and how methods, networks and datasets are named and drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from kgnn.estimator.registry import entries

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Printed(NamedTuple):
    """Accuracy in percent over five runs."""

    mean: float
    std: float


# Method and dataset, by our names, to what the paper printed.
PaperTable = dict[str, dict[str, Printed]]


def _table(rows: dict[str, list[list[float]]], datasets: list[str]) -> PaperTable:
    return {
        method: {name: Printed(*pair) for name, pair in zip(datasets, pairs, strict=True)}
        for method, pairs in rows.items()
    }


_FILE = files("kgnn.reports").joinpath("paper.toml")
_PAPER: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
DATASET_TITLES: dict[str, str] = _PAPER["datasets"]
PAPER_DATASETS = tuple(DATASET_TITLES)
# Peers of our choice, which are not in the paper.
METHOD_TITLES: dict[str, str] = {**_PAPER["methods"], "ldp": "LDP", "wl-linear": "WL-Linear"}
TABLE_2 = _table(_PAPER["table-2"], list(DATASET_TITLES))
TABLE_3 = _table(_PAPER["table-3"], list(DATASET_TITLES))
# Style and name of the methods of a family.
_FAMILIES = {
    "kgnn": ("s0", "KGNN"),
    "kernel": ("s1", "kernels"),
    "embedding": ("s5", "embeddings"),
    "semi-supervised": ("s2", "semi-supervised"),
    "ablation": ("s3", "parts of KGNN"),
    "peer": ("s4", "peers"),
    "plug-in": ("s6", "plug-ins"),
}
# Name and style of the networks of a model; others keep their own names.
_NETWORKS = {"gnn": ("GNN", "s1"), "memory": ("memory", "s4"), "both": ("both", "s0")}


def method_title(name: str) -> str:
    """Return the paper's name of a method; other methods keep their own.

    Examples
    --------
    >>> method_title("pi-model"), method_title("my-method")
    ('Π-Model', 'my-method')
    """
    return METHOD_TITLES.get(name, name)


def dataset_title(name: str) -> str:
    """Return the paper's name of a dataset; others keep their own, a file without its folders.

    Examples
    --------
    >>> dataset_title("IMDB-BINARY"), dataset_title("data/mine.jsonl")
    ('IMDB-B', 'mine.jsonl')
    """
    return DATASET_TITLES.get(name, name.replace("\\", "/").rstrip("/").rpartition("/")[2])


def network_title(name: str) -> str:
    """Return how a network of a model is called wherever people read it.

    Examples
    --------
    >>> network_title("gnn"), network_title("memory"), network_title("third")
    ('GNN', 'memory', 'third')
    """
    return _NETWORKS[name][0] if name in _NETWORKS else name


def network_style(name: str) -> str:
    """Return the class of a network's marks."""
    return _NETWORKS[name][1] if name in _NETWORKS else "s6"


def style_of(method: str) -> str:
    """Return the class of a method's marks, which is that of its family."""
    return _FAMILIES.get(_family(method), _FAMILIES["plug-in"])[0]


def styles_of(methods: Iterable[str]) -> list[tuple[str, str]]:
    """Return style and name of the families that there are."""
    there = {_family(method) for method in methods}
    return [named for family, named in _FAMILIES.items() if family in there]


@cache  # asking the installed packages takes a while
def _family(method: str) -> str:
    entry = entries().get(method)
    return entry.family if entry else "plug-in"
