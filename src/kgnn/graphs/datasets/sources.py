"""Sources of datasets in the catalog: the user's folder, the cache, the internet."""

from __future__ import annotations

import http.client
import logging
import os
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from kgnn.errors import DatasetUnavailableError, GraphDataError, KgnnWarning, Skipped
from kgnn.files import replacing
from kgnn.graphs.datasets.cache import cache_folder, cached
from kgnn.graphs.datasets.catalog import CatalogEntry
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.readers import smiles, tu
from kgnn.graphs.readers.archive import TextFiles

OFFICIAL_URL = "https://www.chrsmrrs.com/graphkerneldatasets"
MAX_BYTES = 2 << 30
BAR_DELAY = 1.0  # seconds after which a download shows a progress bar

# Called with the bytes received so far and the bytes expected, None if unknown.
Progress = Callable[[int, int | None], None]

_PIECE = 1 << 16
_logger = logging.getLogger(__name__)


def open_entry(entry: CatalogEntry, progress: Progress | None = None) -> GraphDataset:
    """Load a dataset from the first source that has it.

    The sources, in order: the folder ``KGNN_DATASETS`` (of ``NAME.zip`` or ``NAME/``), the cache,
    the TUDataset collection or the mirror of it that ``KGNN_DATASETS_URL`` names. A table of
    molecules is in the folder, or in ``molecules/`` there; what cannot be read of it is left out.
    """
    with _source(entry, progress) as path:
        dataset = cached(entry.name, *_identity(path), build=partial(_read, entry, path))
    if dataset.fingerprint != entry.fingerprint:
        warnings.warn(
            f"The content of {entry.name} in {path} differs from the known one (fingerprint "
            f"{dataset.fingerprint}, expected {entry.fingerprint}); results may differ, too.",
            KgnnWarning,
            stacklevel=2,
        )
    return dataset


def _read(entry: CatalogEntry, path: Path) -> GraphDataset:
    return (
        smiles.read(path, on_error=Skipped())
        if entry.suffix == ".csv"
        else tu.read(path, names_unread=False)
    )


def local_path(entry: CatalogEntry) -> Path | None:
    """Return the path of a dataset on this machine, or None."""
    return next((path for path in _candidates(entry) if path.exists()), None)


@contextmanager
def _source(entry: CatalogEntry, progress: Progress | None) -> Iterator[Path]:
    """Yield a folder or zip to read, downloaded if it is not on this machine."""
    if (path := local_path(entry)) is not None:
        yield path
        return
    if entry.suffix == ".csv":
        tried = ", ".join(map(str, _candidates(entry)))
        raise DatasetUnavailableError(
            f"The table {entry.name} is not on this machine (looked for {tried}), and no server is "
            f"known to have it. Set KGNN_DATASETS to a folder that holds {entry.name}.csv with the "
            f"columns id, smiles and label; its origin: {entry.citation}"
        )
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
        yield from (Path(chosen).expanduser() / place for place in entry.places)
    yield _downloads() / f"{entry.name}{entry.suffix}"


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
    """Return a key that changes when the files of a source change."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    stats = [(file.name, file.stat()) for file in files]
    return [str(path.resolve()), *((name, s.st_size, s.st_mtime_ns) for name, s in stats)]


# -- download -------------------------------------------------------------------------------------


def fetch(
    url: str,
    path: Path,
    *,
    verify: Callable[[Path], object] | None = None,
    progress: Progress | None = None,
    attempts: int = 3,
    backoff: float = 1.0,
    timeout: float = 30.0,
    max_bytes: int = MAX_BYTES,
) -> None:
    """Download ``url`` to ``path``, which appears only once it is complete and verified.

    ``verify`` is called with the received file and raises `GraphDataError` if it is invalid. An
    answer such as 404 is final; after other failures, ``backoff`` seconds pass before the second
    attempt, and twice as many before each further one. Long downloads show a progress bar on
    standard error, unless ``progress`` is given.
    """
    if not url.startswith(("http://", "https://")):
        raise DatasetUnavailableError(f"{url} is not an http or https address")
    path.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, attempts + 1):
        try:
            with replacing(path) as aside, _reporting(path.name, progress) as report:
                _receive(url, aside, report, timeout, max_bytes)
                if verify is not None:
                    verify(aside)
            return
        except (OSError, http.client.HTTPException, GraphDataError) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()  # it holds the connection
            if attempt == attempts or _is_final(error):
                raise DatasetUnavailableError(f"{url}: {_reason(error)}") from error
            _logger.info("%s: %s; trying again", url, _reason(error))
        time.sleep(backoff * 2 ** (attempt - 1))


def _receive(url: str, path: Path, report: Progress, timeout: float, max_bytes: int) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "kgnn"})
    with urllib.request.urlopen(request, timeout=timeout) as response, path.open("wb") as file:
        length = response.headers.get("Content-Length")
        expected = int(length) if length and length.isdecimal() else None
        received = 0
        while piece := response.read(_PIECE):
            received += len(piece)
            if max(received, expected or 0) > max_bytes:
                raise _TooLargeError(f"larger than the {max_bytes} bytes allowed")
            file.write(piece)
            report(received, expected)
    if expected is not None and received != expected:
        raise http.client.IncompleteRead(b"", expected - received)


class _TooLargeError(GraphDataError):
    """A download exceeds its size limit."""


def _is_final(error: Exception) -> bool:
    """Tell whether a retry would fail in the same way."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code < 500 and error.code not in (408, 429)
    return isinstance(error, _TooLargeError)


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code} {error.reason}"
    if isinstance(error, http.client.IncompleteRead):
        return f"the connection broke off {error.expected} bytes before the end"
    return str(getattr(error, "reason", error)) or type(error).__name__


@contextmanager
def _reporting(name: str, progress: Progress | None) -> Iterator[Progress]:
    """Yield the given progress function, or one with a bar that appears after `BAR_DELAY`."""
    if progress is not None or not sys.stderr.isatty():
        yield progress or (lambda received, expected: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bar = Bar("{task.description}", *columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(name, total=None)
    started = time.monotonic()

    def update(received: int, expected: int | None) -> None:
        if not bar.live.is_started and time.monotonic() - started > BAR_DELAY:
            bar.start()
        bar.update(task, completed=received, total=expected)

    try:
        yield update
    finally:
        bar.stop()
