import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kgnn.benchmark.store import Store
from kgnn.cli.main import app
from kgnn.errors import KgnnError, ParameterError, UnknownNameError
from kgnn.estimator.metrics import METRICS
from tests.benchmark.conftest import misbehaving, package  # noqa: F401
from tests.cli.calling import kgnn  # noqa: F401

GRID = """
title = "Two methods on two datasets"
methods = ["gk", "wl"]
datasets = ["cycles-and-trees", "planted-motifs"]
splits = 2

[[rule]]
methods = ["gk"]
set = { sizes = [3] }
"""


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(GRID)
    return str(path)


def bench(*arguments, engine="here"):
    return CliRunner().invoke(app, ["bench", *map(str, arguments), "--engine", engine])


def test_a_part_of_a_grid_is_run_then_the_rest(grid, tmp_path):
    store = tmp_path / "store"
    options = ("-o", store, "--protocol", "paper", "--json")
    part = bench(
        grid, *options, "--splits", 1, "--only", "method=gk", "--only", "dataset=planted-motifs"
    )
    assert part.exit_code == 0, part.output
    told = json.loads(part.stdout)
    counts = ("cells", "found", "done", "declined", "failed")
    assert [told[key] for key in counts] == [1, 0, 1, 0, {}]
    (record,) = Store(store)
    assert (record.cell.method, record.cell.dataset) == ("gk", "planted-motifs")
    assert (record.cell.protocol, record.cell.parameters) == ("paper", {"sizes": [3]})
    whole = bench(grid, *options)
    assert [json.loads(whole.stdout)[key] for key in counts] == [8, 1, 7, 0, {}]
    assert len(list(Store(store))) == 8


def test_people_are_told_how_many_and_where_to_read_them(grid, tmp_path):
    done = bench(grid, "-o", tmp_path / "store", "--only", "method=gk,dataset=cycles-and-trees")
    assert done.exit_code == 0
    assert "Mean accuracy on TEST" in done.stdout
    assert "majority class" in done.stdout
    assert "2 cells: 0 were there already, 2 done now" in done.stderr
    assert f"kgnn report {tmp_path / 'store'}" in done.stderr


def test_scores_of_all_metrics_are_printed_with_the_headline_that_was_asked_for(tmp_path):
    path, store = tmp_path / "grid.toml", tmp_path / "store"
    path.write_text(
        """
        title = "Budgets"
        methods = ["ldp"]
        datasets = ["planted-motifs"]
        protocol = "budget"
        labels = [0.1, "3/class"]
        metric = "roc_auc"
        splits = 2
        variants = [{ trees = 20 }]
        """
    )
    told = json.loads(bench(path, "-o", store, "--json").stdout)
    assert told["metric"] == "roc_auc"
    assert [each["labels"] for each in told["scores"]] == [0.1, "3/class"]
    found = [record for record in Store(store) if record.cell.labels == "3/class"]
    assert told["scores"][1]["mean"] == np.mean([each.result["roc_auc"] for each in found])
    assert told["scores"][1]["metrics"].keys() == METRICS.keys()
    assert all(each.result["labeled"] == 6 for each in found)
    again = bench(path, "-o", store, "--metric", "log-loss")
    assert "Mean log loss on TEST" in again.stdout
    assert "majority" not in again.stdout


def test_one_cell_is_not_told_of_as_many(grid, tmp_path):
    part = ("--only", "method=wl,dataset=cycles-and-trees", "--splits", 1)
    for told in ("1 cell: 0 were there already, 1 done", "1 cell: 1 was there already, 0 done"):
        assert bench(grid, "-o", tmp_path / "store", *part).stderr.startswith(told)


def test_a_damaged_record_is_told_of_and_its_cell_runs_again(grid, tmp_path, caplog):
    part = ("--only", "method=wl,dataset=cycles-and-trees", "--json")
    bench(grid, "-o", tmp_path / "store", *part)
    path, _ = sorted((tmp_path / "store").rglob("*.json"))
    path.write_text(path.read_text().replace('"seconds":', '"second":'))
    told = json.loads(bench(grid, "-o", tmp_path / "store", *part).stdout)
    assert (told["found"], told["done"], told["failed"]) == (1, 1, {})
    assert f"{path} is a damaged record: 'result.seconds' must be a number" in caplog.text


def test_a_grid_that_is_finished_is_told_so_without_loading_what_would_run_it(tmp_path):
    path, store = tmp_path / "grid.toml", tmp_path / "store"
    path.write_text(GRID)
    bench(path, "-o", store)
    code = (
        "import sys; from kgnn.cli.main import app; "
        f"app(['bench', {str(path)!r}, '-o', {str(store)!r}], standalone_mode=False); "
        "sys.exit('torch' in sys.modules or 'kgnn.methods.wl' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("misbehaving")
def test_a_failed_cell_gives_exit_code_1_and_its_reason(grid, tmp_path):
    path = tmp_path / "failing.toml"
    path.write_text(GRID.replace('"wl"', '"raising"'))
    done = bench(path, "-o", tmp_path / "store", "--only", "dataset=cycles-and-trees", "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["done"] == 3
    assert "nothing to divide by" in told["failed"]["raising on cycles-and-trees, split 1"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("tabel2",), UnknownNameError, "Did you mean table2"),
        (("quick", "--only", "method=sp2"), UnknownNameError, "There is no method of the grid"),
        (("quick", "--only", "kgnn"), ParameterError, "--only takes method=… or dataset=…"),
        (("quick", "--protocol", "mine"), ParameterError, "got 'mine'"),
        (("quick", "--memory-limit", "much"), ParameterError, "such as 4GiB or 500MiB, got 'much'"),
        (("quick", "--memory-limit", "4"), ParameterError, "needs a unit, such as 4GiB or 500MiB"),
        (("quick", "--memory-limit", "4KiB"), ParameterError, "at least 64MiB for a cell"),
        (("quick", "--address", "auto"), ParameterError, "--address needs --engine ray"),
        (("quick", "--workers", "5"), ParameterError, "one cell at a time, got --workers 5"),
    ],
)
def test_misuse_is_refused_before_anything_runs(arguments, error, message, tmp_path):
    done = bench(*arguments, "-o", tmp_path / "store")
    assert isinstance(done.exception, error)
    assert message in str(done.exception)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("place", ["occupied", "occupied/store"])
def test_a_file_in_place_of_the_store_is_refused_before_anything_runs(
    grid, tmp_path, monkeypatch, place
):
    (tmp_path / "occupied").write_text("mine")
    monkeypatch.setattr("kgnn.benchmark.running.run_missing", lambda *_: pytest.fail("was run"))
    done = bench(grid, "-o", tmp_path / place)
    assert isinstance(done.exception, KgnnError)
    assert f"Cannot write to {tmp_path / place}" in str(done.exception)
    assert (tmp_path / "occupied").read_text() == "mine"


@pytest.mark.parametrize(("written", "unit"), [("1.5g", 1.5 * 2**30), ("64 MB", 2**26)])
def test_a_memory_limit_reaches_the_engine(grid, tmp_path, monkeypatch, written, unit):
    engines = []
    monkeypatch.setattr("kgnn.benchmark.engines.ThisProcess", engines.append)
    bench(grid, "-o", tmp_path / "store", "--memory-limit", written)
    assert engines == [unit]


def test_ctrl_c_before_the_first_cell_does_not_speak_of_a_store(grid, tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("kgnn.benchmark.running.run_missing", stopped)
    done = bench(grid, "-o", tmp_path / "store")
    assert done.exit_code == 130
    assert done.stderr.strip() == "stopped before any cell was finished; nothing was written"


def test_an_engine_that_is_not_there_is_refused(grid, tmp_path):
    done = bench(grid, "-o", tmp_path / "store", engine="gpu")
    assert isinstance(done.exception, KgnnError)
    assert "one of processes, here, ray, got 'gpu'" in str(done.exception)


def _is_alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def _in_session(leader):
    """Return all processes of the session that a process started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if stat.read_text().rpartition(")")[2].split()[3] == str(leader):
                found.append(int(stat.parent.name))
    return found


def _require_all_end(pids):
    deadline = time.monotonic() + 10
    while alive := [pid for pid in pids if _is_alive(pid)]:
        assert time.monotonic() < deadline, f"{len(alive)} processes are still there"
        time.sleep(0.05)


def _sleeping(misbehaving, store, folder, *options):  # noqa: F811
    """Start a run whose second cell sleeps, and return it once that has begun."""
    path = folder / "sleeping.toml"
    path.write_text(
        'title = "t"\nmethods = ["sleeping"]\ndatasets = ["cycles-and-trees"]\nsplits = 2'
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "kgnn", "bench", str(path), "-o", str(store), *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not list(misbehaving.iterdir()):
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    return running


@pytest.mark.parametrize(
    ("engine", "interrupt", "sent"),
    [
        ("here", os.killpg, signal.SIGINT),  # as a terminal does it
        ("processes", os.killpg, signal.SIGINT),
        ("processes", os.kill, signal.SIGINT),  # the workers hear nothing of it
        ("processes", os.kill, signal.SIGTERM),  # as a scheduler does it
        ("processes", os.killpg, signal.SIGTERM),
        ("ray", os.killpg, signal.SIGINT),
    ],
)
def test_ctrl_c_keeps_what_is_finished_and_leaves_nobody_behind(
    engine,
    interrupt,
    sent,
    misbehaving,  # noqa: F811
    tmp_path,
):
    store = tmp_path / "store"
    running = _sleeping(misbehaving, store, tmp_path, "--engine", engine, "--workers", "1")
    started = _in_session(running.pid)
    interrupt(running.pid, sent)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == ""
    assert err.strip().startswith("stopped; finished cells are in")
    assert len(err.strip().splitlines()) == 1
    assert [record.cell.seed for record in Store(store)] == [0]
    _require_all_end(started)


def test_workers_of_a_killed_run_end_and_what_they_finished_is_kept(misbehaving, tmp_path):  # noqa: F811
    store = tmp_path / "store"
    running = _sleeping(misbehaving, store, tmp_path, "--workers", "2")
    started = _in_session(running.pid)
    assert len(started) > 2
    while not (store.is_dir() and list(Store(store))):
        time.sleep(0.05)
    running.kill()
    running.communicate(timeout=30)
    _require_all_end(started)
    assert [record.cell.seed for record in Store(store)] == [0]
    with Store(store).locked():  # the lock of the dead does not hold
        pass


def test_a_second_run_on_a_store_is_told_who_has_it(misbehaving, tmp_path, kgnn):  # noqa: F811
    store = tmp_path / "store"
    running = _sleeping(misbehaving, store, tmp_path, "--engine", "here")
    try:
        second = kgnn("bench", tmp_path / "sleeping.toml", "-o", store)
    finally:
        running.kill()
        running.communicate()
    assert second.code == 1
    assert f"process {running.pid} on" in second.err
    assert "--workers" in second.err


def test_a_store_to_which_nothing_was_written_is_not_there(tmp_path):
    with Store(tmp_path / "store").locked():
        pass
    assert not list(tmp_path.iterdir())
