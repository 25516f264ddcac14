import pytest

from kgnn.benchmark.record import Cell, Record
from kgnn.benchmark.running import Estimates, run_missing
from kgnn.benchmark.store import Store

SIZES = {"small": 1.0, "large": 10.0}
CELLS = [
    Cell(dataset, dataset, method, seed=seed)
    for dataset in ("small", "large")
    for method in ("wl", "kgnn")
    for seed in (0, 1)
]


def done(cell, seconds=1.0):
    result = {"accuracy": 70.0, "labeled": 10, "unlabeled": 50, "test": 20, "seconds": seconds}
    return Record(cell, "done", result)


class Engine:
    """Finishes cells at once, save those of ``failing``; remembers what it was given."""

    def __init__(self, failing=()):
        self.failing, self.ran, self.is_closed = failing, [], False

    def __call__(self, cells, started, keep):
        try:
            for cell in cells:
                started(cell)
                self.ran.append(cell)
                failed = Record(cell, "failed", reason="bad luck")
                keep(record := failed if cell in self.failing else done(cell))
                yield record
        finally:
            self.is_closed = True


def never(cells, started, keep):
    raise AssertionError("there is nothing to run")


def test_every_cell_is_recorded_once_and_a_second_run_starts_nothing(tmp_path):
    store, engine = Store(tmp_path), Engine()
    progress = run_missing(CELLS, store, engine, SIZES)
    assert sorted(map(str, engine.ran)) == sorted(map(str, CELLS))
    assert (progress.found, len(progress.finished), progress.waiting) == (0, 8, [])
    assert {record.cell for record in store} == set(CELLS)
    assert run_missing(CELLS, store, never, SIZES).found == 8


def test_only_what_is_missing_or_failed_runs_again(tmp_path):
    store = Store(tmp_path)
    progress = run_missing(CELLS[:6], store, Engine(failing=CELLS[2:4]), SIZES)
    assert {record.cell for record in progress.failed} == set(CELLS[2:4])
    again = Engine()
    assert run_missing(CELLS, store, again, SIZES).found == 4
    assert set(again.ran) == {*CELLS[2:4], *CELLS[6:]}
    assert all(record.is_finished for record in store)


def test_a_damaged_record_is_replaced_and_the_others_are_kept(tmp_path):
    store = Store(tmp_path)
    run_missing(CELLS, store, Engine(), SIZES)
    path = store.path(CELLS[0])
    path.write_text(path.read_text().replace(', "seconds": 1.0', ""))
    again = Engine()
    assert run_missing(CELLS, store, again, SIZES).found == 7
    assert again.ran == CELLS[:1]
    assert store.get(CELLS[0]) == done(CELLS[0])


def test_a_declined_cell_is_not_asked_again(tmp_path):
    store = Store(tmp_path)
    store.put(Record(CELLS[0], "declined", reason="not for me"))
    assert run_missing(CELLS[:1], store, never, SIZES).found == 1


def test_the_longest_cells_run_first(tmp_path):
    blind, informed = Engine(), Engine()
    run_missing(CELLS, Store(tmp_path / "a"), blind, SIZES)
    assert [cell.dataset for cell in blind.ran] == ["large"] * 4 + ["small"] * 4
    store = Store(tmp_path / "b")
    store.put(done(Cell("small", "small", "wl", seed=7)))
    store.put(done(Cell("small", "small", "kgnn", seed=7), 500.0))
    known = [Cell("small", "small", method, seed=7) for method in ("wl", "kgnn")]
    run_missing([*known, *CELLS[:4]], store, informed, SIZES)
    assert [cell.method for cell in informed.ran] == ["kgnn", "kgnn", "wl", "wl"]


def test_records_of_a_dataset_under_another_name_tell_how_long_it_takes(tmp_path):
    store, seen = Store(tmp_path), []
    store.put(done(Cell("other/large", "large", "wl", seed=0), 5.0))
    cells = [Cell("large", "large", "wl", seed=seed) for seed in range(3)]
    run_missing(cells, store, Engine(), SIZES, lambda now: seen.append(now.seconds_left))
    assert seen[0] == 10.0


def test_the_time_left_counts_on_as_many_cells_at_once_as_before(tmp_path):
    def two_at_once(cells, started, keep):
        waiting, running = list(cells), []
        while waiting or running:
            while waiting and len(running) < 2:
                running.append(waiting.pop(0))
                started(running[-1])
            yield done(running.pop(0))

    seen = []
    run_missing(
        CELLS[:4],
        Store(tmp_path),
        two_at_once,
        {"small": 1.0},
        lambda now: seen.append((len(now.finished), now.seconds_left)),
    )
    assert [left for n, left in seen if n == 1] == [1.5, 1.5]


def test_progress_tells_of_every_change(tmp_path):
    seen = []
    run_missing(
        CELLS[:2],
        Store(tmp_path),
        Engine(),
        SIZES,
        lambda now: seen.append(
            (len(now.waiting), len(now.running), len(now.finished), now.seconds_left)
        ),
    )
    assert seen == [
        (2, 0, 0, None), (1, 1, 0, None), (1, 0, 1, 1.0), (0, 1, 1, 1.0), (0, 0, 2, 0.0),
    ]  # fmt: skip


def test_workers_are_gone_and_records_are_there_when_somebody_stops_the_run(tmp_path):
    def stop(progress):
        if len(progress.finished) == 2:
            raise KeyboardInterrupt

    store, engine = Store(tmp_path), Engine()
    with pytest.raises(KeyboardInterrupt):
        run_missing(CELLS, store, engine, SIZES, stop)
    assert engine.is_closed
    assert len(list(store)) == 2


def timed(method, dataset, seconds):
    return Record(Cell(dataset, dataset, method), "done", {"seconds": seconds})


def test_before_anything_has_run_size_decides():
    estimates = Estimates({"small": 2.0, "large": 9.0, "empty": 0.0})
    assert estimates.is_blind
    assert estimates(Cell("large", "", "wl")) > estimates(Cell("small", "", "kgnn"))
    assert estimates(Cell("empty", "", "wl")) > 0


def test_what_has_run_is_believed_and_outliers_are_not():
    estimates = Estimates({"A": 1.0}, [timed("wl", "A", s) for s in (3.0, 4.0, 90.0)])
    assert estimates(Cell("A", "", "wl", seed=9)) == 4.0


def test_other_datasets_scale_by_size_and_other_methods_by_all():
    estimates = Estimates({"A": 1.0, "B": 10.0}, [timed("wl", "A", 3.0), timed("kgnn", "A", 9.0)])
    assert estimates(Cell("B", "", "wl")) == 30.0
    assert estimates(Cell("B", "", "sp")) == 60.0


def test_estimates_follow_what_is_learned_later():
    estimates = Estimates({"A": 1.0})
    cell = Cell("A", "", "wl")
    assert estimates(cell) == 1.0
    estimates.learn(timed("wl", "A", 7.0))
    assert estimates(cell) == 7.0
    estimates.learn(Record(cell, "failed", reason="out of memory"))
    assert estimates(cell) == 7.0
