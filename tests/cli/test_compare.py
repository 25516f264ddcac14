"""``kgnn compare``: a table, what it says, and the command that fits the winner."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import kgnn as package
from kgnn.evaluation.metrics import out_of_fold_interval
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.readers import jsonl
from tests.cli.calling import kgnn

__all__ = ["kgnn"]

GRAPHS = cycles_and_trees(30)
METHODS = """
import numpy as np
from kgnn.estimator.classifier import GraphClassifier

class Knows(GraphClassifier):
    def _fit(self, task):
        pass

    def _predict_proba(self, graphs):
        is_tree = graphs.edge_counts < graphs.graph_sizes
        return np.column_stack([~is_tree, is_tree]) * 0.8 + 0.1

class Guesses(Knows):
    def _predict_proba(self, graphs):
        is_even = graphs.graph_sizes % 2 == 0
        return np.column_stack([~is_even, is_even]) * 0.8 + 0.1

class Broken(Knows):
    def _fit(self, task):
        raise RuntimeError("this is broken")

class Interrupted(Knows):
    def _fit(self, task):
        raise KeyboardInterrupt
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A function that names methods of a file, as options."""
    file = tmp_path_factory.mktemp("own methods") / "compared_methods.py"
    file.write_text(METHODS)
    return lambda *names: [word for name in names for word in ("--method", f"{file}:{name}")]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Graphs without targets, and two tables of labels with columns of their own."""
    monkeypatch.chdir(tmp_path)
    jsonl.write(GRAPHS.with_targets(np.full(30, -1)), "my graphs.jsonl")
    for name, rows in (("first half.csv", range(10)), ("rest.csv", range(10, 20))):
        lines = [f"{row},{GRAPHS[row].target}\n" for row in rows]
        Path(name).write_text("".join(["graph no,kind of graph\n", *lines]))
    return tmp_path


LABELS = ("--labels", "first half.csv", "--labels", "rest.csv")
COLUMNS = ("--id-column", "graph no", "--label-column", "kind of graph")


def test_the_table_is_told_and_the_command_fits_the_winner(kgnn, files, own):
    done = kgnn("compare", "my graphs.jsonl", *LABELS, *COLUMNS, *own("Guesses", "Knows"),
                "--ignore-unknown", "--seed", "3")  # fmt: skip
    assert done.code == 0, done.err
    assert "Methods on my graphs.jsonl, 20 labels" in done.out
    low = 100 * out_of_fold_interval(1.0, 20)[0]
    assert re.search(rf"Knows +100\.0 +{low:.1f} to 100\.0 +0\.\d+ +[\d.]+ +best", done.out)
    assert "20 graphs are labeled, 10 are not" in done.err
    assert "Guesses: accuracy " in done.err
    command = shlex.split(done.err.partition("Fit it with: ")[2])
    assert command[:2] == ["kgnn", "fit"]
    fitted = kgnn(*command[1:])
    assert fitted.code == 0, fitted.err
    model = package.open_model("model", classes=(_class_of(command),))
    assert model.labeled_graphs_.graph_names.tolist() == [str(row) for row in range(20)]
    assert model.random_state == 3


def _class_of(command):
    from kgnn.estimator.registry import method_class

    return method_class(command[command.index("--method") + 1])


def test_the_command_reads_the_file_as_it_was_read(kgnn, tmp_path, monkeypatch, own):
    monkeypatch.chdir(tmp_path)
    rows = [f"{'C' * n}O,{n % 2},x\n" for n in range(1, 13)]
    Path("mol.csv").write_text("".join(["structure,is odd,more\n", *rows]))
    read = ("--read", "smiles_column=structure", "--read", "target_column=is odd")
    done = kgnn("compare", "mol.csv", *read, *own("Knows"), "--threads", "2", "--json")
    assert done.code == 0, done.err
    command = shlex.split(json.loads(done.out)["command"])
    for wanted in (*read, "--threads"):
        assert wanted in command
    fitted = kgnn(*command[1:])
    assert fitted.code == 0, fitted.err
    assert "12 graphs are labeled" in fitted.err


def test_targets_that_are_kept_are_kept_in_the_command(kgnn, files, own):
    jsonl.write(GRAPHS, "all.jsonl")
    done = kgnn(
        "compare", "all.jsonl", *LABELS, *COLUMNS, "--keep-targets", *own("Knows"), "--json"
    )
    told = json.loads(done.out)
    assert told["labels"] == 30
    assert "--keep-targets" in told["command"].split()


def test_graphs_that_cannot_be_read_are_left_out_here_and_in_the_command(kgnn, files, own):
    with Path("my graphs.jsonl").open("a") as file:
        file.write("{\n")
    command = ("compare", "my graphs.jsonl", *LABELS, *COLUMNS, *own("Knows"))
    done = kgnn(*command)
    assert done.code == 1
    assert "line 31: not valid JSON" in done.err
    assert "--skip-bad skips such graphs" in done.err
    done = kgnn(*command, "--skip-bad")
    assert done.code == 0, done.err
    assert "Skipped 1 graph that could not be read" in done.err
    assert "--skip-bad" in done.err.partition("Fit it with: ")[2]


def test_json_is_all_that_is_printed(kgnn, own):
    done = kgnn(
        "compare", "cycles-and-trees", *own("Knows", "Broken"), "--metric", "roc-auc", "--json"
    )
    assert done.err == ""
    told = json.loads(done.out)
    assert (told["data"], told["metric"]) == ("cycles-and-trees", "roc_auc")
    assert [row["standing"] for row in told["rows"]] == ["best", "worse", "failed"]
    assert "--metric roc_auc" in told["command"]
    assert told["rows"][2]["note"] == "RuntimeError: this is broken"


def test_a_terminal_shows_the_table_while_methods_are_fitted(kgnn, own, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    done = kgnn("compare", "cycles-and-trees", *own("Knows"))
    shown = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", done.err)
    assert re.search(r"Knows +fitting", shown)
    assert re.search(r"majority class +50\.0", shown)


def test_without_any_score_the_command_fails(kgnn, own):
    done = kgnn("compare", "cycles-and-trees", *own("Broken"))
    assert done.code == 1
    assert "No method was finished." in done.err
    assert "Broken failed: RuntimeError: this is broken" in done.err
    assert "Fit it with" not in done.err


def test_ctrl_c_ends_with_the_table_so_far(kgnn, own):
    done = kgnn("compare", "cycles-and-trees", *own("Knows", "Interrupted", "Guesses"))
    assert done.code == 130
    assert re.search(r"Knows +100\.0", done.out)
    assert "Guesses: not begun: stopped by hand" in done.err
    assert "Fit it with: kgnn fit cycles-and-trees" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--metric", "acuracy"), "Did you mean"),
        (("--method", "wll"), "Did you mean"),
        (("--minutes", "0"), "minutes"),
        (("--id-column", "a"), "needs --labels, which is not given"),
    ],
)
def test_misuse_is_told_at_once(kgnn, arguments, told):
    done = kgnn("compare", "cycles-and-trees", *arguments)
    assert done.code == 2
    assert told in done.err
    assert "graphs are labeled" not in done.err
