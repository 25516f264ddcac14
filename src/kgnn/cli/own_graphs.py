"""What the commands for one's own graphs share: reading graphs with labels, places to write to."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kgnn.errors import KgnnError, ParameterError, UnknownNameError

if TYPE_CHECKING:
    from kgnn.graphs.graph import GraphDataset

LabelsOption = Annotated[
    Path | None,
    typer.Option("--labels", help="CSV with the columns id and label; else targets in the data."),
]
IdColumn = Annotated[str | None, typer.Option(help="The column of --labels with the ids.")]
LabelColumn = Annotated[str | None, typer.Option(help="The column of --labels with the labels.")]
IgnoreUnknown = Annotated[
    bool, typer.Option("--ignore-unknown", help="Leave out ids that are of no graph.")
]
ReadOption = Annotated[
    list[str] | None,
    typer.Option("--read", help="How to read a CSV file, such as smiles_column=structure."),
]
_READ_OPTIONS = ("smiles_column", "target_column", "id_column")
# A disk with less than this is as good as full.
_PROBE_BYTES = 1 << 20


class LabelsFile(NamedTuple):
    """A table of labels, if there is one, and how to read it."""

    path: Path | None
    id_column: str | None = None
    label_column: str | None = None
    ignores_unknown: bool = False


def reading_options(source: str, settings: list[str] | None) -> dict[str, str]:
    """Read ``--read key=value``; only tables of SMILES have something to choose."""
    from kgnn.graphs.loading import format_of

    options: dict[str, str] = {}
    for setting in settings or []:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"--read is written key=value, got '{setting}'.")
        if key not in _READ_OPTIONS:
            raise UnknownNameError.of("option of reading", key, _READ_OPTIONS)
        options[key] = value
    if options and format_of(source) != "SMILES in CSV":
        raise ParameterError(f"--read is for .csv files with SMILES; {source} is none.")
    return options


def load_with_labels(
    source: str, table: LabelsFile, options: dict[str, str]
) -> tuple[GraphDataset, list[str | None], list[str]]:
    """Load graphs, each with a name, and their labels; return also the ids that were left out."""
    from kgnn.graphs.labels_csv import labels_for, read_labels, unknown_ids
    from kgnn.graphs.loading import load
    from kgnn.graphs.streaming import named

    given = None
    if table.path is not None:  # the smaller file, and the one with more mistakes, first
        columns = {"id_column": table.id_column, "label_column": table.label_column}
        given = read_labels(table.path, **columns)
    graphs = named(load(source, **options))
    if given is None:
        return graphs, [graph.target for graph in graphs], []
    left_out = unknown_ids(graphs, given) if table.ignores_unknown else []
    labels = labels_for(
        graphs, given, source=table.path or "", ignore_unknown=table.ignores_unknown
    )
    return graphs, labels, left_out


def require_writable(path: Path) -> None:
    """Refuse now what could not be written after a long computation."""
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    try:
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(os.urandom(_PROBE_BYTES))
            probe.flush()
    except OSError as error:
        raise KgnnError(
            f"Nothing can be written to {path}: {error.strerror or error}. Name another place."
        ) from error
