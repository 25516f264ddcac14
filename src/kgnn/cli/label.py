"""``kgnn label``: the workbench, a page in the browser to view and label graphs."""

from __future__ import annotations

import getpass
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgnn.cli.own_graphs import (
    DataArgument,
    IdColumn,
    LabelColumn,
    LabelsFile,
    LabelsOption,
    Reading,
    ReadOption,
    SettingsOption,
    SkipBad,
    as_fitted,
    class_columns_of,
    load_readable,
    reading_options,
    require_labels_file,
    require_writable_folder,
)
from kgnn.cli.show import progress_bars, say
from kgnn.errors import KgnnError

if TYPE_CHECKING:
    from kgnn.web.pool import Pool
    from kgnn.web.project import Project

_SHOWN = 5  # names in a message


def label(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the project.")],
    labels: LabelsOption = None,
    model: Annotated[Path | None, typer.Option(help="A saved model to start with.")] = None,
    method: Annotated[
        str, typer.Option(help="Method to fit: a name from `kgnn methods`.")
    ] = "kgnn",
    settings: SettingsOption = None,
    every: Annotated[
        int, typer.Option(min=0, help="Refit after this many new labels; 0: only on a click.")
    ] = 10,
    without_targets: Annotated[
        bool, typer.Option("--without-targets", help="Ignore the classes in the data.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine requires a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")] = 8765,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    skip_bad: SkipBad = False,
    read: ReadOption = None,
) -> None:
    """View and label the graphs in DATA in the browser while a model learns.

    For example: kgnn label molecules.csv -o project
    """
    from kgnn.web.running import listen, require_uvicorn, run

    require_uvicorn()
    table = LabelsFile(labels, id_column, label_column, True)
    require_labels_file(LabelsFile(labels, id_column, label_column))
    reading_options(data, read)
    require_writable_folder(output)
    place, opened = listen(host, port)
    with ExitStack() as stack:
        stack.enter_context(opened)
        stack.enter_context(_only_one(output))
        with progress_bars() as bars:
            waiting = bars.add_task(f"reading {data}", total=None)
            from kgnn.estimator.parameters import parse
            from kgnn.estimator.registry import method_class
            from kgnn.web.guard import Guard
            from kgnn.web.labeling import make_app
            from kgnn.web.project import Project
            from kgnn.web.workbench import Settings, Workbench

            chosen = Settings(method, parse(method_class(method), settings or []), every)
            more = read or []
            if model is not None:
                from kgnn.estimator.saving import open_model

                more = as_fitted(data, read, open_model(model))
            reading = Reading(data, more, table, skip_bad)
            project = stack.enter_context(closing(Project(output)))
            pool = _pool(reading)
            bars.update(waiting, description="reading labels")
            _import(project, pool, reading, takes_targets=not without_targets)
            if model is not None:
                _take(project, model)
        bench = Workbench(project, pool, chosen, read={**reading.record(), "labels": []})
        app = make_app(bench, pool.graphs.name, _user_name())
        guarded = Guard(app, hosts=place.hosts(), token=place.token)
        say(f"{len(pool):,} graphs, {len(project.answers):,} answers in {output}.")

        def tell() -> None:
            say(f"Open {place.address} (Ctrl-C stops; all answers are kept).")
            if browser:
                webbrowser.open(place.address)

        stack.callback(bench.stop)
        run(guarded, opened, on_start=tell, on_stop=app.state.signal.end)


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Refuse a project that another process has open: neither would see the other's fits."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            yield
    except Timeout as error:
        raise KgnnError(
            f"The project {folder} is already open; use its open page or stop it first."
        ) from error


def _pool(reading: Reading) -> Pool:
    from kgnn.graphs.loading import cells_of
    from kgnn.web.pool import Pool

    options = reading_options(reading.data, reading.settings)
    graphs = load_readable(reading.data, reading.settings, reading.skips_bad)
    classes, _ = class_columns_of(reading)  # not shown: it would give the label away
    cells = {
        name: {key: value for key, value in own.items() if key != classes and value != name}
        for name, own in cells_of(reading.data, **options)
    }
    return Pool(graphs, cells)


def _import(project: Project, pool: Pool, reading: Reading, *, takes_targets: bool) -> None:
    """Import labels from files or else from the data; existing answers stay."""
    from kgnn.estimator.labels import require_classes_of
    from kgnn.graphs.readers.labels_csv import label_graphs, merge_labels, read_labels
    from kgnn.web.workbench import import_targets, require_same_data

    require_same_data(project, pool, reading.data)
    table, differing = reading.table, list[str]()
    if table.paths:
        columns = {"id_column": table.id_column, "label_column": table.label_column}
        given = merge_labels(read_labels(path, **columns) for path in table.paths)
        labeled, unknown = label_graphs(pool.graphs, given, ignore_unknown=True)
        if unknown:
            say(f"{len(unknown):,} ids of --labels match no graph: {_first(unknown)}.")
        found = {pool.keys[each.row]: each.target for each in labeled if each.target is not None}
        _, differing = project.add_labels(found, who="file of labels")
    elif takes_targets and not project.fact("data"):
        require_classes_of(pool.graphs)
        _, differing = import_targets(project, pool, who="data")
    elif not project.fact("data"):
        for name in pool.graphs.class_names:
            project.add_class(name, who="data")
    project.set_fact("data", reading.record())
    if differing:
        names = [pool.names[pool.row_of[key]] for key in differing]
        say(f"{len(names):,} graphs keep an answer other than the imported label: {_first(names)}.")


def _take(project: Project, path: Path) -> None:
    """Use a saved model until the first fit."""
    import shutil

    from kgnn.estimator.saved_files import file_of
    from kgnn.estimator.saving import describe_model, open_model
    from kgnn.evaluation.model_facts import held_out_quality

    if project.models:
        return
    told, quality = describe_model(path), held_out_quality(open_model(path))
    folder = project.folder_of_model("given")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file_of(path), folder / "model.safetensors")
    facts: dict[str, Any] = {"labels": told["fitted_on"]["labeled"], "accuracy": None}
    if quality is not None:
        low, high = quality.interval
        facts |= {"accuracy": quality.accuracy, "low": low, "high": high, "judged": quality.n}
    upto = project.version
    project.add_model({**facts, "method": told["method"], "upto": upto, "folder": "given"})


def _first(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + ("…" if len(names) > _SHOWN else "")


def _user_name() -> str:
    """Return the name of the user, for the record of answers."""
    with suppress(Exception):  # a container may have no user names
        return getpass.getuser()
    return "me"
