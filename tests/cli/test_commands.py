"""The commands as a person or a script runs them."""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer

from kgnn.cli.main import app, main
from kgnn.estimator.registry import make
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.readers import jsonl


def kgnn(*arguments, **environment):
    """Run a command in this process, which need not load everything again."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["kgnn", *arguments])
        for name, value in {"COLUMNS": "160", **environment}.items():
            patch.setenv(name, value)
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def kgnn_elsewhere(*arguments):
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "kgnn", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "160"},
        timeout=600,
        check=False,
    )


def json_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_help_lists_the_commands():
    done = kgnn_elsewhere("--help")
    assert done.returncode == 0
    for command in ("fit", "predict", "evaluate", "model", "datasets", "methods", "run", "demo"):
        assert command in done.stdout


def test_methods_as_json_have_the_promised_shape():
    listed = json_of(kgnn("methods", "--json"))
    assert {"gk", "sp", "wl", "dgk", "sub2vec", "graph2vec", "gnn-sup"} <= {
        entry["name"] for entry in listed
    }
    assert all(list(entry) == ["name", "family", "title", "reference"] for entry in listed)


@pytest.mark.data
def test_datasets_as_json_match_table_1():
    listed = json_of(kgnn("datasets", "--json"))
    assert all(
        list(entry) == ["name", "graphs", "avg_nodes", "avg_edges", "classes"] for entry in listed
    )
    found = {entry["name"]: tuple(entry.values())[1:] for entry in listed}
    assert found["PROTEINS"] == (1113, 39.06, 72.82, 2)
    assert found["DD"] == (1178, 284.32, 715.66, 2)
    assert found["IMDB-BINARY"] == (1000, 19.77, 96.53, 2)
    assert found["IMDB-MULTI"] == (1500, 13.00, 65.94, 3)
    assert found["REDDIT-BINARY"] == (2000, 429.63, 497.75, 2)
    assert found["REDDIT-MULTI-5K"] == (4999, 508.52, 594.87, 5)
    assert found["COLLAB"] == (5000, 74.49, 2457.78, 3)
    assert found["python-functions"][0] > 1500


def test_datasets_are_listed_without_the_data(tmp_path):
    done = kgnn("datasets", KGNN_DATASETS=str(tmp_path), KGNN_CACHE=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "COLLAB" in done.stdout


@pytest.fixture(scope="module")
def graphs_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "graphs.jsonl"
    jsonl.write(cycles_and_trees(80), path)
    return str(path)


def test_run_as_json_has_the_promised_shape(graphs_file):
    record = json_of(kgnn("run", "wl", graphs_file, "--splits", "2", "--seed", "3", "--json"))
    assert list(record) == [
        "method",
        "dataset",
        "protocol",
        "labels",
        "metric",
        "mean",
        "std",
        "majority_share",
        "metrics",
        "recalls",
        "seconds",
        "peak_mib",
        "splits",
    ]
    assert (record["method"], record["protocol"], record["labels"]) == ("wl", "fair", 0.1)
    assert [split["seed"] for split in record["splits"]] == [3, 4]
    assert record["mean"] == sum(split["accuracy"] for split in record["splits"]) / 2
    assert record["mean"] > 80


def test_run_for_people_shows_a_table(graphs_file):
    done = kgnn(
        "run", "wl", graphs_file, "--splits", "1", "--set", "iterations=1", "--protocol", "paper"
    )
    assert done.returncode == 0, done.stderr
    assert "TEST %" in done.stdout
    assert "paper protocol" in done.stdout
    assert "±" not in done.stdout  # nothing is known of other splits
    assert "A single split has no standard deviation" in done.stderr


def test_the_deviation_is_told_where_there_are_splits_to_compare(graphs_file):
    done = kgnn("run", "wl", graphs_file, "--splits", "2", "--set", "iterations=1")
    assert " ± " in done.stdout
    assert "± is the standard deviation over splits" in done.stderr


_STOPPING = """
import os, signal
import kgnn.evaluation.protocol as protocol
evaluate_split = protocol.evaluate_split
def stopping(method, dataset, split):
    if split.seed == {}:
        os.kill(os.getpid(), signal.SIGINT)
    return evaluate_split(method, dataset, split)
protocol.evaluate_split = stopping
"""


def stopped_at(seed, *arguments):
    script = f"{_STOPPING.format(seed)}\nfrom kgnn.cli.main import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "160"},
        timeout=600,
        check=False,
    )


def test_splits_that_are_done_at_ctrl_c_are_shown(graphs_file):
    command = ("run", "wl", graphs_file, "--splits", "9", "--set", "iterations=1")
    done = stopped_at(2, *command)
    assert done.returncode == 130
    assert done.stderr.strip().splitlines()[-1] == (
        "stopped after 2 of 9 splits; the numbers are of these alone"
    )
    first = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    assert first[-3:] == ["0", "1", "mean"]
    done = stopped_at(2, *command, "--json")
    assert [split["seed"] for split in json.loads(done.stdout)["splits"]] == [0, 1]


def test_ctrl_c_in_the_first_split_is_told_in_one_line(graphs_file):
    done = stopped_at(0, "run", "wl", graphs_file, "--splits", "9")
    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr.strip() == "stopped after 0 of 9 splits; there are no results"


def test_a_command_that_knows_nothing_of_ctrl_c_says_that_it_was_stopped(graphs_file):
    code = (
        "import os, signal, kgnn.kernels.similarity as s\n"
        "s.most_similar = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "from kgnn.cli.main import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "similar", graphs_file, "0"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "stopped")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told_in_a_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kgnn", "methods", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=600,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_same_command_gives_the_same_numbers(graphs_file):
    command = ("run", "gnn-sup", graphs_file, "--splits", "1", "--set", "epochs=2", "--json")
    first, second = (json_of(run(*command)) for run in (kgnn, kgnn_elsewhere))
    assert first["splits"][0]["accuracy"] == second["splits"][0]["accuracy"]
    assert first["std"] is None  # one split has none


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "wll", "MUTAG"), "There is no method 'wll'. Did you mean wl?"),
        (("run", "wl", "PROTEIN"), "Did you mean PROTEINS?"),
        (
            ("run", "wl", "cycles-and-trees", "--set", "depth=3"),
            "There is no parameter of WL 'depth'.",
        ),
        (
            ("run", "wl", "cycles-and-trees", "--set", "committee=0"),
            "'committee' parameter of WL must be",
        ),
        (("run", "wl", "cycles-and-trees", "--labels", "0.9"), "at most 0.2 (TRAIN-L), got 0.9"),
        (
            ("run", "wl", "cycles-and-trees", "--protocol", "mine"),
            "must be one of ('fair', 'paper', 'budget')",
        ),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(arguments, message):
    done = kgnn(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_data_is_one_line_and_exit_code_1(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"nodes": 2, "edges": [[0, 5]]}\n')
    done = kgnn("run", "wl", str(path))
    assert done.returncode == 1
    assert "bad.jsonl" in done.stderr
    assert "line 1" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in kgnn_elsewhere("--debug", "run", "wl", str(path)).stderr


def test_demo_finds_out_at_once_that_its_place_is_taken(tmp_path):
    (tmp_path / "occupied").write_text("")
    done = kgnn("demo", "-o", str(tmp_path / "occupied"))
    assert done.returncode == 1
    assert "Cannot write to" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command", [("run", "wl", "{}", "--splits", "1", "--labels", "0.2"), ("similar", "{}", "0")]
)
def test_a_table_of_smiles_is_read_as_it_is_told_to(tmp_path, command):
    pytest.importorskip("rdkit")
    lines = [f"{'C' * n}{'O' * (n % 2)},{n % 2}\n" for n in range(3, 33)]
    (tmp_path / "a.csv").write_text("".join(["structure,kind\n", *lines]))
    words = [word.format(tmp_path / "a.csv") for word in command]
    options = ("--read", "smiles_column=structure", "--read", "target_column=kind")
    assert json_of(kgnn(*words, *options, "--json"))["dataset"] == "a"
    assert kgnn(*words).returncode == 1


def test_the_help_of_every_command_has_an_example_of_it():
    group = typer.main.get_command(app)
    commands = {f"kgnn {name}": each for name, each in group.commands.items() if name != "model"}
    commands["kgnn model show"] = group.commands["model"].commands["show"]
    for name, command in commands.items():
        example = command.help.partition("For example: ")[2]
        assert example.startswith(name)
        known = {option for each in command.params for option in each.opts}
        assert set(re.findall(r"(?<!\S)--?[a-z-]+", example.partition(";")[0])) <= known


def test_demo_shows_what_labels_unlabeled_graphs_and_explanations_are_worth(tmp_path):
    record = json_of(kgnn("demo", "--json", "-o", str(tmp_path / "model")))
    kernel, gnn, both, more = record["fits"]
    assert kernel["n_labeled"] == gnn["n_labeled"] == both["n_labeled"] < more["n_labeled"]
    assert kernel["accuracy"] < gnn["accuracy"] < both["accuracy"] - 3
    # Most of what ten times as many labels are worth.
    assert both["accuracy"] - gnn["accuracy"] > (more["accuracy"] - gnn["accuracy"]) / 2
    assert abs(record["expected"] - both["accuracy"]) < 10
    assert len(record["predictions"]) == 10
    right = [each["predicted"] == each["truth"] for each in record["predictions"]]
    assert sum(right) >= 9
    assert sum(node < 5 for node in record["strongest"]) >= 4  # where the motif is
    assert record["model"] == str(tmp_path / "model")
    shown = json_of(kgnn("model", "show", record["model"], "--json"))
    assert shown["method"] == "kgnn"
    assert shown["fitted_on"]["classes"] == record["classes"]
    page = Path(record["explanation"]).read_text(encoding="utf-8")
    assert f"<h1>Graph {record['explained']}: class " in page


def test_similar_shows_the_nearest_graphs_with_their_kernel_values(tmp_path):
    file = tmp_path / "graphs.jsonl"
    jsonl.write(cycles_and_trees(12), file)
    found = json_of(kgnn("similar", str(file), "2", "-n", "3", "--json"))
    assert list(found) == [
        "dataset", "kernel", "graph", "row", "class", "nodes", "edges", "similar",
    ]  # fmt: skip
    values = [each["kernel_value"] for each in found["similar"]]
    assert len(values) == 3
    assert 1 + 1e-9 >= values[0] >= values[1] >= values[2] > 0
    assert {each["class"] for each in found["similar"]} == {found["class"]}
    shown = kgnn("similar", str(file), "2", "-n", "3", "--kernel", "sp")
    assert shown.returncode == 0
    assert "Most similar to" in shown.stdout
    wrong = kgnn("similar", str(file), "99")
    assert wrong.returncode == 2
    assert "no graph '99'" in wrong.stderr
    assert "0 to 11" in wrong.stderr


@pytest.mark.parametrize(
    "command",
    ["fit {} -o model", "run wl {}", "run kgnn {} --protocol budget --labels 20", "compare {}",
     "suggest --simulate {}", "evaluate model {}"],
)  # fmt: skip
def test_measured_numbers_are_one_error_with_advice(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graphs = cycles_and_trees(40)
    if "evaluate" in command:
        make("wl").fit(graphs).save("model")
    numbers = [str(0.5 + row / 7) for row in range(40)]
    codes = np.argsort(np.argsort(numbers))
    jsonl.write(replace(graphs, targets=codes, class_names=tuple(sorted(numbers))), "x.jsonl")
    done = kgnn(*command.format("x.jsonl").split())
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line]
    assert "40 different numbers" in line
    assert "convert them to classes" in line
