"""Real grids on real workers, some of which die."""

import sys
from collections import Counter
from dataclasses import replace

import pytest

from kgnn.benchmark.cell_run import run_cell
from kgnn.benchmark.engines import ClusterError, Processes, RayCluster, ThisProcess
from kgnn.benchmark.running import run_missing
from kgnn.benchmark.store import Store
from kgnn.errors import MissingExtraError
from tests.benchmark.conftest import cells_of

MIB = 1 << 20
pytestmark = pytest.mark.usefixtures("misbehaving")


def run(cells, store, engine):
    """Run what is missing; return the records by method and split, each of which came once."""
    progress = run_missing(cells, store, engine, {})
    came = Counter(record.cell.key for record in progress.finished)
    assert set(came.values()) <= {1}
    records = {(r.cell.method, r.cell.seed): r for r in store}
    assert len(records) == len(cells) == len(list(store))
    return records


def reasons(records):
    return {cell: record.reason for cell, record in records.items() if record.outcome == "failed"}


def test_a_cell_says_how_it_went():
    cells = cells_of("wl", "gnn-sup", rule=[{"methods": ["gnn-sup"], "set": {"epochs": 2}}])
    for cell in cells:
        record = run_cell(cell)
        assert record.outcome == "done", record.reason
        assert record.result["seed"] == cell.seed
        assert record.result["peak_mib"] > 1
    assert record.all_parameters["epochs"] == 2
    assert {"python", "kgnn", "torch"} <= set(record.versions)


def test_a_cell_gives_the_same_result_twice():
    cell, *_ = cells_of("memnn-sup", rule=[{"set": {"epochs": 2}}])
    first, second = (run_cell(cell).result for _ in range(2))
    for name in ("seconds", "cpu_seconds", "peak_mib"):
        first.pop(name), second.pop(name)
    assert first == second


def test_errors_are_records_and_do_not_stop_the_grid(tmp_path):
    cells = cells_of("raising", "declining", "exiting", "majority", "gk")
    records = run(cells, Store(tmp_path), ThisProcess())
    outcomes = Counter(record.outcome for record in records.values())
    assert outcomes == {"done": 7, "declined": 1, "failed": 2}
    assert "ZeroDivisionError: nothing to divide by" in records["raising", 1].reason
    assert "SystemExit" in records["exiting", 1].reason
    assert records["declining", 1].reason == "these graphs are not for me"


def test_a_dataset_that_has_changed_is_not_taken_for_the_one_asked_for():
    cell, *_ = cells_of("majority")
    assert "has other graphs here" in run_cell(replace(cell, fingerprint="a3")).reason


def test_a_worker_with_another_revision_of_the_method_does_not_answer_for_it():
    cell, *_ = cells_of("majority")
    record = run_cell(replace(cell, revision=cell.revision + 1))
    assert record.outcome == "failed"
    assert "install the same version of kgnn on all machines" in record.reason


def test_local_processes_survive_what_cells_do_to_them(tmp_path):
    store = Store(tmp_path)
    cells = cells_of("dying", "hungry", "majority", rule=[
        {"methods": ["dying"], "set": {"deaths": 2}},
    ])  # fmt: skip
    records = run(cells, store, Processes(2, memory_limit=300 * MIB))
    told = reasons(records)
    assert set(told) == {("dying", 1), ("hungry", 1)}
    assert "died, twice" in told["dying", 1]
    assert "out of memory beyond the limit of 300 MiB" in told["hungry", 1]
    assert not reasons(run(cells, store, ThisProcess()))


def test_ray_completes_a_grid_whose_workers_die(tmp_path, misbehaving):
    store, ray = Store(tmp_path), RayCluster(2)
    cells = cells_of("dying", "majority", rule=[{"methods": ["dying"], "set": {"deaths": 3}}])
    cells += cells_of("dying")  # which dies once: Ray alone runs it again
    first = run_missing(cells, store, ray, {})
    assert Counter(record.cell.key for record in first.finished) == dict.fromkeys(
        (cell.key for cell in cells), 1
    )
    deaths = Counter(mark.name.split("-")[0] for mark in misbehaving.iterdir())
    assert deaths == {"1": 1, "3": 3}
    (failed,) = [record for record in store if record.outcome != "done"]
    assert (failed.cell.parameters, failed.cell.seed) == ({"deaths": 3}, 1)
    assert "WorkerCrashedError: The worker died" in failed.reason
    again = run_missing(cells, store, ray, {})
    assert [record.cell for record in again.finished] == [failed.cell]
    assert {record.cell for record in store} == set(cells)
    assert all(record.outcome == "done" for record in store)


@pytest.mark.parametrize("address", ["127.0.0.1:9", "auto"])
def test_a_cluster_that_is_not_there_is_told(address):
    with pytest.raises(ClusterError, match=f"no Ray cluster at '{address}'"):
        list(RayCluster(address=address)(cells_of("majority"), print, print))


def test_without_ray_the_command_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kgnn\[ray\]'"):
        list(RayCluster()(cells_of("majority"), print, print))


def test_a_pool_that_breaks_between_two_cells_takes_no_cell_with_it(tmp_path, monkeypatch):
    """While a finished record is looked at, another process may die: then nothing can be given."""
    from loky import ProcessPoolExecutor
    from loky.process_executor import TerminatedWorkerError

    cells, calls, submit = cells_of("majority"), [], ProcessPoolExecutor.submit

    def sometimes(self, *arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise TerminatedWorkerError("a worker was killed")
        return submit(self, *arguments)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", sometimes)
    records = list(Processes(2)(cells, lambda cell: None, Store(tmp_path).put))
    assert sorted(record.cell.seed for record in records) == [cell.seed for cell in cells] == [0, 1]
    assert {record.outcome for record in records} == {"done"}
