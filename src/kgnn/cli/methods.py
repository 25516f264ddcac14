"""``kgnn methods``: which methods there are."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from kgnn.cli.show import out, print_json, table
from kgnn.estimator.registry import entries


def methods(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """List all methods."""
    listed = entries().values()
    if as_json:
        hidden = ("path", "revision")
        print_json([{k: v for k, v in asdict(e).items() if k not in hidden} for e in listed])
        return
    grid = table(
        "Methods",
        ("name", "left"),
        ("family", "left"),
        ("what it is", "left"),
        ("reference", "left"),
    )
    for entry in listed:
        grid.add_row(entry.name, entry.family, entry.title, entry.reference)
    out().print(grid)
