"""Fetch a file over HTTP: several attempts, bounded size, all of it or nothing."""

from __future__ import annotations

import http.client
import logging
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kgnn.errors import DatasetUnavailableError, GraphDataError
from kgnn.files import replacing

MAX_BYTES = 2 << 30
BAR_DELAY = 1.0  # seconds after which a download counts as long

# Called with the bytes received so far and the bytes expected, where the server tells.
Progress = Callable[[int, int | None], None]

_PIECE = 1 << 16
_logger = logging.getLogger(__name__)


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

    Parameters
    ----------
    url : str
        An ``http`` or ``https`` address.
    path : Path
    verify : callable, optional
        Called with the path of the received file; raises `GraphDataError` if it is not as expected.
    progress : callable, optional
        Default: a progress bar on standard error for downloads that take long.
    attempts : int
        How often to try; an answer such as 404 is final.
    backoff : float
        Seconds before the second attempt; doubled before each further one.
    timeout : float
        Seconds without an answer after which an attempt has failed.
    max_bytes : int
        Refuse more than this.

    Raises
    ------
    DatasetUnavailableError
        If no attempt succeeds.
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
    """More bytes than may be fetched."""


def _is_final(error: Exception) -> bool:
    """Tell whether asking again would give the same answer."""
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
    """Yield the given progress function, or one with a bar that appears after a while."""
    if progress is not None or not sys.stderr.isatty():
        yield progress or (lambda received, expected: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns: list[Any] = [
        "{task.description}",
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    ]
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
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
