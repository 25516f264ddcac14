"""``kgnn report``: records of benchmarks as a page, tables or figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgnn.cli.own_graphs import MetricOption, require_writable, require_writable_folder
from kgnn.cli.show import progress_bars, say
from kgnn.errors import DatasetUnavailableError, ParameterError

if TYPE_CHECKING:
    from kgnn.benchmark.record import Record

# What each format is written to, unless another place is named.
_PLACES = {
    "html": "report.html",
    "markdown": "report.md",
    "latex": "report.tex",
    "csv": "report.csv",
    "png": "figures",
}


def report(
    stores: Annotated[list[Path], typer.Argument(help="Folders of records, read together.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; for png, a folder.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(_PLACES)}.")] = "html",
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
    metric: MetricOption = "accuracy",
) -> None:
    """Make one page of all records in STORES, or tables and figures for papers."""
    headline = _headline(metric)
    if form not in _PLACES:
        raise ParameterError(f"--format must be one of {', '.join(_PLACES)}, got '{form}'.")
    if headline != "accuracy" and form == "csv":
        raise ParameterError("--metric is for pages, tables and figures; --format csv has all.")
    if title is not None and form != "html":
        raise ParameterError(f"--title is for --format html, got the format '{form}'.")
    place = output or Path(_PLACES[form])
    _require_place(form, place)
    with progress_bars():
        records = _read(stores)
        if form == "png":
            told = _write_figures(records, place, headline)
        else:
            from kgnn.files import write_text

            write_text(place, _text(form, records, title, headline))
            told = f"{place}, {_size(place.stat().st_size)}"
    made_of = f"{len(records):,} record{'s' * (len(records) != 1)}"
    say(f"{told}, made of {made_of}.")


def _headline(name: str) -> str:
    """Return the metric that methods are ranked by."""
    from kgnn.evaluation.metrics import METRICS, require_metric

    found = require_metric(name)
    if not METRICS[found].is_best_high:
        raise ParameterError(
            f"--metric of a report must be one of which more is better, got '{name}'. The table of "
            "calibration has the Brier score, --format csv all metrics."
        )
    return found


def _require_place(form: str, place: Path) -> None:
    """Refuse now what could not be written once all is read and drawn."""
    if form == "png":
        if place.is_file():
            raise ParameterError(f"{place} is a file; figures are written into a folder.")
        require_writable_folder(place)
    elif place.is_dir():
        raise ParameterError(f"{place} is a folder; name a file, such as {place / _PLACES[form]}.")
    else:
        require_writable(place)


def _read(stores: list[Path]) -> list[Record]:
    from kgnn.benchmark.store import Store

    records: dict[str, Record] = {}
    for store in stores:
        for record in Store(store):
            # Stores may overlap: one may be a copy of a part of another, or have tried it again.
            other = records.setdefault(record.cell.key, record)
            records[record.cell.key] = max(other, record, key=_worth)
    if not records:
        where = " and ".join(map(str, stores))
        raise DatasetUnavailableError(
            f"There are no records in {where}. Make some with: kgnn bench quick -o {stores[0]}"
        )
    return list(records.values())


def _worth(record: Record) -> tuple[int, str]:
    """Order records of one cell: what is done tells more than what failed, then the newest."""
    from kgnn.benchmark.record import OUTCOMES

    return -OUTCOMES.index(record.outcome), record.finished


def _text(form: str, records: list[Record], title: str | None, metric: str) -> str:
    from kgnn.reports.records_csv import records_csv
    from kgnn.reports.report_tables import report_tables
    from kgnn.reports.results import Results
    from kgnn.reports.results_page import TITLE, build_page
    from kgnn.reports.summary import summary_markdown
    from kgnn.reports.table import latex_document

    if form == "html":
        return build_page(records, title or TITLE, metric)
    if form == "csv":
        return records_csv(records)
    if form == "latex":
        tables = report_tables(Results(records, metric))
        if not tables:
            raise _nothing("tables")
        return latex_document(tables)
    return summary_markdown(Results(records, metric))


def _write_figures(records: list[Record], folder: Path, metric: str) -> str:
    from kgnn.reports.case_study import case_figure
    from kgnn.reports.figures import all_figures
    from kgnn.reports.results import Results
    from kgnn.reports.svg import write_pngs

    results = Results(records, metric)
    figures = [*all_figures(results), case_figure(results)]
    written = write_pngs(figures, folder)
    if not written:
        raise _nothing("figures")
    return f"{len(written)} figure{'s' * (len(written) != 1)} in {folder}"


def _nothing(what: str) -> ParameterError:
    return ParameterError(
        f"There is nothing in these records to make {what} of, so nothing was written. "
        "--format html tells what became of each cell, --format csv lists them."
    )


def _size(n_bytes: int) -> str:
    """Write a size for people: ``512 bytes``, ``183 KiB``, ``1.4 MiB``."""
    if n_bytes < 1 << 10:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1024:.0f} KiB" if n_bytes < 1 << 20 else f"{n_bytes / (1 << 20):.1f} MiB"
