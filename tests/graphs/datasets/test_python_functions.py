"""The functions of Python's own library are a dataset, the same one every time."""

from __future__ import annotations

import ast
import sysconfig

import numpy as np
import pytest

from kgnn.errors import DatasetUnavailableError, GraphDataError
from kgnn.graphs.datasets import python_functions
from kgnn.graphs.datasets.python_functions import MAX_NODES, MIN_NODES, PACKAGES, from_source

SOURCE = """
def plain(a, b=1):
    return a + b + a

async def waiting(): await plain()

class Outer:
    def method(self):
        def nested(): pass
        return lambda: nested

    class Inner:
        @property
        def x(self): return 1
        @x.setter
        def x(self, value): self.y = value

try:
    def tried(): pass
except ImportError:
    def tried(): return None
if True:
    while False:
        def looped(): pass
"""


class TestFromSource:
    def test_functions_and_methods_are_found_wherever_they_are(self):
        assert [graph.name for graph in from_source(SOURCE, module="m")] == [
            "m.plain",
            "m.waiting",
            "m.Outer.method",
            "m.Outer.Inner.x",
            "m.Outer.Inner.x#2",
            "m.tried",
            "m.tried#2",
            "m.looped",
        ]

    def test_a_graph_is_the_tree_with_edges_to_next_siblings(self):
        graph = from_source("def f(x): return x + x")[0]
        assert graph.node_labels == [
            "FunctionDef",
            "arguments",
            "Return",
            "arg",
            "BinOp",
            "Name",
            "Add",
            "Name",
        ]
        edges = zip(graph.edges.tolist(), graph.edge_labels, strict=True)
        by_label = {label: [] for label in graph.edge_labels}
        for ends, label in edges:
            by_label[label].append(ends)
        assert by_label == {
            "child": [[0, 1], [0, 2], [1, 3], [2, 4], [4, 5], [4, 6], [4, 7]],
            "next": [[1, 2], [5, 6], [6, 7]],
        }

    def test_operators_that_python_shares_are_nodes_of_their_own(self):
        graph = from_source("def f(x): return x + x + x + x")[0]
        assert graph.node_labels.count("Add") == 3
        child = [
            e for e, label in zip(graph.edges, graph.edge_labels, strict=True) if label == "child"
        ]
        assert len(child) == graph.n_nodes - 1

    def test_contexts_are_left_out(self):
        labels = set(from_source("def f(x):\n y = x[0]\n del y")[0].node_labels)
        assert not labels & {"Load", "Store", "Del"}

    def test_nested_functions_belong_to_their_outer_one(self):
        graph = from_source(SOURCE)[2]
        assert graph.node_labels.count("FunctionDef") == 2

    def test_sizes_and_class_can_be_asked_for(self):
        dataset = from_source(SOURCE, target="mine", min_nodes=6, max_nodes=11)
        assert dataset.graph_sizes.min() >= 6
        assert dataset.graph_sizes.max() <= 11
        assert dataset.class_names == ("mine",)

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("x = 1", "holds no function"),
            ("def f(:\n  pass", "source, line 1: "),
            ("def f(): pass\n\ndef g(", "source, line 3: "),
            ("def f(): pass\0", "source.* null bytes"),
        ],
    )
    def test_what_holds_no_function_is_refused(self, source, message):
        with pytest.raises(GraphDataError, match=message):
            from_source(source)

    def test_warnings_about_the_style_of_the_source_are_not_ours(self):
        assert len(from_source(r"def f(): return '\d'")) == 1


@pytest.fixture(scope="module")
def dataset():
    return python_functions.build()


class TestDataset:
    def test_it_is_a_problem_of_a_useful_size(self, dataset):
        assert dataset.class_names == PACKAGES
        assert 1500 <= len(dataset) <= 3500
        shares = np.bincount(dataset.targets) / len(dataset)
        assert shares.min() > 0.1
        assert shares.max() < 0.4
        assert dataset.graph_sizes.min() >= MIN_NODES
        assert dataset.graph_sizes.max() <= MAX_NODES

    def test_names_are_unique_and_tell_module_and_function(self, dataset):
        names = dataset.graph_names.tolist()
        assert len(set(names)) == len(names)
        assert any(name.startswith("email.message.Message.") for name in names)
        assert not any(".test." in name or ".tests." in name for name in names)

    def test_labels_are_types_of_syntax(self, dataset):
        assert all(issubclass(getattr(ast, name), ast.AST) for name in dataset.node_label_names)
        assert dataset.edge_label_names == ("child", "next")

    def test_directions_are_kept_on_request(self, dataset):
        graphs = python_functions.build(directed="true")
        assert len(graphs) == len(dataset)
        assert graphs.edge_directions is not None
        assert (graphs.neighbors == dataset.neighbors).all()
        tree = from_source("def f(a, b): return a", directed=True)[0]
        labels = tree.node_labels
        leads = {(labels[u], labels[v]) for u, v in tree.edges.tolist()}
        assert ("FunctionDef", "arguments") in leads
        assert ("arguments", "FunctionDef") not in leads
        assert ("arguments", "Return") in leads

    def test_building_it_again_gives_the_same(self, dataset):
        assert python_functions._build().fingerprint == dataset.fingerprint

    def test_the_second_time_it_comes_from_the_cache(self, dataset, monkeypatch):
        monkeypatch.setattr(python_functions, "_build", lambda: 1 / 0)
        assert python_functions.build().fingerprint == dataset.fingerprint

    def test_a_python_without_sources_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path / "python.zip"))
        with pytest.raises(
            DatasetUnavailableError, match=r"python\.zip holds no source of asyncio"
        ):
            python_functions._build()
