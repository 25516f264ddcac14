"""A store: a folder of records that can be read, copied, merged and deleted by hand.

While a grid runs, each cell gets its own file, ``DATASET/METHOD-SEED-KEY.json``. Packed records are
in one file per dataset, ``DATASET.jsonl``, one per line. A store may have both; of several records
of a cell, the best counts.
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import NamedTuple

from filelock import FileLock, Timeout

from kgnn.benchmark.record import (
    Cell,
    OtherFormatError,
    Record,
    RecordError,
    best_of,
    newest_revisions,
)
from kgnn.errors import DatasetUnavailableError, KgnnError, KgnnWarning, ParameterError
from kgnn.files import replacing, write_text
from kgnn.progress import track

_LOCK, _HOLDER = ".lock", ".lock-holder"
_MOST_TOLD = 5  # lines of one file that cannot be read
_TO_RUNS = (
    ", or choose another store: two runs would run the same cells. To use more processors, give "
    "one run more --workers; to use more machines, --engine ray"
)
_logger = logging.getLogger(__name__)


class StoreInUseError(KgnnError):
    """A store that another process is writing to."""


class Packing(NamedTuple):
    """Counts of what `Store.pack` did."""

    records: int
    files: int
    singles: int  # files of single cells that were packed and removed
    outdated: int  # records that were dropped


class Store:
    """Records of cells in a folder, which is created when the first one is written.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> cell = Cell("PROTEINS", "a3", "wl")
    >>> store.put(Record(cell, "failed", reason="out of memory"))
    >>> [str(record.cell) for record in store], store.get(cell).is_finished
    (['wl on PROTEINS, split 0'], False)
    >>> store.pack()
    Packing(records=1, files=1, singles=1, outdated=0)
    >>> store.get(cell).reason
    'out of memory'
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._read: dict[Path, _Lines] = {}  # cache of packed files

    def __reduce__(self) -> tuple[type[Store], tuple[Path]]:
        """Pickle only the folder, because the cached records may be large."""
        return Store, (self.folder,)

    def path(self, cell: Cell) -> Path:
        """Return the path for the unpacked record of a cell.

        The key identifies the cell; the names before it are for readability.
        """
        dataset = Path(cell.dataset).name.replace(" ", "-")
        return self.folder / dataset / _file_name(cell)

    def put(self, record: Record) -> None:
        """Write a record atomically."""
        write_text(self.path(record.cell), record.to_json())

    @contextmanager
    def locked(self, advice: str = _TO_RUNS) -> Iterator[None]:
        """Keep other processes from writing to the store inside the block.

        Locks of dead processes do not count. ``advice`` ends the error message of other processes.
        If nothing is written to a new folder, it is removed again.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock, holder = FileLock(self.folder / _LOCK), self.folder / _HOLDER
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise StoreInUseError(
                f"Another process is writing to the store {self.folder}{_told(holder)}. "
                f"Wait until it is done{advice}."
            ) from None
        try:
            write_text(holder, json.dumps({"process": os.getpid(), "machine": gethostname()}))
            yield
        finally:
            holder.unlink(missing_ok=True)
            with suppress(OSError):
                (self.folder / _LOCK).unlink()  # while held, so that no other process waits for it
            lock.release()
            with suppress(OSError):
                self.folder.rmdir()  # only if it is empty

    def get(self, cell: Cell) -> Record | None:
        """Return the best record of a cell; None if there is none that can be read."""
        return self.find([cell])[0]

    def find(self, cells: Sequence[Cell]) -> list[Record | None]:
        """Return the best record of each cell; much faster than `get` for each."""
        by_name = {path.name: path for path in _listed(self.folder, "*/*.json")}
        singles = [self._single(cell, by_name) for cell in cells]
        files = self._packed()  # after the single files, which may be packed in the meantime
        return [_best(cell, single, files) for cell, single in zip(cells, singles, strict=True)]

    def __iter__(self) -> Iterator[Record]:
        """Yield the best record of each cell, ordered by name; warn about unreadable ones."""
        self._require_folder()
        found = list(_read_singles(_listed(self.folder, "**/*.json"), "is left out"))
        for path in _packed_files(self.folder, "**/*.jsonl"):  # after the single files, as above
            lines = _read_lines(path)
            for told in lines.damage("It is left out: delete the line and run its grid again."):
                warnings.warn(told, KgnnWarning, stacklevel=2)
            folder = path.with_suffix("")  # of its records before packing, for the order
            found += [(folder / _file_name(each.cell), each) for each in lines.records.values()]
        found.sort(key=lambda each: each[0])
        yield from best_of(record for _, record in found)

    def pack(self, newest: bool = False) -> Packing:
        """Pack the records of each dataset into one file, then remove their single files.

        Unreadable records are not lost: a single file stays, with a warning, and a line in a packed
        file raises an error. With ``newest``, only the newest revision with results of each method
        is kept.
        """
        self._require_folder()
        with self.locked(advice=""):
            states = {path: _state(path) for path in _listed(self.folder, "[!.]*/*.json")}
            records, singles = self._by_packed_file(states)
            if not any(records.values()):
                raise DatasetUnavailableError(
                    f"There are no records of datasets to pack in {self.folder}.{self._inner()}"
                )
            everything = [each for own in records.values() for each in own]
            revisions = newest_revisions(everything) if newest else {}
            done = Packing(0, 0, 0, 0)
            for target, own in records.items():
                best = best_of(own)
                kept = [r for r in best if r.cell.revision >= revisions.get(r.cell.method, 0)]
                _write_lines(target, sorted(kept, key=_order))
                for path in singles[target]:
                    if _state(path) == states[path]:  # else it was written to in the meantime
                        path.unlink(missing_ok=True)
                with suppress(OSError):
                    target.with_suffix("").rmdir()  # only if it is empty
                done = Packing(
                    done.records + len(kept),
                    done.files + bool(kept),
                    done.singles + len(singles[target]),
                    done.outdated + len(best) - len(kept),
                )
            return done

    def _by_packed_file(
        self, paths: Iterable[Path]
    ) -> tuple[dict[Path, list[Record]], dict[Path, list[Path]]]:
        """Return the records of each packed file, and the single files among their sources."""
        files = [_read_lines(path) for path in _packed_files(self.folder, "*.jsonl")]
        for lines in files:
            for told in lines.damage("Nothing was packed: delete the line, then pack again."):
                raise RecordError(told)
        records = {lines.path: list(lines.records.values()) for lines in files}
        singles = defaultdict[Path, list[Path]](list)
        for path, record in _read_singles(paths, "stays where it is"):
            target = path.parent.with_name(f"{path.parent.name}.jsonl")
            records.setdefault(target, []).append(record)
            singles[target].append(path)
        return records, singles

    def _require_folder(self) -> None:
        if not self.folder.is_dir():
            raise DatasetUnavailableError(f"There is no folder {self.folder} with records.")

    def _inner(self) -> str:
        """Return a hint if this folder is not a store but contains stores."""
        found = [path.parent.parent for path in _listed(self.folder, "*/*/*.json")]
        found += [path.parent for path in _listed(self.folder, "*/*.jsonl")]
        return f" Pass the stores in it, such as {min(found)}." if found else ""

    def _single(self, cell: Cell, by_name: dict[str, Path]) -> Record | RecordError | None:
        """Return the unpacked record of a cell, or the error from reading it; None without one."""
        path = self.path(cell)
        if not path.exists():  # the same data may have had another name
            path = by_name.get(path.name, path)
        try:
            return _read(path)
        except FileNotFoundError:
            return None
        except NotADirectoryError as error:
            raise ParameterError(
                f"Records belong in the folder {path.parent}, but that is a file; choose another "
                "store."
            ) from error
        except OtherFormatError:
            raise
        except RecordError as error:
            return error

    def _packed(self) -> list[_Lines]:
        """Return the packed files; only changed ones are read again."""
        before, self._read = self._read, {}
        for path in _packed_files(self.folder, "*.jsonl"):
            known = before.get(path)
            if known is None or known.state != _state(path):
                known = _read_lines(path)
                for told in known.damage("Its cell will run again."):
                    _logger.warning(told)
            self._read[path] = known
        return list(self._read.values())


# Changes when a file is replaced or written to; None without a file.
_State = tuple[int, int, int] | None


@dataclass(frozen=True)
class _Lines:
    """The content of a packed file."""

    path: Path
    state: _State
    records: dict[str, Record]  # the best of each key
    errors: list[RecordError]  # lines that cannot be read

    @property
    def of_other_format(self) -> list[RecordError]:
        return [error for error in self.errors if isinstance(error, OtherFormatError)]

    def damage(self, advice: str) -> Iterator[str]:
        """Yield messages about unreadable lines: each of the first few, then a count."""
        for error in self.errors[:_MOST_TOLD]:
            # Errors about another format say what to do.
            yield f"{error}." if isinstance(error, OtherFormatError) else f"{error}. {advice}"
        if more := len(self.errors[_MOST_TOLD:]):
            yield f"{self.path} has {more:,} more line{'s' * (more > 1)} that cannot be read."


def _best(cell: Cell, single: Record | RecordError | None, files: list[_Lines]) -> Record | None:
    """Return the best record of a cell, single or packed."""
    found = [lines.records[cell.key] for lines in files if cell.key in lines.records]
    if isinstance(single, Record):
        found.append(single)
    if found:
        return best_of(found)[0]
    for lines in files:
        if lines.of_other_format:  # it may be a record of this cell
            raise lines.of_other_format[0]
    if single is not None:
        _logger.warning("%s; the cell will run again", single)
    return None


def _file_name(cell: Cell) -> str:
    method = cell.method.rpartition(":")[2]  # of one from a file, its class
    return f"{method}-{cell.seed}-{cell.key}.json"


def _told(holder: Path) -> str:
    """Say which process holds a lock, if known."""
    try:
        told = json.loads(holder.read_text(encoding="utf-8"))
        return f" (process {told['process']} on {told['machine']})"
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _state(path: Path) -> _State:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _listed(folder: Path, pattern: str) -> list[Path]:
    while True:
        try:
            return list(folder.glob(pattern))
        except FileNotFoundError:  # a folder inside was packed and removed while it was listed
            continue


def _packed_files(folder: Path, pattern: str) -> list[Path]:
    # The folder of a dataset may match, too.
    found = (path for path in _listed(folder, pattern) if not path.is_dir())
    return sorted(path for path in found if path.name[0] != ".")


def _read_singles(paths: Iterable[Path], fate: str) -> Iterator[tuple[Path, Record]]:
    """Yield records with their paths, ordered by name; warn about unreadable ones."""
    visible = sorted(path for path in paths if path.name[0] != ".")
    for path in track(visible, "reading records"):
        try:
            yield path, _read(path)
        except FileNotFoundError:  # packed or deleted in the meantime
            continue
        except RecordError as error:
            is_other = isinstance(error, OtherFormatError)  # its message says what to do
            advice = "" if is_other else ": delete it, or run its grid again, which replaces it"
            warnings.warn(f"{error}. It {fate}{advice}.", KgnnWarning, stacklevel=3)


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


def _read_lines(path: Path) -> _Lines:
    """Read a packed file; unreadable lines are collected as errors."""
    state = _state(path)  # before the content, so that a later change is noticed
    records, errors = list[Record](), list[RecordError]()
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        lines, errors = [], [RecordError(f"{path} cannot be read: {error.strerror or error}")]
    for number, line in enumerate(track(lines, "reading packed records"), 1):
        place = f"{path}, line {number}"
        try:
            if line.strip():
                records.append(Record.from_json(line.decode("utf-8"), place))
        except UnicodeDecodeError as error:
            errors.append(RecordError(f"{place} is not a record of a benchmark: {error}"))
        except RecordError as error:
            errors.append(error)
    return _Lines(path, state, {each.cell.key: each for each in best_of(records)}, errors)


def _order(record: Record) -> tuple[object, ...]:
    """Put what was run on the same terms together, and lines where they were before."""
    cell = record.cell
    number = float(str(cell.labels).partition("/")[0])
    terms = cell.method, cell.protocol, isinstance(cell.labels, str), number
    return *terms, json.dumps(cell.parameters, sort_keys=True), cell.seed, cell.revision, cell.key


def _write_lines(path: Path, records: list[Record]) -> None:
    """Write a packed file durably after reading it back; without records, remove the file."""
    if path.is_dir():
        raise ParameterError(
            f"Records are packed into the file {path}, but that is a folder of another dataset. "
            "Rename one of the two datasets."
        )
    if not records:
        path.unlink(missing_ok=True)
        return
    content = "".join(record.to_line() for record in records)
    with replacing(path) as aside:
        aside.write_bytes(content.encode())
        again = _read_lines(aside).records.values()
        if "".join(record.to_line() for record in again) != content:
            raise RecordError(f"{path} was not written correctly; nothing was removed")
