import json

import pytest
from typer.testing import CliRunner

from kgnn.cli.finding import find_graph
from kgnn.cli.main import app
from kgnn.errors import ParameterError, UnknownNameError
from kgnn.graphs import jsonl
from kgnn.graphs.packing import pack
from kgnn.graphs.toy import planted_motifs
from kgnn.insight.explanation import Explanation
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


def test_graphs_are_found_by_name_before_number():
    named = pack("named", [1, 1, 1], [], [], graph_names=["b", "0", "c"])
    assert find_graph(named, "0").row == 1
    assert find_graph(named, "2").row == 2
    with pytest.raises(UnknownNameError, match="names look like b, 0, c"):
        find_graph(named, "x")
