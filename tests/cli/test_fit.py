"""``kgnn fit``: from all kinds of files to a model."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import kgnn as package
from kgnn.errors import KgnnWarning
from kgnn.estimator.metrics import METRICS
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.readers import jsonl
from tests.cli.calling import kgnn

__all__ = ["kgnn"]

GRAPHS = cycles_and_trees(60)


def unlabeled(graphs):
    return graphs.with_targets(np.full(len(graphs), -1))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with 60 graphs without targets and labels of the first 20."""
    monkeypatch.chdir(tmp_path)
    jsonl.write(unlabeled(GRAPHS), "graphs.jsonl")
    write_labels(range(20))
    return tmp_path


def write_labels(rows, path="labels.csv"):
    lines = [f"{row},{GRAPHS[row].target}\n" for row in rows]
    Path(path).write_text("".join(["id,label\n", *lines]))


def fit(kgnn, *more, data="graphs.jsonl", method="ldp"):
    trees = ("--set", "trees=20") if method == "ldp" else ()
    return kgnn("fit", data, "--method", method, *trees, "-o", "model", *more)


def test_labels_in_a_table_make_a_model_and_all_is_told(kgnn, files):
    done = fit(kgnn, "--labels", "labels.csv")
    assert done.code == 0, done.err
    assert done.out == ""
    for told in (
        "graphs.jsonl (JSON Lines)",
        "60 graphs of 4 to 12 nodes",
        "neither labels nor attributes",
        "20 graphs are labeled, 40 are not: 10 of class cycle, 10 of class tree",
        "all 20 labels are used for training; they are also predicted by cross-validation",
        "of 20 graphs right",
        "on new graphs; it was estimated on all 20 labeled graphs, each predicted without",
        "calibration error",
        "kgnn predict model DATA",
    ):
        assert told in done.err
    model = package.open_model("model")
    assert model.score(GRAPHS[20:]) > 0.8
    assert model.labeled_graphs_.graph_names.tolist() == [str(row) for row in range(20)]


def test_as_json_it_has_the_promised_shape(kgnn, files):
    record = json.loads(fit(kgnn, "--labels", "labels.csv", "--json").out)
    assert list(record) == [
        "model", "method", "fitted_on", "metric", "held_out", "seconds", "interrupted"
    ]  # fmt: skip
    assert record["fitted_on"]["labeled"] == 20
    assert record["held_out"]["n"] == 20
    assert set(METRICS) <= set(record["held_out"])


def test_the_headline_can_be_another_metric(kgnn, files):
    told = fit(kgnn, "--labels", "labels.csv", "--metric", "roc-auc", "--report", "m.html").err
    area = re.search(r"ROC AUC ([\d.]+) %; [\d.]+ ± [\d.]+ % of 20 graphs right", told)
    again = fit(kgnn, "--labels", "labels.csv", "--metric", "roc_auc", "--json").out
    assert json.loads(again)["metric"] == "roc_auc"
    found = json.loads(again)["held_out"]["roc_auc"]
    assert float(area[1]) == pytest.approx(100 * found, abs=0.05)
    assert f"{area[0].partition(';')[0]}; " in Path("m.html").read_text()
    done = fit(kgnn, "--metric", "auc", data="no such file")
    assert "There is no metric 'auc'" in done.err


def fitted_on():
    return package.open_model("model").fitted_on_


def test_no_label_is_held_out_unless_asked(kgnn, files):
    jsonl.write(cycles_and_trees(80), "targets.jsonl")
    for zero in ((), ("--validation", "0")):
        done = fit(kgnn, *zero, data="targets.jsonl")
        assert "all 80 labels are used for training" in done.err
        assert (fitted_on()["labeled"], fitted_on()["validation"]) == (80, 0)
    done = fit(kgnn, "--validation", "0.2", data="targets.jsonl")
    assert "16 of 80 labels are the validation set" in done.err
    assert "estimated on the 16 graphs of the validation set" in done.err
    assert (fitted_on()["labeled"], fitted_on()["validation"]) == (64, 16)


def test_without_cross_fitting_none_is_announced(kgnn, files):
    done = fit(kgnn, "--labels", "labels.csv", "--set", "cross_fit=0")
    assert "without cross-validation, the accuracy of the model is not known" in done.err
    assert "The accuracy on new graphs is not known: every label was" in done.err
    assert "also predicted" not in done.err


def test_settings_and_the_seed_reach_the_method(kgnn, files):
    fit(kgnn, "--labels", "labels.csv", "--seed", "7", "--set", "cross_fit=3")
    model = package.open_model("model")
    assert (model.random_state, model.trees, model.cross_fit) == (7, 20, 3)


def test_a_folder_and_a_table_of_smiles_are_read(kgnn, files):
    (files / "nets").mkdir()
    for row in range(12):
        graph = nx.cycle_graph(row + 3) if row % 2 else nx.star_graph(row + 3)
        nx.write_graphml(graph, files / "nets" / f"g{row}.graphml")
    lines = [f"g{row}.graphml,{'ring' if row % 2 else 'star'}" for row in range(8)]
    (files / "nets.csv").write_text("\n".join(["id,label", *lines]))
    done = fit(kgnn, "--labels", "nets.csv", data="nets")
    assert "nets (GraphML/GML/GEXF)" in done.err
    assert "4 of class ring, 4 of class star" in done.err, done.err
    rows = [f"{'C' * (i + 1)}{'O' if i % 2 else 'N'},{i % 2}" for i in range(12)]
    (files / "mol.csv").write_text("\n".join(["structure,active", *rows]))
    read = ("--read", "smiles_column=structure", "--read", "target_column=active")
    assert "SMILES in CSV" in fit(kgnn, *read, data="mol.csv").err


def test_the_report_is_a_page(kgnn, files):
    done = fit(kgnn, "--labels", "labels.csv", "--report", "page.html")
    assert done.code == 0, done.err
    page = (files / "page.html").read_text(encoding="utf-8")
    for told in ("Training data", "Suspicious labels", "All 20 labels were examined", "ldp"):
        assert told in page


def test_unknown_ids_are_refused_or_ignored(kgnn, files):
    with (files / "labels.csv").open("a") as stream:
        stream.write("g7,tree\n61,tree\n")
    done = fit(kgnn, "--labels", "labels.csv")
    assert done.code == 1
    assert "labels.csv, line 22: there is no graph 'g7'" in done.err
    assert "1 more are unknown: 61" in done.err
    assert not (files / "model").exists()
    done = fit(kgnn, "--labels", "labels.csv", "--ignore-unknown")
    assert done.code == 0
    assert "2 ids of --labels match no graph and were ignored: g7, 61" in done.err


@pytest.mark.parametrize(
    ("labels", "code", "message"),
    [
        (b"", 1, "labels.csv is empty"),
        (b"id,label\n", 1, "none of the 60 graphs of graphs.jsonl has a label in labels.csv"),
        (b"id,label\n1,x\n2,x\n", 1, "all 2 labeled graphs are of one class, 'x'"),
        (b"id,label\n1,x\n2,y\n1,y\n", 1, "labels.csv, line 4: '1' is y here, but x in line 2"),
        (b"id,label\n1,\xe9\xff\n", 1, "labels.csv, line 2: not UTF-8 text"),
        (b"id;label\n1;x\n2\n", 1, "labels.csv, line 3: expected 2 cells, got 1"),
        (b"name,class\n1,x\n", 1, "labels.csv, line 1: expected a header"),
    ],
)
def test_bad_labels_are_one_line_and_leave_no_model(kgnn, files, labels, code, message):
    (files / "labels.csv").write_bytes(labels)
    done = fit(kgnn, "--labels", "labels.csv")
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err
    assert not (files / "model").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--labels", "labels.csv", "--id-column", "mol"), "has no column 'mol'"),
        (("--labels", "labels.csv", "--validation", "0.9"), "from 0 to 0.5, got 0.9"),
        (("--set", "tree=3"), "Did you mean trees?"),
        (("--set", "cross_fit=-1"), "'cross_fit' parameter of LDP must be"),
        (
            ("--read", "smiles_column=s"),
            "--read smiles_column applies to SMILES in CSV; graphs.jsonl is JSON Lines",
        ),
        (("--read", "column=s"), "no reader option 'column'"),
        (("--method", "ldq"), "Did you mean ldp?"),
    ],
)
def test_misuse_is_one_line(kgnn, files, arguments, message):
    method = () if "--method" in arguments else ("--method", "ldp")
    done = kgnn("fit", "graphs.jsonl", "-o", "model", *method, *arguments)
    assert done.code in (1, 2)
    assert message in done.err
    assert not (files / "model").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no graphs"),
        (b'{"nodes": 2, "edges": [[0, 1]]}\n{"nodes": 3, "ed', "line 2: not valid JSON"),
        (b'{"nodes": ["\xff"], "edges": []}\n', "line 1: not UTF-8"),
        (b'{"id": "a", "nodes": 1, "edges": []}\n' * 2, "line 2: the name 'a' is already taken"),
    ],
)
def test_bad_graphs_are_one_line(kgnn, files, content, message):
    (files / "graphs.jsonl").write_bytes(content)
    done = fit(kgnn, "--labels", "labels.csv")
    assert done.code == 1
    assert message in done.err
    assert "graphs.jsonl" in done.err


def test_one_labeled_graph_per_class_is_enough_for_a_model(kgnn, files):
    write_labels([0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("always", KgnnWarning)
        done = fit(kgnn, "--labels", "labels.csv")
    assert done.code == 0
    for name in ("Class cycle", "class tree"):
        assert f"{name} has a single labeled graph" in done.err
    assert "the accuracy on such a class cannot be estimated. Label at least one more" in done.err
    assert "cross-validation is not possible, so the accuracy is not known" in done.err
    assert "on new graphs is not known: no class has labeled graphs that look different" in done.err
    assert package.open_model("model").held_out_ is None


def test_no_unlabeled_graphs_are_needed(kgnn, files):
    jsonl.write(GRAPHS[:20], "all.jsonl")
    done = fit(kgnn, "--set", "epochs=2", "--set", "rounds=1", data="all.jsonl", method="kgnn")
    assert done.code == 0, done.err
    assert "20 graphs are labeled, 0 are not" in done.err


def test_a_place_that_cannot_be_written_to_is_found_before_fitting(kgnn, files, monkeypatch):
    (files / "occupied").write_text("")
    monkeypatch.setattr("kgnn.methods.ldp.LDP.fit", lambda *_, **__: pytest.fail("was fitted"))
    done = kgnn("fit", "graphs.jsonl", "--method", "ldp", "-o", "occupied/model")
    assert done.code == 1
    assert "Cannot write to occupied/model" in done.err
    done = kgnn("fit", "graphs.jsonl", "--method", "ldp", "-o", "model", "--report", str(files))
    assert done.code == 1
    assert "it is a folder" in done.err


def in_a_process(code, *arguments, **options):
    """Run ``kgnn`` after some code of ours, in a process that may be limited or interrupted."""
    script = f"import sys\n{code}\nfrom kgnn.cli.main import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
        **options,
    )


_FIT = ("fit", "graphs.jsonl", "--labels", "labels.csv", "-o", "model")


def limit_files(n_bytes):
    """What a full disk does, without one: no file may grow larger."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def test_a_full_disk_leaves_the_old_model(kgnn, files):
    assert fit(kgnn, "--labels", "labels.csv").code == 0
    before = (files / "model" / "model.safetensors").read_bytes()
    quick = ("--method", "ldp", "--set", "trees=20", "--set", "cross_fit=0")
    done = in_a_process("", *_FIT, *quick, preexec_fn=limit_files(4096))
    assert done.returncode == 1
    assert "Cannot write to model" in done.stderr  # before fitting
    late = "import kgnn.cli.fit as fit\nfit.require_writable = lambda *paths: None"
    done = in_a_process(late, *_FIT, *quick, preexec_fn=limit_files(4096))
    assert done.returncode == 1
    assert "the model cannot be written to" in done.stderr
    assert "Traceback" not in done.stderr
    assert (files / "model" / "model.safetensors").read_bytes() == before
    assert [file.name for file in (files / "model").iterdir()] == ["model.safetensors"]


_STOP = "import os, signal\nstop = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
# Once the first round has ended, there is something to keep.
_IN_ROUND_1 = _STOP + (
    "from kgnn.engine.rounds import RoundTrainer\nend_round = RoundTrainer.end_round\n"
    "def stopping(self):\n    end_round(self)\n    stop()\nRoundTrainer.end_round = stopping\n"
)
_IN_CROSS_FITTING = _STOP + (
    "import kgnn.estimator.calibration as b\nrefit = b.refit_for_each_fold\n"
    "def stopping(*a):\n    stop()\n    return refit(*a)\nb.refit_for_each_fold = stopping\n"
)
_AT_ONCE = _STOP + "from kgnn.methods.wl import WL\nWL._fit = lambda *_: stop()\n"
_SMALL = ("--set", "epochs=3", "--set", "rounds=2")


@pytest.mark.parametrize(
    ("code", "settings", "told"),
    [
        (_IN_ROUND_1, (*_SMALL, "--set", "cross_fit=0"), "Training was stopped by hand"),
        (_IN_CROSS_FITTING, ("--method", "ldp"), "Calibration was stopped by hand"),
    ],
)
def test_what_is_finished_at_ctrl_c_is_kept(files, code, settings, told):
    done = in_a_process(code, *_FIT, *settings)
    assert done.returncode == 130
    assert told in done.stderr
    assert "The model is in model" in done.stderr
    model = package.open_model("model")
    assert model.interrupted_
    assert model.held_out_ is None
    assert model.predict_proba(GRAPHS).shape == (60, 2)


def test_ctrl_c_with_nothing_to_keep_writes_nothing(files):
    done = in_a_process(_AT_ONCE, *_FIT, "--method", "wl")
    assert done.returncode == 130
    assert "nothing was written" in done.stderr
    assert not (files / "model").exists()


def test_a_signal_from_outside_ends_it_as_well(files):
    jsonl.write(unlabeled(cycles_and_trees(2000, max_nodes=40)), "graphs.jsonl")
    script = "from kgnn.cli.main import main; main()"
    command = [sys.executable, "-c", script, *_FIT, "--set", "epochs=5000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        while "labels are used for training" not in running.stderr.readline():
            pass
        running.send_signal(signal.SIGINT)
        rest = running.communicate(timeout=120)[1]
    assert running.returncode == 130
    assert "nothing was written" in rest
    assert not (files / "model").exists()


def test_several_tables_of_labels_are_joined(kgnn, files):
    write_labels(range(10), "first.csv")
    write_labels(range(5, 24), "second.csv")
    Path("third.csv").write_text("id,label,why\n0,,\n30,,soon\n")
    tables = [word for name in ("first", "second", "third") for word in ("--labels", f"{name}.csv")]
    done = fit(kgnn, *tables)
    assert done.code == 0, done.err
    assert "24 graphs are labeled, 36 are not" in done.err


def test_tables_that_contradict_each_other_are_refused_by_line(kgnn, files):
    other = "tree" if GRAPHS[3].target == "cycle" else "cycle"
    Path("other.csv").write_text(f"id,label\n3,{other}\n")
    done = fit(kgnn, "--labels", "labels.csv", "--labels", "other.csv")
    assert done.code == 1
    assert f"other.csv, line 2: '3' is {other} here, but {GRAPHS[3].target}" in done.err
    assert "in labels.csv, line 5; a graph can have only one label" in done.err
    assert not Path("model").exists()


def test_targets_in_the_data_are_kept_if_wanted_and_must_agree(kgnn, files):
    targets = np.where(np.arange(60) >= 50, GRAPHS.targets, -1)
    jsonl.write(GRAPHS.with_targets(targets), "some.jsonl")
    done = fit(kgnn, "--labels", "labels.csv", "--keep-targets", data="some.jsonl")
    assert "30 graphs are labeled" in done.err
    done = fit(kgnn, "--labels", "labels.csv", data="some.jsonl")
    assert "20 graphs are labeled" in done.err
    assert "10 graphs have a class in the data but not in --labels" in done.err
    other = "tree" if GRAPHS[55].target == "cycle" else "cycle"
    Path("labels.csv").write_text(f"id,label\n55,{other}\n")
    done = fit(kgnn, "--labels", "labels.csv", "--keep-targets", data="some.jsonl")
    assert done.code == 1
    assert f"'55' is {other} in --labels, but {GRAPHS[55].target} in the data" in done.err


@pytest.mark.parametrize(
    "option", [("--keep-targets",), ("--label-column", "kind"), ("--id-column", "name")]
)
def test_options_of_a_table_that_is_not_given_are_refused(kgnn, files, option):
    jsonl.write(GRAPHS, "targets.jsonl")
    done = fit(kgnn, *option, data="targets.jsonl")
    assert done.code == 2
    assert f"{option[0]} needs --labels, which is not given" in done.err
    assert not Path("model").exists()


def test_attributes_that_are_not_used_are_told_of(kgnn, files):
    graphs = GRAPHS[:20]
    attributes = np.arange(2.0 * graphs.n_nodes).reshape(-1, 2)
    jsonl.write(replace(graphs, node_attributes=attributes), "attributes.jsonl")
    told = "does not use the node attributes"
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert f"LDP {told}" in fit(kgnn, data="attributes.jsonl", method="ldp").err
        quick = ("--validation", "0.2", "--set", "epochs=1")
        done = fit(kgnn, *quick, data="attributes.jsonl", method="gnn-sup")
    assert done.code == 0, done.err
    assert told not in done.err


def test_a_model_that_was_stopped_says_what_became_of_the_held_out_labels(files):
    held = ("--set", "cross_fit=0", "--validation", "0.2")
    done = in_a_process(_IN_ROUND_1, *_FIT, *_SMALL, *held)
    assert done.returncode == 130
    assert "4 of 20 labels are the validation set" in done.stderr
    assert "before the model was evaluated on the 4 graphs of the validation set" in done.stderr
    assert "every label was used for training" not in done.stderr


RING = '{"nodes": 3, "edges": [[0, 1], [1, 2], [2, 0]], "target": "ring"}'
PAIR = '{"nodes": 2, "edges": [[0, 1]], "target": "pair"}'


@pytest.mark.filterwarnings("ignore:The 5 labeled graphs of class")
def test_all_bad_lines_are_listed_and_left_out_if_wanted(kgnn, files):
    (files / "x.jsonl").write_text("\n".join([RING, "{", PAIR, "[]", *[RING, PAIR] * 4]))
    done = fit(kgnn, data="x.jsonl")
    assert done.code == 1
    assert "error: 2 graphs of x.jsonl cannot be read:" in done.err
    told = ("  x.jsonl, line 2: not valid JSON", "  x.jsonl, line 4: expected an object")
    for each in (*told, "(--skip-bad skips such graphs)"):
        assert each in done.err
    assert not Path("model").exists()
    done = fit(kgnn, "--skip-bad", data="x.jsonl")
    assert done.code == 0, done.err
    for each in (*told, "Skipped 2 graphs that could not be read:", "10 graphs are labeled"):
        assert each in done.err
    # Graphs without a name keep their position in the file.
    assert package.open_model("model").labeled_graphs_.graph_names.tolist()[:3] == ["0", "2", "4"]


def test_of_many_bad_molecules_the_first_are_listed_and_all_are_counted(kgnn, files):
    bad = [f"b{row},C(,x" for row in range(30)]
    good = [f"g{row},{'C' * (row + 1)},{'xy'[row % 2]}" for row in range(10)]
    (files / "mol.csv").write_text("\n".join(["id,smiles,label", *bad, *good]))
    done = fit(kgnn, data="mol.csv")
    assert (done.code, done.err.count("is not valid SMILES")) == (1, 20)
    assert "30 graphs of mol.csv cannot be read" in done.err
    assert "mol.csv, line 21: 'C(' is not valid SMILES" in done.err
    assert "… and 10 more" in done.err
    done = fit(kgnn, "--skip-bad", data="mol.csv")
    assert done.code == 0, done.err
    assert "mol.csv (SMILES in CSV, classes from its column label)" in done.err
    assert "Skipped 30 graphs" in done.err
    assert "… and 10 more" in done.err


def test_labels_of_graphs_that_are_left_out_are_no_mistakes(kgnn, files):
    good = [f"g{row},{'C' * (row + 1)}" for row in range(10)]
    (files / "mol.csv").write_text("\n".join(["id,smiles", "bad,C(", *good]))
    labels = ["id,label", "bad,x", *(f"g{row},{'xy'[row % 2]}" for row in range(10))]
    (files / "labels.csv").write_text("\n".join(labels))
    done = fit(kgnn, "--labels", "labels.csv", "--skip-bad", data="mol.csv")
    assert done.code == 0, done.err
    assert "1 ids of --labels match no graph and were ignored: bad" in done.err


def test_where_nothing_can_be_read_that_is_an_error_in_any_case(kgnn, files):
    (files / "x.jsonl").write_text("{\n{\n")
    (files / "x.csv").write_text("id,smiles,label\na,C\nb,CC\n")
    for name, told in (("x.jsonl", "line 2: not valid JSON"), ("x.csv", "line 3: expected 3")):
        for option in ((), ("--skip-bad",)):
            done = fit(kgnn, *option, data=name)
            assert done.code == 1
            assert f"2 graphs of {name} cannot be read" in done.err
            assert told in done.err
            assert "--skip-bad" not in done.err


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("id,smiles,toxic\na,CC,1\n", "the column toxic. To take the classes from it, add "
         "--read target_column=toxic, or pass a CSV file with the columns id and label (--labels)"),
        ("id,smiles,toxic,weight\na,CC,1,2\n", "the columns toxic, weight. To take the classes "
         "from one of them, add --read target_column=NAME"),
        ("id,smiles,label,kind\na,CC,,1\n", "has a label in its column label. Unused: the "
         "column kind"),
        ("id,smiles,label\na,CC,\n", "fill in its column label, or pass a CSV file"),
        ("id,smiles\na,CC\n", "add a column target, or pass a CSV file"),
    ],
)  # fmt: skip
def test_where_no_label_is_found_columns_and_options_are_named(kgnn, files, table, told):
    (files / "mol.csv").write_text(table)
    done = fit(kgnn, data="mol.csv")
    assert done.code == 1
    assert "none of the 1 graphs of mol.csv has a label" in done.err
    assert told in done.err


def test_where_no_label_is_found_the_place_for_it_is_named(kgnn, files):
    done = fit(kgnn)
    assert 'give them in the key "target" of each line, or pass a CSV file with the' in done.err
    (files / "nets").mkdir()
    nx.write_graphml(nx.path_graph(3), files / "nets" / "a.graphml")
    assert "a file labels.csv beside the graphs, or one subfolder" in fit(kgnn, data="nets").err
    (files / "x.jsonl").write_text('{"nodes": 1, "edges": [], "label": "a"}')
    assert "unknown key 'label'; did you mean 'target'?" in fit(kgnn, data="x.jsonl").err


def test_numbers_that_were_measured_are_refused(kgnn, files):
    rows = [f"{'C' * (row + 1)},{6 + row / 7:.2f}" for row in range(30)]
    (files / "mol.csv").write_text("\n".join(["smiles,activity", *rows]))
    done = fit(kgnn, data="mol.csv")
    assert done.code == 1
    assert "the labels of 30 graphs are 30 different numbers, such as 6, 6.14 and" in done.err
    assert "convert them to classes, for instance 'low' up to 8.07, the median" in done.err
    assert not Path("model").exists()
