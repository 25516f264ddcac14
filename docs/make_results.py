"""Write all that the docs say of the records in ``results/``.

That is docs/results.md, docs/results.html, the README's table, sentences and figure, and what the
paper map says that each difference from the paper is worth.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kgnn.benchmark.record import Record
from kgnn.benchmark.store import Store
from kgnn.files import write_text
from kgnn.reports.choices_table import choices_tables
from kgnn.reports.figures import cost_figure
from kgnn.reports.results import Results
from kgnn.reports.results_page import build_page
from kgnn.reports.summary import readme_markdown, summary_markdown
from kgnn.reports.svg import png

ROOT = Path(__file__).parents[1]
_BEGIN, _END = "<!-- made by docs/make_results.py -->", "<!-- until here -->"


def pages(records: list[Record]) -> dict[Path, str]:
    """Return the text of each page, those that others have written with our part made anew."""
    results = Results(records)
    readme, paper_map = ROOT / "README.md", ROOT / "docs" / "paper-map.md"
    return {
        ROOT / "docs" / "results.md": summary_markdown(results),
        ROOT / "docs" / "results.html": build_page(records),
        readme: _with_part(_read(readme), readme_markdown(results)),
        paper_map: _with_worths(_read(paper_map), _worths(results)),
    }


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _with_part(page: str, part: str) -> str:
    """Put our part between the marks."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise SystemExit(f"README.md must have a line {_BEGIN} and below it a line {_END}")
    return f"{before}{begin}\n{part.strip()}\n{end}{after}"


def _worths(results: Results) -> dict[str, str]:
    """Return what KGNN gains by single settings, by what ``--set`` takes."""
    tables = [table for table in choices_tables(results) if table.headings[-1] == "mean"]
    return {row[0].text: row[-1].text for table in tables[:1] for row in table.rows}


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


def figure(results: Results) -> bytes:
    """Return the figure of the README."""
    return png(cost_figure(results).panels["cost"])


def main() -> None:
    """Write everything."""
    records = list(Store(ROOT / "results"))
    for path, text in pages(records).items():
        write_text(path, text)
    (ROOT / "docs" / "accuracy-and-cost.png").write_bytes(figure(Results(records)))


if __name__ == "__main__":
    main()
