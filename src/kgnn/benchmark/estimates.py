"""How long cells will take, guessed from those that have run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean, median

from kgnn.benchmark.cell import Cell
from kgnn.benchmark.record import Record


class Estimates:
    """Seconds of cells to come.

    What has run with the same method on the same dataset tells it directly. For other pairs the
    method's seconds per unit of size are taken from other datasets, or those of all methods.

    Parameters
    ----------
    sizes : dict of str to float
        How large each dataset is, in any unit.

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
        for record in records:
            self.learn(record)

    def learn(self, record: Record) -> None:
        """Take note of how long a cell took."""
        if record.outcome == "done":
            cell = record.cell
            self._seconds[cell.method, cell.dataset].append(record.result["seconds"])

    def __call__(self, cell: Cell) -> float:
        """Return the seconds that a cell will probably take."""
        if known := self._seconds.get((cell.method, cell.dataset)):
            return median(known)
        size = self.sizes.get(cell.dataset, 1.0)
        rates = [
            (method, median(values) / self.sizes.get(dataset, 1.0))
            for (method, dataset), values in self._seconds.items()
        ]
        own = [rate for method, rate in rates if method == cell.method]
        if own or rates:
            return size * fmean(own or [rate for _, rate in rates])
        return size

    @property
    def is_blind(self) -> bool:
        """Whether nothing has run yet, so that estimates only order the cells."""
        return not self._seconds
