"""``kgnn predict``: the model's answers, as many as there are graphs, in a file or a pipe."""

import csv
import io
import json
import os
import resource
import subprocess
import sys
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import kgnn as package
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.graphs.readers import jsonl
from kgnn.methods.kgnn import KGNN
from kgnn.methods.ldp import LDP
from kgnn.methods.wl import WL
from tests.cli.calling import kgnn

__all__ = ["kgnn"]

GRAPHS = cycles_and_trees(60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models and a file of graphs."""
    path = tmp_path_factory.mktemp("predict")
    LDP(trees=20).fit(GRAPHS[:40]).save(path / "ldp")
    KGNN(epochs=3, rounds=0, cross_fit=0).fit(GRAPHS[:40]).save(path / "kgnn")
    jsonl.write(GRAPHS[40:], path / "new.jsonl")
    return path


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_table_holds_the_model_s_answers(kgnn, here):
    done = kgnn("predict", "ldp", "new.jsonl", "-o", "out.csv", "--sets", "0.1")
    assert done.code == 0, done.err
    rows = rows_of((here / "out.csv").read_text())
    model = package.open_model("ldp")
    assert [row["label"] for row in rows] == model.predict(GRAPHS[40:]).tolist()
    assert list(rows[0]) == [
        "id", "label", "confidence", "proba_cycle", "proba_tree", "novelty", "novelty_reason",
        "label_set",
    ]  # fmt: skip
    assert [row["id"] for row in rows] == [str(number) for number in range(20)]
    sets = model.predict_sets(GRAPHS[40:], error=0.1)
    assert [json.loads(row["label_set"]) for row in rows] == sets
    assert "20 graphs: 10 of class cycle" in done.err
    assert "Written to out.csv" in done.err


def test_both_networks_of_kgnn_have_columns(kgnn, here):
    rows = rows_of(kgnn("predict", "kgnn", "new.jsonl").out)
    assert len(rows) == 20
    for row in rows:
        assert row["agree"] == ("true" if row["gnn"] == row["memory"] else "false")


def test_json_lines_go_to_standard_output(kgnn, here):
    records = [
        json.loads(line)
        for line in kgnn("predict", "ldp", "new.jsonl", "--json").out.split("\n")[:-1]
    ]
    proba = package.open_model("ldp").predict_proba(GRAPHS[40:])
    told = np.array([list(record["probabilities"].values()) for record in records])
    assert np.array_equal(told, proba)


def test_several_sources_are_named_and_a_folder_is_one(kgnn, here):
    nets = here / "nets"
    nets.mkdir(exist_ok=True)
    for size in (4, 6):
        nx.write_graphml(nx.cycle_graph(size), nets / f"ring{size}.graphml")
    rows = rows_of(kgnn("predict", "ldp", "new.jsonl", "nets").out)
    assert len(rows) == 22
    assert [(row["source"], row["id"]) for row in rows[-2:]] == [
        ("nets", "ring4"),
        ("nets", "ring6"),
    ]


def test_unknown_labels_of_nodes_are_counted_in_one_line(kgnn, here, tmp_path):
    LDP(trees=5).fit(planted_motifs(20)).save(tmp_path / "motifs")
    strange = '{"nodes": ["0", "new", "new"], "edges": [[0, 1]]}\n{"nodes": ["1"], "edges": []}\n'
    (tmp_path / "strange.jsonl").write_text(strange)
    done = kgnn("predict", tmp_path / "motifs", tmp_path / "strange.jsonl")
    assert done.code == 0
    assert done.err.count("labels that the model has never seen") == 1
    assert "2 nodes in 1 graphs" in done.err
    assert "2 of 3 nodes have a label that no training graph has" in done.out


def test_graphs_without_the_node_labels_of_training_are_told_what_they_lack(kgnn, here, tmp_path):
    WL(iterations=(1,)).fit(planted_motifs(20)).save(tmp_path / "motifs")
    done = kgnn("predict", tmp_path / "motifs", "new.jsonl")
    assert (done.code, done.out) == (1, "")
    assert "'new' has no node labels" in done.err
    assert "by a model that was trained on graphs with node labels" in done.err
    assert "Give the nodes their labels, or train on graphs without" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("none", "new.jsonl"), 1, "There is no model at"),
        (("ldp", "none.jsonl"), 1, "There is no file"),
        (("kgnn", "new.jsonl", "--sets", "0.1"), 2, "Label sets need graphs"),
        (("ldp", "new.jsonl", "--sets", "1.5"), 2, "--sets must be an error rate between 0 and 1"),
        (("ldp", "new.jsonl", "--engine", "dask"), 2, "must be one of here, ray, got 'dask'"),
        (("ldp", "new.jsonl", "--address", "auto"), 2, "need --engine ray"),
        (("ldp", "new.jsonl", "-o", "new.jsonl/out.csv"), 1, "Cannot write to"),
        (("ldp", "new.jsonl", "-o", "new.jsonl"), 2, "new.jsonl is an input of this command"),
        (("ldp", "new.jsonl", "-o", "ldp/model.safetensors"), 2, "would be overwritten"),
    ],
)
def test_misuse_is_one_line(kgnn, here, arguments, code, message):
    done = kgnn("predict", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err.replace("\n", " ")
    assert "Traceback" not in done.err


def test_a_bad_line_leaves_the_old_predictions(kgnn, here, tmp_path):
    (tmp_path / "out.csv").write_text("precious")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"nodes": 2, "edges": []}\n' * 3000 + '{"nodes"')
    done = kgnn("predict", "ldp", bad, "-o", tmp_path / "out.csv")
    assert done.code == 1
    assert "bad.jsonl, line 3001: not valid JSON" in done.err
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad.jsonl", "out.csv"]


def run(code, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


def test_a_full_disk_leaves_the_old_predictions(here, tmp_path):
    (tmp_path / "out.csv").write_text("precious")
    late = "import kgnn.cli.predict as p\np.require_writable = lambda *paths: None\n"
    code = f"{late}from kgnn.cli.main import main\nmain()"
    (tmp_path / "many.jsonl").write_text('{"nodes": 2, "edges": []}\n' * 3000)
    done = run(
        code, "predict", "ldp", tmp_path / "many.jsonl", "-o", tmp_path / "out.csv",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)),
    )  # fmt: skip
    assert done.returncode == 1
    assert "The predictions cannot be written to" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out.csv").read_text() == "precious"


def test_a_pipe_that_closes_early_is_no_error_to_look_at(here, tmp_path):
    (tmp_path / "many.jsonl").write_text('{"nodes": 2, "edges": []}\n' * 9000)
    command = f"{sys.executable} -m kgnn predict ldp {tmp_path}/many.jsonl | head -n 2"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("id,label")
    assert "Error" not in done.stderr
    assert "Exception" not in done.stderr


_MEASURE = """
import resource, sys
from kgnn.cli.predict import Asked, Job, answer_lines

n, early = 0, 0
for lines, part in answer_lines(Asked(sys.argv[1], None, False, False), Job(sys.argv[2], ())):
    n += part.n
    if n <= 10 * 1024:
        early = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - early)
"""


def test_a_hundred_thousand_graphs_take_the_memory_of_a_few_thousand(here, tmp_path):
    path = tmp_path / "many.jsonl"
    with path.open("w") as stream:
        for i in range(100_000):
            last = 0 if i % 2 else 1
            stream.write(
                f'{{"id": "g{i}", "nodes": 4, "edges": [[0, 1], [1, 2], [2, 3], [3, {last}]]}}\n'
            )
    done = run(_MEASURE, here / "ldp" / "model.safetensors", path)
    n, growth_kib = map(int, done.stdout.split())
    assert n == 100_000
    assert growth_kib < 40 * 1024  # all graphs would take some 150 MiB


def test_a_graph_of_a_million_nodes_is_answered(kgnn, here, tmp_path):
    path = tmp_path / "huge.jsonl"
    edges = ",".join(f"[{i},{i + 1}]" for i in range(999_999))
    path.write_text(f'{{"id": "huge", "nodes": 1000000, "edges": [{edges}]}}\n')
    done = kgnn("predict", "ldp", path)
    assert done.code == 0, done.err
    (row,) = rows_of(done.out)
    assert row["id"] == "huge"
    assert "it has 1000000 nodes" in row["novelty_reason"]


def test_ray_gives_the_same_answers_in_the_same_order(kgnn, here, tmp_path):
    pytest.importorskip("ray")
    sources = []
    for number in range(3):
        sources.append(tmp_path / f"part{number}.jsonl")
        jsonl.write(GRAPHS[40 + 5 * number : 45 + 5 * number], sources[-1])
    command = [sys.executable, "-m", "kgnn", "predict", "ldp", *map(str, sources)]
    done = subprocess.run(
        [*command, "--engine", "ray", "--workers", "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == kgnn("predict", "ldp", *sources).out
    assert "15 graphs" in done.stderr


def test_names_are_shown_as_they_are(kgnn, here, tmp_path):
    names = ["c1cc[nH]c1", "run[/old]/0", "urn:key:0", "[red]hot[/red]"]
    graphs = replace(cycles_and_trees(4), graph_names=np.array(names))
    jsonl.write(graphs, tmp_path / "odd.jsonl")
    for row, name in enumerate(names):
        done = kgnn("similar", tmp_path / "odd.jsonl", (row + 1) % 4, "-n", "3")
        assert done.code == 0, done.err
        assert name in done.out
    assert "[/x].jsonl" in kgnn("predict", "ldp", tmp_path / "[/x].jsonl").err.replace("\n", "")
