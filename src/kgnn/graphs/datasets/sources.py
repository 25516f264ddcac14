"""Where a dataset of the catalog comes from: a folder of the user's, the cache, the internet."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgnn.errors import DatasetUnavailableError, KgnnWarning
from kgnn.graphs.datasets.cache import cache_folder, cached
from kgnn.graphs.datasets.catalog import CatalogEntry
from kgnn.graphs.datasets.download import Progress, fetch
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.readers import tu
from kgnn.graphs.readers.archive import TextFiles

OFFICIAL_URL = "https://www.chrsmrrs.com/graphkerneldatasets"


def open_entry(entry: CatalogEntry, progress: Progress | None = None) -> GraphDataset:
    """Load a dataset from the first source that has it.

    The sources, in order: the folder ``KGNN_DATASETS`` (of ``NAME.zip`` or ``NAME/``), the cache,
    the TUDataset collection or the mirror of it that ``KGNN_DATASETS_URL`` names.
    """
    with _source(entry, progress) as path:
        dataset = cached(entry.name, *_identity(path), build=lambda: tu.read(path))
    if dataset.fingerprint != entry.fingerprint:
        warnings.warn(
            f"The content of {entry.name} in {path} differs from the known one (fingerprint "
            f"{dataset.fingerprint}, expected {entry.fingerprint}); results may differ, too.",
            KgnnWarning,
            stacklevel=2,
        )
    return dataset


def local_path(entry: CatalogEntry) -> Path | None:
    """Return where a dataset is on this machine, or None."""
    return next((path for path in _candidates(entry) if path.exists()), None)


@contextmanager
def _source(entry: CatalogEntry, progress: Progress | None) -> Iterator[Path]:
    """Yield a folder or zip to read, downloaded if need be."""
    if (path := local_path(entry)) is not None:
        yield path
        return
    path = _downloads() / f"{entry.name}.zip"
    if _is_writable(path.parent):
        _download(entry, path, progress)
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{entry.name}.zip"
        _download(entry, path, progress)
        yield path


def _downloads() -> Path:
    return cache_folder() / "datasets"


def _candidates(entry: CatalogEntry) -> Iterator[Path]:
    if chosen := os.environ.get("KGNN_DATASETS"):
        folder = Path(chosen).expanduser()
        yield folder / f"{entry.name}.zip"
        yield folder / entry.name / "raw"  # as PyG leaves it
        yield folder / entry.name
    yield _downloads() / f"{entry.name}.zip"


def _download(entry: CatalogEntry, path: Path, progress: Progress | None) -> None:
    base = os.environ.get("KGNN_DATASETS_URL") or OFFICIAL_URL
    try:
        fetch(f"{base.rstrip('/')}/{entry.name}.zip", path, verify=TextFiles, progress=progress)
    except DatasetUnavailableError as error:
        tried = ", ".join(map(str, _candidates(entry)))
        raise DatasetUnavailableError(
            f"The dataset {entry.name} is not on this machine (looked for {tried}) and could not "
            f"be downloaded: {error}. Set KGNN_DATASETS to a folder that holds {entry.name}.zip, "
            "or KGNN_DATASETS_URL to a mirror."
        ) from error


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _identity(path: Path) -> list[object]:
    """Return what changes when a source does."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    stats = [(file.name, file.stat()) for file in files]
    return [
        str(path.resolve()),
        *((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats),
    ]
