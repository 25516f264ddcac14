"""``kgnn report``: benchmark records as an HTML page, tables or figures."""

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

# Default output of each format.
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
        Path | None, typer.Option("--output", "-o", help="Output file; for figures, a folder.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(_PLACES)}.")] = "html",
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    metric: MetricOption = "accuracy",
    reference: Annotated[
        str, typer.Option(help="Method that the others are compared with.")
    ] = "kgnn",
    for_spreadsheets: ForSpreadsheets = False,
) -> None:
    """Write an HTML report on the records in STORES, or tables or figures for papers.

    For example: kgnn report out -o page.html --reference wl --title "My methods"
    """
    headline = _headline(metric)
    if form not in _PLACES:
        raise ParameterError(f"--format must be one of {', '.join(_PLACES)}, got '{form}'.")
    if headline != "accuracy" and form == "csv":
        raise ParameterError("--metric cannot be used with --format csv, which has all metrics.")
    if reference != "kgnn" and form == "csv":
        raise ParameterError(
            "--reference cannot be used with --format csv, which compares nothing."
        )
    if for_spreadsheets and form != "csv":
        raise ParameterError(f"--for-spreadsheets needs --format csv, got '{form}'.")
    if title is not None and form != "html":
        raise ParameterError(f"--title needs --format html, got '{form}'.")
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
    say(f"Wrote {told}, from {n:,} record{'s' * (n != 1)}.")


def _headline(name: str) -> str:
    """Return the metric that methods are ranked by."""
    from kgnn.estimator.metrics import METRICS, require_metric

    found = require_metric(name)
    if not METRICS[found].is_best_high:
        raise ParameterError(
            f"--metric of a report must be one where higher is better, got '{name}'. The "
            "calibration table has the Brier score; --format csv has all metrics."
        )
    return found


def _require_place(form: str, place: Path) -> None:
    """Check that the output can be written before reading and drawing everything."""
    if form in _FIGURES:
        if place.is_file():
            raise ParameterError(f"{place} is a file; figures need a folder.")
        require_writable_folder(place)
    elif place.is_dir():
        raise ParameterError(f"{place} is a folder; name a file, such as {place / _PLACES[form]}.")
    else:
        require_writable(place)


def _text(form: str, results: Results, title: str | None, for_spreadsheets: bool) -> str:
    from kgnn.benchmark.records_csv import records_csv
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

    written = write_figures(result_charts(results), folder, form)
    if not written:
        raise _nothing("figures")
    return f"{len(written)} figure{'s' * (len(written) != 1)} in {folder}"


def _nothing(what: str) -> ParameterError:
    return ParameterError(
        f"There are no results in these records to make {what} from, so nothing was written. "
        "--format html or csv shows the outcome of each cell."
    )


def _size(n_bytes: int) -> str:
    """Write a size for people: ``512 bytes``, ``183 KiB``, ``1.4 MiB``."""
    if n_bytes < 1 << 10:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1024:.0f} KiB" if n_bytes < 1 << 20 else f"{n_bytes / (1 << 20):.1f} MiB"
