"""Read the classes of graphs from a CSV file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kgnn.errors import GraphDataError, excerpt
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.labels import encode
from kgnn.graphs.readers.text import Row, csv_rows, find_column, is_formula

_MAX_IDS = 3  # in a message
_MAX_COMPARED = 20_000  # names to search for one similar to a misspelled id
_FILE_ENDING = re.compile(r"\.(graphml|gml|gexf)(\.gz)?$", re.IGNORECASE)


class Label(NamedTuple):
    """The class of a graph, None if unknown, and where it was read."""

    text: str | None
    line: int
    source: str | Path = "labels"

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.source}, line {self.line}"


def read_labels(
    path: str | Path, *, id_column: str | None = None, label_column: str | None = None
) -> dict[str, Label]:
    """Read a CSV table with a header and the columns ``id`` and ``label``, by id, in its order.

    The two columns may have other names; further columns are ignored. An id may be repeated with
    the same label. An empty label is unknown.
    """
    path = Path(path)
    rows = csv_rows(path)
    header = next(rows, None)
    if header is None:
        raise GraphDataError(f"{path} is empty: expected a header such as id,label")
    id_place = find_column(path, header.cells, id_column, ("id",))
    label_place = find_column(path, header.cells, label_column, ("label",))
    if id_place is None or label_place is None or id_place == label_place:
        raise GraphDataError(_no_columns(path, header, {"id": id_place, "label": label_place}))
    labels: dict[str, Label] = {}
    for row in rows:
        name, label = row.cells[id_place], Label(row.cells[label_place] or None, row.line, path)
        if not name:
            raise GraphDataError(f"{label.place}: the id of label '{label.text}' is missing")
        known = labels.setdefault(name, label)
        if known.text != label.text:
            raise _contradiction(name, label, known)
    return labels


def _no_columns(path: Path, header: Row, needed: Mapping[str, int | None]) -> str:
    """Name the existing columns, and the option for the missing one."""
    missing = [name for name, place in needed.items() if place is None] or list(needed)
    free = [name for place, name in enumerate(header.cells) if place not in needed.values()]
    named = free[0] if len(free) == len(missing) == 1 else "NAME"
    options = " and ".join(f"--{name}-column {named}" for name in missing)
    return (
        f"{path}, line {header.line}: expected a header with the columns id and label, got "
        f"{excerpt(', '.join(header.cells), 300)}; choose other columns with {options}"
    )


def merge_labels(tables: Iterable[Mapping[str, Label]]) -> dict[str, Label]:
    """Merge tables of labels; a label that is unknown in one may be known in another.

    Examples
    --------
    >>> first, second = {"a": Label("x", 2), "b": Label(None, 3)}, {"b": Label("y", 2)}
    >>> {name: label.text for name, label in merge_labels([first, second]).items()}
    {'a': 'x', 'b': 'y'}
    """
    merged: dict[str, Label] = {}
    for table in tables:
        for name, label in table.items():
            known = merged.get(name)
            if known is None or known.text is None:
                merged[name] = label
            elif label.text not in (None, known.text):
                raise _contradiction(name, label, known)
    return merged


def _contradiction(name: str, label: Label, known: Label) -> GraphDataError:
    place = f"line {known.line}" if known.source == label.source else known.place
    return GraphDataError(
        f"{label.place}: '{excerpt(name)}' is {excerpt(label.text or 'unlabeled')} here, but "
        f"{excerpt(known.text or 'unlabeled')} in {place}; a graph can have only one label"
    )


def label_graphs(
    graphs: GraphDataset,
    labels: Mapping[str, Label],
    *,
    ignore_unknown: bool = False,
    keep_targets: bool = False,
) -> tuple[GraphDataset, list[str]]:
    """Return the graphs with these labels as targets, and the ids that match no graph.

    Ids are names of graphs (of files, with or without their ending), or numbers from 0 if the
    graphs have no names. An id of no graph is an error without ``ignore_unknown``. With
    ``keep_targets``, graphs that have no label here keep their own target.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> labeled, _ = label_graphs(cycles_and_trees(2), {"1": Label("ring", 2)})
    >>> labeled[0].target, labeled[1].target
    (None, 'ring')
    """
    row_of = {graph.name: graph.row for graph in graphs}
    found: list[str | None] = [None] * len(graphs)
    id_of: dict[int, str] = {}
    unknown: dict[str, Label] = {}
    for name, label in labels.items():
        row = row_of.get(name, row_of.get(_FILE_ENDING.sub("", name)))
        if row is None and name.startswith("'") and is_formula(name[1:]):
            row = row_of.get(name[1:])  # as --for-spreadsheets writes it
        if row is None:
            unknown[name] = label
        elif found[row] is None:
            found[row], id_of[row] = label.text, name
        elif label.text not in (None, found[row]):
            raise GraphDataError(
                f"{label.place}: '{name}' and '{id_of[row]}' are the same graph, but have "
                "different labels"
            )
    if unknown and not ignore_unknown:
        raise GraphDataError(_unknown_in_words(unknown, list(row_of)))
    if keep_targets:
        found = _with_targets(graphs, found)
    targets, class_names = encode(found)
    return replace(graphs, targets=targets, class_names=class_names), list(unknown)


def _with_targets(graphs: GraphDataset, labels: list[str | None]) -> list[str | None]:
    for graph, label in zip(graphs, labels, strict=True):
        if None not in (label, graph.target) and label != graph.target:
            raise GraphDataError(
                f"'{graph.name}' is {label} in --labels, but {graph.target} in the data; a graph "
                "can have only one label"
            )
    return [label or graph.target for graph, label in zip(graphs, labels, strict=True)]


def _unknown_in_words(unknown: Mapping[str, Label], names: list[str]) -> str:
    first, *others = unknown
    near = difflib.get_close_matches(first, names[:_MAX_COMPARED], n=_MAX_IDS)
    hint = f"nearest: {', '.join(near)}" if near else f"ids are like {', '.join(names[:_MAX_IDS])}"
    more = ""
    if others:
        rest = ", …" if len(others) > _MAX_IDS else ""
        more = f"; {len(others)} more are unknown: {', '.join(others[:_MAX_IDS])}{rest}"
    return (
        f"{unknown[first].place}: there is no graph '{first}' ({hint}){more}. Correct the ids, "
        "or ignore them with --ignore-unknown"
    )
