"""Shared by several commands: options, reading labeled graphs, checking output paths."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kgnn.cli.show import say
from kgnn.errors import (
    ArchiveError,
    DatasetUnavailableError,
    GraphDataError,
    KgnnError,
    ParameterError,
    Skipped,
    UnknownNameError,
    excerpt,
)

if TYPE_CHECKING:
    from kgnn.estimator.classifier import GraphClassifier
    from kgnn.graphs.graph import Graph, GraphDataset

LabelsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--labels",
        help="CSV file with the columns id and label; may be repeated. Default: the classes in "
        "the data.",
    ),
]
KeepTargets = Annotated[
    bool,
    typer.Option("--keep-targets", help="Use the class in the data where --labels has none."),
]
IdColumn = Annotated[str | None, typer.Option(help="Column of --labels with the ids.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column of --labels with the labels.")]
IgnoreUnknown = Annotated[
    bool, typer.Option("--ignore-unknown", help="Ignore ids of --labels that match no graph.")
]
ReadOption = Annotated[
    list[str] | None,
    typer.Option("--read", help="Reader option key=value, such as smiles_column=structure."),
]
SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", help="Method parameter, key=value; may be repeated.")
]
PresetOption = Annotated[
    str | None,
    typer.Option(help="Settings to start from: paper, as in the method's paper."),
]


def method_names(incomplete: str) -> list[str]:
    """Complete the name of a method in the shell."""
    from kgnn.estimator.registry import entries

    return [name for name in entries() if name.startswith(incomplete)]


def graph_sources(incomplete: str) -> list[str]:
    """Complete the name of a dataset or a path in the shell."""
    from kgnn.graphs.loading import dataset_names

    names = [name for name in dataset_names() if name.startswith(incomplete)]
    folder, _, beginning = incomplete.rpartition("/")
    place = Path(f"{folder}/" if "/" in incomplete else ".").expanduser()
    with suppress(OSError):
        names += sorted(
            f"{folder}/{each.name}" if "/" in incomplete else each.name
            for each in place.iterdir()
            if each.name.startswith(beginning) and not each.name.startswith(".")
        )
    return names


DataArgument = Annotated[
    str,
    typer.Argument(
        help="File or folder of graphs, or a dataset's name.", autocompletion=graph_sources
    ),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip graphs that cannot be read.")]
ForSpreadsheets = Annotated[
    bool,
    typer.Option(
        "--for-spreadsheets",
        help="Put an apostrophe before CSV text that a spreadsheet would run as a formula.",
    ),
]
ThreadsOption = Annotated[int, typer.Option(min=1, help="Number of threads.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MetricOption = Annotated[
    str,
    typer.Option(
        help="Headline metric; kernel methods also select hyperparameters by it: accuracy, "
        "balanced_accuracy, macro_f1, matthews, roc_auc, average_precision, log_loss or brier."
    ),
]
# A disk with less free space counts as full.
_PROBE_BYTES = 1 << 20


class LabelsFile(NamedTuple):
    """The files of ``--labels``, if any, and how to read them."""

    paths: list[Path] | None
    id_column: str | None = None
    label_column: str | None = None
    ignores_unknown: bool = False
    keeps_targets: bool = False


def chosen_parameters(
    cls: type, preset: str | None, settings: list[str] | None, metric: str
) -> dict[str, Any]:
    """Return the parameters implied by metric and preset, overridden by ``--set``."""
    from kgnn.estimator import parameters
    from kgnn.estimator.metrics import choosing_by

    own = {} if preset is None else parameters.preset(cls, preset)
    return choosing_by(cls, metric) | own | parameters.parse(cls, settings or [])


def reading_options(source: str, settings: list[str] | None) -> dict[str, Any]:
    """Parse ``--read key=value`` into options of the reader of a source, which must exist."""
    from kgnn.graphs.loading import FORMATS, find_format

    known = [option for each in FORMATS for option in each.options]
    found = find_format(source)
    options: dict[str, Any] = {}
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"--read takes key=value, got '{setting}'.")
        if key not in known:
            raise UnknownNameError.of("reader option", key, known)
        if key in options:
            raise ParameterError(f"--read {key} is given twice: {options[key]} and {value}.")
        if key not in found.options:
            others = " or ".join(each.name for each in FORMATS if key in each.options)
            raise ParameterError(f"--read {key} applies to {others}; {source} is {found.name}.")
        options[key] = value
    return options


def as_fitted(source: str, read: list[str] | None, model: GraphClassifier) -> list[str]:
    """Return ``--read`` with the options that the model was fitted with added, and say so.

    Added are options that change what the graphs are, and names of columns that this source has.
    """
    from kgnn.graphs.loading import find_format, header_of

    given = {setting.partition("=")[0] for setting in read or ()}
    recorded = (model.fitted_on_.get("read") or {}).get("read", [])
    found, header = find_format(source), header_of(source)
    more = []
    for setting in recorded:
        key, _, value = setting.partition("=")
        is_column = key.endswith("_column") and value in header
        if key in set(found.options) - given and (key in found.meanings or is_column):
            more.append(setting)
    if more:
        say(f"reading {source} with {' '.join(_repeated('--read', more))}, as for the fit")
    return [*(read or []), *more]


def require_model(path: str | Path) -> None:
    """Refuse a missing model before anything slow is imported."""
    from kgnn.estimator.saved_files import require_file

    require_file(path)


def require_labels_file(table: LabelsFile) -> None:
    """Refuse missing files of labels, and options for --labels where it is not given."""
    if missing := [path for path in table.paths or () if not path.exists()]:
        raise DatasetUnavailableError(f"The labels file {missing[0]} does not exist.")
    given = {
        "--id-column": table.id_column is not None,
        "--label-column": table.label_column is not None,
        "--keep-targets": table.keeps_targets,
        "--ignore-unknown": table.ignores_unknown,
    }
    if useless := [option for option, is_given in given.items() if is_given and not table.paths]:
        raise ParameterError(
            f"{' and '.join(useless)} needs --labels, which is not given. Without --labels, the "
            "classes in the data are used; --read target_column=NAME chooses their column in a "
            "CSV file."
        )


class LabeledGraphs(NamedTuple):
    """Named graphs with their labels as targets."""

    graphs: GraphDataset
    unknown_ids: list[str]  # ids of --labels that match no graph
    only_in_data: int  # graphs with a class in the data but none in --labels
    skipped: Skipped  # graphs that could not be read


def load_with_labels(
    source: str, table: LabelsFile, options: dict[str, Any], skips_bad: bool | None = None
) -> LabeledGraphs:
    """Load graphs with the labels of ``--labels`` or, without it, the targets in the data.

    With ``skips_bad``, graphs that cannot be read are skipped; otherwise they raise an error that
    lists them. None is for commands without the option ``--skip-bad``.
    """
    from kgnn.estimator.labels import require_classes_of
    from kgnn.graphs.collector import named
    from kgnn.graphs.readers.labels_csv import label_graphs, merge_labels, read_labels

    # Labels first: these files are smaller and more often wrong.
    columns = {"id_column": table.id_column, "label_column": table.label_column}
    given = merge_labels(read_labels(path, **columns) for path in table.paths or ())
    graphs, skipped = _load(source, options, skips_bad)
    graphs = named(graphs)
    if not table.paths:
        require_classes_of(graphs)
        return LabeledGraphs(graphs, [], int((graphs.targets >= 0).sum()), skipped)
    # Some labels may belong to skipped graphs.
    ignore_unknown = table.ignores_unknown or skipped.n > 0
    labeled, unknown_ids = label_graphs(graphs, given, ignore_unknown=ignore_unknown)
    only_in_data = int(((graphs.targets >= 0) & (labeled.targets < 0)).sum())
    if table.keeps_targets:
        labeled, _ = label_graphs(graphs, given, ignore_unknown=True, keep_targets=True)
    require_classes_of(labeled)
    return LabeledGraphs(labeled, unknown_ids, only_in_data, skipped)


def load_readable(source: str, read: list[str] | None, skips_bad: bool) -> GraphDataset:
    """Load graphs whose labels do not matter, and say which ones were skipped."""
    graphs, skipped = _load(source, reading_options(source, read), skips_bad)
    tell_skipped(skipped)
    return graphs


def _load(
    source: str, options: dict[str, Any], skips_bad: bool | None
) -> tuple[GraphDataset, Skipped]:
    from kgnn.graphs.loading import load

    skipped = Skipped()
    try:
        graphs = load(source, on_error=skipped, **options)
    except ArchiveError:
        raise
    except GraphDataError as error:
        if not skipped.n:
            raise
        # The reasons for each graph explain why none is left.
        raise skipped.error(source) from error
    if skipped.n and not (skips_bad and len(graphs)):
        has_option = skips_bad is False and len(graphs) > 0
        raise skipped.error(source, "(--skip-bad skips such graphs)" * has_option)
    return graphs, skipped


def tell_skipped(skipped: Skipped) -> None:
    """Say which graphs could not be read, if any."""
    if skipped.n:
        graphs = "graph" if skipped.n == 1 else "graphs"
        say(f"Skipped {skipped.n:,} {graphs} that could not be read:", *skipped.lines())


class Reading(NamedTuple):
    """A source of graphs and labels, and how to read both."""

    data: str
    settings: list[str]  # of --read, such as target_column=active
    table: LabelsFile
    skips_bad: bool

    def load(self) -> LabeledGraphs:
        """Read graphs and labels."""
        options = reading_options(self.data, self.settings)
        return load_with_labels(self.data, self.table, options, self.skips_bad)

    def record(self) -> dict[str, Any]:
        """Return plain values, which a model saves to record how its labels were read."""
        return {
            "data": self.data,
            "read": self.settings,
            "labels": list(map(str, self.table.paths or [])),
            "id_column": self.table.id_column,
            "label_column": self.table.label_column,
            "skip_bad": self.skips_bad,
        }

    def completed(self, recorded: dict[str, Any] | None) -> Reading:
        """Add missing options from the `record` of ``kgnn fit`` on the same data."""
        if not recorded or Path(recorded["data"]).resolve() != Path(self.data).resolve():
            return self
        table = self.table
        if not table.paths:
            paths = [Path(path) for path in recorded["labels"]] or None
            columns = {key: recorded[key] for key in ("id_column", "label_column")}
            table = table._replace(paths=paths, **columns)
        keys = {setting.partition("=")[0] for setting in self.settings}
        more = [each for each in recorded["read"] if each.partition("=")[0] not in keys]
        skips_bad = self.skips_bad or bool(recorded["skip_bad"])
        return Reading(self.data, [*self.settings, *more], table, skips_bad)

    def words(self, *more: Path) -> list[str]:
        """Return data and options as on a command line, with more tables of labels."""
        words = [self.data, *_repeated("--read", self.settings)]
        words += _repeated("--labels", map(str, [*(self.table.paths or []), *more]))
        if self.table.id_column:
            words += ["--id-column", self.table.id_column]
        if self.table.label_column:
            words += ["--label-column", self.table.label_column]
        return [*words, "--skip-bad"] if self.skips_bad else words


def _repeated(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def where_classes_are(reading: Reading) -> str:
    """Say which column of a table the classes come from; empty if they come from elsewhere."""
    used, _ = class_columns_of(reading)
    return f", classes from its column {used}" if used and not reading.table.paths else ""


def why_no_label(reading: Reading, n_graphs: int) -> str:
    """Say where labels could come from, and the option to use."""
    from kgnn.graphs.loading import find_format

    told = f"none of the {n_graphs:,} graphs of {reading.data} has a label"
    if reading.table.paths:
        tables = " and ".join(map(str, reading.table.paths))
        return (
            f"{told} in {tables}: fill in the label column, or choose another with --label-column"
        )
    table = "or pass a CSV file with the columns id and label (--labels)"
    found, (used, unused) = find_format(reading.data), class_columns_of(reading)
    if found.class_columns is None:
        where = f"give them in {found.classes}, " if found.classes else ""
        return f"{told}: {where}{table}"
    if not unused:
        return f"{told}: {f'fill in its column {used}' if used else 'add a column target'}, {table}"
    named, it = (unused[0], "it") if len(unused) == 1 else ("NAME", "one of them")
    columns = f"column{'s' * (len(unused) > 1)} {excerpt(', '.join(unused), 300)}"
    return (
        f"{told}{f' in its column {used}' if used else ''}. Unused: the {columns}. To take the "
        f"classes from {it}, add --read target_column={named}, {table}"
    )


def unused_columns(reading: Reading) -> list[str]:
    """Return the columns of a table of graphs that are not read."""
    used, unused = class_columns_of(reading)
    return [*unused, *([used] if used and reading.table.paths else [])]


def class_columns_of(reading: Reading) -> tuple[str | None, list[str]]:
    """Return the column of a table that holds the classes, and the unused columns."""
    from kgnn.graphs.loading import find_format

    find = find_format(reading.data).class_columns
    options = reading_options(reading.data, reading.settings)
    return (None, []) if find is None else find(Path(reading.data).expanduser(), **options)


def require_writable(path: Path, *inputs: str | Path | None) -> None:
    """Check before a long computation that a file can be written afterwards.

    Also refuse to overwrite ``inputs``, the files that the command reads; they may be names, too.
    """
    for each in inputs:
        if each is not None and path.resolve() == Path(each).resolve():
            raise ParameterError(
                f"{path} is an input of this command and would be overwritten; name another file."
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
    """Check before a long computation that files can be written to a folder afterwards."""
    try:
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError("it is a file, not a folder")
        _probe(folder)
    except OSError as error:
        raise _no_place(folder, error) from error


class Saved(NamedTuple):
    """Where something was saved, and whether that is the requested place."""

    file: Path
    is_in_place: bool


def save_anyway(save: Callable[[Path], Path], place: Path) -> Saved:
    """Save to ``place`` or, if that fails after a long computation, somewhere else, and say so."""
    try:
        return Saved(save(place), True)
    except KgnnError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        name = f"kgnn-{place.stem or 'model'}-{secrets.token_hex(4)}.safetensors"
        for folder in (Path.cwd(), Path.home(), Path(tempfile.gettempdir())):
            with suppress(KgnnError):
                file = save(folder / name)
                say(f"{error}. It was saved to {file} instead.")
                return Saved(file, False)
        raise


def _probe(folder: Path) -> None:
    """Write a temporary file to a folder or, if it does not exist, to its nearest parent."""
    while not folder.exists():
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(os.urandom(_PROBE_BYTES))
        probe.flush()


def _no_place(path: Path, error: OSError) -> KgnnError:
    reason = error.strerror or error
    return KgnnError(f"Cannot write to {path}: {reason}. Choose another place.")


def find_graph(graphs: GraphDataset, name: str) -> Graph:
    """Return the graph with this name or position, counted from 0."""
    names = [] if graphs.graph_names is None else graphs.graph_names.tolist()
    if name in names:
        return graphs[names.index(name)]
    if name.isascii() and name.isdecimal() and int(name) < len(graphs):
        return graphs[int(name)]
    numbers = f"numbers go from 0 to {len(graphs) - 1}"
    if names:
        near = [each for each in names if name.lower() in each.lower()][:3] or names[:3]
        numbers = f"names look like {', '.join(near)}; {numbers}"
    raise UnknownNameError(f"There is no graph '{name}' in {graphs.name}: {numbers}.")
