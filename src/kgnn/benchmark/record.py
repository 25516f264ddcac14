"""One run of a benchmark and its result, stored as readable JSON."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
from collections.abc import Iterable
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgnn.errors import KgnnError
from kgnn.graphs.readers.text import without_repeats

if TYPE_CHECKING:
    from kgnn.evaluation.splits import Labels


@dataclass(frozen=True)
class Cell:
    """Everything that determines a result, and nothing else."""

    dataset: str  # a name or path for `kgnn.load`
    fingerprint: str  # of the dataset's content
    method: str
    # That differ from the method's defaults.
    parameters: dict[str, Any] = field(default_factory=dict)
    protocol: str = "fair"
    labels: Labels = 0.1
    seed: int = 0  # of the split and of the method
    revision: int = 1  # of the method; see `kgnn.estimator.registry.Entry`
    cases: int = 0  # number of graphs that only the memory gets right to record

    def __post_init__(self) -> None:
        plain = json.loads(json.dumps(self.parameters))  # as read from a file
        object.__setattr__(self, "parameters", plain)

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """Hash of the content of the cell; the path of the dataset does not count.

        Examples
        --------
        >>> one = Cell("PROTEINS", "a3", "wl", {"iterations": (1,)})
        >>> one.key == Cell("./PROTEINS.zip", "a3", "wl", {"iterations": [1]}).key
        True
        >>> one.key == Cell("PROTEINS", "a3", "wl").key
        False
        """
        content = {k: v for k, v in asdict(self).items() if k != "dataset"}
        text = json.dumps(content, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def command(self) -> str:
        """The command that runs this cell alone.

        Examples
        --------
        >>> print(Cell("DD", "a3", "wl", {"iterations": [1, 2]}, seed=3).command)
        kgnn run wl DD --protocol fair --labels 0.1 --seed 3 --splits 1 '--set=iterations=1, 2'
        """
        settings = [f"--set={k}={_plain(v)}" for k, v in self.parameters.items()]
        options = f"--protocol {self.protocol} --labels {self._labels} --seed {self.seed}"
        words = ["kgnn", "run", self.method, self.dataset, *options.split(), "--splits", "1"]
        return shlex.join([*words, *settings])

    def __str__(self) -> str:
        settings = "".join(f", {k}={_plain(v)}" for k, v in self.parameters.items())
        share = "" if self.labels == 0.1 else f", {self._labels} labels"
        if self.protocol == "budget":
            share = f", budget of {self._labels} labels"
        return f"{self.method} on {self.dataset}, split {self.seed}{share}{settings}"

    @property
    def _labels(self) -> str:
        return f"{self.labels:g}" if isinstance(self.labels, float) else str(self.labels)


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "()"
    return str(value)


FORMAT = 1
OUTCOMES = ("done", "declined", "failed")  # the most informative first
_KINDS: dict[type, tuple[str, ...]] = {
    str: (*("dataset", "fingerprint", "method", "protocol"), "outcome", "reason", "finished"),
    int: ("seed", "revision", "cases"),
    dict: ("parameters", "result", "all_parameters", "versions", "machine"),
}
_PERCENT, _ANY = (0.0, 100.0), (0.0, math.inf)
# Required numbers of a result, with their range.
_NEEDED = {
    "accuracy": _PERCENT,
    **dict.fromkeys(("labeled", "unlabeled", "test", "seconds"), _ANY),
}
# Optional numbers, which older records may lack.
_OPTIONAL = {
    **dict.fromkeys(("validation_accuracy", "accuracy_without_twins", "coverage"), _PERCENT),
    **dict.fromkeys(("balanced_accuracy", "macro_f1", "roc_auc", "average_precision"), _PERCENT),
    **dict.fromkeys(("majority_share", "expected_accuracy"), _PERCENT),
    "matthews": (-100.0, 100.0),
    **dict.fromkeys(("log_loss", "brier", "calibration_error", "set_size"), _ANY),
    **dict.fromkeys(("without_twins", "expected_on", "validation"), _ANY),
    **dict.fromkeys(("cpu_seconds", "seconds_saved", "peak_mib"), _ANY),
}
_PARTS: dict[str, type] = {"recalls": dict, "rounds": list, "curves": dict, "cases": list}


@dataclass(frozen=True)
class Record:
    """A cell and its outcome."""

    cell: Cell
    # ``declined``: the method cannot handle these graphs; ``failed``: an error, or a worker that
    # died. The next run tries failed cells again.
    outcome: str
    # If done, the fields of `kgnn.evaluation.protocol.SplitResult`, ``peak_mib``, and ``cases`` if
    # requested. Older records have ``seconds_saved``, which ``seconds`` lacks because counts of the
    # same graphs were cached on disk.
    result: dict[str, Any] = field(default_factory=dict)
    reason: str = ""  # why it was declined, or the error
    # If done, every parameter of the method, including defaults.
    all_parameters: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    finished: str = ""  # when, in UTC

    def __post_init__(self) -> None:
        for name in ("result", "all_parameters"):  # as read from a file
            text = json.dumps(getattr(self, name))
            # JSON has no NaN and infinity; only Python would read them.
            object.__setattr__(self, name, json.loads(text, parse_constant=lambda _: None))

    @property
    def is_finished(self) -> bool:
        """Whether the cell need not run again."""
        return self.outcome != "failed"

    @property
    def worth(self) -> tuple[int, str]:
        """Sort key for records of one cell: done over declined over failed, then the newest."""
        return -OUTCOMES.index(self.outcome), self.finished

    def to_json(self) -> str:
        """Return the record as JSON, with one line per field."""
        lines = (
            f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}"
            for k, v in self._values().items()
        )
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def to_line(self) -> str:
        """Return the record as one line of ASCII JSON, which every tool splits the same way."""
        return json.dumps(self._values()) + "\n"

    def _values(self) -> dict[str, Any]:
        return {"format": FORMAT, "key": self.cell.key, **asdict(self)}

    @classmethod
    def from_json(cls, text: str, source: str = "a record") -> Record:
        """Read a record; refuse an invalid one, or one edited so that it belongs to another cell.

        Examples
        --------
        >>> record = Record(Cell("PROTEINS", "a3", "wl"), "failed", reason="out of memory")
        >>> Record.from_json(record.to_json()) == record
        True
        """
        try:
            values = json.loads(text, object_pairs_hook=without_repeats)
        except (ValueError, RecursionError) as error:
            raise RecordError(f"{source} is not a record of a benchmark: {error}") from error
        if not isinstance(values, dict) or "format" not in values or "key" not in values:
            raise RecordError(
                f"{source} is not a record of a benchmark: it must have a 'format' and a 'key'"
            )
        found, key = values.pop("format"), values.pop("key")
        if found != FORMAT:
            raise OtherFormatError(
                f"{source} is a record of another version of kgnn (format {found}, this one uses "
                f"{FORMAT}); use that version, or another store"
            )
        _require_fields(cls, values, source)
        _require_fields(Cell, values["cell"], source)
        record = cls(**{**values, "cell": Cell(**values["cell"])})
        _require_types(record, source)
        if record.outcome not in OUTCOMES:
            raise RecordError(f"{source} has the outcome '{record.outcome}', not one of {OUTCOMES}")
        if record.cell.key != key:
            raise RecordError(f"{source} says that its key is {key}, but it is {record.cell.key}")
        if record.outcome == "done":
            _require_result(record.result, source)
        return record


def _require_fields(kind: type[Record | Cell], values: Any, source: str) -> None:
    """Refuse unknown and missing fields."""
    name = kind.__name__.lower()
    if not isinstance(values, dict):
        raise RecordError(f"{source} is a damaged record: '{name}' is not a dict")
    known = {each.name: each for each in fields(kind)}
    for given in values:
        if given not in known:
            raise RecordError(f"{source} is a damaged record: a {name} has no '{given}'")
    for needed, each in known.items():
        is_needed = each.default is MISSING and each.default_factory is MISSING
        if is_needed and needed not in values:
            raise RecordError(f"{source} is a damaged record: its {name} lacks '{needed}'")


def _require_types(record: Record, source: str) -> None:
    values = {**vars(record), **vars(record.cell)}
    for kind, names in _KINDS.items():
        for name in names:
            if not isinstance(values[name], kind):
                raise RecordError(
                    f"{source} is a damaged record: '{name}' is not of type {kind.__name__}"
                )
    labels = record.cell.labels
    is_number = isinstance(labels, int | float) and not isinstance(labels, bool)
    if not is_number and not re.fullmatch("[0-9]+/class", str(labels)):
        raise RecordError(
            f"{source} is a damaged record: 'labels' must be a number or like 5/class, got {labels}"
        )


def _require_result(result: dict[str, Any], source: str) -> None:
    """Refuse a result whose numbers are missing or impossible."""
    for name, (least, most) in {**_NEEDED, **_OPTIONAL}.items():
        value = result.get(name)
        if value is None and name in _OPTIONAL:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is None or not is_number or not least <= value <= most:
            wanted = f"from {least:g}" + ("" if math.isinf(most) else f" to {most:g}")
            got = f"got {value!r}" if name in result else "and it is missing"
            raise RecordError(
                f"{source} is a damaged record: 'result.{name}' must be a number {wanted}, {got}"
            )
    for name, kind in _PARTS.items():
        if not isinstance(result.get(name, kind()), kind):
            raise RecordError(
                f"{source} is a damaged record: 'result.{name}' is not of type {kind.__name__}"
            )


def best_of(records: Iterable[Record]) -> list[Record]:
    """Return the best record of each cell, in order of first appearance.

    Several records of a cell come from overlapping stores and repeated runs.
    """
    found: dict[str, Record] = {}
    for record in records:
        other = found.setdefault(record.cell.key, record)
        found[record.cell.key] = max(other, record, key=lambda each: each.worth)
    return list(found.values())


def newest_revisions(records: Iterable[Record]) -> dict[str, int]:
    """Return the newest revision of each method that has results."""
    found: dict[str, int] = {}
    for record in records:
        cell = record.cell
        if record.outcome == "done":
            found[cell.method] = max(cell.revision, found.get(cell.method, 0))
    return found


class RecordError(KgnnError, ValueError):
    """A file in a store that is not a valid record."""


class OtherFormatError(RecordError):
    """A record of another version of kgnn, which must not be overwritten."""
