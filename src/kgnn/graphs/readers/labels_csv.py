"""Read from a CSV file which graph has which class."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from kgnn.errors import GraphDataError
from kgnn.graphs.excerpts import excerpt
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.readers.csv_table import column, table_rows

_NAMED = 3  # ids in a message
_COMPARED = 20_000  # names that may be the one that was meant
_FILE_ENDING = re.compile(r"\.(graphml|gml|gexf)(\.gz)?$", re.IGNORECASE)


class Label(NamedTuple):
    """The class of a graph, None where it is not known, and where the file says so."""

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
    """Read a table with a header and the columns ``id`` and ``label``; others are ignored.

    An id may be repeated with the same label. An empty label is an unknown one.

    Parameters
    ----------
    path : path
        Separated by commas, semicolons or tabs, perhaps ``.gz``.
    id_column, label_column : str, optional
        Other names of the two columns.

    Returns
    -------
    dict of str to Label
        By id, in the order of the file.
    """
    path = Path(path)
    rows = table_rows(path)
    header = next(rows, None)
    if header is None:
        raise GraphDataError(f"{path} is empty: expected a header such as id,label")
    places = [
        column(path, header.cells, id_column, ("id",)),
        column(path, header.cells, label_column, ("label",)),
    ]
    if None in places or places[0] == places[1]:
        raise GraphDataError(
            f"{path}, line {header.line}: expected a header with the columns id and label (or name "
            f"others), got {excerpt(header.cells)}"
        )
    labels: dict[str, Label] = {}
    for row in rows:
        name, text = (row.cells[place] for place in places if place is not None)
        _keep(labels, name, Label(text or None, row.line, path))
    return labels


def _keep(labels: dict[str, Label], name: str, label: Label) -> None:
    if not name:
        raise GraphDataError(f"{label.place}: there is no id before '{label.text}'")
    known = labels.setdefault(name, label)
    if known.text != label.text:
        raise _contradiction(name, label, known)


def _contradiction(name: str, label: Label, known: Label) -> GraphDataError:
    place = f"line {known.line}" if known.source == label.source else known.place
    return GraphDataError(
        f"{label.place}: '{excerpt(name)}' is {excerpt(label.text or 'unlabeled')} here, but "
        f"{excerpt(known.text or 'unlabeled')} in {place}; a graph has one label"
    )


def merged_labels(tables: Iterable[Mapping[str, Label]]) -> dict[str, Label]:
    """Join tables of labels; where one does not know a label, another may.

    Examples
    --------
    >>> first, second = {"a": Label("x", 2), "b": Label(None, 3)}, {"b": Label("y", 2)}
    >>> {name: label.text for name, label in merged_labels([first, second]).items()}
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


def labels_for(
    graphs: GraphDataset,
    labels: Mapping[str, Label],
    *,
    ignore_unknown: bool = False,
) -> list[str | None]:
    """Return the label of each graph, None where the table has none.

    Ids are names of graphs (of files, with or without their ending), or numbers from 0 where
    graphs have no names.

    Parameters
    ----------
    graphs : GraphDataset
    labels : mapping of str to Label
    ignore_unknown : bool
        Leave out ids of graphs that are not there, rather than refuse the table.

    Examples
    --------
    >>> from kgnn.graphs.datasets.toy import cycles_and_trees
    >>> labels_for(cycles_and_trees(3), {"0": Label("ring", 2), "2": Label(None, 3)})
    ['ring', None, None]
    """
    row_of = {graph.name: graph.row for graph in graphs}
    found: list[str | None] = [None] * len(graphs)
    taken: dict[int, str] = {}
    unknown: dict[str, Label] = {}
    for name, label in labels.items():
        row = row_of.get(name, row_of.get(_FILE_ENDING.sub("", name)))
        if row is None:
            unknown[name] = label
            continue
        if found[row] is None:
            found[row], taken[row] = label.text, name
        elif label.text not in (None, found[row]):
            raise GraphDataError(
                f"{label.place}: '{name}' and '{taken[row]}' are one graph, but have different "
                "labels"
            )
    if unknown and not ignore_unknown:
        raise GraphDataError(_unknown_in_words(unknown, row_of))
    return found


def unknown_ids(graphs: GraphDataset, labels: Iterable[str]) -> list[str]:
    """Return the ids that no graph has."""
    names = {graph.name for graph in graphs}
    return [each for each in labels if not {each, _FILE_ENDING.sub("", each)} & names]


def _unknown_in_words(unknown: Mapping[str, Label], known: Mapping[str, int]) -> str:
    first, label = next(iter(unknown.items()))
    names = list(known)
    near = difflib.get_close_matches(first, names[:_COMPARED], n=_NAMED)
    hint = f"nearest: {', '.join(near)}" if near else f"ids are like {', '.join(names[:_NAMED])}"
    others = list(unknown)[1:]
    more = ""
    if others:
        rest = ", …" if len(others) > _NAMED else ""
        more = f"; {len(others)} more are unknown: {', '.join(others[:_NAMED])}{rest}"
    return (
        f"{label.place}: there is no graph '{first}' ({hint}){more}. Correct them, "
        "or leave them out with --ignore-unknown"
    )
