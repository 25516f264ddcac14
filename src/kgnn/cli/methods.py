"""``kgnn methods``: the available methods."""

from __future__ import annotations

from dataclasses import asdict

from kgnn.cli.own_graphs import JsonOption
from kgnn.cli.show import out, print_json, table
from kgnn.estimator.registry import entries


def methods(as_json: JsonOption = False) -> None:
    """List all methods.

    For example: kgnn methods --json
    """
    listed = entries().values()
    if as_json:
        hidden = ("path", "revision")
        print_json([{k: v for k, v in asdict(e).items() if k not in hidden} for e in listed])
        return
    grid = table("Methods", "name", "family", "description", "reference")
    for entry in listed:
        grid.add_row(entry.name, entry.family, entry.title, entry.reference)
    out().print(grid)
