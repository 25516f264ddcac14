"""``kgnn report``: records of benchmarks as a page, tables or figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgnn.cli.own_graphs import (
    ForSpreadsheets,
    MetricOption,
    require_writable,
    require_writable_folder,
)
from kgnn.cli.show import progress_bars, say
from kgnn.errors import ParameterError

if TYPE_CHECKING:
    from kgnn.reports.results import Results

# What each format is written to, unless another place is named.
_PLACES = {
    "html": "report.html",
    "markdown": "report.md",
    "latex": "report.tex",
    "csv": "report.csv",
    "png": "figures",
    "pdf": "figures",
    "svg": "figures",
}
_FIGURES = ("png", "pdf", "svg")


def report(
    stores: Annotated[list[Path], typer.Argument(help="Folders of records, read together.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; for figures, a folder.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(_PLACES)}.")] = "html",
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
    metric: MetricOption = "accuracy",
    reference: Annotated[
        str, typer.Option(help="The method that all others are compared with.")
    ] = "kgnn",
    for_spreadsheets: ForSpreadsheets = False,
) -> None:
    """Make one page of all records in STORES, or tables and figures for papers.

    For example: kgnn report out -o page.html --reference wl --title "My methods"
    """
    headline = _headline(metric)
    if form not in _PLACES:
        raise ParameterError(f"--format must be one of {', '.join(_PLACES)}, got '{form}'.")
    if headline != "accuracy" and form == "csv":
        raise ParameterError("--metric is for pages, tables and figures; --format csv has all.")
    if reference != "kgnn" and form == "csv":
        raise ParameterError("--reference is for pages, tables and figures; --format csv has all.")
    if for_spreadsheets and form != "csv":
        raise ParameterError(f"--for-spreadsheets is for --format csv, got the format '{form}'.")
    if title is not None and form != "html":
        raise ParameterError(f"--title is for --format html, got the format '{form}'.")
    place = output or Path(_PLACES[form])
    _require_place(form, place)
    with progress_bars():
        from kgnn.reports.results import Results

        results = Results.read(*stores, metric=headline, reference=reference)
        if form in _FIGURES:
            told = _write_figures(results, place, form)
        else:
            from kgnn.files import write_text

            write_text(place, _text(form, results, title, for_spreadsheets))
            told = f"{place}, {_size(place.stat().st_size)}"
    n = len(results.given)
    say(f"{told}, made of {n:,} record{'s' * (n != 1)}.")


def _headline(name: str) -> str:
    """Return the metric that methods are ranked by."""
    from kgnn.estimator.metrics import METRICS, require_metric

    found = require_metric(name)
    if not METRICS[found].is_best_high:
        raise ParameterError(
            f"--metric of a report must be one of which more is better, got '{name}'. The table of "
            "calibration has the Brier score, --format csv all metrics."
        )
    return found


def _require_place(form: str, place: Path) -> None:
    """Refuse now what could not be written once all is read and drawn."""
    if form in _FIGURES:
        if place.is_file():
            raise ParameterError(f"{place} is a file; figures are written into a folder.")
        require_writable_folder(place)
    elif place.is_dir():
        raise ParameterError(f"{place} is a folder; name a file, such as {place / _PLACES[form]}.")
    else:
        require_writable(place)


def _text(form: str, results: Results, title: str | None, for_spreadsheets: bool) -> str:
    from kgnn.reports.records_csv import records_csv
    from kgnn.reports.results_page import TITLE, results_page
    from kgnn.reports.summary import summary_markdown
    from kgnn.reports.table import latex_document
    from kgnn.reports.tables import report_tables

    if form == "html":
        return results_page(results, title or TITLE)
    if form == "csv":
        return records_csv(results.given, for_spreadsheets)
    if form == "latex":
        tables = report_tables(results)
        if not tables:
            raise _nothing("tables")
        return latex_document(tables)
    return summary_markdown(results)


def _write_figures(results: Results, folder: Path, form: str) -> str:
    from kgnn.reports.chart import write_figures
    from kgnn.reports.figures import result_charts

    written = write_figures(result_charts(results, results.terms), folder, form)
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
