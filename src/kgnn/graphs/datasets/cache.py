"""Parsed datasets kept as arrays on this machine, so that the second load takes no time."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from kgnn.errors import GraphDataError
from kgnn.graphs.datasets import store
from kgnn.graphs.graph import LAYOUT, GraphDataset

_logger = logging.getLogger(__name__)


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
    """Open a dataset that was built before from the same key, or build and keep it.

    An entry that is damaged is built again; a cache that cannot be written to is done without.
    """
    digest = hashlib.blake2b(repr((LAYOUT, *key)).encode(), digest_size=8).hexdigest()
    folder = cache_folder() / "arrays" / f"{name}-{digest}"
    try:
        return store.open_folder(folder)
    except GraphDataError as error:
        _logger.debug("%s: built anew (%s)", name, error)
    dataset = build()
    try:
        shutil.rmtree(folder, ignore_errors=True)
        store.save(dataset, folder)
    except OSError as error:
        _logger.warning("%s: not kept for the next time: %s", name, error)
    return dataset
