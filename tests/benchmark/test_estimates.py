from kgnn.benchmark.cell import Cell
from kgnn.benchmark.estimates import Estimates
from kgnn.benchmark.record import Record


def done(method, dataset, seconds):
    return Record(Cell(dataset, dataset, method), "done", {"seconds": seconds})


def test_before_anything_has_run_size_decides():
    estimates = Estimates({"small": 2.0, "large": 9.0, "empty": 0.0})
    assert estimates.is_blind
    assert estimates(Cell("large", "", "wl")) > estimates(Cell("small", "", "kgnn"))
    assert estimates(Cell("empty", "", "wl")) > 0


def test_what_has_run_is_believed_and_outliers_are_not():
    estimates = Estimates({"A": 1.0}, [done("wl", "A", s) for s in (3.0, 4.0, 90.0)])
    assert estimates(Cell("A", "", "wl", seed=9)) == 4.0


def test_other_datasets_scale_by_size_and_other_methods_by_all():
    estimates = Estimates({"A": 1.0, "B": 10.0}, [done("wl", "A", 3.0), done("kgnn", "A", 9.0)])
    assert estimates(Cell("B", "", "wl")) == 30.0
    assert estimates(Cell("B", "", "sp")) == 60.0


def test_estimates_follow_what_is_learned_later():
    estimates = Estimates({"A": 1.0})
    cell = Cell("A", "", "wl")
    assert estimates(cell) == 1.0
    estimates.learn(done("wl", "A", 7.0))
    assert estimates(cell) == 7.0
    estimates.learn(Record(cell, "failed", reason="out of memory"))
    assert estimates(cell) == 7.0
