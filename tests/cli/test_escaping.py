"""Text of files shows on a terminal and in a spreadsheet; it does nothing there."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from kgnn.cli.show import csv_line
from kgnn.errors import GraphDataError, KgnnWarning, excerpt
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.loading import load
from kgnn.methods.wl import WL
from tests.cli.calling import kgnn

__all__ = ["kgnn"]

_EVIL = "\x1b]0;evil\x07\x9b31m\u202ered\x7f"
_FORBIDDEN = set(_EVIL) - set("]0;evil31mred")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Graphs whose ids and classes are hostile, and a model of them."""
    monkeypatch.chdir(tmp_path)
    graphs = cycles_and_trees(30)
    with Path("x.jsonl").open("w", encoding="utf-8") as file:
        for row, graph in enumerate(graphs):
            record = {"nodes": graph.n_nodes, "edges": graph.edges.tolist()}
            names = {"id": f"{row}{_EVIL}\n", "target": f"{graph.target}{_EVIL}\n"}
            file.write(json.dumps(record | names) + "\n")
    WL().fit(load("x.jsonl")).save("model")
    return tmp_path


COMMANDS = [
    "fit x.jsonl --method wl -o other",
    "fit x.jsonl --method wl -o other --json",
    "fit bad.jsonl --method wl -o other",
    "fit x.jsonl --labels labels.csv --method wl -o other",
    "model show model",
    "model show model --json",
    "evaluate model x.jsonl",
    "evaluate model x.jsonl --json",
    "predict model x.jsonl --json",
    "predict model bad.jsonl",
    "predict model bad.jsonl --skip-bad -o out.csv",
    "explain model x.jsonl --id 0",
    "similar x.jsonl 0",
    "suggest model x.jsonl",
    "run wl x.jsonl --splits 1 --labels 0.2",
    "compare x.jsonl --method wl --minutes 0.1",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_control_character_of_a_file_reaches_the_terminal(kgnn, files, command):
    (files / "bad.jsonl").write_text(json.dumps({"nodes": 1, "edges": [], _EVIL: 1}) + "\n")
    (files / "labels.csv").write_text(f"id,label\n{_EVIL},{_EVIL}\n", encoding="utf-8")
    done = kgnn(*command.split())
    assert "Traceback" not in done.err
    assert not _FORBIDDEN & set(done.out + done.err)
    is_named = not command.startswith(("suggest", "run"))  # these may have nothing to name
    assert not is_named or "evil" in done.out + done.err


def _in_a_terminal(*arguments):
    """Run a command whose standard output is a terminal, and return what it wrote there."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "kgnn", *arguments], stdout=theirs, stderr=subprocess.PIPE
    )
    os.close(theirs)
    pieces = []
    try:
        while piece := os.read(ours, 65536):
            pieces.append(piece)
    except OSError:  # Linux tells in this way that the other end is closed
        pass
    finally:
        os.close(ours)
        running.communicate()
    return b"".join(pieces).decode()


def test_csv_is_escaped_on_a_terminal_and_untouched_in_a_file(kgnn, files):
    shown = _in_a_terminal("predict", "model", "x.jsonl")
    assert "0\\x1b]0;evil" in shown
    assert not _FORBIDDEN & set(shown)
    kgnn("predict", "model", "x.jsonl", "-o", "out.csv")
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["id"] == f"0{_EVIL}\n"


def test_errors_and_warnings_show_control_characters_in_python_too():
    for kind in (GraphDataError, KgnnWarning):
        assert str(kind(f"about {_EVIL}")) == (r"about \x1b]0;evil\x07\x9b31m\u202ered\x7f")
    assert excerpt("a\nb") == r"a\nb"


@pytest.mark.parametrize("text", ["=1+1", "+x", "-x", "@x", "=HYPERLINK(1)", "-1+1"])
def test_text_that_would_be_a_formula_is_neutralized_where_asked(text):
    for safe, expected in ((False, text), (True, f"'{text}")):
        (row,) = csv.reader(io.StringIO(csv_line([text, "-1.5", "+2e3", ""], safe)))
        assert row == [expected, "-1.5", "+2e3", ""]


def test_a_table_for_spreadsheets_can_be_filled_in_and_read(kgnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Path("x.jsonl").open("w") as file:
        for row, graph in enumerate(cycles_and_trees(30)):
            record = {"id": f"={row}+1", "nodes": graph.n_nodes, "edges": graph.edges.tolist()}
            file.write(json.dumps(record | ({"target": graph.target} if row < 20 else {})) + "\n")
    assert kgnn("fit", "x.jsonl", "--method", "wl", "-o", "model").code == 0
    done = kgnn("predict", "model", "x.jsonl", "--for-spreadsheets", "-o", "out.csv")
    assert done.code == 0, done.err
    with Path("out.csv").open() as file:
        assert next(csv.DictReader(file))["id"] == "'=0+1"
    done = kgnn("suggest", "model", "x.jsonl", "-n", "2", "--for-spreadsheets", "-o", "next.csv")
    assert done.code == 0, done.err
    text = (tmp_path / "next.csv").read_text()
    assert "\n'=" in text
    first = text.splitlines()[1].partition(",")[0]
    (tmp_path / "next.csv").write_text(f"id,label\n{first},tree\n")
    again = ("fit", "x.jsonl", "--labels", "next.csv", "--keep-targets", "--method", "wl")
    assert "21 graphs are labeled" in kgnn(*again, "-o", "model").err
