"""Read a folder of GraphML, GML or GEXF files, one graph each, through networkx."""

from __future__ import annotations

import codecs
import io
import logging
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from kgnn.errors import DatasetUnavailableError, ErrorHandler, GraphDataError, excerpt, raise_error
from kgnn.graphs.collector import is_directed
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.interop import networkx, pack_networkx
from kgnn.graphs.labels import class_name
from kgnn.graphs.readers.labels_csv import read_labels
from kgnn.graphs.readers.text import opened

MAX_FILE_BYTES = 256 << 20
FILES_AT_ONCE = 64

_SUFFIXES = (".graphml", ".gml", ".gexf")
_logger = logging.getLogger(__name__)


def read(
    folder: Path,
    has_node_labels: bool | None = None,
    on_error: ErrorHandler = raise_error,
    directed: bool | str = False,
) -> GraphDataset:
    """Read all GraphML, GML and GEXF files of a folder, also ``.gz``, sorted by name.

    A graph is named after its file. Its class is its own attribute ``target`` or ``label``, or the
    label in ``labels.csv`` (columns ``id`` and ``label``) in the folder, or the file's subfolder.
    In GML and GEXF a node's ``label`` is often just its name; labels that never repeat within a
    graph are therefore left out for these formats, unless ``has_node_labels`` says what they are.
    With ``directed``, directions of edges are kept; an edge without one runs both ways.
    """
    files = _graph_files(folder)
    classes, keeps = _classes(folder, files), is_directed(directed)
    return _read_part(folder, files, classes, has_node_labels, on_error, keeps)


def stream(
    folder: Path,
    has_node_labels: bool | None = None,
    on_error: ErrorHandler = raise_error,
    directed: bool | str = False,
) -> Iterator[GraphDataset]:
    """Read a folder as `read` does, some files at a time."""
    files = _graph_files(folder)
    classes = _classes(folder, files)
    for start in range(0, len(files), FILES_AT_ONCE):
        part = files[start : start + FILES_AT_ONCE]
        keeps = is_directed(directed)
        found = _read_part(folder, part, classes, has_node_labels, on_error, keeps)
        if len(found):
            yield found


def are_in(folder: Path) -> bool:
    """Tell whether a folder or its subfolders hold graph files."""
    return bool(_listed(folder))


def _graph_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise DatasetUnavailableError(f"There is no folder {folder}.")
    if not (files := _listed(folder)):
        raise GraphDataError(f"{folder} holds no {', '.join(_SUFFIXES)} files")
    return files


def _listed(folder: Path) -> list[Path]:
    files = [*folder.glob("*"), *folder.glob("*/*")]
    return sorted(f for f in files if _format(f) in _SUFFIXES and f.is_file())


def _read_part(
    folder: Path,
    files: list[Path],
    classes: dict[str, str],
    has_node_labels: bool | None,
    on_error: ErrorHandler,
    directed: bool,
) -> GraphDataset:
    files, graphs = _read_each(files, on_error)
    names = [_name(folder, path) for path in files]
    targets = [
        _own_target(graph) or classes.get(name, _subfolder(folder, path))
        for graph, name, path in zip(graphs, names, files, strict=True)
    ]
    _drop_display_names(files, graphs, has_node_labels)
    places = [str(path) for path in files]
    return pack_networkx(
        graphs, places, targets, names, name=folder.name, on_error=on_error, directed=directed
    )


def _read_each(files: list[Path], on_error: ErrorHandler) -> tuple[list[Path], list[Any]]:
    """Return the files that can be read, and their graphs."""
    graphs = {}
    for path in files:
        try:
            graphs[path] = _read_one(path)
        except GraphDataError as error:
            on_error(error)
    return list(graphs), list(graphs.values())


def _format(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _name(folder: Path, path: Path) -> str:
    stem = Path(path.name.removesuffix(".gz")).stem
    return path.relative_to(folder).with_name(stem).as_posix()


def _subfolder(folder: Path, path: Path) -> str | None:
    return None if path.parent == folder else path.parent.name


def _own_target(graph: Any) -> Hashable | None:
    target = graph.graph.get("target", graph.graph.get("label"))
    return None if target is None else class_name(target)


def _read_one(path: Path) -> Any:
    data = _bounded(path)
    nx = networkx()
    if _format(path) != ".gml":
        _reject_declarations(path, data)
    try:
        if _format(path) == ".gml":
            return nx.read_gml(io.BytesIO(data.removeprefix(codecs.BOM_UTF8)), label=None)
        read_xml = nx.read_graphml if _format(path) == ".graphml" else nx.read_gexf
        return read_xml(io.BytesIO(data))
    except Exception as error:  # networkx promises nothing about what a bad file raises
        raise GraphDataError(
            f"{path} cannot be read by networkx: {excerpt(repr(error), 200)}"
        ) from error


def _bounded(path: Path) -> bytes:
    with opened(path) as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise GraphDataError(f"{path} is larger than the {MAX_FILE_BYTES} bytes allowed")
    return data


def _reject_declarations(path: Path, data: bytes) -> None:
    """Reject XML that is malformed or declares entities, which can expand without end."""

    def refuse(*_: Any) -> None:
        raise GraphDataError(
            f"{path}, line {parser.CurrentLineNumber}: a document type (<!DOCTYPE) can declare "
            "entities that expand without end, so it is refused; remove it"
        )

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except GraphDataError:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: its encoding
        raise GraphDataError(f"{path} is not well-formed XML: {error}") from error


def _classes(folder: Path, files: list[Path]) -> dict[str, str]:
    """Read ``labels.csv``, if there is one; its ids are files with or without their ending."""
    path = folder / "labels.csv"
    if not path.exists():
        return {}
    names = {name: name for name in (_name(folder, file) for file in files)}
    for file in files:
        whole = file.relative_to(folder).as_posix()
        # A name that happens to end like a file wins over the file.
        names.setdefault(whole, _name(folder, file))
        names.setdefault(whole.removesuffix(".gz"), _name(folder, file))
    classes: dict[str, str] = {}
    for given, label in read_labels(path).items():
        if given not in names:
            raise GraphDataError(
                f"{path}, line {label.line}: there is no graph file named '{given}'"
            )
        if label.text and classes.setdefault(names[given], label.text) != label.text:
            raise GraphDataError(
                f"{path}, line {label.line}: '{given}' is {label.text} here, but "
                f"{classes[names[given]]} under another spelling; a graph has one label"
            )
    return classes


def _drop_display_names(files: list[Path], graphs: list[Any], has_node_labels: bool | None) -> None:
    """Remove labels of nodes in GML and GEXF graphs that are names rather than categories."""
    drawn = [g for f, g in zip(files, graphs, strict=True) if _format(f) != ".graphml"]
    if has_node_labels is None:
        labels = [[str(label) for _, label in graph.nodes(data="label")] for graph in drawn]
        has_node_labels = any(len(set(of_graph)) < len(of_graph) for of_graph in labels)
    if drawn and not has_node_labels:
        _logger.info("node labels never repeat within a graph: taken as names and left out")
        for graph in drawn:
            for _, data in graph.nodes(data=True):
                data.pop("label", None)
