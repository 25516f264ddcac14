"""Run the cells of a grid that have no record in a store yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from statistics import fmean, median

from kgnn.benchmark.engines import Engine
from kgnn.benchmark.record import Cell, Record
from kgnn.benchmark.store import Store


class Estimates:
    """Estimates of the seconds that cells take.

    They are medians over finished cells of the same method and dataset. For other pairs, the
    seconds per unit of size come from the same method on other datasets, or else from all methods.
    ``sizes`` of datasets are in any unit.

    Examples
    --------
    >>> estimates = Estimates({"A": 1.0, "B": 10.0})
    >>> estimates.learn(Record(Cell("A", "", "wl"), "done", {"seconds": 3.0}))
    >>> estimates(Cell("A", "", "wl", seed=1)), estimates(Cell("B", "", "wl"))
    (3.0, 30.0)
    """

    def __init__(self, sizes: Mapping[str, float], records: Iterable[Record] = ()) -> None:
        self.sizes = sizes
        self._seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._known: dict[tuple[str, str], float] = {}  # cache of estimates
        for record in records:
            self.learn(record)

    def learn(self, record: Record) -> None:
        """Update the estimates by a finished cell."""
        if record.outcome == "done":
            cell = record.cell
            self._seconds[cell.method, cell.dataset].append(record.result["seconds"])
            self._known.clear()

    def __call__(self, cell: Cell) -> float:
        """Estimate the seconds of a cell."""
        pair = cell.method, cell.dataset
        if pair not in self._known:
            self._known[pair] = self._estimate(*pair)
        return self._known[pair]

    def _estimate(self, method: str, dataset: str) -> float:
        if seconds := self._seconds.get((method, dataset)):
            return median(seconds)
        rates = [
            (of_method, median(seconds) / self._size(of_dataset))
            for (of_method, of_dataset), seconds in self._seconds.items()
        ]
        own = [rate for of_method, rate in rates if of_method == method]
        return self._size(dataset) * fmean(own or [rate for _, rate in rates] or [1.0])

    def _size(self, dataset: str) -> float:
        return max(1.0, self.sizes.get(dataset, 1.0))

    @property
    def is_blind(self) -> bool:
        """Whether nothing has run yet, so that estimates are only good for ordering cells."""
        return not self._seconds


@dataclass
class Progress:
    """Progress of a run."""

    cells: Sequence[Cell]  # all of the grid
    found: int  # cells that were in the store already
    waiting: list[Cell]
    estimates: Estimates
    running: list[Cell] = field(default_factory=list)
    finished: list[Record] = field(default_factory=list)  # by this run, with any outcome
    at_once: int = 1  # most cells that have run in parallel

    @property
    def failed(self) -> list[Record]:
        """Cells that failed in this run."""
        return [record for record in self.finished if record.outcome == "failed"]

    @property
    def seconds_left(self) -> float | None:
        """Estimate of the time left, with as many cells in parallel; None if unknown."""
        if self.estimates.is_blind:
            return None
        work = sum(map(self.estimates, [*self.waiting, *self.running]))
        return work / self.at_once


def run_missing(
    cells: Sequence[Cell],
    store: Store,
    engine: Engine,
    sizes: dict[str, float],
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Run the cells that have no finished record, longest first, and record each as it ends.

    The store is locked meanwhile, since a second run would run the same cells.
    """
    # A record may have another name for the dataset; estimates use those of the grid.
    records = [
        record if record.cell == cell else replace(record, cell=cell)
        for cell, record in zip(cells, store.find(cells), strict=True)
        if record is not None and record.is_finished
    ]
    estimates = Estimates(sizes, records)
    finished = {record.cell.key for record in records}
    missing = [cell for cell in cells if cell.key not in finished]
    # A long cell that starts last would keep one worker busy while the others are idle.
    missing.sort(key=estimates, reverse=True)
    progress = Progress(cells, len(records), missing.copy(), estimates)

    def started(cell: Cell) -> None:
        if cell in progress.waiting:  # otherwise it is a retry
            progress.waiting.remove(cell)
            progress.running.append(cell)
            progress.at_once = max(progress.at_once, len(progress.running))
        watch(progress)

    watch(progress)
    if not missing:  # do not start workers for nothing
        return progress
    with (
        store.locked(),
        closing(engine(missing, started, store.put)) as arriving,  # end workers even on errors
    ):
        for record in arriving:
            estimates.learn(record)
            progress.running.remove(record.cell)
            progress.finished.append(record)
            watch(progress)
    return progress
