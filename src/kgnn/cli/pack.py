"""``kgnn pack``: pack the records of a store into one file per dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgnn.cli.show import progress_bars, say


def pack(
    stores: Annotated[
        list[Path], typer.Argument(help="Folders of records; each is packed separately.")
    ],
    newest: Annotated[
        bool, typer.Option("--newest", help="Keep only the newest revision of each method.")
    ] = False,
) -> None:
    """Pack the records of each of STORES into one JSON Lines file per dataset, for publishing.

    `kgnn report` and `kgnn bench` read packed records, too. Run it again to pack new records.
    For example: kgnn pack out
    """
    from kgnn.benchmark.store import Store

    for store in stores:
        with progress_bars():
            packed = Store(store).pack(newest)
        dropped = f"; {packed.outdated:,} of older revisions dropped" if newest else ""
        say(
            f"{store}: {_number(packed.records, 'record')} in {_number(packed.files, 'file')}, "
            f"{packed.singles:,} newly packed{dropped}."
        )


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"
