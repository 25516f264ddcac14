"""Read a folder of GraphML, GML or GEXF files, one graph each, through networkx."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Hashable
from pathlib import Path
from typing import Any
from xml.parsers import expat

from kgnn.errors import DatasetUnavailableError, GraphDataError
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.nx_graphs import collected, networkx
from kgnn.graphs.text_lines import numbered_lines, opened

MAX_FILE_BYTES = 256 << 20

_SUFFIXES = (".graphml", ".gml", ".gexf")
_logger = logging.getLogger(__name__)


def read(folder: Path) -> GraphDataset:
    """Read all GraphML, GML and GEXF files of a folder, also ``.gz``, sorted by name.

    A graph is named after its file. Its class is its own attribute ``target`` or ``label``, else
    what ``labels.csv`` (columns ``id`` and ``label``) in the folder says, else the subfolder that
    the file is in. In GML and GEXF a node's ``label`` is often no more than its name; labels that
    never repeat within a graph are therefore left out for these formats.
    """
    files = graph_files(folder)
    if not files:
        raise GraphDataError(f"{folder} holds no {', '.join(_SUFFIXES)} files")
    graphs = [_read_one(path) for path in files]
    names = [_name(folder, path) for path in files]
    classes = _classes(folder, names)
    targets = [
        _own_target(graph) or classes.get(name, _subfolder(folder, path))
        for graph, name, path in zip(graphs, names, files, strict=True)
    ]
    _drop_display_names(files, graphs)
    return collected(graphs, [str(f) for f in files], targets, names, name=folder.name)


def graph_files(folder: Path) -> list[Path]:
    """List the files of a folder and of its subfolders that hold a graph."""
    if not folder.is_dir():
        raise DatasetUnavailableError(f"There is no folder {folder}.")
    files = [*folder.glob("*"), *folder.glob("*/*")]
    return sorted(f for f in files if _format(f) in _SUFFIXES and f.is_file())


def _format(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _name(folder: Path, path: Path) -> str:
    stem = Path(path.name.removesuffix(".gz")).stem
    return path.relative_to(folder).with_name(stem).as_posix()


def _subfolder(folder: Path, path: Path) -> str | None:
    return None if path.parent == folder else path.parent.name


def _own_target(graph: Any) -> Hashable | None:
    target = graph.graph.get("target", graph.graph.get("label"))
    return None if target is None else str(target)


def _read_one(path: Path) -> Any:
    data = _bounded(path)
    nx = networkx()
    if _format(path) != ".gml":
        _refuse_declarations(path, data)
    try:
        if _format(path) == ".gml":
            return nx.read_gml(io.BytesIO(data), label=None)
        read_xml = nx.read_graphml if _format(path) == ".graphml" else nx.read_gexf
        return read_xml(io.BytesIO(data))
    except Exception as error:  # networkx promises nothing about what a bad file raises
        raise GraphDataError(f"{path} cannot be read by networkx: {error!r}") from error


def _bounded(path: Path) -> bytes:
    with opened(path) as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise GraphDataError(f"{path} is larger than the {MAX_FILE_BYTES} bytes allowed")
    return data


def _refuse_declarations(path: Path, data: bytes) -> None:
    """Refuse XML that is malformed or declares entities, which can expand without end."""

    def refuse(*_: Any) -> None:
        raise GraphDataError(
            f"{path}, line {parser.CurrentLineNumber}: a document type (<!DOCTYPE) can declare "
            "entities that expand without end, so it is refused; remove it"
        )

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise GraphDataError(f"{path} is not well-formed XML: {error}") from error


def _classes(folder: Path, names: list[str]) -> dict[str, str]:
    """Read ``labels.csv``, where there is one."""
    path = folder / "labels.csv"
    if not path.exists():
        return {}
    classes: dict[str, str] = {}
    lines = list(numbered_lines(path))
    rows = list(csv.reader((text for _, text in lines), skipinitialspace=True))
    if not rows or [cell.strip().lower() for cell in rows[0]] != ["id", "label"]:
        raise GraphDataError(f"{path}, line 1: expected the header id,label, got {rows[:1]}")
    for (number, text), row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != 2:
            raise GraphDataError(f"{path}, line {number}: expected two cells, got '{text}'")
        name, label = (cell.strip() for cell in row)
        if name not in names:
            raise GraphDataError(f"{path}, line {number}: there is no graph file named '{name}'")
        if name in classes:
            raise GraphDataError(f"{path}, line {number}: '{name}' is there twice")
        if label:
            classes[name] = label
    return classes


def _drop_display_names(files: list[Path], graphs: list[Any]) -> None:
    """Remove labels of nodes in GML and GEXF graphs that are names rather than categories."""
    drawn = [g for f, g in zip(files, graphs, strict=True) if _format(f) != ".graphml"]
    labels = [[label for _, label in graph.nodes(data="label")] for graph in drawn]
    if drawn and all(len(set(of_graph)) == len(of_graph) for of_graph in labels):
        _logger.info("node labels never repeat within a graph: taken as names and left out")
        for graph in drawn:
            for _, data in graph.nodes(data=True):
                data.pop("label", None)
