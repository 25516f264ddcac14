"""A store: a folder with one JSON file per cell, to be read, copied, merged and deleted by hand."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gethostname

from filelock import FileLock, Timeout

from kgnn.benchmark.record import Cell, OtherFormatError, Record, RecordError
from kgnn.errors import DatasetUnavailableError, KgnnError, KgnnWarning, ParameterError
from kgnn.files import write_text
from kgnn.progress import track

_LOCK, _HOLDER = ".lock", ".lock-holder"
_logger = logging.getLogger(__name__)


class StoreInUseError(KgnnError):
    """A store that another run is filling."""


class Store:
    """Records of cells in a folder, which is made when the first one is written.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> cell = Cell("PROTEINS", "a3", "wl")
    >>> store.put(Record(cell, "failed", reason="out of memory"))
    >>> [str(record.cell) for record in store], store.get(cell).is_finished
    (['wl on PROTEINS, split 0'], False)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        """Return where the record of a cell is, if there is one.

        The key tells cells apart; the names before it are for people.
        """
        dataset = Path(cell.dataset).name.replace(" ", "-")
        return self.folder / dataset / _file_name(cell)

    def put(self, record: Record) -> None:
        """Write a record, all of it or nothing."""
        write_text(self.path(record.cell), record.to_json())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs from filling the store inside the block; those of the dead do not count.

        The folder is left as it was found, if nothing is written to it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock, holder = FileLock(self.folder / _LOCK), self.folder / _HOLDER
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise StoreInUseError(
                f"Another run is filling the store {self.folder}{_told(holder)}, and two would do "
                "the same cells. Wait until it is done, or name another store. To use more "
                "processors, give one run more --workers; to use more machines, --engine ray."
            ) from None
        try:
            write_text(holder, json.dumps({"process": os.getpid(), "machine": gethostname()}))
            yield
        finally:
            holder.unlink(missing_ok=True)
            with suppress(OSError):
                (self.folder / _LOCK).unlink()  # while it is held, so that nobody waits for it
            lock.release()
            with suppress(OSError):
                self.folder.rmdir()  # only if it is empty

    def get(self, cell: Cell) -> Record | None:
        """Return the record of a cell; None without one, or with one that cannot be read."""
        path = self.path(cell)
        if not path.exists():  # the same data may have had another name
            path = next(self.folder.glob(f"*/{_file_name(cell)}"), path)
        try:
            return _read(path)
        except FileNotFoundError:
            return None
        except NotADirectoryError as error:
            raise ParameterError(
                f"Records are kept in the folder {path.parent}, and there is a file in its place; "
                "name another folder as the store."
            ) from error
        except OtherFormatError:
            raise
        except RecordError as error:
            _logger.warning("%s; the cell will run again", error)
            return None

    def __iter__(self) -> Iterator[Record]:
        """Yield all records, ordered by name; warn of what cannot be read, and leave it out."""
        if not self.folder.is_dir():
            raise DatasetUnavailableError(f"There is no folder {self.folder} with records.")
        paths = sorted(p for p in self.folder.rglob("*.json") if not p.name.startswith("."))
        for path in track(paths, "reading records"):
            try:
                record = _read(path)
            except RecordError as error:
                is_other = isinstance(error, OtherFormatError)  # and says itself what to do
                advice = "" if is_other else ": delete it, or run its grid again, which replaces it"
                warnings.warn(f"{error}. It is left out{advice}.", KgnnWarning, stacklevel=2)
            else:
                yield record


def _file_name(cell: Cell) -> str:
    method = cell.method.rpartition(":")[2]  # of one from a file, its class
    return f"{method}-{cell.seed}-{cell.key}.json"


def _told(holder: Path) -> str:
    """Say who holds a lock, as far as that can be read."""
    try:
        told = json.loads(holder.read_text(encoding="utf-8"))
        return f" (process {told['process']} on {told['machine']})"
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _read(path: Path) -> Record:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():  # to nothing
            raise RecordError(f"{path} leads nowhere") from None
        raise
    except (UnicodeDecodeError, OSError) as error:
        raise RecordError(f"{path} is not a record of a benchmark: {error}") from error
    return Record.from_json(text, str(path))
