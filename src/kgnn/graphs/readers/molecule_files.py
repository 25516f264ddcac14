"""Shared by readers of molecules: one row per molecule, read all at once or in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kgnn.errors import ErrorHandler, GraphDataError, raise_error
from kgnn.graphs.collector import Found, ReadWith, collect_readable, collect_runs, numbered
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.molecules import MEANINGS, Meaning
from kgnn.graphs.readers.archive import MAX_BYTES
from kgnn.graphs.readers.text import stem

TARGET_NAMES = ("target", "label", "class", "activity", "y")


class Molecule(NamedTuple):
    """A row of a file before its molecule is parsed."""

    place: str
    text: str  # SMILES, or the format's equivalent
    target: str | None
    name: str | None
    cells: dict[str, str]  # all columns of the row


class MoleculeFile(NamedTuple):
    """A file format of molecules."""

    # Called with a path, an error handler, the most bytes (None: any) and names of columns.
    rows: Callable[..., Iterator[Molecule]]
    graph_of: Callable[[Molecule, Meaning], dict[str, Any]]

    def read(
        self, path: Path, on_error: ErrorHandler | None = None, **options: str | None
    ) -> GraphDataset:
        """Read molecules as graphs; see `kgnn.graphs.molecules`.

        ``on_error`` is called with the error of each row that cannot be read; default: an error
        that lists them. Options are the names of columns, and ``salts`` and ``stereo`` as for
        `kgnn.from_smiles`.
        """
        return collect_readable(stem(path), self._reader(path, MAX_BYTES, **options), on_error)

    def stream(
        self, path: Path, on_error: ErrorHandler = raise_error, **options: str | None
    ) -> Iterator[GraphDataset]:
        """Read a file as datasets of bounded size."""
        return collect_runs(stem(path), self._reader(path, None, **options), on_error)

    def cells(self, path: Path, **options: str | None) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the name of each graph and the cells of its row."""

        def found(on_error: ErrorHandler) -> Found:
            for row in self.rows(path, on_error, None, **without_meanings(options)):
                yield row.place, {"name": row.name, "cells": row.cells}

        for position, _, row in numbered(found, lambda _: None):
            yield str(position) if row["name"] is None else row["name"], row["cells"]

    def _reader(
        self,
        path: Path,
        max_bytes: int | None,
        *,
        salts: str | None = None,
        stereo: str | None = None,
        **columns: str | None,
    ) -> ReadWith:
        meaning = Meaning.of(salts=salts, stereo=stereo)

        def molecules(on_error: ErrorHandler) -> Found:
            for row in self.rows(path, on_error, max_bytes, **columns):
                try:
                    graph = self.graph_of(row, meaning)
                except GraphDataError as error:
                    on_error(error)
                else:
                    yield row.place, {**graph, "target": row.target, "name": row.name}

        return molecules


def without_meanings(options: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the options that name columns."""
    return {key: value for key, value in options.items() if key not in MEANINGS}
