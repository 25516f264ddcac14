"""The numbers printed in the paper, and display names of methods, networks and datasets."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Printed(NamedTuple):
    """Accuracy in percent over five runs."""

    mean: float
    std: float


# From method and dataset, by our names, to the printed numbers.
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
_PEERS = {
    "ldp": "LDP",
    "ltp": "LTP",
    "wl-linear": "WL-Linear",
    "wl-forest": "WL-Forest",
    "label-propagation": "Label propagation",
    "random-gin": "Random-GIN",
    "simgrace": "SimGRACE",
}
METHOD_TITLES: dict[str, str] = {**_PAPER["methods"], **_PEERS}
TABLE_2 = _table(_PAPER["table-2"], list(DATASET_TITLES))
TABLE_3 = _table(_PAPER["table-3"], list(DATASET_TITLES))
# Names of the networks of a model; others keep their own.
_NETWORKS = {"gnn": "GNN", "memory": "memory", "forest": "forest", "all": "all together"}


def method_title(name: str) -> str:
    """Return the paper's name of a method; others keep their own, without their file.

    Examples
    --------
    >>> method_title("pi-model"), method_title("my-method")
    ('Π-Model', 'my-method')
    >>> method_title("peers/forest.py:MyForest")
    'MyForest'
    """
    return METHOD_TITLES.get(name, name.rpartition(".py:")[2])


def dataset_title(name: str) -> str:
    """Return the paper's name of a dataset; others keep their own, a file without its folders.

    Examples
    --------
    >>> dataset_title("IMDB-BINARY"), dataset_title("data/mine.jsonl")
    ('IMDB-B', 'mine.jsonl')
    """
    return DATASET_TITLES.get(name, name.replace("\\", "/").rstrip("/").rpartition("/")[2])


def network_title(name: str) -> str:
    """Return the display name of a network of a model.

    Examples
    --------
    >>> network_title("gnn"), network_title("memory"), network_title("third")
    ('GNN', 'memory', 'third')
    """
    return _NETWORKS.get(name, name)
