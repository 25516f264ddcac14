"""``kgnn predict --skip-bad``: one bad graph among many is told of, and stops nothing."""

import csv
import io
import os
import subprocess
import sys

import networkx as nx
import pytest

from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.molecules import from_smiles
from kgnn.graphs.readers import jsonl, network_files
from kgnn.methods.ldp import LDP
from tests.cli.calling import kgnn

__all__ = ["kgnn"]

GRAPHS = cycles_and_trees(40)
RING = '{"nodes": 3, "edges": [[0, 1], [1, 2], [2, 0]]}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("skipping")
    LDP(trees=10).fit(GRAPHS[:30]).save(path / "model")
    molecules = ["C" * n + "O" for n in range(1, 9)] + ["C" * n + "N" for n in range(1, 9)]
    kinds = ["alcohol"] * 8 + ["amine"] * 8
    LDP(trees=10).fit(from_smiles(molecules, kinds)).save(path / "molecules")
    return path


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("model", "molecules"):
        (tmp_path / name).symlink_to(folder / name)
    return tmp_path


def ids(text):
    return [row["id"] for row in csv.DictReader(io.StringIO(text))]


def test_bad_lines_of_json_are_counted_and_named(kgnn, here):
    lines = [RING, "{", RING, '{"nodes": 2, "edges": [[0, 5]]}', RING]
    content = "\n".join(lines).encode() + b"\n\xff\xfe\n" + RING.encode() + b'\n{"nodes": 3, "ed'
    (here / "x.jsonl").write_bytes(content)
    done = kgnn("predict", "model", "x.jsonl", "--skip-bad", "-o", "out.csv")
    assert done.code == 0, done.err
    # Graphs without a name keep their position in the file.
    assert ids((here / "out.csv").read_text()) == ["0", "2", "4", "6"]
    assert "4 graphs: " in done.err
    assert "Skipped 4 graphs that could not be read:" in done.err
    for line, reason in ((2, "not valid JSON"), (4, "edge 0 names node 5"), (6, "not UTF-8"),
                         (8, "not valid JSON")):  # fmt: skip
        assert f"x.jsonl, line {line}: {reason}" in done.err


def test_without_the_option_the_first_bad_line_stops_and_names_it(kgnn, here):
    (here / "x.jsonl").write_text(f"{RING}\n{{\n{RING}\n")
    done = kgnn("predict", "model", "x.jsonl", "-o", "out.csv")
    assert done.code == 1
    assert "x.jsonl, line 2: not valid JSON" in done.err
    assert "--skip-bad" in done.err
    assert not (here / "out.csv").exists()


def test_bad_molecules_are_left_out(kgnn, here):
    rows = ["id,smiles", "a,CCO", "b,C(", "c,CCN", 'd,"C"C', "e", "f,CCCO", "a,CCCN", 'g,"CC']
    (here / "x.csv").write_text("\n".join(rows) + "\n")
    done = kgnn("predict", "molecules", "x.csv", "--skip-bad")
    assert done.code == 0, done.err
    assert ids(done.out) == ["a", "c", "f"]
    for told in (
        "Skipped 5 graphs that could not be read",
        "x.csv, line 3: 'C(' is not valid SMILES",
        "x.csv, line 5: not readable as CSV",
        "x.csv, line 6: expected 2 cells, got 1",
        "x.csv, line 8: the name 'a' is already taken",
        "x.csv, line 9: not readable as CSV: unexpected end of data",
    ):
        assert told in done.err


def test_a_quote_that_swallows_rows_is_told_with_all_its_lines(kgnn, here):
    rows = ["id,smiles", "a,CCO", 'b,"CC', "c,CCN", 'd,CC"O', "e,CO"]
    (here / "x.csv").write_text("\n".join(rows) + "\n")
    done = kgnn("predict", "molecules", "x.csv", "--skip-bad")
    assert ids(done.out) == ["a", "e"]
    assert "x.csv, lines 3 to 5: not readable as CSV" in done.err


def test_unreadable_files_of_a_folder_are_left_out(kgnn, here, monkeypatch):
    monkeypatch.setattr(network_files, "FILES_AT_ONCE", 2)
    nets = here / "nets"
    nets.mkdir()
    for name in "adef":
        nx.write_graphml(nx.cycle_graph(5), nets / f"{name}.graphml")
    for name in "bcg":
        (nets / f"{name}.graphml").write_text("<graphml><graph>")
    odd = nx.path_graph(2)
    odd.nodes[0]["label"] = "C"  # and the other has none
    nx.write_graphml(odd, nets / "h.graphml")
    done = kgnn("predict", "model", "nets", "--skip-bad")
    assert done.code == 0, done.err
    assert ids(done.out) == ["a", "d", "e", "f"]
    assert "Skipped 4 graphs that could not be read" in done.err
    assert "b.graphml is not well-formed XML" in done.err
    assert "h.graphml: node '1' has no 'label', but others have" in done.err


def test_several_sources_are_counted_together_and_the_first_reasons_told(kgnn, here):
    for name in "ab":
        (here / f"{name}.jsonl").write_text(f"{RING}\n" + "{\n" * 15)
    done = kgnn("predict", "model", "a.jsonl", "b.jsonl", "--skip-bad")
    assert ids(done.out) == ["0", "0"]
    assert "Skipped 30 graphs that could not be read" in done.err
    assert done.err.count("not valid JSON") == 20
    assert "b.jsonl, line 2" in done.err
    assert "… and 10 more" in done.err


def test_where_no_graph_can_be_read_only_the_header_is_written(kgnn, here):
    (here / "x.jsonl").write_text("{\n{\n")
    done = kgnn("predict", "model", "x.jsonl", "--skip-bad")
    assert (done.code, done.out.count("\n")) == (0, 1)
    assert "0 graphs." in done.err
    assert "Skipped 2 graphs that could not be read" in done.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.jsonl", None, "There is no file"),
        ("empty.jsonl", b"\n", "holds no graphs"),
        ("cut.jsonl.gz", b"\x1f\x8b\x08\x00", "damaged or truncated"),
        ("header.csv", b"id,sm\xffles\na,CCO\n", "line 1: not UTF-8"),
        ("columns.csv", b"id,structure\na,CCO\n", "has no column named smiles"),
    ],
)
def test_what_is_wrong_with_a_whole_file_stops_all_the_same(kgnn, here, name, content, message):
    if content is not None:
        (here / name).write_bytes(content)
    done = kgnn("predict", "molecules", name, "--skip-bad", "-o", "out.csv")
    assert done.code == 1
    assert message in done.err
    assert not (here / "out.csv").exists()


def test_many_bad_lines_take_no_memory(here):
    path = here / "bad.jsonl"
    path.write_text(f"{RING}\n" + "{\n" * 300_000)
    code = (
        "import resource, sys\n"
        "from kgnn.errors import Skipped\n"
        "from kgnn.graphs.loading import stream\n"
        "first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "skipped = Skipped()\n"
        "n = sum(len(run) for run in stream(sys.argv[1], on_error=skipped))\n"
        "print(n, skipped.n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - first)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True, timeout=300
    )
    n, n_skipped, growth_kib = map(int, done.stdout.split())
    assert (n, n_skipped) == (1, 300_000)
    assert growth_kib < 20 * 1024


def test_ray_leaves_out_the_same_graphs(kgnn, here):
    pytest.importorskip("ray")
    jsonl.write(GRAPHS[30:35], here / "good.jsonl")
    (here / "bad.jsonl").write_text(f"{RING}\n{{\n{RING}\n")
    arguments = ["predict", "model", "good.jsonl", "bad.jsonl", "--skip-bad"]
    done = subprocess.run(
        [sys.executable, "-m", "kgnn", *arguments, "--engine", "ray", "--workers", "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert ids(done.stdout) == ids(kgnn(*arguments).out)
    assert "Skipped 1 graph that could not be read:" in done.stderr
    assert "bad.jsonl, line 2: not valid JSON" in done.stderr
