"""``kgnn report`` as a person runs it."""

import os
import subprocess
import sys

import pytest

from kgnn.benchmark.store import Store
from tests.reports.cases import case, record_with_cases
from tests.reports.stores import records


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
    assert "KiB, made of 13 records" in done.stderr


def test_several_stores_are_read_together_and_copies_count_once(store, tmp_path):
    other = Store(tmp_path / "other")
    for record in records(["gk", "kgnn"], ["DD"], [0, 1]):
        other.put(record)
    done = report(store, other.folder, "--format", "csv", "-o", tmp_path / "all.csv")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "all.csv").read_text(encoding="utf-8").splitlines()) == 1 + 13 + 2


@pytest.mark.parametrize(("form", "start"), [("markdown", "# "), ("latex", "\\documentclass")])
def test_tables_are_written_for_papers(store, tmp_path, form, start):
    done = report(store, "--format", form, "-o", tmp_path / "tables")
    assert done.returncode == 0, done.stderr
    assert start in (tmp_path / "tables").read_text(encoding="utf-8")


def test_figures_are_written_into_a_folder(store, tmp_path):
    pytest.importorskip("resvg_py")
    done = report(store, "--format", "png", "-o", tmp_path / "figures")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"cost-cost.png", "ranks-Methods.png", "rounds-DD.png", "cases-DD-7.png"} <= names


def test_what_cannot_be_done_is_said_in_one_line(store, tmp_path):
    (tmp_path / "occupied").write_text("")
    for arguments, words in (
        ([tmp_path], "There are no records in"),
        ([tmp_path / "nowhere"], "There is no folder"),
        ([store, "--format", "pdf"], "got 'pdf'"),
        ([store, "-o", tmp_path], "is a folder"),
        ([store, "-o", tmp_path / "occupied" / "x.html"], "Nothing can be written to"),
        ([store, "--format", "png", "-o", tmp_path / "occupied"], "is a file"),
        ([store, "--format", "png", "-o", tmp_path / "occupied" / "x"], "Nothing can be written"),
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
