"""A file format is a module with ``read(path)`` and one line in the table of formats."""

from __future__ import annotations

import csv
import importlib.util
import io

import pytest

import kgnn as package
from kgnn.graphs import loading
from tests.cli.calling import kgnn

__all__ = ["kgnn"]

# What a person writes to `graphs/readers/edges.py`.
READER = '''
"""Read edge lists: one graph per line, such as ``ring: 0-1 1-2 2-0``."""

from pathlib import Path

from kgnn.graphs.collector import GraphCollector
from kgnn.graphs.graph import GraphDataset


def read(path: Path) -> GraphDataset:
    graphs = GraphCollector()
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        target, _, rest = line.partition(":")
        edges = [tuple(map(int, edge.split("-"))) for edge in rest.split()]
        n_nodes = 1 + max(max(edge) for edge in edges)
        graphs.add(f"{path}, line {number}", n_nodes, edges, target=target)
    return graphs.dataset(path.stem)
'''


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A reader of another format, its line in the table, and a file to read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.py").write_text(READER)
    spec = importlib.util.spec_from_file_location("edges", tmp_path / "edges.py")
    edges = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(edges)
    added = loading.Format("edge lists", edges.read, (".edges",))
    monkeypatch.setattr(loading, "FORMATS", [*loading.FORMATS, added])
    rings = [f"ring: {' '.join(f'{i}-{(i + 1) % n}' for i in range(n))}" for n in range(4, 16)]
    paths = [f"path: {' '.join(f'{i}-{i + 1}' for i in range(n))}" for n in range(4, 16)]
    (tmp_path / "graphs.edges").write_text("\n".join(rings + paths))


def test_python_reads_it(files):
    graphs = package.load("graphs.edges")
    assert (len(graphs), graphs.class_names) == (24, ("path", "ring"))
    assert [len(run) for run in loading.stream("graphs.edges")] == [24]


def test_the_command_line_fits_and_predicts_with_it(kgnn, files):
    fitted = kgnn("fit", "graphs.edges", "--method", "ldp", "--set", "trees=20", "-o", "model")
    assert fitted.code == 0, fitted.err
    assert "graphs.edges (edge lists)" in fitted.err
    predicted = kgnn("predict", "model", "graphs.edges")
    assert predicted.code == 0, predicted.err
    rows = list(csv.DictReader(io.StringIO(predicted.out)))
    assert [row["label"] for row in rows] == ["ring"] * 12 + ["path"] * 12


def test_messages_name_it(files, tmp_path):
    (tmp_path / "x.parquet").write_text("")
    with pytest.raises(package.KgnnError, match=r"edge lists \(\.edges\)"):
        package.load("x.parquet")
