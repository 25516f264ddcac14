"""Read a folder of GraphML, GML or GEXF files, one graph each, through networkx."""

from __future__ import annotations

import codecs
import io
import warnings
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from kgnn.errors import (
    DatasetUnavailableError,
    ErrorHandler,
    GraphDataError,
    KgnnWarning,
    excerpt,
    raise_error,
)
from kgnn.graphs.collector import is_directed
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.interop import networkx, pack_networkx, warn_of_unread_of_graphs
from kgnn.graphs.labels import class_name
from kgnn.graphs.readers.archive import require_file
from kgnn.graphs.readers.labels_csv import read_labels
from kgnn.graphs.readers.text import opened

MAX_FILE_BYTES = 256 << 20
FILES_AT_ONCE = 64

_LABELS = "labels.csv"
_OWN_CLASS = ("target", "label")
_SUFFIXES = (".graphml", ".gml", ".gexf")


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
    With ``directed``, directions of edges are kept; an undirected edge becomes two.
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
    return sorted(f for f in files if _format(f) in _SUFFIXES and not f.is_dir())


def _read_part(
    folder: Path,
    files: list[Path],
    classes: dict[str, str | None],
    has_node_labels: bool | None,
    on_error: ErrorHandler,
    directed: bool,
) -> GraphDataset:
    files, graphs = _read_each(files, on_error)
    warn_of_unread_of_graphs(graphs, _OWN_CLASS)
    names = [_name(folder, path) for path in files]
    targets = [
        _class_of(folder, path, name, graph, classes)
        for graph, name, path in zip(graphs, names, files, strict=True)
    ]
    _drop_display_names(files, graphs, has_node_labels)
    places = [str(path) for path in files]
    return pack_networkx(
        graphs, places, targets, names, name=folder.name, on_error=on_error, directed=directed
    )


def _read_each(files: list[Path], on_error: ErrorHandler) -> tuple[list[Path], list[Any]]:
    """Return the readable files and their graphs."""
    graphs = {}
    for path in files:
        try:
            require_file(path)
            graphs[path] = _read_one(path)
            _own_target(path, graphs[path])
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


def _class_of(
    folder: Path, path: Path, name: str, graph: Any, classes: dict[str, str | None]
) -> Hashable | None:
    """Return the class of a graph from its file, from ``labels.csv``, or from its subfolder."""
    own = _own_target(path, graph)
    if name not in classes:
        return own or _subfolder(folder, path)
    listed = classes[name]
    if own and listed and own != listed:
        raise GraphDataError(
            f"{path}: the class in the graph is '{excerpt(own)}', but '{excerpt(listed)}' in "
            f"{folder / _LABELS}; a graph can have only one label"
        )
    return listed or own


def _own_target(path: Path, graph: Any) -> str | None:
    told = [graph.graph[key] for key in _OWN_CLASS if key in graph.graph]
    # networkx reads a repeated GML key as a list.
    found = [each for one in told for each in (one if isinstance(one, list) else [one])]
    names = list(dict.fromkeys(class_name(each) for each in found))
    if len(names) > 1:
        both = " and ".join(f"'{excerpt(name, 40)}'" for name in names)
        raise GraphDataError(f"{path}: the graph has two classes, {both}; keep one of them")
    return names[0] if names else None


def _read_one(path: Path) -> Any:
    data = _bounded(path)
    nx = networkx()
    if _format(path) != ".gml":
        _Structure(path).check(data)
    try:
        if _format(path) == ".gml":
            return nx.read_gml(io.BytesIO(data.removeprefix(codecs.BOM_UTF8)), label=None)
        read_xml = nx.read_graphml if _format(path) == ".graphml" else nx.read_gexf
        return read_xml(io.BytesIO(data))
    except Exception as error:  # networkx may raise anything for a bad file
        raise GraphDataError(
            f"{path} cannot be read by networkx: {excerpt(repr(error), 200)}"
        ) from error


def _bounded(path: Path) -> bytes:
    with opened(path) as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise GraphDataError(f"{path} is larger than the {MAX_FILE_BYTES} bytes allowed")
    return data


class _Structure:
    """Checks XML for errors that networkx ignores: a second graph, undeclared nodes, duplicates.

    Also refuses malformed XML, and declarations of entities, which could expand without end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nodes: set[str] = set()
        self.ends: list[tuple[str, int]] = []  # of edges, with their line
        self.n_graphs = 0
        self.keys: list[set[str]] = []  # of the data of each open element
        self.declared: set[tuple[str, ...]] = set()  # ids and names of data
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartDoctypeDeclHandler = self._refuse_declarations
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end

    def check(self, data: bytes) -> None:
        """Raise `GraphDataError` for the first error, with its line."""
        try:
            self.parser.Parse(data, True)
        except GraphDataError:
            raise
        except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: its encoding
            raise GraphDataError(f"{self.path} is not well-formed XML: {excerpt(error)}") from error
        for end, line in self.ends:
            if end not in self.nodes:
                self._refuse(f"an edge names node '{excerpt(end)}', which is not declared", line)

    def _start(self, qualified: str, given: dict[str, str]) -> None:
        name = qualified.rpartition(" ")[2]
        if name == "graph":
            self.n_graphs += 1
            if self.n_graphs > 1:
                self._refuse("a second graph begins; put each graph into a file of its own")
        elif name == "node" and "id" in given:
            if given["id"] in self.nodes:
                self._refuse(f"node '{excerpt(given['id'])}' is declared twice")
            self.nodes.add(given["id"])
        elif name == "edge":
            line = self.parser.CurrentLineNumber
            self.ends += [(given[end], line) for end in ("source", "target") if end in given]
        elif name == "hyperedge":
            self._refuse("a hyperedge joins more than two nodes, which cannot be read")
        elif name == "key":
            self._declare("id", given)
            self._declare("attr.name", given)
        elif name in ("data", "attvalue"):
            # A value that changes over time may occur many times.
            key = str([given.get(each) for each in ("key", "for", "start", "end")])
            if self.keys and key in self.keys[-1]:
                self._refuse(f"'{given.get('key', given.get('for'))}' has a second value")
            self.keys[-1:] = [{*self.keys[-1], key}] if self.keys else []
        self.keys.append(set())

    def _declare(self, what: str, given: dict[str, str]) -> None:
        """Refuse a second GraphML key with the same id, or the same name and element."""
        if what in given:
            key = what, given[what], "" if what == "id" else given.get("for", "all")
            if key in self.declared:
                self._refuse(f"a second key has the {what} '{excerpt(given[what])}'")
            self.declared.add(key)

    def _end(self, _: str) -> None:
        self.keys.pop()

    def _refuse_declarations(self, *_: Any) -> None:
        self._refuse(
            "a document type (<!DOCTYPE) can declare entities that expand without end, so it is "
            "refused; remove it"
        )

    def _refuse(self, what: str, line: int | None = None) -> NoReturn:
        raise GraphDataError(f"{self.path}, line {line or self.parser.CurrentLineNumber}: {what}")


def _classes(folder: Path, files: list[Path]) -> dict[str, str | None]:
    """Read ``labels.csv`` if it exists; its ids are file names with or without suffix.

    A graph with an empty label there is unlabeled, even in a subfolder.
    """
    path = folder / _LABELS
    if not path.exists() and not path.is_symlink():
        return {}
    require_file(path)
    names = {name: name for name in (_name(folder, file) for file in files)}
    for file in files:
        whole = file.relative_to(folder).as_posix()
        # A name with a file's suffix takes precedence over the file.
        names.setdefault(whole, _name(folder, file))
        names.setdefault(whole.removesuffix(".gz"), _name(folder, file))
    classes: dict[str, str | None] = {}
    for given, label in read_labels(path).items():
        if given not in names:
            raise GraphDataError(
                f"{path}, line {label.line}: there is no graph file named '{given}'"
            )
        known = classes.get(names[given])
        classes[names[given]] = known or label.text
        if known and label.text and known != label.text:
            raise GraphDataError(
                f"{path}, line {label.line}: '{given}' is {label.text} here, but "
                f"{known} under another spelling; a graph can have only one label"
            )
    return classes


def _warn_of_names(graphs: list[Any]) -> None:
    """Say that labels of nodes are taken as names, unless they are just the ids or numbers."""
    labels = {str(d["label"]): n for g in graphs for n, d in g.nodes(data=True) if "label" in d}
    told = sorted(label for label, n in labels.items() if not label.isdecimal() and label != str(n))
    if told:
        warnings.warn(
            "No label of a node comes twice in a graph, so they are taken as names and not used: "
            f"{excerpt(', '.join(told), 60)} (kgnn.load(…, has_node_labels=True) uses them).",
            KgnnWarning,
            stacklevel=5,
        )


def _drop_display_names(files: list[Path], graphs: list[Any], has_node_labels: bool | None) -> None:
    """Remove node labels of GML and GEXF graphs that are names rather than categories."""
    drawn = [g for f, g in zip(files, graphs, strict=True) if _format(f) != ".graphml"]
    if has_node_labels is None:
        labels = [[str(label) for _, label in graph.nodes(data="label")] for graph in drawn]
        has_node_labels = any(len(set(of_graph)) < len(of_graph) for of_graph in labels)
        if not has_node_labels:
            _warn_of_names(drawn)
    if drawn and not has_node_labels:
        for graph in drawn:
            for _, data in graph.nodes(data=True):
                data.pop("label", None)
