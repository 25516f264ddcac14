"""From a name or a path to a `GraphDataset`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kgnn.errors import DatasetUnavailableError, GraphDataError, UnknownNameError
from kgnn.graphs.datasets import catalog, python_functions, sources, toy
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.readers import jsonl, network_files, smiles, tu

Reader = Callable[..., GraphDataset]

# Datasets that are made rather than read.
GENERATED: dict[str, Reader] = {
    python_functions.NAME: python_functions.build,
    "cycles-and-trees": toy.cycles_and_trees,
    "planted-motifs": toy.planted_motifs,
}

# Files by the end of their name; ``.gz`` is left to the readers.
FORMATS: dict[str, Reader] = {
    ".zip": tu.read,
    ".jsonl": jsonl.read,
    ".ndjson": jsonl.read,
    ".csv": smiles.read,
}

FORMAT_NAMES: dict[Reader, str] = {
    tu.read: "TU",
    jsonl.read: "JSON Lines",
    smiles.read: "SMILES in CSV",
    network_files.read: "network files",
}

_READABLE = (
    "a TU folder (with a file NAME_A.txt) or .zip, JSON Lines (.jsonl, .ndjson), a .csv file with "
    "a column of SMILES, or a folder of .graphml, .gml or .gexf files"
)


def load(source: str | os.PathLike[str], **options: Any) -> GraphDataset:
    """Load a dataset by name, or from a file or folder.

    Parameters
    ----------
    source : str or path
        The name of a dataset (``"PROTEINS"``, ``"IMDB-B"``, ``"python-functions"``,
        ``"cycles-and-trees"``, …), or the path of a TU folder or ``.zip``, of a JSON Lines file, of
        a CSV file with SMILES, of a folder of GraphML, GML or GEXF files. A name wins over a file
        of the same name; write ``./NAME`` for the file.
    **options
        Passed to the reader or generator, such as ``smiles_column`` or ``n_graphs``.

    Examples
    --------
    >>> load("cycles-and-trees", n_graphs=8)
    GraphDataset('cycles-and-trees': 8 graphs, 2 classes, 8 labeled)
    """
    path = Path(source).expanduser()
    if source == path.name:  # no folder in it: perhaps a name
        if source.lower() in GENERATED:
            return GENERATED[source.lower()](**options)
        if catalog.is_known(source):
            return sources.open_entry(catalog.find(source), **options)
    if path.is_dir():
        return _folder_reader(path)(path, **options)
    reader = FORMATS.get(Path(path.name.removesuffix(".gz")).suffix.lower())
    if reader is not None and path.exists():
        return reader(path, **options)
    raise _refusal(source, path, has_known_suffix=reader is not None)


def format_of(source: str | os.PathLike[str]) -> str:
    """Return in words what `load` would take a source for; "unknown" where it would refuse it.

    Examples
    --------
    >>> format_of("cycles-and-trees"), format_of("PROTEINS"), format_of("molecules.csv.gz")
    ('generated', 'TU', 'SMILES in CSV')
    """
    path = Path(source).expanduser()
    if source == path.name and source.lower() in GENERATED:
        return "generated"
    if source == path.name and catalog.is_known(source):
        return FORMAT_NAMES[tu.read]
    if path.is_dir():
        return FORMAT_NAMES[_folder_reader(path)]
    reader = FORMATS.get(Path(path.name.removesuffix(".gz")).suffix.lower())
    return "unknown" if reader is None else FORMAT_NAMES[reader]


def dataset_names() -> list[str]:
    """Return all names that `load` knows, without aliases."""
    return [*(entry.name for entry in catalog.ENTRIES), *GENERATED]


def _folder_reader(folder: Path) -> Reader:
    if any(folder.glob("*_A.txt")):
        return tu.read
    if network_files.graph_files(folder):
        return network_files.read
    raise GraphDataError(f"The folder {folder} holds no graphs. Readable are {_READABLE}.")


def _refusal(source: str | os.PathLike[str], path: Path, has_known_suffix: bool) -> Exception:
    if path.exists():
        return GraphDataError(f"{path} is of no known format. Readable are {_READABLE}.")
    if source == path.name and not has_known_suffix:
        return UnknownNameError.of("dataset or file", source, dataset_names())
    return DatasetUnavailableError(f"There is no file or folder {path}.")
