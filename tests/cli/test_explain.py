import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgnn.cli.main import app
from kgnn.cli.own_graphs import find_graph
from kgnn.errors import KgnnError, ParameterError, UnknownNameError
from kgnn.estimator.explanation import Explanation
from kgnn.graphs.datasets.toy import planted_motifs
from kgnn.graphs.loading import load
from kgnn.graphs.packing import pack
from kgnn.graphs.readers import jsonl
from kgnn.methods.wl import WL


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    graphs = planted_motifs(24)
    jsonl.write(graphs, folder / "graphs.jsonl")
    WL(iterations=(1,)).fit(graphs[:20]).save(folder / "model")
    return str(folder / "model"), str(folder / "graphs.jsonl")


def run(*arguments):
    return CliRunner().invoke(app, ["explain", *arguments], catch_exceptions=False)


def test_an_explanation_is_text_for_people(files):
    done = run(*files, "--id", "21")
    assert done.exit_code == 0
    assert done.stdout.startswith("Graph 21: 20 nodes")
    assert "Most similar labeled graphs:" in done.stdout


def test_an_explanation_is_json_for_machines(files):
    done = run(*files, "--id", "21", "--json", "-n", "2")
    explanation = Explanation.from_json(json.loads(done.stdout))
    assert explanation.graph.name == "21"
    assert len(explanation.neighbors) == 2


def test_an_explanation_is_a_page(files, tmp_path):
    done = run(*files, "--id", "21", "-o", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "Graph 21: class" in page
    assert "page.html" in done.stderr


def test_misuse_is_told_before_anything_is_computed(files, tmp_path):
    with pytest.raises(ParameterError, match="is a folder; name a file"):
        run(*files, "--id", "21", "-o", str(tmp_path))
    with pytest.raises(UnknownNameError, match="no graph '99' in graphs: numbers go from 0 to 23"):
        run(*files, "--id", "99")


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_computed(
    files, tmp_path, monkeypatch
):
    (tmp_path / "occupied").write_text("")
    monkeypatch.setattr("kgnn.estimator.saving.open_model", lambda _: pytest.fail("was opened"))
    with pytest.raises(KgnnError, match=r"Cannot write to .*occupied/page.html"):
        run(*files, "--id", "21", "-o", str(tmp_path / "occupied" / "page.html"))


def test_a_table_is_read_as_it_was_for_fitting(tmp_path):
    pytest.importorskip("rdkit")
    lines = [f"{'C' * n}{'O' * (n % 2)},{n % 2}\n" for n in range(3, 13)]
    (tmp_path / "a.csv").write_text("".join(["structure,kind\n", *lines]))
    how = {"smiles_column": "structure", "target_column": "kind"}
    graphs = load(str(tmp_path / "a.csv"), **how)
    WL(iterations=(1,)).fit(graphs).save(tmp_path / "model")
    asked = (str(tmp_path / "model"), str(tmp_path / "a.csv"), "--id", "4")
    options = [word for pair in how.items() for word in ("--read", "=".join(pair))]
    done = run(*asked, *options)
    assert done.exit_code == 0
    assert done.stdout.startswith("Graph 4: 8 atoms")  # as the SMILES in the fifth line has
    with pytest.raises(KgnnError, match="smiles"):
        run(*asked)


def test_bad_graphs_are_all_named_and_can_be_left_out(files, tmp_path):
    model, graphs = files
    lines = Path(graphs).read_text(encoding="utf-8").splitlines()
    bad = tmp_path / "bad.jsonl"
    bad.write_text("\n".join([*lines[:3], "{", lines[3], "[]", *lines[4:]]) + "\n")
    with pytest.raises(KgnnError) as caught:
        run(model, str(bad), "--id", "21")
    assert all(part in str(caught.value) for part in ("line 4", "line 6", "--skip-bad"))
    done = run(model, str(bad), "--id", "21", "--skip-bad")
    assert done.exit_code == 0
    assert "Skipped 2 graphs that could not be read" in done.stderr
    similar = ["similar", str(bad), "0", "--skip-bad", "--json"]
    assert CliRunner().invoke(app, similar, catch_exceptions=False).exit_code == 0


def test_graphs_are_found_by_name_before_number():
    named = pack("named", [1, 1, 1], [], [], graph_names=["b", "0", "c"])
    assert find_graph(named, "0").row == 1
    assert find_graph(named, "2").row == 2
    with pytest.raises(UnknownNameError, match="names look like b, 0, c"):
        find_graph(named, "x")
