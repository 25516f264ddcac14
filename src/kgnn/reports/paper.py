"""What the paper printed: the numbers of its Tables 2 and 3, its names of methods and datasets."""

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


# Method and dataset, by our names, to what the paper printed.
PaperTable = dict[str, dict[str, Printed]]


def _read() -> dict[str, Any]:
    return tomllib.loads(files("kgnn.reports").joinpath("paper.toml").read_text(encoding="utf-8"))


def _table(rows: dict[str, list[list[float]]], datasets: list[str]) -> PaperTable:
    return {
        method: {name: Printed(*pair) for name, pair in zip(datasets, pairs, strict=True)}
        for method, pairs in rows.items()
    }


_PAPER = _read()
DATASET_TITLES: dict[str, str] = _PAPER["datasets"]
# LDP is not in the paper: a peer of our choice.
METHOD_TITLES: dict[str, str] = {**_PAPER["methods"], "ldp": "LDP"}
TABLE_2 = _table(_PAPER["table-2"], list(DATASET_TITLES))
TABLE_3 = _table(_PAPER["table-3"], list(DATASET_TITLES))


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
