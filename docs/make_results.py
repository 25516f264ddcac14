"""Write all that the docs say of the records in ``results/`` and ``studies/``.

That is docs/results.md, docs/results.html, the tables of docs/few-labels.md, docs/carried.md and
docs/choices.md, the README's table, sentences and figures, and what the paper map says that each
difference from the paper is worth.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from kgnn.files import write_text
from kgnn.graphs.datasets.catalog import find
from kgnn.reports.chart import Chart, save
from kgnn.reports.figures import cost_chart, labels_chart
from kgnn.reports.results import Results
from kgnn.reports.results_page import results_page
from kgnn.reports.settings_tables import settings_tables
from kgnn.reports.summary import readme_markdown, summary_markdown
from kgnn.reports.table import Table, table_markdown
from kgnn.reports.tables import accuracy_table

ROOT = Path(__file__).parents[1]
_GRIDS = ("table2", "table3", "fig-label-ratio", "fig-dimensions", "fig-hops", "choices")
_COMMANDS = (
    *(f"kgnn bench {grid} -o results" for grid in _GRIDS),
    "python docs/make_results.py  # this page",
    "kgnn report results -o page.html",
)
_BEGIN, _END = "<!-- made by docs/make_results.py -->", "<!-- until here -->"


def pages() -> dict[Path, str]:
    """Return the text of each page, those that others have written with our part made anew."""
    results = Results.read(ROOT / "results", ROOT / "studies" / "fair")
    few = Results.read(ROOT / "studies" / "few-labels")
    # Single settings were last measured with the revision of KGNN in ``results``.
    of_settings = Results.read(ROOT / "results")
    readme, paper_map = ROOT / "README.md", ROOT / "docs" / "paper-map.md"
    choices = ROOT / "docs" / "choices.md"
    few_labels, carried = ROOT / "docs" / "few-labels.md", ROOT / "docs" / "carried.md"
    on_carried = Results.read(ROOT / "studies" / "carried", metric="roc_auc")
    return {
        ROOT / "docs" / "results.md": summary_markdown(results, "\n".join(_COMMANDS)),
        ROOT / "docs" / "results.html": results_page(results),
        few_labels: _with_part(_read(few_labels), few_labels_markdown(few)),
        carried: _with_part(_read(carried), carried_markdown(on_carried)),
        readme: _with_part(_read(readme), readme_markdown(results)),
        choices: _with_part(_read(choices), _in_parts(settings_tables(of_settings))),
        paper_map: _with_worths(_read(paper_map), _worths(of_settings)),
    }


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _with_part(page: str, part: str) -> str:
    """Put our part between the marks."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise SystemExit(f"The page must have a line {_BEGIN} and below it a line {_END}")
    return f"{before}{begin}\n{part.strip()}\n{end}{after}"


def _worths(results: Results) -> dict[str, str]:
    """Return what KGNN gains by single settings, by what ``--set`` takes."""
    tables = [table for table in settings_tables(results) if table.headings[-1] == "mean"]
    return {row.name: row.cells[-1].text for table in tables[:1] for row in table.rows}


def _with_worths(page: str, worths: Mapping[str, str]) -> str:
    """Fill the column before the last of all rows that name settings in the last."""

    def filled(row: re.Match[str]) -> str:
        settings = re.findall(r"--set (\S+?)(?=[ `])", row["settings"])
        measured = [worths[each] for each in settings if each in worths]
        told = "; ".join(measured) if len(measured) == len(settings) else "not measured"
        told = told if settings else "–"
        return f"{row['before']}| {told} | {row['settings']} |"

    head, title, rest = page.partition("## Where we differ from the paper on purpose")
    row = r"^(?P<before>\|(?! ---)(?! paper ).*)\| [^|]* \| (?P<settings>[^|]*) \|$"
    return head + title + re.sub(row, filled, rest, flags=re.MULTILINE)


def few_labels_markdown(results: Results) -> str:
    """Return accuracy by share of labels, and how KGNN does without unlabeled graphs."""
    shares = sorted({group.labels for group in results.groups if isinstance(group.labels, float)})
    tables = [
        accuracy_table(results.on("budget", share), results.methods, results.datasets)
        for share in shares
    ]
    return _in_parts([*tables, *settings_tables(results)])


def carried_markdown(results: Results) -> str:
    """Return how methods do on graphs that carry more than labels of nodes, and without it."""
    molecules = [name for name in results.datasets if find(name).kind == "molecules"]
    others = [name for name in results.datasets if name not in molecules]
    tables = [
        accuracy_table(results.on("budget", 0.1), results.methods, part, title)
        for title, part in (("Molecules", molecules), ("Other graphs", others))
        if part
    ]
    return _in_parts([*tables, *settings_tables(results)])


def _in_parts(tables: Sequence[Table]) -> str:
    parts = [f"### {table.title}\n\n{table_markdown(table, notes=False)}" for table in tables]
    notes = dict.fromkeys(table.notes for table in tables)
    return "\n".join(parts) + "\n### How to read them\n\n" + "\n\n".join(notes)


def figures() -> dict[Path, Chart]:
    """Return the figures of the README and of the page on few labels."""
    few = Results.read(ROOT / "studies" / "few-labels")
    # MemNN-Sup is WL-Linear's twin in all but name; a sixth line would hide more than it shows.
    fewer = Results(record for record in few.given if record.cell.method != "memnn-sup")
    return {
        ROOT / "docs" / "accuracy-and-cost.png": cost_chart(Results.read(ROOT / "results")),
        ROOT / "docs" / "accuracy-by-labels.png": labels_chart(fewer),
    }


def main() -> None:
    """Write everything."""
    for path, text in pages().items():
        write_text(path, text)
    for path, chart in figures().items():
        save(chart.figure(), path)


if __name__ == "__main__":
    main()
