"""A `GraphDataset` as a folder of plain arrays that opens by memory map, without reading them."""

from __future__ import annotations

import json
import shutil
import tempfile
import tokenize
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from kgnn.errors import GraphDataError
from kgnn.graphs.excerpts import excerpt
from kgnn.graphs.graph import LAYOUT, GraphDataset
from kgnn.graphs.soundness import require_sound

# All that reading a file of unknown content may raise.
_DAMAGE = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError,
    RecursionError, MemoryError, SyntaxError, tokenize.TokenError,
)  # fmt: skip


def save(dataset: GraphDataset, folder: Path) -> None:
    """Write a dataset to ``folder``; whoever looks sees all of it or nothing."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write(dataset, aside)
        aside.replace(folder)
    except OSError:
        if not folder.exists():  # otherwise another process was first with the same content
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write(dataset: GraphDataset, folder: Path) -> None:
    arrays = dataset.arrays()
    for field, array in arrays.items():
        np.save(folder / f"{field}.npy", array, allow_pickle=False)
    meta = {
        "layout": LAYOUT,
        "fingerprint": dataset.fingerprint,
        "arrays": sorted(arrays),
        "fields": {
            f.name: getattr(dataset, f.name) for f in fields(dataset) if f.name not in arrays
        },
    }
    (folder / "dataset.json").write_text(json.dumps(meta), encoding="utf-8")


def open_folder(folder: Path) -> GraphDataset:
    """Open what `save` wrote; the arrays stay on disk until they are used."""
    try:
        meta = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
        if meta["layout"] != LAYOUT:
            raise GraphDataError(f"it has layout {meta['layout']}, expected {LAYOUT}")
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in meta["fields"].items()
        }
        for field in meta["arrays"]:
            with np.errstate(over="raise"):  # of the size of an array
                stored = np.load(folder / f"{field}.npy", mmap_mode="r")
            values[field] = stored.view(np.ndarray)
        dataset = GraphDataset(**values)
        require_sound(dataset)
        vars(dataset)["fingerprint"] = str(meta["fingerprint"])  # as computed when it was written
    except _DAMAGE as error:
        raise GraphDataError(f"{folder} is not a stored dataset: {excerpt(error, 200)}") from error
    return dataset
