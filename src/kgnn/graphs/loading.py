"""Load graphs by name or path, all at once or as datasets of bounded size."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kgnn.errors import (
    DatasetUnavailableError,
    ErrorHandler,
    GraphDataError,
    UnknownNameError,
    raise_error,
)
from kgnn.graphs import collector
from kgnn.graphs.collector import named
from kgnn.graphs.datasets import catalog, python_functions, sources, toy
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.molecules import MEANINGS
from kgnn.graphs.readers import jsonl, network_files, sdf, smiles, tu
from kgnn.graphs.readers.text import csv_rows

Reader = Callable[..., GraphDataset]
StreamReader = Callable[..., Iterator[GraphDataset]]


class Format(NamedTuple):
    """A file format: how to recognize and read it."""

    name: str
    read: Reader  # called with a path and options
    suffixes: tuple[str, ...] = ()  # of its files, without ``.gz``
    is_in: Callable[[Path], bool] | None = None  # tells whether a folder is of this format
    # Called with a path, on_error and options; ``read`` then takes ``on_error``, too.
    stream: StreamReader | None = None
    options: tuple[str, ...] = ()  # of the reader, for ``--read`` on the command line
    # Options that change what the graphs are; prediction must use those of the fit.
    meanings: tuple[str, ...] = ()
    # Whether node labels may just be names; ``stream`` then takes ``has_node_labels``.
    may_name_nodes: bool = False
    classes: str = ""  # where the classes are in this format, for messages
    # For tables: returns the column with the classes, if any, and unused columns; called as `read`.
    class_columns: Callable[..., tuple[str | None, list[str]]] | None = None
    # For tables: its columns, and the cells of each graph by name; called as `read`.
    columns: Callable[..., list[str]] | None = None
    cells: Callable[..., Iterator[tuple[str, dict[str, str]]]] | None = None


# To add a format, write ``readers/<format>.py`` and add a line here.
FORMATS = [
    Format("TU", tu.read, (".zip",), tu.is_in, options=("directed",), meanings=("directed",),
           classes="the file NAME_graph_labels.txt"),
    Format("JSON Lines", jsonl.read, (".jsonl", ".ndjson"), stream=jsonl.stream,
           options=("directed",), meanings=("directed",), classes='the key "target" of each line'),
    Format("SMILES in CSV", smiles.read, (".csv",), None, smiles.stream, smiles.OPTIONS, MEANINGS,
           classes="a column", class_columns=smiles.class_columns, columns=smiles.columns,
           cells=smiles.cells),
    Format("SMILES", smiles.read, (".smi",), None, smiles.stream, MEANINGS, MEANINGS,
           columns=smiles.columns, cells=smiles.cells),
    Format("SDF", sdf.read, (".sdf",), None, sdf.stream, sdf.OPTIONS, MEANINGS,
           classes="a data field", class_columns=sdf.class_columns, columns=sdf.columns,
           cells=sdf.cells),
    Format("GraphML/GML/GEXF", network_files.read, (), network_files.are_in, network_files.stream,
           ("directed",), ("directed",), may_name_nodes=True, classes="the attribute target of a "
           "graph, a file labels.csv beside the graphs, or one subfolder for each class"),
]  # fmt: skip

# Datasets that are generated.
GENERATED: dict[str, Reader] = {
    python_functions.NAME: python_functions.build,
    "cycles-and-trees": toy.cycles_and_trees,
    "planted-motifs": toy.planted_motifs,
}

_TU = FORMATS[0]


def load(
    source: str | os.PathLike[str], *, on_error: ErrorHandler | None = None, **options: Any
) -> GraphDataset:
    """Load a dataset by name, or from a file or folder.

    Parameters
    ----------
    source : str or path
        The name of a dataset (``"PROTEINS"``, ``"IMDB-B"``, ``"python-functions"``,
        ``"cycles-and-trees"``, …), or the path of a TU folder or ``.zip``, of a JSON Lines file, of
        a CSV file with SMILES, of a ``.smi`` or ``.sdf`` file, of a folder of GraphML, GML or GEXF
        files. A name wins over a file of the same name; write ``./NAME`` for the file.
    on_error : callable, optional
        Called with the error of each graph that cannot be read, such as a
        `kgnn.errors.Skipped`, which leaves it out; default: raise it. Errors about a whole file, or
        about a TU dataset, are always raised.
    **options
        Passed to the reader or generator, such as ``smiles_column`` or ``n_graphs``.

    Examples
    --------
    >>> load("cycles-and-trees", n_graphs=8)
    GraphDataset('cycles-and-trees': 8 graphs, 2 classes, 8 labeled)
    """
    found = find_format(source)
    if found.stream is not None and on_error is not None:
        options["on_error"] = on_error
    return found.read(Path(source).expanduser(), **options)


def stream(
    source: str | os.PathLike[str],
    *,
    has_node_labels: bool | None = None,
    on_error: ErrorHandler = raise_error,
    **options: Any,
) -> Iterator[GraphDataset]:
    """Yield the graphs of a source, in order, as datasets of bounded size.

    Formats that can be streamed are read as they are consumed: no more than a run is in memory,
    apart from some eight bytes for each name. Other sources are loaded whole and cut. Graphs
    without a name are named by their position; skipped graphs count for it, too.

    Parameters
    ----------
    source : str or path
        As for `load`.
    has_node_labels : bool, optional
        Whether labels of nodes in GML and GEXF files are labels or names, which one file alone
        cannot tell; see `kgnn.graphs.readers.network_files.read`.
    on_error : callable
        Called with the error of each graph that cannot be read, such as a
        `kgnn.errors.Skipped`; default: raise it. Errors about a whole file, or about a
        source that is loaded whole, are always raised.
    **options
        Passed to the reader.

    Examples
    --------
    >>> [len(graphs) for graphs in stream("cycles-and-trees", n_graphs=2500)]
    [1024, 1024, 452]
    """
    found, path = find_format(source), Path(source).expanduser()
    if found.stream is None:
        return _cut(named(found.read(path, **options)))
    if found.may_name_nodes:
        options["has_node_labels"] = has_node_labels
    return found.stream(path, on_error=on_error, **options)


def find_format(source: str | os.PathLike[str]) -> Format:
    """Return the format of a source, or raise an error that lists the formats.

    Examples
    --------
    >>> find_format("cycles-and-trees").name, find_format("PROTEINS").name
    ('generated', 'TU')
    """
    path = Path(source).expanduser()
    if source == path.name:  # no folder, so perhaps the name of a dataset
        if make := GENERATED.get(source.lower()):
            can_be_directed = ("directed",) * (make is python_functions.build)
            read = partial(_generated, make)
            return Format("generated", read, options=can_be_directed, meanings=can_be_directed)
        if catalog.is_known(source):
            open_entry = partial(sources.open_entry, catalog.find(source))
            return Format(_TU.name, lambda _, **options: open_entry(**options))
    if path.is_dir():
        for each in FORMATS:
            if each.is_in is not None and each.is_in(path):
                return each
        raise GraphDataError(f"The folder {path} holds no graphs. {_readable()}")
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    by_suffix = {suffix: each for each in FORMATS for suffix in each.suffixes}
    if path.exists():
        if suffix not in by_suffix:
            raise GraphDataError(f"{path} is of no known format. {_readable()}")
        return by_suffix[suffix]
    if source == path.name and suffix not in by_suffix:
        raise UnknownNameError.of("dataset or file", source, dataset_names())
    raise DatasetUnavailableError(f"There is no file or folder {path}.")


def _generated(make: Reader, _: Path, **options: Any) -> GraphDataset:
    return make(**options)


def columns_of(source: str | os.PathLike[str], **options: Any) -> list[str]:
    """Return the columns of a table of graphs; empty for sources of other kinds."""
    found = find_format(source)
    return [] if found.columns is None else found.columns(Path(source).expanduser(), **options)


def header_of(source: str | os.PathLike[str]) -> list[str]:
    """Return all columns of a CSV table of graphs; empty for other sources."""
    found, path = find_format(source), Path(source).expanduser()
    is_csv = ".csv" in found.suffixes and path.is_file()
    return next((row.cells for row in csv_rows(path, None)), []) if is_csv else []


def cells_of(
    source: str | os.PathLike[str], **options: Any
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the names of the graphs of a table, in order, with their cells by column."""
    found = find_format(source)
    return iter(()) if found.cells is None else found.cells(Path(source).expanduser(), **options)


def dataset_names() -> list[str]:
    """Return all names that `load` knows, without aliases."""
    return [*(entry.name for entry in catalog.ENTRIES), *GENERATED]


def _readable() -> str:
    ways = [(*each.suffixes, "folders") if each.is_in else each.suffixes for each in FORMATS]
    told = [f"{each.name} ({', '.join(way)})" for each, way in zip(FORMATS, ways, strict=True)]
    return f"Readable are {', '.join(told)}."


def _cut(graphs: GraphDataset) -> Iterator[GraphDataset]:
    sizes = graphs.graph_sizes + graphs.edge_counts
    start, size = 0, 0
    for row, each in enumerate(sizes.tolist(), start=1):
        size += each
        if row - start >= collector.GRAPHS_AT_ONCE or size >= collector.SIZE_AT_ONCE:
            yield graphs[start:row]
            start, size = row, 0
    if start < len(graphs) or len(graphs) == 0:
        yield graphs[start:]
