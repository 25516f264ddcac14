"""``kgnn report`` as a person runs it."""

import csv
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from kgnn.benchmark.store import Store
from kgnn.cli.main import app
from tests.benchmark.cases import case, record_with_cases
from tests.benchmark.stores import records, unfinished, with_metrics


def report(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "kgnn", "report", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "160"},
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("store"))
    for record in records(["kgnn", "wl", "sp"], ["DD", "PROTEINS"], [0, 1]):
        store.put(record)
    store.put(record_with_cases(case(), seed=0))
    return store.folder


def test_the_page_is_written_and_its_size_told(store, tmp_path):
    done = report(store, "-o", tmp_path / "page.html", "--title", "My <results>")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>My &lt;results&gt;</title>" in page
    assert "page.html" in done.stderr
    assert "KiB, from 13 records" in done.stderr


def test_several_stores_are_read_together_and_copies_count_once(store, tmp_path):
    other = Store(tmp_path / "other")
    for record in records(["gk", "kgnn"], ["DD"], [0, 1]):
        other.put(record)
    done = report(store, other.folder, "--format", "csv", "-o", tmp_path / "all.csv")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "all.csv").read_text(encoding="utf-8").splitlines()) == 1 + 13 + 2


NEWER = "2027-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"outcome": "failed", "finished": NEWER}, ("done", "first")),
        ({"outcome": "declined", "finished": NEWER}, ("done", "first")),
        ({"reason": "again", "finished": NEWER}, ("done", "again")),
        ({"reason": "before", "finished": "2025-01-01T00:00:00+00:00"}, ("done", "first")),
    ],
)
def test_what_is_done_counts_whatever_the_order_of_stores(tmp_path, changes, wanted):
    [done] = records(["wl"], ["DD"], [0])
    first = replace(done, reason="first")
    Store(tmp_path / "one").put(first)
    Store(tmp_path / "two").put(replace(first, **changes))
    for order in (("one", "two"), ("two", "one")):
        options = ["--format", "csv", "-o", str(tmp_path / "all.csv")]
        stores = [str(tmp_path / name) for name in order]
        ended = CliRunner().invoke(app, ["report", *stores, *options])
        assert ended.exit_code == 0, ended.output
        assert "from 1 record." in ended.stderr
        [row] = csv.DictReader((tmp_path / "all.csv").read_text(encoding="utf-8").splitlines())
        assert (row["outcome"], row["reason"]) == wanted


def test_damaged_files_are_told_of_and_left_out(tmp_path):
    store = Store(tmp_path / "store")
    good, truncated, high = records(["wl"], ["DD"], [0, 1, 2])
    for record in (good, truncated, high):
        store.put(record)
    store.path(truncated.cell).write_text(truncated.to_json()[:200])
    impossible = replace(high, result={**high.result, "accuracy": 7747.0})
    store.put(impossible)
    (store.folder / "notes.json").write_text("{}")
    done = report(store.folder, "-o", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    *told, last = done.stderr.splitlines()
    assert len(told) == 3
    for path in (store.path(truncated.cell), store.path(high.cell), store.folder / "notes.json"):
        [warning] = [line for line in told if str(path) in line]
        assert warning.startswith("warning: ")
        assert "It is left out: delete it, or run its grid again" in warning
    assert last.endswith("from 1 record.")
    store.path(good.cell).unlink()
    none_left = report(store.folder, "-o", tmp_path / "page.html")
    assert none_left.returncode == 1
    assert "error: There are no records in" in none_left.stderr


@pytest.mark.parametrize(("form", "start"), [("markdown", "# "), ("latex", "\\documentclass")])
def test_tables_are_written_for_papers(store, tmp_path, form, start):
    done = report(store, "--format", form, "-o", tmp_path / "tables")
    assert done.returncode == 0, done.stderr
    assert start in (tmp_path / "tables").read_text(encoding="utf-8")


def test_the_headline_can_be_another_metric(tmp_path):
    store, page = Store(tmp_path / "store"), tmp_path / "page.md"
    for record in with_metrics(records(["kgnn", "wl"], ["DD"], [0, 1])):
        store.put(record)
    done = report(store.folder, "--format", "markdown", "--metric", "ROC-AUC", "-o", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "ROC AUC on TEST in percent" in text
    assert "Accuracy on TEST in percent" not in text


def test_figures_are_written_into_a_folder(store, tmp_path):
    pytest.importorskip("matplotlib")
    done = report(store, "--format", "png", "-o", tmp_path / "figures")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"cost-cost.png", "ranks-Methods.png", "rounds-DD.png"} <= names


@pytest.mark.parametrize(("form", "what"), [("latex", "tables"), ("png", "figures")])
def test_nothing_is_written_where_there_is_nothing_to_show(tmp_path, form, what):
    store = Store(tmp_path / "store")
    store.put(unfinished("failed", "wl", "DD", "out of memory"))
    done = report(store.folder, "--format", form, "-o", tmp_path / "place")
    assert done.returncode == 2
    assert f"There are no results in these records to make {what} from" in done.stderr
    assert not (tmp_path / "place").exists()


def test_a_small_file_has_a_size(tmp_path):
    store = Store(tmp_path / "store")
    store.put(unfinished("failed", "wl", "DD", "out of memory"))
    done = report(store.folder, "--format", "csv", "-o", tmp_path / "all.csv")
    size = (tmp_path / "all.csv").stat().st_size
    assert f"all.csv, {size} bytes, from 1 record." in done.stderr


def test_what_cannot_be_done_is_said_in_one_line(store, tmp_path):
    (tmp_path / "occupied").write_text("")
    for arguments, words in (
        ([tmp_path], "There are no records in"),
        ([tmp_path / "nowhere"], "There is no folder"),
        ([store, "--format", "gif"], "got 'gif'"),
        ([store, "--format", "csv", "--reference", "wl"], "--format csv, which compares"),
        ([store, "--reference", "vat"], "There is no method with records 'vat'"),
        ([store, "--format", "csv", "--title", "t"], "--title needs --format html"),
        ([store, "--for-spreadsheets"], "--for-spreadsheets needs --format csv"),
        ([store, "--metric", "auc"], "There is no metric 'auc'"),
        ([store, "--metric", "brier"], "one where higher is better, got 'brier'"),
        ([store, "--format", "csv", "--metric", "roc-auc"], "--format csv, which has all"),
        ([store, "-o", tmp_path], "is a folder"),
        ([store, "-o", tmp_path / "occupied" / "x.html"], "Cannot write to"),
        ([store, "--format", "png", "-o", tmp_path / "occupied"], "is a file"),
        ([store, "--format", "png", "-o", tmp_path / "occupied" / "x"], "Cannot write to"),
    ):
        done = report(*arguments)
        assert done.returncode in (1, 2)
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_the_command_does_not_load_torch(store, tmp_path):
    code = (
        "import sys; from kgnn.cli.main import app; "
        f"app(['report', {str(store)!r}, '-o', {str(tmp_path / 'p.html')!r}], "
        "standalone_mode=False); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
