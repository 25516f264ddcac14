"""Cache of parsed datasets as plain arrays, opened by memory map."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import sys
import tokenize
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from kgnn.errors import GraphDataError, excerpt
from kgnn.files import making_folder
from kgnn.graphs.graph import LAYOUT, GraphDataset
from kgnn.graphs.soundness import require_sound

_logger = logging.getLogger(__name__)

# All errors that opening a damaged file may raise.
_DAMAGE = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError,
    RecursionError, MemoryError, SyntaxError, tokenize.TokenError,
)  # fmt: skip


def cache_folder() -> Path:
    """Return the folder for downloads and parsed datasets: ``KGNN_CACHE``, or the platform's."""
    if chosen := os.environ.get("KGNN_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "kgnn"


def cached(name: str, *key: object, build: Callable[[], GraphDataset]) -> GraphDataset:
    """Open a dataset from the cache by its key, or build and cache it.

    A damaged entry is built again; if the cache cannot be written to, nothing is kept.
    """
    digest = hashlib.blake2b(repr((LAYOUT, *key)).encode(), digest_size=8).hexdigest()
    folder = cache_folder() / "arrays" / f"{name}-{digest}"
    try:
        return open_folder(folder)
    except GraphDataError as error:
        _logger.debug("%s: built anew (%s)", name, error)
    dataset = build()
    try:
        shutil.rmtree(folder, ignore_errors=True)
        save(dataset, folder)
    except OSError as error:
        _logger.warning("%s: not kept for the next time: %s", name, error)
    return dataset


def save(dataset: GraphDataset, folder: Path) -> None:
    """Write a dataset to ``folder`` atomically."""
    with making_folder(folder) as aside:
        _write(dataset, aside)


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
            with np.errstate(over="raise"):  # overflow in the size of an array
                stored = np.load(folder / f"{field}.npy", mmap_mode="r")
            values[field] = stored.view(np.ndarray)
        dataset = GraphDataset(**values)
        require_sound(dataset)
        vars(dataset)["fingerprint"] = str(meta["fingerprint"])  # computed when written
    except _DAMAGE as error:
        raise GraphDataError(f"{folder} is not a stored dataset: {excerpt(error, 200)}") from error
    return dataset
