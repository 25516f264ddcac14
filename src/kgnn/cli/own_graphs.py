"""What several commands share: their options, reading graphs with labels, places to write to."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kgnn.errors import KgnnError, ParameterError, UnknownNameError

if TYPE_CHECKING:
    from kgnn.graphs.graph import Graph, GraphDataset

LabelsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--labels",
        help="CSV with the columns id and label, perhaps several; else targets in the data.",
    ),
]
KeepTargets = Annotated[
    bool,
    typer.Option("--keep-targets", help="Use targets in the data where --labels has none."),
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
SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", help="A parameter of the method, key=value.")
]
PresetOption = Annotated[
    str | None,
    typer.Option(help="Settings to start from: paper, those of the method's paper."),
]
DataArgument = Annotated[
    str, typer.Argument(help="A file or folder of graphs, or a dataset's name.")
]
ThreadsOption = Annotated[int, typer.Option(min=1, help="Threads to compute with.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
MetricOption = Annotated[
    str,
    typer.Option(
        help="The headline: accuracy, balanced_accuracy, macro_f1, matthews, roc_auc, "
        "average_precision, log_loss or brier."
    ),
]
# A disk with less than this is as good as full.
_PROBE_BYTES = 1 << 20


class LabelsFile(NamedTuple):
    """Tables of labels, if there are any, and how to read them."""

    paths: list[Path] | None
    id_column: str | None = None
    label_column: str | None = None
    ignores_unknown: bool = False
    keeps_targets: bool = False


def chosen_parameters(cls: type, preset: str | None, settings: list[str] | None) -> dict[str, Any]:
    """Return the parameters of a preset, changed by those of ``--set``."""
    from kgnn.estimator import parameters

    own = {} if preset is None else parameters.preset(cls, preset)
    return own | parameters.parse(cls, settings or [])


def reading_options(source: str, settings: list[str] | None) -> dict[str, str]:
    """Read ``--read key=value``: options of the reader of a source."""
    if not settings:
        return {}
    from kgnn.graphs.loading import FORMATS, find_format

    known = [option for each in FORMATS for option in each.options]
    found = find_format(source)
    options: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"--read is written key=value, got '{setting}'.")
        if key not in known:
            raise UnknownNameError.of("option of reading", key, known)
        if key not in found.options:
            others = " or ".join(each.name for each in FORMATS if key in each.options)
            raise ParameterError(f"--read {key} is for {others}; {source} is {found.name}.")
        options[key] = value
    return options


def require_labels_file(table: LabelsFile) -> None:
    """Refuse options on how to read --labels where there are none, rather than ignore them."""
    given = {
        "--id-column": table.id_column is not None,
        "--label-column": table.label_column is not None,
        "--keep-targets": table.keeps_targets,
        "--ignore-unknown": table.ignores_unknown,
    }
    if useless := [option for option, is_given in given.items() if is_given and not table.paths]:
        raise ParameterError(
            f"{' and '.join(useless)} says how to use --labels, which is not given. Name the file "
            "with --labels; without it the classes in the data are used (of a CSV file the column "
            "that --read target_column=… names)."
        )


class LabeledGraphs(NamedTuple):
    """Graphs with a name each and with their labels as targets."""

    graphs: GraphDataset
    unknown_ids: list[str]  # ids of --labels that are of no graph
    unused_targets: int  # graphs that have a class in the data, but none in --labels


def load_with_labels(source: str, table: LabelsFile, options: dict[str, str]) -> LabeledGraphs:
    """Load graphs and their labels: those of ``--labels``, or else the targets in the data."""
    from kgnn.graphs.collector import named
    from kgnn.graphs.loading import load
    from kgnn.graphs.readers.labels_csv import label_graphs, merge_labels, read_labels

    # The smaller files, and those with more mistakes, first.
    columns = {"id_column": table.id_column, "label_column": table.label_column}
    given = merge_labels(read_labels(path, **columns) for path in table.paths or ())
    graphs = named(load(source, **options))
    if not table.paths:
        return LabeledGraphs(graphs, [], 0)
    labeled, unknown_ids = label_graphs(
        graphs, given, ignore_unknown=table.ignores_unknown, keep_targets=table.keeps_targets
    )
    unused = (graphs.targets >= 0) & (labeled.targets < 0)
    return LabeledGraphs(labeled, unknown_ids, int(unused.sum()))


def require_writable(path: Path, *inputs: str | Path | None) -> None:
    """Refuse now what could not be written to a file after a long computation.

    Nor is anything written over what the command reads: ``inputs`` may also be names.
    """
    for each in inputs:
        if each is not None and path.resolve() == Path(each).resolve():
            raise ParameterError(
                f"{path} would be written over, but this command reads it; name another file."
            )
    if path.exists() and not path.is_file() and not path.is_dir():
        return  # a device
    try:
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        _probe(path.parent)
    except OSError as error:
        raise _no_place(path, error) from error


def require_writable_folder(folder: Path) -> None:
    """Refuse now a folder that files could not be written into after a long computation."""
    try:
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError("it is a file, and a folder is needed")
        _probe(folder)
    except OSError as error:
        raise _no_place(folder, error) from error


def _probe(folder: Path) -> None:
    """Write something to a folder, or where it would be made, that is gone at once."""
    while not folder.exists():
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(os.urandom(_PROBE_BYTES))
        probe.flush()


def _no_place(path: Path, error: OSError) -> KgnnError:
    reason = error.strerror or error
    return KgnnError(f"Nothing can be written to {path}: {reason}. Name another place.")


def find_graph(graphs: GraphDataset, name: str) -> Graph:
    """Return the graph of a name, or of a number counted from 0."""
    names = [] if graphs.graph_names is None else graphs.graph_names.tolist()
    if name in names:
        return graphs[names.index(name)]
    if name.isdecimal() and int(name) < len(graphs):
        return graphs[int(name)]
    numbers = f"numbers go from 0 to {len(graphs) - 1}"
    if names:
        near = [each for each in names if name.lower() in each.lower()][:3] or names[:3]
        numbers = f"names look like {', '.join(near)}; {numbers}"
    raise UnknownNameError(f"There is no graph '{name}' in {graphs.name}: {numbers}.")
