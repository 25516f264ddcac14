"""Read a dataset in the layout of the TUDataset collection, from a folder or a zip."""

from __future__ import annotations

import re
import warnings
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kgnn.errors import GraphDataError, KgnnWarning, excerpt
from kgnn.graphs.collector import is_directed
from kgnn.graphs.graph import GraphDataset, Ints, ShortInts
from kgnn.graphs.packing import ConflictingEdgesError, pack
from kgnn.graphs.readers.archive import TextFiles

# The largest graph id may exceed the number of nodes by this many graphs without nodes.
MAX_EMPTY_GRAPHS = 1 << 20
_FILES = tuple(
    f"{each}.txt"
    for each in (
        *("A", "graph_indicator", "graph_labels", "node_labels", "node_attributes"),
        *("edge_labels", "edge_attributes"),
    )
)
# Numbers as numpy reads them; Python also accepts 1_0 and digits of other alphabets.
_NUMBER = re.compile(r"[ \t\r\v\f]*[+-]?[0-9.]+([eE][+-]?[0-9]+)?[ \t\r\v\f]*")
# Larger integers would be read as one of these.
_EXTREMES = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)


def is_in(folder: Path) -> bool:
    """Tell whether a folder holds a dataset of this format."""
    return any(folder.glob("*_A.txt"))


def read(path: Path, directed: bool | str = False, *, names_unread: bool = True) -> GraphDataset:
    """Read ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and the optional files beside them.

    With ``directed``, an edge runs from the first to the second node of its line. Of files beside
    these, which are not used, ``names_unread`` warns.
    """
    files = TextFiles(path)
    name = _dataset_name(files)
    graph_of_node, targets = _graphs(files, name)
    u, v = _edges(files, f"{name}_A.txt", graph_of_node)
    node_labels = _labels(files, f"{name}_node_labels.txt", len(graph_of_node))
    attributes = _optional(files, f"{name}_node_attributes.txt", np.float64, len(graph_of_node))
    if (np.diff(graph_of_node) < 0).any():  # allowed by the format, but in no known file
        order = np.argsort(graph_of_node, kind="stable")
        rank = np.argsort(order).astype(np.int32)
        u, v = rank[u], rank[v]
        node_labels = None if node_labels is None else node_labels[order]
        attributes = None if attributes is None else attributes[order]
    weights, edge_attributes = _edge_numbers(files, f"{name}_edge_attributes.txt", len(u))
    if names_unread:
        _warn_of_unread(files, name)
    try:
        return pack(
            name,
            np.bincount(graph_of_node, minlength=len(targets or ())),
            u,
            v,
            targets=targets,
            node_labels=node_labels,
            node_attributes=attributes,
            edge_labels=_labels(files, f"{name}_edge_labels.txt", len(u)),
            edge_weights=weights,
            edge_attributes=edge_attributes,
            directed=is_directed(directed),
        )
    except ConflictingEdgesError as error:
        raise GraphDataError(
            f"{files.where(f'{name}_A.txt')}: lines {error.first + 1} and {error.second + 1} are "
            "the same edge but differ in label, weight or attributes"
        ) from error


def _dataset_name(files: TextFiles) -> str:
    names = [n.removesuffix("_A.txt") for n in files.names() if n.endswith("_A.txt")]
    if len(names) != 1:
        raise GraphDataError(
            f"{files.path} has {len(names)} files named NAME_A.txt {names}; a TU dataset has one"
        )
    if f"{names[0]}_graph_indicator.txt" not in files.names():
        raise GraphDataError(f"{files.path} has no file {names[0]}_graph_indicator.txt")
    return names[0]


def _warn_of_unread(files: TextFiles, name: str) -> None:
    """Warn about files of the dataset that are not read; a name may be misspelled."""
    others = [
        file
        for file in files.names()
        if file.startswith(f"{name}_")
        and file.endswith(".txt")
        and file.removeprefix(f"{name}_") not in _FILES
        and "readme" not in file.lower()
    ]
    if others:
        warnings.warn(
            f"{files.path}: unused files: {excerpt(', '.join(others))}. kgnn reads {name}_A.txt "
            f"and files that end in {', '.join(_FILES[1:])}.",
            KgnnWarning,
            stacklevel=4,
        )


def _graphs(files: TextFiles, name: str) -> tuple[Ints, list[int] | None]:
    """Return the graph of each node and, if there are classes, the class of each graph."""
    file, labels_file = f"{name}_graph_indicator.txt", f"{name}_graph_labels.txt"
    graph_of_node = read_table(files, file, np.int64, columns=1)[:, 0]
    targets = None
    if labels_file in files.names():
        targets = read_table(files, labels_file, np.int64, columns=1)[:, 0].tolist()
    n_graphs = int(graph_of_node.max(initial=0)) if targets is None else len(targets)
    if targets is None and n_graphs > MAX_EMPTY_GRAPHS + len(graph_of_node):
        line = 1 + int(graph_of_node.argmax())
        raise GraphDataError(
            f"{files.where(file)}, line {line}: graph id {n_graphs} is too large for "
            f"{len(graph_of_node)} nodes"
        )
    if n_graphs == 0:
        raise GraphDataError(f"{files.path} holds no graphs: {name}_graph_*.txt are empty")
    _require_range(f"{files.where(file)}, line", graph_of_node[:, None], n_graphs, "graph")
    return graph_of_node - 1, targets


def _edges(files: TextFiles, file: str, graph_of_node: Ints) -> tuple[ShortInts, ShortInts]:
    """Return the end nodes of all edges, each within one graph."""
    graphs = graph_of_node.astype(np.int32)  # half the size, for better use of the cache
    flat = array("i")  # grows in place; concatenation would double the memory
    for before, ends in read_pieces(files, file, np.int64, columns=2):
        line = f"{files.where(file)}, line"
        _require_range(line, ends, len(graphs), "node", before)
        ends = (ends - 1).astype(np.intc)
        _require_one_graph(line, ends, graphs, before)
        flat.frombytes(ends.tobytes())
    table = np.frombuffer(flat, dtype=np.intc).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _require_range(line: str, ids: Ints, n: int, what: str, before: int = 0) -> None:
    if ids.size and (ids.min() < 1 or ids.max() > n):
        row, column = np.argwhere((ids < 1) | (ids > n))[0]
        raise GraphDataError(
            f"{line} {before + row + 1}: {what} id {ids[row, column]} is not between 1 and {n}"
        )


def _require_one_graph(line: str, ends: NDArray[Any], graphs: ShortInts, before: int) -> None:
    stray = graphs[ends[:, 0]] != graphs[ends[:, 1]]
    if stray.any():
        row = int(np.argmax(stray))
        u, v = ends[row]
        raise GraphDataError(
            f"{line} {before + row + 1}: the edge {u + 1}, {v + 1} joins graph {graphs[u] + 1} "
            f"with graph {graphs[v] + 1}"
        )


def _labels(files: TextFiles, file: str, n: int) -> NDArray[Any] | None:
    """Return categorical labels; several columns become one label such as ``3,1``."""
    table = _optional(files, file, np.int64, n)
    if table is None or table.shape[1] == 1:
        return None if table is None else table[:, 0]
    return np.array([",".join(map(str, row)) for row in table.tolist()])


def _edge_numbers(
    files: TextFiles, file: str, n: int
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Return one number per edge as weights, several as attributes."""
    table = _optional(files, file, np.float64, n)
    if table is None:
        return None, None
    return (table[:, 0], None) if table.shape[1] == 1 else (None, table)


def _optional(files: TextFiles, file: str, dtype: Any, n_lines: int) -> NDArray[Any] | None:
    if file not in files.names():
        return None
    table = read_table(files, file, dtype)
    if len(table) != n_lines:
        raise GraphDataError(f"{files.where(file)} has {len(table)} lines, expected {n_lines}")
    return table


# -- tables of numbers ----------------------------------------------------------------------------


def read_table(files: TextFiles, file: str, dtype: Any, columns: int | None = None) -> NDArray[Any]:
    """Read a whole file as an ``(n_lines, columns)`` array of int64 or float64."""
    pieces = [piece for _, piece in read_pieces(files, file, dtype, columns)]
    return np.concatenate(pieces) if pieces else np.empty((0, columns or 1), dtype=dtype)


def read_pieces(
    files: TextFiles, file: str, dtype: Any, columns: int | None = None
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield a file in pieces, each with the number of lines before it, in bounded memory."""
    before = 0
    for text in files.chunks(file):
        columns = columns or text.partition(b"\n")[0].count(b",") + 1
        values = _parse(text, dtype, columns)
        if values is None:
            _raise_bad_line(files.where(file), text, before, dtype, columns)
        yield before, values
        before += len(values)


def _parse(text: bytes, dtype: Any, columns: int) -> NDArray[Any] | None:
    """Parse lines with numpy's own parser; None if any is not ``columns`` finite numbers."""
    raw = np.frombuffer(text, dtype=np.uint8)
    places = np.flatnonzero((raw == ord(",")) | (raw == ord("\n")))
    separators = raw[places]
    if len(separators) % columns:
        return None
    by_line = separators.reshape(-1, columns)
    if (by_line[:, -1] != ord("\n")).any() or (by_line[:, :-1] != ord(",")).any():
        return None
    if _has_empty_cell(text, raw[places - 1]) or (dtype is np.int64 and _has_lone_sign(text)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy only warns of what it cannot read
        try:
            values = np.fromstring(text.replace(b",", b" "), dtype=dtype, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    if len(values) != by_line.size or not _is_exact(values):
        return None
    return values.reshape(-1, columns)


def _has_empty_cell(text: bytes, ends: NDArray[Any]) -> bool:
    """Tell whether a number is missing; two numbers in another cell would hide it."""
    if not ((ends <= ord(" ")) | (ends == ord(","))).any():  # last bytes of all cells
        return False
    tight = b"\n" + text.translate(None, b" \t\r\v\f")
    return any(empty in tight for empty in (b"\n\n", b"\n,", b",,", b",\n"))


def _has_lone_sign(text: bytes) -> bool:
    """Tell whether a sign has no number; numpy reads it as 0 or as the sign of the next."""
    return (b"-" in text or b"+" in text) and re.search(rb"[+-](?!\d)", text) is not None


def _is_exact(values: NDArray[Any]) -> bool:
    if values.dtype.kind == "f":
        return bool(np.isfinite(values).all())
    return bool(values.min() > _EXTREMES[0] and values.max() < _EXTREMES[1])


def _raise_bad_line(where: str, text: bytes, before: int, dtype: Any, columns: int) -> NoReturn:
    """Find the line that cannot be read and say what is wrong with it."""
    expected = "an integer" if dtype is np.int64 else "a finite number"
    for number, line in enumerate(text.decode("utf-8", "replace").split("\n"), start=before + 1):
        parts = line.split(",")
        if len(parts) != columns:
            raise GraphDataError(
                f"{where}, line {number}: expected {columns} value{'s' * (columns > 1)}, "
                f"got {len(parts)} in '{line[:80]}'"
            )
        for part in parts:
            if not _is_readable(part, dtype):
                raise GraphDataError(
                    f"{where}, line {number}: expected {expected}, got '{part.strip()[:80]}'"
                )
    raise GraphDataError(f"{where}: the lines from {before + 1} on are not {columns} numbers each")


def _is_readable(text: str, dtype: Any) -> bool:
    if not _NUMBER.fullmatch(text):
        return False
    try:
        value = int(text) if dtype is np.int64 else float(text)
    except ValueError:
        return False
    return bool(np.isfinite(value)) if isinstance(value, float) else abs(value) < _EXTREMES[1]
